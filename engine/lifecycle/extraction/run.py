"""Runs extractors over the sessions of a workspace, writing to the same or another workspace.

A session is read once by each extractor, version, model and task, according to the record. So the next run
resumes a stopped or killed one.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from engine.errors import AutopoiesisError, ExtractionRefused, ReadOnly, WriteFailed
from engine.knowledge.category_files import refuse_broken_files
from engine.knowledge.digest import Digest
from engine.knowledge.harvest.classify import LIVE_FIELDS, TRANSCRIPTS, Classifier, hash_of, paths_in
from engine.knowledge.harvest.inquiry import Asker
from engine.knowledge.harvest.source_line import finder
from engine.knowledge.item import item_id
from engine.knowledge.plan import plan
from engine.knowledge.proposed import why_held
from engine.knowledge.review import ReviewQueue
from engine.knowledge.settler import Finding, Settler
from engine.lifecycle.extraction.extractor import (
    Extractor,
    Known,
    Session,
    extractors_named,
    known_in,
    read_session,
)
from engine.lifecycle.extraction.reading import (
    SYSTEM,
    By,
    Done,
    ExtractionLog,
    ExtractionRecord,
    Reading,
    WrittenItem,
    by_of,
    done_in,
    read,
    tokens_of,
    windows_of,
)
from engine.lifecycle.recaps.wording import NAME as JOURNAL
from engine.store.change import commit_change, commit_message
from engine.store.typed import typed
from engine.transcripts.places import find_session, head_fields, read_head

if TYPE_CHECKING:
    from engine.context.recaps import Recap
    from engine.costs.costs import Costs
    from engine.knowledge.item import Plan
    from engine.knowledge.review import QueueResult
    from engine.lifecycle.recaps.recaps import Recaps
    from engine.providers.chat import ChatProvider
    from engine.settings.model import Config, ExtractionSettings
    from engine.store.change import Commit
    from engine.store.files import Files
    from engine.store.repository import Repository

JOURNALS = "scratch/extraction"
"""Folder for the journals of extractions in progress."""
IDLE_MINUTES = 60
"""A session without an end counts as live if it was written to more recently."""

Outcome = Literal["extracted", "failed", "skipped", "changed"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A session and the readings due for it."""

    path: str  # workspace-relative
    size: int  # bytes
    sha256: str = ""  # empty if the file was not read
    due: tuple[By, ...] = ()  # readers that would read it
    why: str = ""  # why nothing is due, one clause
    is_done: bool = False  # nothing is due because everything was read before
    windows: int = 0  # for a model
    tokens: int = 0  # approximate input for all extractors together


@dataclass(frozen=True, slots=True)
class Survey:
    """What a run would do."""

    candidates: tuple[Candidate, ...]  # by path, and so by time
    provider: str = ""  # empty without a model
    model: str = ""

    @property
    def due(self) -> tuple[Candidate, ...]:
        """Candidates with something to do."""
        return tuple(each for each in self.candidates if each.due)

    @property
    def tokens(self) -> int:
        """Approximate number of tokens to send."""
        return sum(each.tokens for each in self.candidates)

    @property
    def questions(self) -> int:
        """Number of requests to a model, not counting repeated ones."""
        return sum(each.windows * sum(bool(by.provider) for by in each.due) for each in self.candidates)


@dataclass(frozen=True, slots=True)
class Preview:
    """What a session would add to the current knowledge; nothing is written."""

    path: str
    plan: Plan
    readings: tuple[Reading, ...]
    recaps: tuple[Recap, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """The result for a session."""

    path: str
    outcome: Outcome
    records: tuple[ExtractionRecord, ...] = ()  # one for each extractor that read it
    held: int = 0  # items newly added to the review queue
    commit: str = ""  # object name, if there is a commit
    uncommitted: str = ""  # why there is no commit; also empty if there was nothing to commit
    error: str = ""  # why it was not read, or not completely
    recaps: tuple[Recap, ...] = ()  # that a model worded


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a run."""

    results: tuple[Result, ...]
    recovered: tuple[str, ...] = ()  # sessions whose interrupted extraction was finished first
    stopped: str = ""
    """Why the rest was not read: ``stopped`` on request, or an error that affects all other sessions."""
    recaps: tuple[Recap, ...] = ()  # written to journals


@dataclass(eq=False)
class Runner:
    """Runs extractors. One run at a time for each object; ``stop`` may be called from any thread.

    Args:
        source: Files with the sessions, existing pages and the workspace's own tasks.
        target: Files for knowledge, review queue and record.
        asker: Asks the model, if there is one.
        since: Ignore older records, ISO 8601 in UTC: everything is read again, once.
        patient: Do not retry failed readings for a while unless they are named, since each attempt may cost.
        record: The record of ``target``, if it was already loaded.
        hashed: Cache of file stamp and sha256 of ended sessions, by path.
    """

    source: Files
    target: Files
    extractors: Sequence[Extractor]
    commit: Commit
    clock: Callable[[], datetime]
    on_problem: Callable[[str], None]
    recaps: Recaps
    asker: Asker | None = None
    zone: str = ""
    since: str = ""
    patient: bool = False
    record: ExtractionLog | None = None
    hashed: MutableMapping[str, tuple[tuple[int, ...], str]] = field(default_factory=dict)
    _stopped: threading.Event = field(default_factory=threading.Event, init=False)

    @cached_property
    def log(self) -> ExtractionLog:
        """The record of extractions."""
        return self.record or ExtractionLog(self.target, self.clock)

    @cached_property
    def _digest(self) -> Digest:
        return Digest(self.target)

    @cached_property
    def _settler(self) -> Settler[tuple[ExtractionRecord, ...], Result]:
        review = ReviewQueue(self.target, self.clock)
        return Settler(
            self.target, lambda: review, self.on_problem,
            lambda trees: tuple(typed(ExtractionRecord, each) for each in trees), self._record,
            JOURNALS, "its session will be read again",
        )  # fmt: skip

    def survey(self, paths: Sequence[str] = (), *, sized: bool = True) -> Survey:
        """What a run over some sessions would do; by default over all that have ended.

        Args:
            sized: Read the due ones to determine the tokens to send.

        Raises:
            ExtractionRefused: A path is not a session.
            DocumentError, PathRefused: A task of the workspace cannot be read.
        """
        readers = tuple(by_of(each, self.asker, self.source) for each in self.extractors)
        done, known = done_in(self.log.all(), self.since), known_in(self.source)
        chosen = list(dict.fromkeys(paths)) or paths_in(self.source, TRANSCRIPTS)
        found = [self._candidate(path, readers, done, named=bool(paths)) for path in chosen]
        if sized and self.asker is not None:
            found = [self._sized(each, known) if each.due else each for each in found]
        model = None if self.asker is None else self.asker.completer
        return Survey(tuple(found), model.name if model else "", model.model if model else "")

    def preview(self, path: str) -> Preview:
        """What a session would add without a model.

        Raises:
            DocumentError: A knowledge file cannot be edited.
            FileNotFoundError, PathRefused: As ``Files.read``.
        """
        session = read_session(self.source, path, known_in(self.source), self.zone)
        readings = tuple(read(each, session, None, self.source, self.recaps) for each in self.extractors)
        planned = self._planned(session, readings, done_in(self.log.all(), self.since))
        is_wanted = any(each.name == JOURNAL for each in self.extractors)
        return Preview(path, planned, readings, tuple(self.recaps.of_session(path) if is_wanted else ()))

    def run(
        self,
        paths: Sequence[str] = (),
        on_result: Callable[[Result, int, int], None] = lambda _result, _done, _all: None,
    ) -> Report:
        """Reads the due sessions and writes the results; see ``survey``.

        ``on_result`` is called for each session, with the number of sessions done and due.

        Raises:
            ExtractionRefused: A path is not a session.
            DocumentError: A category file cannot be edited, or a task cannot be read; no model was used.
            WriteFailed, ReadOnly: The workspace cannot be written; the next run resumes.
        """
        self.target.refuse_read_only("knowledge")
        self._stopped.clear()
        recovered = tuple(each.path for each in self._settler.recover())
        survey = self.survey(paths, sized=False)
        due = survey.due
        if self.patient and not due:
            return Report((), recovered)  # remaining changes are committed by the next run
        self._commit_left()
        self.recaps.commit_left()
        refuse_broken_files(self.target)
        # Before anything is recorded as read, so that an interrupted run writes the rest.
        wanted = [
            each.path for each in due if (JOURNAL, "") in {(by.extractor, by.provider) for by in each.due}
        ]
        recaps = list(self.recaps.write(wanted).recaps)
        results: list[Result] = []
        stopped = ""
        for number, candidate in enumerate(due, 1):
            if self._stopped.is_set():
                stopped = "stopped"
                break
            try:
                result, lasting = self._process(candidate)
            except FileNotFoundError:
                result, lasting = Result(candidate.path, "changed", error="deleted in the meantime"), ""
            except (WriteFailed, ReadOnly):
                raise  # it would affect every other session too, after paying for a model
            except AutopoiesisError as error:
                lasting = str(error) if error.lasting else ""
                result = Result(candidate.path, "failed", error=str(error))
            results.append(result)
            recaps += result.recaps
            on_result(result, number, len(due))
            if lasting:
                stopped = lasting
                break
        empty = sum(bool(each.records) and not (each.commit or each.uncommitted) for each in results)
        if empty:
            what = f"nothing new in {empty:,} session{'s' if empty > 1 else ''}"
            self.commit(self._existing(), commit_message("extract", what))
        named = [Result(each.path, "skipped", error=each.why) for each in survey.candidates if not each.due]
        return Report((*results, *(named if paths else ())), recovered, stopped, tuple(recaps))

    def stop(self) -> None:
        """Ends a run after the current session, aborting a request to a model."""
        self._stopped.set()
        if self.asker is not None:
            self.asker.stop()

    def _candidate(self, path: str, readers: Sequence[By], done: Done, *, named: bool) -> Candidate:
        try:
            workspace = self.source.workspace
            status = os.lstat(workspace.resolve(path) if named else workspace.root / path)
            stamp = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            before, sha256 = self.hashed.get(path, ((), ""))
            size = status.st_size
            if before != stamp:
                if not named and (live := self._live(path)):
                    return Candidate(path, size, why=live)
                sha256, size = hash_of(self.source, path)
                if not named:
                    self.hashed[path] = (stamp, sha256)
        except FileNotFoundError:
            raise ExtractionRefused("no such session", where=path) from None
        except (OSError, AutopoiesisError) as error:
            return Candidate(path, 0, why=f"cannot be read: {error}")
        due = tuple(by for by in readers if (sha256, by) not in done.readings)
        if not due:
            return Candidate(path, size, sha256, why="already read", is_done=True)
        if self.patient and not named:
            due = tuple(by for by in due if not done.is_backing_off(sha256, by, self.clock()))
        return Candidate(path, size, sha256, due, "" if due else "failed before; will be retried later")

    def _live(self, path: str) -> str:
        real = self.source.workspace.resolve(path)
        written = datetime.fromtimestamp(real.stat().st_mtime, UTC)
        fields = head_fields(read_head(real), LIVE_FIELDS)
        judge = Classifier(self.source, {}, self.clock(), IDLE_MINUTES, transcripts=True)
        return judge.live(real, written, fields)

    def _sized(self, candidate: Candidate, known: Known) -> Candidate:
        try:
            session = read_session(self.source, candidate.path, known, self.zone)
        except (AutopoiesisError, FileNotFoundError) as error:
            return replace(candidate, due=(), why=f"cannot be read: {error}")
        if session.source.state not in ("read", "empty"):
            return replace(candidate, due=(), why=session.source.why)
        windows = windows_of(session)
        asking = sum(bool(by.provider) for by in candidate.due)
        return replace(candidate, windows=len(windows), tokens=asking * tokens_of(windows))

    def _process(self, candidate: Candidate) -> tuple[Result, str]:
        """Reads a session and writes the results; also returns an error that affects all sessions, if any."""
        session = read_session(self.source, candidate.path, known_in(self.source), self.zone)
        source = session.source
        if source.state not in ("read", "empty"):
            return Result(candidate.path, "skipped", error=source.why), ""
        names = {by.extractor for by in candidate.due}
        readings: list[Reading] = []
        lasting = ""
        for extractor in self.extractors:
            if extractor.name in names:
                reading = read(extractor, session, self.asker, self.source, self.recaps)
                readings.append(reading)
                if reading.lasting or self._stopped.is_set():
                    lasting = reading.record.error if reading.lasting else ""
                    break
        if self._stopped.is_set():
            # Discard aborted readings, so that they are repeated.
            readings = [each for each in readings if not each.record.error]
        records = [each.record for each in readings]
        errors = [f"{each.by.extractor}: {each.error}" for each in records if each.error]
        kept = [each for each in readings if not (each.lasting and not each.record.input_tokens)]
        if not kept:
            return Result(candidate.path, "failed", error="; ".join(errors)), lasting
        with self.target.lock():
            if hash_of(self.source, candidate.path)[0] != source.sha256:
                return Result(candidate.path, "changed", error="changed in the meantime"), lasting
            done = done_in(self.log.all(), self.since)
            kept = [each for each in kept if (source.sha256, each.record.by) not in done.readings]
            if not kept:
                duplicate = "the same content was already read at another path"
                return Result(candidate.path, "skipped", error=duplicate), lasting
            result = self._settler.settle(source.sha256[:16], self._finding(session, kept, done))
        result = replace(result, recaps=tuple(recap for each in readings for recap in each.recaps))
        return replace(result, outcome="failed", error="; ".join(errors)) if errors else result, lasting

    def _planned(self, session: Session, readings: Sequence[Reading], done: Done) -> Plan:
        """Items to write, known items, and items to review. Items of earlier readings are skipped: they were
        written, queued, rejected, or deleted by the user.
        """
        origin, voices = session.origin, session.source.voices
        items = [item for each in readings for item in each.items]
        new = [item for item in items if item_id(item, origin.name) not in done.ids]
        return plan(new, origin, self.target, held=lambda item: why_held(item, voices))

    def _finding(
        self, session: Session, readings: Sequence[Reading], done: Done
    ) -> Finding[tuple[ExtractionRecord, ...]]:
        """What to write."""
        source, origin = session.source, session.origin
        decided = self._planned(session, readings, done)
        at = self.clock().astimezone(UTC).isoformat(timespec="microseconds")
        there = {item_id(each.item, origin.name) for each in decided.known} | done.ids
        records = []
        for each in readings:
            ids = tuple(dict.fromkeys(item_id(item, origin.name) for item in each.items))
            known = sum(name in there for name in ids)
            records.append(replace(each.record, at=at, ids=ids, known=known))
        finding = Finding(
            path=source.path, sha256=source.sha256, at=at, origin=origin,
            record=tuple(records), edits=decided.edits,
        )  # fmt: skip
        return finding.with_held(decided.held, finder(self.source, source.path))

    def _record(self, finding: Finding[tuple[ExtractionRecord, ...]], queued: QueueResult) -> Result:
        """Adds the records of a finding to the log, and commits it with its digest."""
        held = {each.id for each in finding.waiting}
        records = tuple(
            replace(
                record,
                items=tuple(
                    WrittenItem(edit.id, edit.path, edit.line)
                    for edit in finding.edits
                    if edit.id in record.ids
                ),
                held=tuple(name for name in record.ids if name in held),
            )
            for record in finding.record
        )
        self.log.append(records)
        if any(edit.category != "pages" for edit in finding.edits):
            self._digest.follow(self.on_problem)
        result = Result(finding.path, "extracted", records, queued.new)
        if not (finding.edits or finding.waiting):
            return result  # the record is committed later, together with others
        paths = self._existing(*(edit.path for edit in finding.edits))
        message = commit_message("extract", counted(records) or "nothing new", sessions=[finding.path])
        done = self.commit(paths, message)
        return replace(result, commit=done.revision, uncommitted=done.why)

    def _commit_left(self) -> None:
        """Commits earlier changes in the files that extractions write, such as edits by the user, so that
        they do not become part of this extraction's commits.
        """
        records = self.log.all()
        if records:
            self._digest.follow(self.on_problem)
            paths = (item.path for record in records for item in record.items)
            self.commit(self._existing(*paths), commit_message("memory", "knowledge before an extraction"))

    def _existing(self, *paths: str) -> list[str]:
        return self._settler.existing(*paths, *self.log.paths, *self._digest.paths)


def counted(records: Sequence[ExtractionRecord]) -> str:
    """The number of lines written by each extractor, such as ``decisions: 2, journal: 3``."""
    counts: Counter[str] = Counter()
    for record in records:
        counts[record.by.extractor] += len(record.items)
    return ", ".join(f"{name}: {count:,}" for name, count in counts.items() if count)


@dataclass(eq=False)
class Extraction:
    """Extracts knowledge from the sessions of a workspace. ``model`` returns ``None`` if none is set."""

    files: Files
    repository: Callable[[], Repository]
    config: Callable[[], Config]
    costs: Callable[[], Costs]
    clock: Callable[[], datetime]
    on_problem: Callable[[str], None]
    recaps: Callable[[], Recaps]
    model: Callable[[ExtractionSettings], ChatProvider | None] = lambda _settings: None
    _hashed: dict[str, tuple[tuple[int, ...], str]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._log = ExtractionLog(self.files, self.clock)

    def extractors(self, names: Sequence[str] = ()) -> tuple[Extractor, ...]:
        """The extractors in the settings, or the named ones among them.

        Raises:
            ConfigError: No such extractor.
            ExtractionRefused: It is not in the settings.
        """
        wanted = self.config().extraction.extractors
        for name in names:
            if name not in wanted:
                raise ExtractionRefused(
                    f"extractor {name!r:.60} is not enabled",
                    where="extraction.extractors",
                    hint=f"choose from {', '.join(wanted)}, or add it there",
                )
        return extractors_named(tuple(name for name in wanted if not names or name in names))

    def runner(
        self,
        names: Sequence[str] = (),
        *,
        target: Files | None = None,
        repository: Callable[[], Repository] | None = None,
        since: str = "",
        patient: bool = False,
    ) -> Runner:
        """A runner with the effective settings; see ``Runner``.

        Args:
            names: Extractors; by default all in the settings.
            target: Where to write knowledge; by default the workspace itself.
            repository: The repository of ``target``.
            since: As ``Runner.since``.
            patient: As ``Runner.patient``.

        Raises:
            ConfigError, ExtractionRefused: As ``extractors``.
        """
        config, found = self.config(), self.extractors(names)
        completer = self.model(config.extraction)
        asker = None
        if completer is not None:
            spending = self.costs().account("extract", completer)
            asker = Asker(completer, config.extraction, SYSTEM, "extraction.max_tokens", spending)
        where = repository or self.repository
        recaps = replace(self.recaps(), source=self.files, target=target or self.files, repository=where)
        return Runner(
            self.files,
            target or self.files,
            found,
            lambda paths, message: commit_change(where, paths, message, wanted=self.config().git.auto_commit),
            self.clock,
            self.on_problem,
            recaps,
            asker,
            config.days.time_zone,
            since,
            patient,
            self._log if target is None else None,
            self._hashed,
        )

    def log(self) -> ExtractionLog:
        """The record of extractions."""
        return self._log

    def path_of(self, name: str) -> str:
        """The path of a session, from its id or path.

        Raises:
            ExtractionRefused: No such session.
        """
        found = find_session(self.files.workspace, name)
        if found is not None:
            return found
        path = name.removeprefix("./")
        if "/" in path and self.files.workspace.holds(path):
            return path
        raise ExtractionRefused(f"no session {name!r:.80}", hint="list them: autopoiesis session list")

    def price_of(self, survey: Survey) -> float | None:
        """Estimated cost of a run's input in US dollars; ``None`` if no price is known."""
        completer = self.model(self.config().extraction)
        if completer is None or not survey.tokens:
            return 0.0
        price = self.costs().prices.price(completer.model, elsewhere=bool(completer.address))
        return None if price is None else survey.tokens * price.input / 1e6

    def session_ended(self, path: str) -> Report | None:
        """Writes the recap of a session that has just ended, and extracts it, as the settings say.

        Errors are reported, not raised; the next run retries the session.
        """
        self.recaps().write_wanted([path])
        if self.config().lifecycle.extraction_trigger != "on_session_end":
            return None
        try:
            return self.runner().run([path])
        except AutopoiesisError as error:
            self.on_problem(f"{path} was not extracted: {error}")
            return None
