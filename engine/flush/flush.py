"""The flush before turns leave the window (spec 6.4): what a model notes of them is added to memory's files.

Nothing is written that was not checked first, and what is written is only ever added. The order of a flush:
ask, without any lock; check the reply; under the workspace's lock look whether the turns are still what was
shown; journal; write the lines and put up what waits for a person, as a harvest does; commit; record the
flush; drop the journal.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import datetime
from functools import cached_property, partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engine.context.flush_record import FlushRecord, HeldNote, WrittenNote
from engine.context.history import sizes
from engine.errors import AutopoiesisError
from engine.flush.due import FlushPlan, Part, digest, plan
from engine.flush.prompt import SYSTEM, BadReply, Note, prompt_of, read_reply
from engine.knowledge.apply import is_there, write_all
from engine.knowledge.edit import Held
from engine.knowledge.harvest.prompt import without_secrets
from engine.knowledge.harvest.said import where_said
from engine.knowledge.item import ITEM_CHARACTERS, Item, Origin, item_id
from engine.knowledge.journal import Journal, Work, decoded, encoded
from engine.knowledge.plan import plan as plan_of
from engine.knowledge.proposed import NO_PROJECT, why_held
from engine.knowledge.review import Waiting, waiting_for
from engine.knowledge.session_notes import path_of, place_of, projects
from engine.provenance.hold import SECRET
from engine.provenance.spoken import voices_of
from engine.redaction.detect import redact
from engine.store.commit_message import commit_message
from engine.store.paths import slugify, valid_session_id
from engine.store.zone import local_day
from engine.transcripts.turn import Turn

if TYPE_CHECKING:
    from engine.conversations.conversations import Conversation, Conversations
    from engine.flush.log import FlushLog
    from engine.knowledge.review import ReviewQueue
    from engine.providers.asking import Asked, Question
    from engine.providers.chat import ChatProvider, ChatReply, Spending
    from engine.settings.model import FlushSettings
    from engine.store.change import ChangeCommit
    from engine.store.files import Files

JOURNALS = "scratch/flush"
"""Where a flush that is being written down leaves its journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Noted(Work):
    """What is to be written of a flush; its record says nothing yet of what was written and what waits."""

    record: FlushRecord
    day: str


@dataclass(eq=False)
class Flusher:
    """Flushes the turns of conversations. Safe to use from several threads and processes.

    ``completer`` is ``None`` when no provider is to take notes. ``zone`` is the time zone whose days count: a
    journal covers one of them.
    """

    files: Files
    conversations: Conversations
    log: FlushLog
    settings: Callable[[], FlushSettings]
    completer: Callable[[FlushSettings], ChatProvider | None]
    _: KW_ONLY
    commit: Callable[[Sequence[str], str], ChangeCommit]
    clock: Callable[[], datetime]
    on_problem: Callable[[str], None]
    review: Callable[[], ReviewQueue]
    spending: Callable[[ChatProvider], Spending | None] = lambda _completer: None
    zone: Callable[[], str] = lambda: ""
    _has_looked_behind: bool = field(default=False, init=False)
    _guard: threading.Lock = field(default_factory=threading.Lock, init=False)
    _under_way: set[Question] = field(default_factory=set, init=False)

    @cached_property
    def _journal(self) -> Journal[_Noted]:
        lost = "its turns are flushed anew"
        return Journal(self.files, JOURNALS, encoded, partial(decoded, _Noted), lost, self.on_problem)

    @property
    def has_provider(self) -> bool:
        """Whether a provider is set that can be asked."""
        return self.settings().provider != "none"

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

        ``room`` is the tokens that the history has in the prompt, ``dropped`` the number of its oldest turns
        that a prompt had no room for. ``everything`` and ``again`` are those of ``engine.flush.due.plan``.
        """
        turns = _numbered(conversation)
        settings = self.settings()
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

        ``most`` limits how many parts a provider is asked about; the others are recorded as unflushed.
        ``why_not`` says why no provider is to be asked at all; empty to ask.

        Raises:
            WriteFailed, ReadOnly: Something was not written. Lines that were not are written by ``recover``.
        """
        self.recover()
        settings = self.settings()
        completer = self.completer(settings)
        if completer is None:
            why_not = "no provider is set (flush.provider)"
        spending = None if completer is None else self.spending(completer)
        for asked, part in enumerate(parts):
            if self._is_flushed(conversation.path, part):
                # By a flush that was interrupted, or by another program, since the plan was made.
                continue
            record = self._blank(conversation, part)
            if not why_not and most is not None and asked >= most:
                name = conversation.session_id or conversation.path
                why_not = f"{len(parts)} parts were due at once; run: autopoiesis session flush {name}"
            if not why_not and spending is not None:
                try:
                    spending.allow()
                except AutopoiesisError as error:
                    why_not = str(error)
            if why_not or completer is None:
                yield self._kept(replace(record, status="unflushed", error=why_not))
                continue
            turns, secrets = without_secrets(part.turns)
            prompt, in_part = prompt_of(turns, projects(self.files.workspace))
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
        finished = self._journal.finish(self._settle)
        if not self._has_looked_behind and not self.files.read_only:
            self._has_looked_behind = True
            if left := _left_behind(self.log.all()):
                known = self.review().ids()
                self.review().put(each for each, ids in left if known.isdisjoint(ids))
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
            at=self.clock().isoformat(timespec="seconds"),
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

    def _ask(self, completer: ChatProvider, prompt: str, settings: FlushSettings) -> Asked:
        from engine.providers.asking import Question  # noqa: PLC0415 — brings asyncio, and most flushes ask no model

        question = Question(
            completer, SYSTEM, prompt, max_tokens=settings.max_tokens, deadline_s=settings.deadline_s
        )
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
        completed: ChatReply,
    ) -> FlushRecord:
        """Writes down what a reply says about a part."""
        record = replace(
            record,
            model=completed.model or record.model,
            input_tokens=completed.usage.input_tokens,
            output_tokens=completed.usage.output_tokens,
            cost_usd=completed.cost_usd,
        )
        try:
            notes = read_reply(completed.text, cut=completed.cut)
        except BadReply as error:
            return self._kept(replace(record, error=str(error)))
        # What was read before these turns stands behind what is said in them.
        said = voices_of(turn for number, turn in _numbered(conversation) if number <= part.last)
        last = conversation.times[part.last - 1 - conversation.first]
        day = local_day(last, self.zone()).isoformat()
        origin, known = _origin_of(record, day), projects(self.files.workspace)
        items = [_item_of(note, day, known) for note in notes]
        decided = plan_of(items, origin, self.files, held=lambda item: why_held(item, said))
        with self.files.lock():
            stale = self._if_stale(part, record)
            if stale is not None:
                return self._kept(stale)
            record = replace(record, status="nothing")
            if not notes:
                return self._kept(record)
            where = self._finder(record.path) if decided.held else lambda _item: (0, "")
            waiting = waiting_for(
                decided.held, at=record.at, origin=origin, source=record.path, sha256="", where=where
            )
            noted = _Noted(record=record, day=day, edits=decided.edits, waiting=waiting)
            self._journal.keep(record.id, noted)
            return self._settle(record.id, noted)

    def _finder(self, path: str) -> Callable[[Item], tuple[int, str]]:
        """Finds the line of a conversation that says something; none if that is too long to read."""
        try:
            data = self.files.read(path)
        except (AutopoiesisError, FileNotFoundError):
            data = b""
        return lambda item: where_said(item, data)

    def _if_stale(self, part: Part, record: FlushRecord) -> FlushRecord | None:
        """The record of a flush whose turns are no longer what was shown, or have been flushed meanwhile."""
        now = self.conversations.read(record.path)
        turns = {} if now is None else dict(_numbered(now))
        same = (number in turns and digest(turns[number]) == name for number, name in record.turns.items())
        if not all(same):
            return replace(record, status="failed", error="the conversation has changed meanwhile")
        if self._is_flushed(record.path, part):
            error = "flushed by another program meanwhile; this reply was not used"
            return replace(record, status="nothing", error=error)
        return None

    def _is_flushed(self, path: str, part: Part) -> bool:
        known = self.log.recorded(path, part.turns)
        return all(number in known and known[number].state == "flushed" for number, _ in part.turns)

    def _settle(self, journal: str, noted: _Noted) -> FlushRecord:
        """Writes the lines, puts up what waits, commits, records the flush and drops its journal; may be
        repeated.

        The lock is held.
        """
        record = noted.record
        written, refused = write_all(self.files, noted.edits)
        origin = _origin_of(record, noted.day)
        late = waiting_for(refused, at=record.at, origin=origin, source=record.path, sha256="")
        waiting = (*noted.waiting, *late)
        # Further notes may have moved a line down.
        items = tuple(
            WrittenNote(edit.id, edit.path, is_there(self.files, edit), edit.line) for edit in written
        )
        held = tuple(
            HeldNote(place_of(each.item.path), each.item.text, each.why, each.read, each.id)
            for each in waiting
        )
        record = replace(record, status="flushed" if items else "nothing", items=items, held=held)
        paths = [*dict.fromkeys(note.path for note in items)]
        if waiting:
            self.review().put(waiting)
            paths += self.review().paths
        if paths:
            done = self.commit(paths, _message(record))
            record = replace(record, commit=done.revision, uncommitted=done.why)
        before = (each for each in self.log.records(record.path) if each.id == record.id)
        known = next((each for each in before if each.status in ("flushed", "nothing")), None)
        if known is None:
            self.log.append(record)
        self._journal.drop(journal)
        return known or record


def _item_of(note: Note, day: str, known: Sequence[str]) -> Item:
    """A note as an item, with why a person has to look at it whatever it says."""
    text, secrets = redact(note.text)
    project = note.to.partition(":")[2]
    why = f"{NO_PROJECT}{project}" if project and project not in known else ""
    return Item("notes", text, path_of(note.to, day), note.source, SECRET if secrets else why)


def _numbered(conversation: Conversation) -> list[tuple[int, Turn]]:
    return list(enumerate(conversation.turns, conversation.first + 1))


def _message(record: FlushRecord) -> str:
    """What the commit of a flush's notes says (spec 10.1)."""
    turns = f"turn {record.first}" if record.first == record.last else f"turns {record.first}–{record.last}"
    name = _origin_of(record, "").name
    return commit_message("memory", f"notes of {name}, {turns}", sessions=[record.path])


def _origin_of(record: FlushRecord, day: str) -> Origin:
    """Where the notes of a flush come from: its session, or its file where that has none or an odd one."""
    is_named = valid_session_id(record.session)
    name = record.session if is_named else slugify(PurePosixPath(record.path).stem)
    return Origin(name, day, (record.first, record.last))


def _left_behind(records: Iterable[FlushRecord]) -> list[tuple[Waiting, frozenset[str]]]:
    """Notes that earlier versions held in the record of the flush alone, as the review queue takes them.

    Returns:
        Each with the ids under one of which it is in the queue, if it is: this, or that of a fact.
    """
    found: list[tuple[Waiting, frozenset[str]]] = []
    for record in records:
        day = record.at[:10]
        origin, name = _origin_of(record, day), record.session or PurePosixPath(record.path).stem
        for note in record.held:
            if note.id:
                continue
            item = Item("notes", note.text, path_of(note.to, day))
            held = Held(item_id(item, origin.name), item, note.reason, note.read)
            (each,) = waiting_for([held], at=record.at, origin=origin, source=record.path, sha256="")
            fact = item_id(Item("facts", note.text[:ITEM_CHARACTERS]), name)
            found.append((each, frozenset((each.id, fact))))
    return found
