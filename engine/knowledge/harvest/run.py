"""The harvest: survey, conversation by conversation, then what may go (``knowledge-curation.md`` 5, 7)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Protocol

from engine.errors import AutopoiesisError, HarvestRefused
from engine.knowledge.category_files import refuse_broken_files
from engine.knowledge.harvest.classify import (
    TRANSCRIPTS,
    WORKING,
    Candidate,
    Classifier,
    Measured,
    hash_of,
    left_in,
    paths_in,
)
from engine.knowledge.harvest.reading import read_source
from engine.knowledge.harvest.reclaim import refuse_too_many
from engine.knowledge.harvest.report import HarvestRequest, Outcome, Report, Result, Survey
from engine.knowledge.harvest.said import where_said
from engine.knowledge.harvest.settle import Finding, Settler
from engine.knowledge.item import Origin
from engine.knowledge.ledger import PATH as LEDGER
from engine.knowledge.ledger import LedgerEntry
from engine.knowledge.plan import plan
from engine.knowledge.proposed import why_held
from engine.knowledge.review import waiting_for
from engine.store.sparse import refuse_elsewhere
from engine.store.zone import local_day

if TYPE_CHECKING:
    from engine.knowledge.edit import Known
    from engine.knowledge.harvest.extract import Extraction
    from engine.knowledge.harvest.reading import SourceText
    from engine.knowledge.harvest.reclaim import Reclaimer
    from engine.knowledge.ledger import Ledger, Status
    from engine.knowledge.trash import Trash
    from engine.settings.model import HarvestSettings
    from engine.store.files import Files


_SAID_ONCE: dict[str, Outcome] = {"too-large": "too-large", "unclear": "unclear", "unreadable": "failed"}
"""What becomes of conversations that cannot be harvested as they are, by their state."""

_OUTCOMES: dict[Status, Outcome] = {
    "harvested": "harvested",
    "deleted-unharvested": "unharvested",
    "too-large": "too-large",
    "harvest-failed": "failed",
}


class Extracts(Protocol):
    """Takes knowledge out of a conversation; ``engine.knowledge.harvest.extract.Extractor`` is one."""

    def extract(self, source: SourceText, files: Files | None = None) -> Extraction:
        """What it taught; never raises for what a provider does."""
        ...

    def stop(self) -> None:
        """Gives up what is under way, from another thread."""
        ...


@dataclass(eq=False)
class Harvest:
    """Harvests conversations. One run at a time for each object. ``zone`` is the one whose days count."""

    files: Files
    ledger: Ledger
    settler: Settler
    reclaimer: Reclaimer
    trash: Trash
    settings: Callable[[], HarvestSettings]
    extractor: Callable[[HarvestSettings], Extracts]
    clock: Callable[[], datetime]
    zone: Callable[[], str] = lambda: ""
    _guard: threading.Lock = field(default_factory=threading.Lock, init=False)
    _under_way: Extracts | None = field(default=None, init=False)
    _stopped: bool = field(default=False, init=False)
    _measured: dict[str, Measured] = field(default_factory=dict, init=False)

    def survey(self, *, transcripts: bool | None = None, named: Collection[str] = ()) -> Survey:
        """What there is, and what a harvest would do with it.

        ``transcripts`` looks at those of ``raw/`` instead of working conversations; see
        ``means_transcripts``. ``named`` are paths that a person has named.

        Raises:
            LedgerBroken: The ledger is damaged or gone.
        """
        settings, ledger = self.settings(), self.ledger.entries()
        if transcripts is None:
            transcripts = self.means_transcripts(named)
        found = Classifier(
            self.files,
            ledger,
            self.clock(),
            settings.idle_minutes,
            settings.provider,
            transcripts,
            frozenset(named),
            self._measured,
        ).all()
        left = 0 if transcripts else left_in(self.files, ledger, settings.provider)
        return Survey(found, settings.provider, settings.model, transcripts, left)

    def means_transcripts(self, paths: Collection[str] = ()) -> bool:
        """Whether a harvest means the transcripts without saying so: they are named, or all there is."""
        if paths:
            return all(path.startswith(f"{TRANSCRIPTS}/") for path in paths)
        return not paths_in(self.files, WORKING) and bool(paths_in(self.files, TRANSCRIPTS))

    def recover(self) -> tuple[str, ...]:
        """Finishes what was interrupted; the conversations it was about.

        Raises:
            LedgerBroken, WriteFailed, ReadOnly: It cannot be finished now.
        """
        settled = [each.path for each in self.settler.recover()]
        reclaimed = self.reclaimer.recover()
        self.settler.commit_left()
        return (*settled, *reclaimed)

    def run(
        self,
        request: HarvestRequest,
        on_result: Callable[[Result], None] = lambda _result: None,
        on_start: Callable[[str], None] = lambda _path: None,
    ) -> Report:
        """Harvests.

        ``on_result`` is told of each conversation when it is done, and again when it was reclaimed or kept.
        ``on_start`` is told before a model is asked about it.

        Raises:
            LedgerBroken: The ledger is damaged or gone; nothing was asked or changed.
            DocumentError: A category file cannot be added to; nothing was asked or changed.
            HarvestRefused: A path is not a conversation, or more would go than was agreed to.
            WriteFailed, ReadOnly: The workspace cannot be written at all.
        """
        self.files.refuse_read_only("conversations")
        refuse_elsewhere(self.files.workspace.root, LEDGER.split("/"))
        with self._guard:
            self._stopped = False
        recovered = self.recover()
        refuse_broken_files(self.files)
        purged = tuple(each.path for each in self.trash.purge(self.settings().trash_days))
        chosen = self._chosen(request)
        if not request.harvest:
            refuse_too_many(self.files, len(chosen), request, self.settings().most_reclaimed)
        results: dict[str, Result] = {}
        stopped = ""
        for each in chosen:
            if self._stopped:
                stopped = "stopped"
                break
            on_start(each.path)
            try:
                result = self._one(each, request)
            except AutopoiesisError as error:
                if error.lasting:
                    stopped = str(error)
                    break
                result = Result(each.path, each.size, "failed", error=str(error))
            except FileNotFoundError:
                result = self._gone(each)
            results[each.path] = result
            on_result(result)
        if request.reclaim and not request.transcripts:
            most = self.settings().most_reclaimed
            for result in self.reclaimer.move(tuple(results.values()), request, most):
                results[result.path] = result
                on_result(result)
        return Report(tuple(results.values()), recovered, purged, stopped)

    def stop(self) -> None:
        """Ends a run after what is under way, from another thread."""
        with self._guard:
            self._stopped = True
            under_way = self._under_way
        if under_way is not None:
            under_way.stop()

    def _chosen(self, request: HarvestRequest) -> list[Candidate]:
        """What is to be looked at: what there is to harvest, and what only waits to be reclaimed."""
        survey = self.survey(transcripts=request.transcripts, named=request.paths)
        found = {each.path: each for each in survey.candidates}
        for path in request.paths:
            if path not in found:
                raise HarvestRefused(
                    "is no conversation that waits", where=path, hint="see: autopoiesis harvest"
                )
            if found[path].kind == "user-kept":
                raise HarvestRefused(f"{found[path].why}; it is left alone", where=path)
        named = [found[path] for path in dict.fromkeys(request.paths or found)]
        kinds = ("harvest", "prune") if request.reclaim else ("harvest",)
        return [
            each
            for each in named
            if each.kind in kinds
            or (each.state in _SAID_ONCE and (request.paths or self.ledger.get(each.sha256) is None))
        ]

    def _one(self, candidate: Candidate, request: HarvestRequest) -> Result:
        """Harvests one conversation, or finds out that there is nothing to do but to reclaim it."""
        result = partial(Result, candidate.path, candidate.size)
        stays = not candidate.reclaimable
        known = self.ledger.get(candidate.sha256)
        settings = self.settings()
        if known is not None and (candidate.kind == "prune" or known.is_harvested(settings.provider)):
            # The latter under another name, a moment ago.
            return result(_OUTCOMES[known.status], known, stays=stays)
        if not request.harvest or candidate.kind == "prune":
            # Recorded in the ledger when it goes, so that one that cannot go may still be harvested.
            at = self.clock().isoformat()
            given_up = LedgerEntry(candidate.path, "deleted-unharvested", at, size=candidate.size)
            return result("unharvested", given_up, stays=stays)
        if candidate.state in _SAID_ONCE:
            return self._left_alone(candidate)
        source = read_source(self.files, candidate.path)
        extraction = self._asked_about(source, settings)
        if extraction.lasting and not extraction.input_tokens:
            # Neither the conversation's fault nor worth a line in its record.
            raise HarvestRefused(extraction.error).until_changed()
        entry = self._entry(candidate.path, extraction)
        with self.files.lock():
            if hash_of(self.files, candidate.path)[0] != source.sha256:
                return result("changed", error="it was changed meanwhile, and is kept")
            known = self.ledger.get(source.sha256)
            if known is not None and known.is_harvested(settings.provider):
                # By another program, or under another name, while a model was asked here.
                return result("harvested", known, stays=stays)
            if extraction.outcome != "extracted":
                if known is None or known.status != "harvested":
                    self.ledger.record(source.sha256, entry)
                return result(_OUTCOMES[entry.status], entry, error=extraction.error)
            finding, known_lines = self._finding(source, extraction, entry)
            done = self.settler.settle(finding)
        return replace(done, known=known_lines, refused=extraction.refused, stays=stays)

    def _gone(self, candidate: Candidate) -> Result:
        """One that is gone: another program has harvested it and moved it to the trash."""
        with self.files.lock():  # held by the process that moves one until the ledger says so too
            known = self.ledger.get(candidate.sha256)
        if known is not None and known.deleted:
            return Result(candidate.path, candidate.size, _OUTCOMES[known.status], known, stays=True)
        return Result(candidate.path, candidate.size, "changed", error="it was taken away meanwhile")

    def _asked_about(self, source: SourceText, settings: HarvestSettings) -> Extraction:
        extractor = self.extractor(settings)
        with self._guard:
            self._under_way = extractor
            if self._stopped:
                raise HarvestRefused("stopped", where=source.path)
        try:
            return extractor.extract(source, self.files)
        finally:
            with self._guard:
                self._under_way = None

    def _finding(
        self, source: SourceText, extraction: Extraction, entry: LedgerEntry
    ) -> tuple[Finding, tuple[Known, ...]]:
        """What is to be written, and what stands there already."""
        day = local_day(datetime.fromisoformat(entry.at), self.zone()).isoformat()
        origin = Origin(source.name, day)
        data = self.files.read(source.path)
        decided = plan(extraction.items, origin, self.files, held=lambda item: why_held(item, source.said))
        finding = Finding(
            sha256=source.sha256,
            path=source.path,
            day=day,
            entry=replace(entry, known=len(decided.known)),
            edits=decided.edits,
            waiting=waiting_for(
                decided.held,
                at=entry.at,
                origin=origin,
                source=source.path,
                sha256=source.sha256,
                locate=lambda item: where_said(item, data),
            ),
        )
        return finding, decided.known

    def _entry(self, path: str, extraction: Extraction) -> LedgerEntry:
        status: Status = "too-large" if extraction.outcome == "too-large" else "harvest-failed"
        return LedgerEntry(
            path=path,
            status="harvested" if extraction.outcome == "extracted" else status,
            at=self.clock().isoformat(),
            provider=extraction.provider,
            model=extraction.model,
            input_tokens=extraction.input_tokens,
            output_tokens=extraction.output_tokens,
            cost_usd=extraction.cost_usd,
            size=extraction.size,
            shown=extraction.shown,
            summarised=extraction.summarised,
            refused=extraction.refused,
            error=extraction.error,
        )

    def _left_alone(self, candidate: Candidate) -> Result:
        """One that cannot be harvested as it is. It is recorded in the ledger once."""
        outcome, error = _SAID_ONCE[candidate.state], f"{candidate.why}; kept"
        if self.ledger.get(candidate.sha256) is None:
            status: Status = "too-large" if outcome == "too-large" else "harvest-failed"
            at = self.clock().isoformat()
            entry = LedgerEntry(candidate.path, status, at, size=candidate.size, error=error)
            self.ledger.record(candidate.sha256, entry)
        return Result(candidate.path, candidate.size, outcome, error=error)
