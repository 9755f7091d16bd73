"""Runs extractors over sessions, from the files of one workspace into those of the same or another one.

A session is read once by each extractor, version, model and task: what the record says is done is not done
again. So a run that was stopped or killed goes on where it was.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from engine.errors import AutopoiesisError, ExtractionRefused, ReadOnly, WriteFailed
from engine.knowledge.category_files import refuse_broken_files
from engine.knowledge.digest import Digest
from engine.knowledge.harvest.classify import TRANSCRIPTS, Classifier, hash_of, paths_in
from engine.knowledge.harvest.source_line import find_source_line
from engine.knowledge.item import Item, Origin, item_id, normalised
from engine.knowledge.plan import plan
from engine.knowledge.proposed import why_held
from engine.knowledge.review import ReviewQueue, pending_items
from engine.lifecycle.extraction.log import By, Done, ExtractionLog, ExtractionRecord, done_in
from engine.lifecycle.extraction.reading import Reading, by_of, questions_of, read, tokens_of, windows_of
from engine.lifecycle.extraction.session import Known, Session, known_in, read_session
from engine.lifecycle.extraction.settle import Commit, Finding, Settled, Settler
from engine.lifecycle.extraction.unaided import ASKED
from engine.provenance.hold import OUTSIDE, Doubt
from engine.transcripts.places import head_fields, read_head

if TYPE_CHECKING:
    from engine.knowledge.edit import Plan
    from engine.knowledge.harvest.inquiry import Asker
    from engine.lifecycle.extraction.extractor import Extractor
    from engine.provenance.voices import Voices
    from engine.store.files import Files

IDLE_MINUTES = 60
"""A session that has not ended and was written to less long ago is taken to be live."""

Outcome = Literal["extracted", "failed", "skipped", "changed"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A session and what is due in it."""

    path: str  # workspace-relative
    size: int  # bytes
    sha256: str = ""  # empty where the bytes were not looked at
    due: tuple[By, ...] = ()  # what would read it
    why: str = ""  # why nothing is due, one clause
    is_done: bool = False  # nothing is due because all was read before
    windows: int = 0  # in which a model would be shown it
    tokens: int = 0  # that a model would be sent, for all extractors together, about


@dataclass(frozen=True, slots=True)
class Survey:
    """What a run would do."""

    candidates: tuple[Candidate, ...]  # by path, and so by time
    provider: str = ""  # empty where no model is asked
    model: str = ""

    @property
    def due(self) -> tuple[Candidate, ...]:
        """Those with something to do."""
        return tuple(each for each in self.candidates if each.due)

    @property
    def tokens(self) -> int:
        """About how many tokens would be sent."""
        return sum(each.tokens for each in self.candidates)

    @property
    def questions(self) -> int:
        """How often a model would be asked, if each reply could be used."""
        return sum(each.windows * sum(bool(by.provider) for by in each.due) for each in self.candidates)


@dataclass(frozen=True, slots=True)
class Preview:
    """What a session would add, as knowledge stands now; nothing is written."""

    path: str
    plan: Plan
    readings: tuple[Reading, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a session."""

    path: str
    outcome: Outcome
    records: tuple[ExtractionRecord, ...] = ()  # one for each extractor that has read it
    held: int = 0  # items that wait for a person, for the first time
    commit: str = ""  # object name; empty where there is no commit
    uncommitted: str = ""  # why there is no commit; empty too where there was nothing to commit
    error: str = ""  # why it was not read, or not all of it


@dataclass(frozen=True, slots=True)
class Report:
    """What a run has done."""

    results: tuple[Result, ...]
    recovered: tuple[str, ...] = ()  # sessions whose interrupted extraction was finished first
    stopped: str = ""
    """Why the rest was not looked at: ``stopped`` by a person, or a cause that every other session would meet
    too; empty if all were."""


def _doubt(item: Item, said: Voices) -> Doubt | None:
    """Why an item waits for a person. That somebody asked something, in their very words, rests on nothing
    that was read from outside, as it would if it were stated.
    """
    doubt = why_held(item, said)
    if doubt is not None and doubt.reason == OUTSIDE and item.text.startswith(ASKED):
        words = normalised(item.text.removeprefix(ASKED).rstrip("…"))
        if words in normalised(said.person):
            return None
    return doubt


@dataclass(eq=False)
class Runner:
    """Runs extractors. One run at a time for each object; ``stop`` may be called from any thread.

    ``source`` holds the sessions, the pages that say how things are called, and the workspace's own tasks;
    ``target`` gets knowledge, review queue and record. ``asker`` asks the model, if there is one.
    ``since`` makes records older than a moment, ISO 8601 in UTC, not count: all is read again, once.
    ``patient`` leaves what has failed alone for a while, unless it is named: nobody asked for it, and each
    attempt may cost. ``record`` is that of ``target``, where it was read before. ``hashed`` is what is known
    of sessions that had ended, by path: how their files were, and the sha256 of their bytes; it is added to.
    """

    source: Files
    target: Files
    extractors: Sequence[Extractor]
    commit: Commit
    clock: Callable[[], datetime]
    on_problem: Callable[[str], None]
    asker: Asker | None = None
    zone: str = ""
    since: str = ""
    patient: bool = False
    record: ExtractionLog | None = None
    hashed: MutableMapping[str, tuple[tuple[int, ...], str]] = field(default_factory=dict)
    _stopped: threading.Event = field(default_factory=threading.Event, init=False)

    @cached_property
    def log(self) -> ExtractionLog:
        """The record of what was read."""
        return self.record or ExtractionLog(self.target, self.clock)

    @cached_property
    def _settler(self) -> Settler:
        review, digest = ReviewQueue(self.target, self.clock), Digest(self.target)
        return Settler(self.target, self.log, review, digest, self.commit, self.on_problem)

    def survey(self, paths: Sequence[str] = (), *, sized: bool = True) -> Survey:
        """What a run over some sessions would do; over all that have ended where none is named.

        Args:
            sized: Read those that are due, to say what a model would be sent.

        Raises:
            ExtractionRefused: A path is no session.
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
        """What a session would add where no model is asked.

        Raises:
            DocumentError: A file of knowledge cannot be added to.
            FileNotFoundError, PathRefused: As ``Files.read``.
        """
        session = read_session(self.source, path, known_in(self.source), self.zone)
        readings = tuple(read(each, session, None, self.source) for each in self.extractors)
        return Preview(path, self._planned(session, readings, done_in(self.log.all(), self.since)), readings)

    def run(
        self,
        paths: Sequence[str] = (),
        on_result: Callable[[Result, int, int], None] = lambda _result, _done, _all: None,
    ) -> Report:
        """Reads what is due in some sessions, and writes down what is found; see ``survey``.

        ``on_result`` is told of each session, with the number of those that are done and of all that are due.

        Raises:
            ExtractionRefused: A path is no session.
            DocumentError: A category file cannot be added to, or a task cannot be read; no model was asked.
            WriteFailed, ReadOnly: The workspace cannot be written; the next run finishes what was begun.
        """
        self.target.refuse_read_only("knowledge")
        self._stopped.clear()
        recovered = tuple(each.path for each in self._settler.recover())
        survey = self.survey(paths, sized=False)
        due = survey.due
        if self.patient and not due:
            return Report((), recovered)  # what is left is committed with the next batch
        self._settler.commit_left()
        refuse_broken_files(self.target)
        results: list[Result] = []
        stopped = ""
        for number, candidate in enumerate(due, 1):
            if self._stopped.is_set():
                stopped = "stopped"
                break
            try:
                result, lasting = self._one(candidate)
            except FileNotFoundError:
                result, lasting = Result(candidate.path, "changed", error="it was taken away meanwhile"), ""
            except (WriteFailed, ReadOnly):
                raise  # every other session would meet that too, after a model was paid for it
            except AutopoiesisError as error:
                lasting = str(error) if error.lasting else ""
                result = Result(candidate.path, "failed", error=str(error))
            results.append(result)
            on_result(result, number, len(due))
            if lasting:
                stopped = lasting
                break
        empty = sum(bool(each.records) and not (each.commit or each.uncommitted) for each in results)
        if empty:
            self._settler.commit_record(empty)
        named = [Result(each.path, "skipped", error=each.why) for each in survey.candidates if not each.due]
        return Report((*results, *(named if paths else ())), recovered, stopped)

    def questions(self) -> Iterator[str]:
        """What ``run`` asks a model first about the sessions that are due, word for word; raises as that."""
        known = known_in(self.source)
        for candidate in self.survey(sized=False).due:
            names = {by.extractor for by in candidate.due if by.provider}
            with contextlib.suppress(AutopoiesisError, FileNotFoundError):  # the run says why
                session = read_session(self.source, candidate.path, known, self.zone)
                if session.source.state in ("read", "empty"):
                    for extractor in self.extractors:
                        if extractor.name in names:
                            yield from questions_of(extractor, session, self.source)

    def stop(self) -> None:
        """Ends a run after the session that is under way; a question to a model is given up."""
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
            raise ExtractionRefused("there is no such session", where=path) from None
        except (OSError, AutopoiesisError) as error:
            return Candidate(path, 0, why=f"cannot be read: {error}")
        due = tuple(by for by in readers if (sha256, by) not in done.readings)
        if not due:
            return Candidate(path, size, sha256, why="was read before", is_done=True)
        if self.patient and not named:
            due = tuple(by for by in due if not done.rests(sha256, by, self.clock()))
        return Candidate(path, size, sha256, due, "" if due else "failed, and is left alone for now")

    def _live(self, path: str) -> str:
        real = self.source.workspace.resolve(path)
        written = datetime.fromtimestamp(real.stat().st_mtime, UTC)
        fields = head_fields(read_head(real), ("started", "ended"))
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

    def _one(self, candidate: Candidate) -> tuple[Result, str]:
        """Reads a session and writes down what was found; and why no other one can be read, if that is so."""
        session = read_session(self.source, candidate.path, known_in(self.source), self.zone)
        source = session.source
        if source.state not in ("read", "empty"):
            return Result(candidate.path, "skipped", error=source.why), ""
        names = {by.extractor for by in candidate.due}
        readings: list[Reading] = []
        lasting = ""
        for extractor in self.extractors:
            if extractor.name in names:
                reading = read(extractor, session, self.asker, self.source)
                readings.append(reading)
                if reading.lasting or self._stopped.is_set():
                    lasting = reading.error if reading.lasting else ""
                    break
        if self._stopped.is_set():
            # What a question that was given up would have brought is asked for anew.
            readings = [each for each in readings if not each.error]
        errors = [f"{each.by.extractor}: {each.error}" for each in readings if each.error]
        kept = [each for each in readings if not (each.lasting and not each.input_tokens)]
        if not kept:
            return Result(candidate.path, "failed", error="; ".join(errors)), lasting
        with self.target.lock():
            if hash_of(self.source, candidate.path)[0] != source.sha256:
                return Result(candidate.path, "changed", error="it was changed meanwhile"), lasting
            done = done_in(self.log.all(), self.since)
            kept = [each for each in kept if (source.sha256, each.by) not in done.readings]
            if not kept:
                return Result(
                    candidate.path, "skipped", error="the same was read under another name"
                ), lasting
            settled = self._settler.settle(self._finding(session, kept, done))
        outcome: Outcome = "failed" if errors else "extracted"
        return self._result(settled, outcome, "; ".join(errors)), lasting

    def _result(self, settled: Settled, outcome: Outcome, error: str) -> Result:
        return Result(
            settled.path, outcome, settled.records, settled.held, settled.commit, settled.uncommitted, error
        )

    def _planned(self, session: Session, readings: Sequence[Reading], done: Done) -> Plan:
        """What is to be written, what is there, and what waits. What an earlier reading has found is decided:
        it stands, waits, was turned down, or the person has taken it away.
        """
        source = session.source
        origin = Origin(source.name, session.day, session=source.session)
        items = [item for each in readings for item in each.items]
        new = [item for item in items if item_id(item, origin.name) not in done.ids]
        return plan(new, origin, self.target, held=lambda item: _doubt(item, source.voices))

    def _finding(self, session: Session, readings: Sequence[Reading], done: Done) -> Finding:
        source = session.source
        decided = self._planned(session, readings, done)
        origin = Origin(source.name, session.day, session=source.session)
        at = self.clock().astimezone(UTC).isoformat(timespec="microseconds")
        there = {item_id(each.item, origin.name) for each in decided.known} | done.ids
        data = b""
        with contextlib.suppress(FileNotFoundError, AutopoiesisError):
            data = self.source.read(source.path) if decided.held else b""
        records = []
        for each in readings:
            ids = tuple(dict.fromkeys(item_id(item, origin.name) for item in each.items))
            records.append(
                ExtractionRecord(
                    at,
                    source.path,
                    source.sha256,
                    each.by,
                    "failed" if each.error else "extracted",
                    source.session,
                    ids,
                    known=sum(name in there for name in ids),
                    refused=each.refused,
                    input_tokens=each.input_tokens,
                    output_tokens=each.output_tokens,
                    cost_usd=each.cost_usd,
                    error=each.error,
                )
            )
        return Finding(
            path=source.path, sha256=source.sha256, session=source.session, day=session.day,
            records=tuple(records),
            edits=decided.edits,
            waiting=pending_items(
                decided.held,
                at=at,
                origin=origin,
                source=source.path,
                sha256=source.sha256,
                locate=lambda item: find_source_line(item, data),
            ),
        )  # fmt: skip
