"""Runs a harvest: survey, extraction per conversation, then reclaiming (``knowledge-curation.md`` 5, 7).

The digest and the commit follow once, at the end of the run; what a killed run did not commit, the next one
does first.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, partial
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
from engine.knowledge.harvest.reading import read_source, safe_name
from engine.knowledge.harvest.reclaim import holds_secret, refuse_too_many
from engine.knowledge.harvest.report import HarvestRequest, Outcome, Report, Result, Survey
from engine.knowledge.harvest.source_line import finder
from engine.knowledge.item import CATEGORIES, Origin, counted
from engine.knowledge.ledger import PATH as LEDGER
from engine.knowledge.ledger import LedgerEntry, LedgerLine
from engine.knowledge.plan import plan
from engine.knowledge.proposed import why_held
from engine.knowledge.settler import Finding, Settler
from engine.store.change import SUBJECT, ChangeCommit, commit_message
from engine.store.paths import transcript_name
from engine.store.sparse import refuse_elsewhere
from engine.store.typed import typed
from engine.store.zone import local_day
from engine.transcripts.days import day_of

if TYPE_CHECKING:
    from engine.knowledge.digest import Digest
    from engine.knowledge.harvest.extract import Extractor
    from engine.knowledge.harvest.reading import SourceText
    from engine.knowledge.harvest.reclaim import Reclaimer
    from engine.knowledge.item import Item, Plan
    from engine.knowledge.ledger import Ledger, Status
    from engine.knowledge.review import QueueResult, ReviewQueue
    from engine.knowledge.trash import Trash
    from engine.settings.model import HarvestSettings
    from engine.store.change import Commit
    from engine.store.files import Files


JOURNALS = "scratch/harvest"
"""Folder of the journals of harvests that are being written."""
_NAME = 40
"""Minimum characters of a conversation's name in a commit's subject."""
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
    digest: Digest
    review: Callable[[], ReviewQueue]
    reclaimer: Reclaimer
    trash: Trash
    commit: Commit
    on_problem: Callable[[str], None]
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
        settled = [each.path for each in self._settler.recover()]
        reclaimed = self.reclaimer.recover()
        self._commit_left()
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
            made = self._commit_run(results.values())
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
            done = self._settler.settle(finding.sha256[:16], finding)
        return replace(done, known=decided.known, refused=entry.refused, stays=stays)

    def _missing(self, candidate: Candidate) -> Result:
        """The result for a missing file, which another program may have harvested and moved to the trash."""
        with self.files.lock():  # held by the process that moves it until the ledger is updated
            known = self.ledger.get(candidate.sha256)
        if known is not None and known.deleted:
            return Result(candidate.path, candidate.size, _OUTCOMES[known.status], known, stays=True)
        return Result(candidate.path, candidate.size, "changed", error="it was removed in the meantime")

    def _finding(
        self, source: SourceText, items: Sequence[Item], entry: LedgerEntry
    ) -> tuple[Finding[LedgerEntry], Plan]:
        """What to write, and the plan with what is held or already known."""
        zone = self.zone()
        day = day_of(source.path, source.began, zone)
        origin = Origin(source.name, day or local_day(datetime.fromisoformat(entry.at), zone).isoformat())
        decided = plan(items, origin, self.files, held=lambda item: why_held(item, source.voices))
        entry = replace(entry, known=len(decided.known))
        finding = Finding(
            path=source.path, sha256=source.sha256, at=entry.at, origin=origin,
            record=entry, edits=decided.edits,
        )  # fmt: skip
        return finding.with_held(decided.held, finder(self.files, source.path)), decided

    @cached_property
    def _settler(self) -> Settler[LedgerEntry, Result]:
        """Writes findings; each step raises ``LedgerBroken`` if the ledger is damaged or lost."""
        return Settler(
            self.files, self.review, self.on_problem, lambda tree: typed(LedgerEntry, tree), self._record,
            JOURNALS, "its conversation will be harvested again",
        )  # fmt: skip

    def _record(self, finding: Finding[LedgerEntry], queued: QueueResult) -> Result:
        """Records a finding in the ledger, beside the lines of an earlier harvest."""
        before = self.ledger.get(finding.sha256)
        kept = before.lines if before is not None and before.status == "harvested" else ()
        known = {line.id for line in kept}
        new = [edit for edit in finding.edits if edit.id not in known]
        counts: Counter[str] = Counter(edit.category for edit in new)
        items = dict(counts)
        if before is not None and kept:
            counts.update(before.items)
        held = (*(before.held if before is not None else ()), *queued.ids)
        entry = replace(
            finding.record,
            items={name: counts.get(name, 0) for name in CATEGORIES},
            lines=(*kept, *(LedgerLine(edit.id, edit.path, edit.line) for edit in new)),
            held=tuple(dict.fromkeys(held)),
        )
        self.ledger.record(finding.sha256, entry)
        return Result(finding.path, entry.size, "harvested", entry, is_new=True, items=items, held=queued.new)

    def _unharvestable(self, candidate: Candidate) -> Result:
        """The result for a conversation that cannot be harvested; recorded in the ledger once."""
        outcome, error = _UNHARVESTABLE[candidate.state], f"{candidate.why}; kept"
        if self.ledger.get(candidate.sha256) is None:
            status: Status = "too-large" if outcome == "too-large" else "harvest-failed"
            at = self.clock().isoformat()
            entry = LedgerEntry(candidate.path, status, at, size=candidate.size, error=error)
            self.ledger.record(candidate.sha256, entry)
        return Result(candidate.path, candidate.size, outcome, error=error)

    def _commit_left(self) -> None:
        """Commits uncommitted knowledge, so that a harvest's commit contains only its own changes: what
        killed runs and failed commits left, and edits by a person. The digest is updated first.
        """
        self.digest.follow(self.on_problem)
        entries = self.ledger.entries().values()
        lines = dict.fromkeys(line.path for entry in entries for line in entry.lines)
        existing = self._settler.existing
        deleted = {entry.path for entry in entries if entry.deleted}
        gone = deleted.difference(existing(*deleted))
        paths = [*existing(LEDGER, *lines, *self.digest.paths), *sorted(gone)]
        self.commit(paths, commit_message("memory", "knowledge as it stood before a harvest"))

    def _commit_run(self, results: Collection[Result]) -> ChangeCommit:
        """Commits the results of a run, after updating the digest. It includes what other programs have just
        harvested from the same conversations, which must be in the history before these are reclaimed.
        """
        entries = [each.entry for each in results if each.outcome == "harvested" and each.entry is not None]
        if not entries:
            return ChangeCommit()
        digest = self.digest.paths if self.digest.follow(self.on_problem) else ()
        lines = dict.fromkeys(line.path for entry in entries for line in entry.lines)
        new = [each for each in results if each.is_new]
        sources = [each.path for each in new if self._is_fit(each.path)]
        paths = (*self._settler.existing(LEDGER, *lines), *digest, *sources)
        return self.commit(paths, message_of(new))

    def _is_fit(self, path: str) -> bool:
        """Whether a conversation itself is committed, too: unless it contains a secret."""
        with contextlib.suppress(FileNotFoundError, AutopoiesisError):
            return not holds_secret(self.files.read(path))
        return False


def message_of(results: Sequence[Result]) -> str:
    """The commit message for a harvest (spec 10.1); it names conversations in which it found something."""
    items: Counter[str] = Counter()
    for each in results:
        items.update(each.items)
    held = sum(each.held for each in results)
    what = ", ".join([*counted(items), *([f"{held:,} for review"] if held else [])]) or "nothing new"
    name = f"{len(results):,} conversations"
    if len(results) == 1:
        name = transcript_name(safe_name(results[0].path))[1]
        room = max(_NAME, SUBJECT - len(commit_message("memory", f"harvest of : {what}")))
        if len(name) > room:
            name = f"{name[: room - 1].rstrip('-')}…"
    found = [each.path for each in results if any(each.items.values()) or each.held]
    return commit_message("memory", f"harvest of {name}: {what}", sessions=found)
