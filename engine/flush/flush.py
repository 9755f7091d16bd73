"""The flush before turns leave the window (spec 6.4): what a model notes of them is added to memory's files.

Nothing is written that was not checked first, and what is written is only ever added. The order of a flush:
ask, without any lock; check the reply; under the workspace's lock look whether the turns are still what was
shown; journal the lines; add each to its file, once; commit the files; record the flush; drop the journal.
Whoever is killed on the way leaves a journal, which the next flush finishes before anything else.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from engine.context.flush import FlushPlan, Part, digest, plan
from engine.context.flush_prompt import SYSTEM, BadReply, prompt_of, read_reply
from engine.context.flush_record import FlushRecord, HeldNote, WrittenNote, record_in
from engine.context.history import sizes
from engine.errors import AutopoiesisError, DocumentError, PathRefused
from engine.flush.notes import NoteLine, NoteRefused, add, line_for, line_of, projects
from engine.flush.secrets import without_secrets
from engine.provenance.hold import SECRET, Doubt, doubt_of
from engine.provenance.spoken import voices_of
from engine.redaction.detect import redact
from engine.store.paths import slugify, valid_session_id
from engine.store.zone import local_day
from engine.transcripts.turn import Turn

if TYPE_CHECKING:
    from engine.activation.asking import Asked, Question
    from engine.activation.completion import Completed, Completer, Spending
    from engine.conversations.conversations import Conversation, Conversations
    from engine.flush.log import FlushLog
    from engine.settings.model import FlushSettings
    from engine.store.change import ChangeCommit
    from engine.store.files import Files

JOURNALS = "scratch/flush"
"""Where a flush that is being written down leaves its journal."""


class Flusher:
    """Flushes the turns of conversations. Safe to use from several threads and processes.

    Args:
        files: The workspace's write path.
        conversations: Reads the conversations.
        log: The record of flushes.
        settings: Today's settings.
        completer: Who takes notes with these settings; ``None`` when nobody does.
        commit: Commits files that were written, with a message.
        clock: Now, UTC.
        on_problem: Told of a journal that cannot be read.
        hold: Puts the held notes of a flush before a person, again where it has before; gives the files to
            commit with it.
        spending: Who keeps the accounts of a provider.
        zone: The time zone whose days count: a journal is about one of them.
    """

    def __init__(
        self,
        files: Files,
        conversations: Conversations,
        log: FlushLog,
        settings: Callable[[], FlushSettings],
        completer: Callable[[FlushSettings], Completer | None],
        *,
        commit: Callable[[Sequence[str], str], ChangeCommit],
        clock: Callable[[], datetime],
        on_problem: Callable[[str], None],
        hold: Callable[[FlushRecord, str], Sequence[str]] = lambda _record, _day: (),
        spending: Callable[[Completer], Spending | None] = lambda _completer: None,
        zone: Callable[[], str] = lambda: "",
    ) -> None:
        self.log = log
        self._commit = commit
        self._files = files
        self._conversations = conversations
        self._settings = settings
        self._zone = zone
        self._completer = completer
        self._clock = clock
        self._on_problem = on_problem
        self._hold = hold
        self._spending = spending
        self._guard = threading.Lock()
        self._under_way: set[Question] = set()

    @property
    def has_provider(self) -> bool:
        """Whether a provider is set that can be asked."""
        return self._settings().provider != "none"

    def plan(
        self,
        conversation: Conversation,
        room: int,
        *,
        dropped: int = 0,
        everything: bool = False,
        again: bool = False,
    ) -> FlushPlan:
        """What is due in a conversation.

        Args:
            conversation: The conversation.
            room: Tokens that its history has in the prompt.
            dropped: How many of its oldest turns a prompt had no room for.
            everything, again: As ``engine.context.flush.plan``.
        """
        turns = _numbered(conversation)
        settings = self._settings()
        return plan(
            turns,
            room,
            self.log.recorded(conversation.path, turns),
            at=settings.at,
            dropped=[number for number, _ in sizes(turns)][:dropped],
            with_provider=settings.provider != "none",
            everything=everything,
            again=again,
        )

    def run(
        self, conversation: Conversation, parts: Sequence[Part], *, most: int | None = None, why_not: str = ""
    ) -> Iterator[FlushRecord]:
        """Flushes parts of a conversation, oldest first, and gives the record of each.

        After a provider failed, the parts that are left are recorded without asking it again.

        Args:
            conversation: The conversation.
            parts: What a plan says is due.
            most: How many parts a provider is asked about; the others are recorded as unflushed.
            why_not: Why no provider is to be asked at all.

        Raises:
            WriteFailed, ReadOnly: Something was not written. Lines that were not are written by ``recover``.
        """
        self.recover()
        settings = self._settings()
        completer = self._completer(settings)
        if completer is None:
            why_not = "no provider is set (flush.provider)"
        spending = None if completer is None else self._spending(completer)
        for asked, part in enumerate(parts):
            if self._is_flushed(conversation.path, part):
                # By a flush that was interrupted, or by another program, since the plan was made.
                continue
            record = self._blank(conversation, part)
            if not why_not and most is not None and asked >= most:
                name = conversation.session_id or conversation.path
                why_not = f"{len(parts)} parts were due at once; run: autopoiesis session flush {name}"
            if not why_not and spending is not None:
                why_not = _refused(spending)
            if why_not or completer is None:
                yield self._kept(replace(record, status="unflushed", error=why_not))
                continue
            turns, secrets = without_secrets(part.turns)
            prompt, in_part = prompt_of(turns, projects(self._files.workspace))
            record = replace(
                record, in_part=in_part, redacted=secrets, provider=completer.name, model=completer.model
            )
            answer = self._ask(completer, prompt, settings)
            if answer.completed is None:
                yield self._kept(replace(record, error=answer.error))
                why_not = "not asked, because the provider had just failed"
                continue
            if spending is not None:
                spending.spent(answer.completed, (), conversation.session_id)
            yield self._noted(conversation, part, record, answer.completed)

    def recover(self) -> list[FlushRecord]:
        """Finishes the flushes that were interrupted while they were written down.

        Raises:
            WriteFailed: One cannot be finished now; its journal stays.
        """
        folder = self._files.workspace.root / JOURNALS
        if self._files.read_only or not folder.is_dir() or not self._files.workspace.holds(JOURNALS):
            return []
        finished: list[FlushRecord] = []
        with self._files.lock():
            for path in sorted(folder.glob("*.json")):
                name = f"{JOURNALS}/{path.name}"
                journal = _journal_in(self._files.read(name))
                if journal is None:
                    # Whatever it was about is not on record, so it is due again.
                    self._on_problem(f"{name}: cannot be read; its turns are flushed anew")
                    self._files.remove(name)
                    continue
                finished.append(self._settle(name, *journal))
        return finished

    def close(self) -> None:
        """Gives up the questions that are under way; they are recorded as failed."""
        with self._guard:
            under_way = list(self._under_way)
        for question in under_way:
            question.give_up()

    def _blank(self, conversation: Conversation, part: Part) -> FlushRecord:
        digests = part.digests
        name = hashlib.sha256(repr((conversation.path, digests)).encode("utf-8", "replace")).hexdigest()[:12]
        return FlushRecord(
            id=name,
            at=self._clock().isoformat(timespec="seconds"),
            session=conversation.session_id,
            path=conversation.path,
            first=part.first,
            last=part.last,
            turns=digests,
            status="failed",
        )

    def _kept(self, record: FlushRecord) -> FlushRecord:
        self.log.append(record)
        return record

    def _ask(self, completer: Completer, prompt: str, settings: FlushSettings) -> Asked:
        from engine.activation.asking import Question  # noqa: PLC0415 — brings asyncio, and most flushes ask nobody

        question = Question(completer, SYSTEM, prompt, settings, group="flush")
        with self._guard:
            self._under_way.add(question)
        try:
            return question.answer()
        finally:
            with self._guard:
                self._under_way.discard(question)

    def _noted(
        self,
        conversation: Conversation,
        part: Part,
        record: FlushRecord,
        completed: Completed,
    ) -> FlushRecord:
        """Writes down what a reply says about a part."""
        record = replace(
            record,
            model=completed.model or record.model,
            input_tokens=completed.input_tokens,
            output_tokens=completed.output_tokens,
            cost_usd=completed.cost_usd,
        )
        try:
            notes = read_reply(completed.text, cut=completed.cut)
        except BadReply as error:
            return self._kept(replace(record, error=str(error)))
        known = set(projects(self._files.workspace))
        # What was read before these turns stands behind what is said in them.
        said = voices_of(turn for number, turn in _numbered(conversation) if number <= part.last)
        day = _day_of(conversation, part, self._zone())
        lines: list[NoteLine] = []
        held: list[HeldNote] = []
        for note in notes:
            project = note.to.partition(":")[2]
            text, secrets = redact(note.text)
            doubt = Doubt(SECRET) if secrets else None
            doubt = doubt or doubt_of(note.text, said, is_tool=note.source == "tool", needs_ground=False)
            if doubt is None and project and project not in known:
                doubt = Doubt(f"there is no project {project}")
            if doubt is not None:
                held.append(HeldNote(note.to, text, doubt.why, doubt.read))
                continue
            name = _source_name(conversation.session_id, conversation.path)
            lines.append(
                line_for(note.to, note.text, day=day, session=name, first=part.first, last=part.last)
            )
        record = replace(record, status="nothing", held=tuple(held))
        with self._files.lock():
            stale = self._if_stale(part, record)
            if stale is not None:
                return self._kept(stale)
            if not lines and not held:
                return self._kept(record)
            journal = f"{JOURNALS}/{record.id}.json"
            tree = {"record": asdict(record), "lines": [asdict(line) for line in lines], "day": day}
            self._files.replace(journal, json.dumps(tree).encode())
            return self._settle(journal, record, lines, day)

    def _if_stale(self, part: Part, record: FlushRecord) -> FlushRecord | None:
        """The record of a flush whose turns are no longer what was shown, or have been flushed meanwhile."""
        now = self._conversations.read(record.path)
        turns = {} if now is None else dict(_numbered(now))
        same = [
            number
            for number, name in record.turns.items()
            if number in turns and digest(turns[number]) == name
        ]
        if len(same) != len(record.turns):
            return replace(record, status="failed", error="the conversation has changed meanwhile", held=())
        if self._is_flushed(record.path, part):
            return replace(
                record, error="flushed by another program meanwhile; this reply was not used", held=()
            )
        return None

    def _is_flushed(self, path: str, part: Part) -> bool:
        known = self.log.recorded(path, part.turns)
        return all(number in known and known[number].state == "flushed" for number, _ in part.turns)

    def _settle(self, journal: str, record: FlushRecord, lines: Sequence[NoteLine], day: str) -> FlushRecord:
        """Adds the lines, puts up what is held, commits, records the flush and drops its journal; may be
        repeated.

        The lock is held.
        """
        written: list[WrittenNote] = []
        held = list(record.held)
        for line in lines:
            try:
                add(self._files, line, day)
            except (NoteRefused, PathRefused, DocumentError) as error:
                held.append(HeldNote(line.to, line.said, str(error)))
            else:
                written.append(WrittenNote(line.id, line.path, 0, line.text))
        # Further notes may have moved a line down.
        places = {line.id: line_of(self._files, line) for line in lines}
        items = tuple(replace(note, line=places[note.id]) for note in written)
        record = replace(record, status="flushed" if items else "nothing", items=items, held=tuple(held))
        paths = [*dict.fromkeys(note.path for note in items), *(self._hold(record, day) if held else ())]
        if paths:
            done = self._commit(paths, _message(record))
            record = replace(record, commit=done.revision, uncommitted=done.why)
        for known in self.log.records(record.path):
            if known.id == record.id and known.status in ("flushed", "nothing"):
                record = known
                break
        else:
            self.log.append(record)
        self._files.remove(journal)
        return record


def _refused(spending: Spending) -> str:
    """Why nothing may be asked any more; empty while it may."""
    try:
        spending.allow()
    except AutopoiesisError as error:
        return str(error)
    return ""


def _numbered(conversation: Conversation) -> list[tuple[int, Turn]]:
    return list(enumerate(conversation.turns, conversation.first + 1))


def _day_of(conversation: Conversation, part: Part, zone: str) -> str:
    return local_day(conversation.times[part.last - 1 - conversation.first], zone).isoformat()


def _source_name(session_id: str, path: str) -> str:
    """How notes name a conversation: its session, or its file where that has none or an odd one."""
    return session_id if valid_session_id(session_id) else slugify(PurePosixPath(path).stem)


def _message(record: FlushRecord) -> str:
    """What the commit of a flush's notes says (spec 10.1)."""
    turns = f"turn {record.first}" if record.first == record.last else f"turns {record.first}–{record.last}"
    name = _source_name(record.session, record.path)
    return f"memory: notes of {name}, {turns}\n\nSession: {record.path}"


def _journal_in(data: bytes) -> tuple[FlushRecord, list[NoteLine], str] | None:
    with contextlib.suppress(ValueError, RecursionError, KeyError, TypeError):
        tree: Mapping[str, Any] = json.loads(data)
        record = record_in(tree["record"])
        lines = [NoteLine(**line) for line in tree["lines"]]
        texts = [tree["day"], *(text for line in tree["lines"] for text in line.values())]
        if record is not None and all(isinstance(text, str) for text in texts):
            return record, lines, tree["day"]
    return None
