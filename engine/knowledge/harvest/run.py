"""Runs a harvest: survey, extraction per conversation, then reclaiming (``knowledge-curation.md`` 5, 7)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError, HarvestRefused
from engine.knowledge.category_files import refuse_broken_files
from engine.knowledge.harvest.classify import (
    TRANSCRIPTS,
    WORKING,
    Candidate,
    Classifier,
    ContentInfo,
    count_unharvested,
    hash_of,
    paths_in,
)
from engine.knowledge.harvest.reading import read_source
from engine.knowledge.harvest.reclaim import refuse_too_many
from engine.knowledge.harvest.report import HarvestRequest, Outcome, Report, Result, Survey
from engine.knowledge.harvest.settle import Finding, HarvestSettler, finder
from engine.knowledge.item import Origin
from engine.knowledge.ledger import PATH as LEDGER
from engine.knowledge.ledger import LedgerEntry
from engine.knowledge.plan import plan
from engine.knowledge.proposed import why_held
from engine.store.change import ChangeCommit
from engine.store.sparse import refuse_elsewhere
from engine.store.zone import local_day
from engine.transcripts.days import day_of

if TYPE_CHECKING:
    from engine.knowledge.harvest.extract import Extractor
    from engine.knowledge.harvest.reading import SourceText
    from engine.knowledge.harvest.reclaim import Reclaimer
    from engine.knowledge.item import Item, Plan
    from engine.knowledge.ledger import Ledger, Status
    from engine.knowledge.trash import Trash
    from engine.settings.model import HarvestSettings
    from engine.store.files import Files


_UNHARVESTABLE: dict[str, Outcome] = {"too-large": "too-large", "unclear": "unclear", "unreadable": "failed"}
"""Outcomes of conversations that cannot be harvested, by state."""

_OUTCOMES: dict[Status, Outcome] = {
    "harvested": "harvested",
    "deleted-unharvested": "unharvested",
    "too-large": "too-large",
    "harvest-failed": "failed",
}


@dataclass(eq=False)
class Harvest:
    """Harvests conversations, one run at a time. ``zone`` is the time zone that determines the day."""

    files: Files
    ledger: Ledger
    settler: HarvestSettler
    reclaimer: Reclaimer
    trash: Trash
    settings: Callable[[], HarvestSettings]
    extractor: Callable[[HarvestSettings], Extractor]
    clock: Callable[[], datetime]
    zone: Callable[[], str] = lambda: ""
    _guard: threading.Lock = field(default_factory=threading.Lock, init=False)
    _under_way: Extractor | None = field(default=None, init=False)
    _stopped: bool = field(default=False, init=False)
    _measured: dict[str, ContentInfo] = field(default_factory=dict, init=False)

    def survey(self, *, transcripts: bool | None = None, named: Collection[str] = ()) -> Survey:
        """Surveys what a harvest would do.

        ``transcripts`` selects ``raw/`` instead of working conversations and defaults to
        ``means_transcripts``. ``named`` are paths given by a person.

        Raises:
            LedgerBroken: The ledger is damaged or lost.
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
        left = 0 if transcripts else count_unharvested(self.files, ledger, settings.provider)
        return Survey(found, settings.provider, settings.model, transcripts, left)

    def means_transcripts(self, paths: Collection[str] = ()) -> bool:
        """True if a harvest is implicitly about transcripts: they are named, or there is nothing else."""
        if paths:
            return all(path.startswith(f"{TRANSCRIPTS}/") for path in paths)
        return not paths_in(self.files, WORKING) and bool(paths_in(self.files, TRANSCRIPTS))

    def recover(self) -> tuple[str, ...]:
        """Finishes interrupted work and returns the conversations concerned.

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
        """Runs a harvest.

        ``on_start`` is called before each conversation, ``on_result`` after it and again when it was
        reclaimed or kept.

        Raises:
            LedgerBroken: The ledger is damaged or lost; nothing was asked or changed.
            DocumentError: A category file cannot be added to; nothing was asked or changed.
            HarvestRefused: A path is not a conversation, or more would be reclaimed than was confirmed.
            WriteFailed, ReadOnly: The workspace cannot be written.
        """
        self.files.refuse_read_only("conversations")
        refuse_elsewhere(self.files.workspace.root, LEDGER.split("/"))
        settings = self.settings()
        with self._guard:
            self._stopped, self._under_way = False, self.extractor(settings)
        recovered = self.recover()
        refuse_broken_files(self.files)
        purged = tuple(each.path for each in self.trash.purge(settings.trash_days))
        chosen = self._chosen(request)
        if not request.harvest:
            refuse_too_many(self.files, len(chosen), request, settings.most_reclaimed)
        results: dict[str, Result] = {}
        stopped = ""
        made = ChangeCommit()
        try:
            for each in chosen:
                if self._stopped:
                    stopped = "stopped"
                    break
                on_start(each.path)
                try:
                    result = self._harvest_one(each, request, settings.provider)
                except AutopoiesisError as error:
                    if error.lasting:
                        stopped = str(error)
                        break
                    result = Result(each.path, each.size, "failed", error=str(error))
                except FileNotFoundError:
                    result = self._missing(each)
                results[each.path] = result
                on_result(result)
        finally:
            made = self.settler.commit_run(results.values())
        if request.reclaim and not request.transcripts:
            for result in self.reclaimer.move(tuple(results.values()), request, settings.most_reclaimed):
                results[result.path] = result
                on_result(result)
        return Report(tuple(results.values()), recovered, purged, stopped, made.revision, made.why)

    def stop(self) -> None:
        """Stops the run from another thread, cancelling the current extraction."""
        with self._guard:
            self._stopped = True
            if self._under_way is not None:
                self._under_way.stop()

    def _chosen(self, request: HarvestRequest) -> list[Candidate]:
        """The conversations to process: those to harvest, and those only to reclaim."""
        survey = self.survey(transcripts=request.transcripts, named=request.paths)
        found = {each.path: each for each in survey.candidates}
        for path in request.paths:
            if path not in found:
                raise HarvestRefused(
                    "is not a working conversation", where=path, hint="see: autopoiesis harvest"
                )
            if found[path].kind == "user-kept":
                raise HarvestRefused(f"{found[path].why}; it is left alone", where=path)
        named = [found[path] for path in dict.fromkeys(request.paths or found)]
        kinds = ("harvest", "prune") if request.reclaim else ("harvest",)
        return [
            each
            for each in named
            if each.kind in kinds
            or (each.state in _UNHARVESTABLE and (request.paths or self.ledger.get(each.sha256) is None))
        ]

    def _harvest_one(self, candidate: Candidate, request: HarvestRequest, provider: str) -> Result:
        """Harvests one conversation, or determines that it only needs to be reclaimed."""
        result = partial(Result, candidate.path, candidate.size)
        stays = not candidate.reclaimable
        known = self.ledger.get(candidate.sha256)
        if known is not None and (candidate.kind == "prune" or known.is_harvested(provider)):
            # In the latter case, harvested under another name moments ago.
            return result(_OUTCOMES[known.status], known, stays=stays)
        if not request.harvest or candidate.kind == "prune":
            # Recorded in the ledger when it is reclaimed, so that one that is kept may still be harvested.
            at = self.clock().isoformat()
            discarded = LedgerEntry(candidate.path, "deleted-unharvested", at, size=candidate.size)
            return result("unharvested", discarded, stays=stays)
        if candidate.state in _UNHARVESTABLE:
            return self._unharvestable(candidate)
        source = read_source(self.files, candidate.path)
        assert self._under_way is not None
        extraction = self._under_way.extract(source, self.files)
        entry = replace(extraction.entry, at=self.clock().isoformat())
        if extraction.lasting and not entry.input_tokens:
            # Not a problem of this conversation, so it is not recorded.
            raise HarvestRefused(entry.error).until_changed()
        with self.files.lock():
            if hash_of(self.files, candidate.path)[0] != source.sha256:
                return result("changed", error="it changed in the meantime and is kept")
            known = self.ledger.get(source.sha256)
            if known is not None and known.is_harvested(provider):
                # By another program, or under another name, while the model was asked.
                return result("harvested", known, stays=stays)
            if entry.status != "harvested":
                if known is None or known.status != "harvested":
                    self.ledger.record(source.sha256, entry)
                return result(_OUTCOMES[entry.status], entry, error=entry.error)
            finding, decided = self._finding(source, extraction.items, entry)
            locate = finder(self.files, source.path)
            done = self.settler.settle(finding.sha256[:16], finding, decided.held, locate)
        return replace(done, known=decided.known, refused=entry.refused, stays=stays)

    def _missing(self, candidate: Candidate) -> Result:
        """The result for a missing file, which another program may have harvested and moved to the trash."""
        with self.files.lock():  # held by the process that moves it until the ledger is updated
            known = self.ledger.get(candidate.sha256)
        if known is not None and known.deleted:
            return Result(candidate.path, candidate.size, _OUTCOMES[known.status], known, stays=True)
        return Result(candidate.path, candidate.size, "changed", error="it was removed in the meantime")

    def _finding(self, source: SourceText, items: Sequence[Item], entry: LedgerEntry) -> tuple[Finding, Plan]:
        """What to write, and the plan with what is held or already known."""
        zone = self.zone()
        day = day_of(source.path, source.began, zone)
        day = day or local_day(datetime.fromisoformat(entry.at), zone).isoformat()
        origin = Origin(source.name, day)
        decided = plan(items, origin, self.files, held=lambda item: why_held(item, source.voices))
        entry = replace(entry, known=len(decided.known))
        finding = Finding(sha256=source.sha256, path=source.path, day=day, entry=entry, edits=decided.edits)
        return finding, decided

    def _unharvestable(self, candidate: Candidate) -> Result:
        """The result for a conversation that cannot be harvested; recorded in the ledger once."""
        outcome, error = _UNHARVESTABLE[candidate.state], f"{candidate.why}; kept"
        if self.ledger.get(candidate.sha256) is None:
            status: Status = "too-large" if outcome == "too-large" else "harvest-failed"
            at = self.clock().isoformat()
            entry = LedgerEntry(candidate.path, status, at, size=candidate.size, error=error)
            self.ledger.record(candidate.sha256, entry)
        return Result(candidate.path, candidate.size, outcome, error=error)
