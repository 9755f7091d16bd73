"""The harvest: survey, conversation by conversation, then what may go (``knowledge-curation.md`` 5, 7)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from engine.errors import AutopoiesisError, HarvestRefused
from engine.knowledge.category_files import CATEGORY_FILES, refuse_broken
from engine.knowledge.harvest.classify import (
    TRANSCRIPTS,
    WORKING,
    Candidate,
    Measured,
    classify,
    hash_of,
    left_in,
    paths_in,
)
from engine.knowledge.harvest.finding import Finding
from engine.knowledge.harvest.held import why_held
from engine.knowledge.harvest.moving import Mover, refuse_too_many
from engine.knowledge.harvest.reading import read_source
from engine.knowledge.harvest.report import Outcome, Report, Result, Survey, Wish
from engine.knowledge.harvest.said import where_said
from engine.knowledge.item import Origin
from engine.knowledge.ledger import LedgerEntry
from engine.knowledge.plan import plan
from engine.knowledge.review import waiting_for

if TYPE_CHECKING:
    from engine.knowledge.edit import Known
    from engine.knowledge.harvest.extraction import Extraction
    from engine.knowledge.harvest.reading import SourceText
    from engine.knowledge.harvest.reclaim import Reclaimer
    from engine.knowledge.harvest.settle import Settler
    from engine.knowledge.ledger import Ledger, Status
    from engine.knowledge.trash import Trash
    from engine.settings.model import HarvestSettings
    from engine.store.files import Files


_SAID_ONCE: dict[str, tuple[Outcome, Status]] = {
    "too-large": ("too-large", "too-large"),
    "unclear": ("unclear", "harvest-failed"),
    "unreadable": ("failed", "harvest-failed"),
}
"""What becomes of conversations that cannot be harvested as they are, by their state."""


class Extracts(Protocol):
    """Takes knowledge out of a conversation; ``engine.knowledge.harvest.extract.Extractor`` is one."""

    def extract(self, source: SourceText, files: Files | None = None) -> Extraction:
        """What it taught; never raises for what a provider does."""
        ...

    def stop(self) -> None:
        """Gives up what is under way, from another thread."""
        ...


class Harvest:
    """Harvests conversations. One run at a time for each object."""

    def __init__(
        self,
        files: Files,
        ledger: Ledger,
        settler: Settler,
        reclaimer: Reclaimer,
        trash: Trash,
        settings: Callable[[], HarvestSettings],
        extractor: Callable[[HarvestSettings], Extracts],
        clock: Callable[[], datetime],
    ) -> None:
        self._files = files
        self._ledger = ledger
        self._settler = settler
        self._reclaimer = reclaimer
        self._trash = trash
        self._settings = settings
        self._extractor = extractor
        self._clock = clock
        self._guard = threading.Lock()
        self._asked: Extracts | None = None
        self._stopped = False
        self._measured: dict[str, Measured] = {}

    def survey(self, *, transcripts: bool | None = None, named: Collection[str] = ()) -> Survey:
        """What there is, and what a harvest would do with it.

        ``transcripts`` looks at those of ``raw/`` instead of working conversations; see
        ``means_transcripts``. ``named`` are paths that a person has named.

        Raises:
            LedgerBroken: The ledger is damaged or gone.
        """
        settings, ledger = self._settings(), self._ledger.entries()
        if transcripts is None:
            transcripts = self.means_transcripts(named)
        found = classify(
            self._files,
            ledger,
            self._clock(),
            settings.idle_minutes,
            provider=settings.provider,
            transcripts=transcripts,
            named=named,
            measured=self._measured,
        )
        left = 0 if transcripts else left_in(self._files, ledger, settings.provider)
        return Survey(found, settings.provider, settings.model, transcripts, left)

    def means_transcripts(self, paths: Collection[str] = ()) -> bool:
        """Whether a harvest means the transcripts without saying so: they are named, or all there is."""
        if paths:
            return all(path.startswith(f"{TRANSCRIPTS}/") for path in paths)
        return not paths_in(self._files, WORKING) and bool(paths_in(self._files, TRANSCRIPTS))

    def recover(self) -> tuple[str, ...]:
        """Finishes what was interrupted; the conversations it was about.

        Raises:
            LedgerBroken, WriteFailed, ReadOnly: It cannot be finished now.
        """
        settled = [each.path for each in self._settler.recover()]
        reclaimed = self._reclaimer.recover()
        self._settler.commit_left()
        return (*settled, *reclaimed)

    def run(
        self,
        wish: Wish,
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
        self._files.refuse_read_only("conversations")
        with self._guard:
            self._stopped = False
        recovered = self.recover()
        self._refuse_broken_files()
        purged = tuple(each.path for each in self._trash.purge(self._settings().trash_days))
        chosen = self._chosen(wish)
        if not wish.harvest:
            refuse_too_many(self._files, len(chosen), wish, self._settings().most_reclaimed)
        results: dict[str, Result] = {}
        stopped = ""
        for each in chosen:
            if self._stopped:
                stopped = "stopped"
                break
            on_start(each.path)
            try:
                result = self._one(each, wish)
            except AutopoiesisError as error:
                if error.lasting:
                    stopped = str(error)
                    break
                result = Result(each.path, each.size, "failed", error=str(error))
            except FileNotFoundError:
                result = self._gone(each)
            results[each.path] = result
            on_result(result)
        if wish.reclaim and not wish.transcripts:
            mover = Mover(self._files, self._ledger, self._reclaimer, self._settings().most_reclaimed)
            for result in mover.move(tuple(results.values()), wish):
                results[result.path] = result
                on_result(result)
        return Report(tuple(results.values()), recovered, purged, stopped)

    def stop(self) -> None:
        """Ends a run after what is under way, from another thread."""
        with self._guard:
            self._stopped = True
            asked = self._asked
        if asked is not None:
            asked.stop()

    def _chosen(self, wish: Wish) -> list[Candidate]:
        """What is to be looked at: what there is to harvest, and what only waits to be reclaimed."""
        survey = self.survey(transcripts=wish.transcripts, named=wish.paths)
        found = {each.path: each for each in survey.candidates}
        for path in wish.paths:
            if path not in found:
                raise HarvestRefused(
                    "is no conversation that waits", where=path, cure="see: autopoiesis harvest"
                )
            if found[path].kind == "user-kept":
                raise HarvestRefused(f"{found[path].why}; it is left alone", where=path)
        named = [found[path] for path in dict.fromkeys(wish.paths)] if wish.paths else list(found.values())
        kinds = ("harvest", "prune") if wish.reclaim else ("harvest",)
        return [
            each
            for each in named
            if each.kind in kinds
            or (each.state in _SAID_ONCE and (wish.paths or self._ledger.get(each.sha256) is None))
        ]

    def _one(self, candidate: Candidate, wish: Wish) -> Result:
        """Harvests one conversation, or finds out that there is nothing to do but to reclaim it."""
        known = self._ledger.get(candidate.sha256)
        settings = self._settings()
        if known is not None and (candidate.kind == "prune" or known.is_harvested(settings.provider)):
            # The latter under another name, a moment ago.
            stays = not candidate.reclaimable
            return Result(candidate.path, candidate.size, _outcome(known), known, stays=stays)
        if not wish.harvest or candidate.kind == "prune":
            return self._given_up(candidate)
        if candidate.state in _SAID_ONCE:
            return self._left_alone(candidate)
        source = read_source(self._files, candidate.path)
        extraction = self._asked_about(source, settings)
        if extraction.lasting and not extraction.input_tokens:
            # Neither the conversation's fault nor worth a line in its record.
            raise HarvestRefused(extraction.error).until_changed()
        entry = self._entry(candidate.path, extraction)
        with self._files.lock():
            if hash_of(self._files, candidate.path)[0] != source.sha256:
                return Result(
                    candidate.path, candidate.size, "changed", error="it was changed meanwhile, and is kept"
                )
            known = self._ledger.get(source.sha256)
            if known is not None and known.is_harvested(settings.provider):
                # By another program, or under another name, while a model was asked here.
                stays = not candidate.reclaimable
                return Result(candidate.path, candidate.size, "harvested", known, stays=stays)
            if extraction.outcome != "extracted":
                if known is None or known.status != "harvested":
                    self._ledger.record(source.sha256, entry)
                return Result(candidate.path, candidate.size, _outcome(entry), entry, error=extraction.error)
            finding, known_lines = self._finding(source, extraction, entry)
            done = self._settler.settle(finding)
        return Result(
            candidate.path,
            candidate.size,
            "harvested",
            done.entry,
            commit=done.commit,
            uncommitted=done.uncommitted,
            known=known_lines,
            items=done.items,
            held=done.held,
            refused=extraction.refused,
            stays=not candidate.reclaimable,
        )

    def _gone(self, candidate: Candidate) -> Result:
        """One that is gone: another program has harvested it and moved it to the trash."""
        with self._files.lock():  # held by the process that moves one until the ledger says so too
            known = self._ledger.get(candidate.sha256)
        if known is not None and known.deleted:
            return Result(candidate.path, candidate.size, _outcome(known), known, stays=True)
        return Result(candidate.path, candidate.size, "changed", error="it was taken away meanwhile")

    def _asked_about(self, source: SourceText, settings: HarvestSettings) -> Extraction:
        extractor = self._extractor(settings)
        with self._guard:
            self._asked = extractor
            if self._stopped:
                raise HarvestRefused("stopped", where=source.path)
        try:
            return extractor.extract(source, self._files)
        finally:
            with self._guard:
                self._asked = None

    def _finding(
        self, source: SourceText, extraction: Extraction, entry: LedgerEntry
    ) -> tuple[Finding, tuple[Known, ...]]:
        """What is to be written, and what stands there already."""
        origin = Origin(source.name, entry.at[:10])
        data = self._files.read(source.path)
        decided = plan(extraction.items, origin, self._files, held=lambda item: why_held(item, source.said))
        finding = Finding(
            sha256=source.sha256,
            path=source.path,
            entry=replace(entry, known=len(decided.known)),
            edits=decided.edits,
            waiting=waiting_for(
                decided.held,
                at=entry.at,
                origin=origin,
                source=source.path,
                sha256=source.sha256,
                where=lambda item: where_said(item, data),
            ),
        )
        return finding, decided.known

    def _entry(self, path: str, extraction: Extraction) -> LedgerEntry:
        status: dict[str, Status] = {
            "extracted": "harvested",
            "failed": "harvest-failed",
            "too-large": "too-large",
            "unclear": "harvest-failed",
        }
        return LedgerEntry(
            path=path,
            status=status[extraction.outcome],
            at=self._clock().isoformat(),
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

    def _given_up(self, candidate: Candidate) -> Result:
        """It is recorded in the ledger when it goes, so that one that cannot go may still be harvested."""
        entry = LedgerEntry(
            candidate.path, "deleted-unharvested", self._clock().isoformat(), size=candidate.size
        )
        return Result(candidate.path, candidate.size, "unharvested", entry, stays=not candidate.reclaimable)

    def _left_alone(self, candidate: Candidate) -> Result:
        """One that cannot be harvested as it is. It is recorded in the ledger once."""
        outcome, status = _SAID_ONCE[candidate.state]
        error = f"{candidate.why}; kept"
        if self._ledger.get(candidate.sha256) is None:
            entry = LedgerEntry(
                candidate.path, status, self._clock().isoformat(), size=candidate.size, error=error
            )
            self._ledger.record(candidate.sha256, entry)
        return Result(candidate.path, candidate.size, outcome, error=error)

    def _refuse_broken_files(self) -> None:
        """Keeps a model from being asked for what could not be written down."""
        for file in CATEGORY_FILES:
            try:
                refuse_broken(self._files.read(file.path), file.path)
            except FileNotFoundError:
                continue


def _outcome(entry: LedgerEntry) -> Outcome:
    match entry.status:
        case "harvested":
            return "harvested"
        case "deleted-unharvested":
            return "unharvested"
        case "too-large":
            return "too-large"
        case _:
            return "failed"
