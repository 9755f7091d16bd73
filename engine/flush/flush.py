"""The flush before turns leave the window (spec 6.4): what a model notes of them is added to memory's files.

Nothing is written that was not checked first, and what is written is only ever added. The order of a flush:
ask, without any lock; check the reply; under the workspace's lock look whether the turns are still what was
shown; journal; write the lines and put up what waits for a person, as a harvest does; commit; record the
flush; drop the journal.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from engine.context.flush_record import FlushRecord, HeldNote, WrittenNote
from engine.context.history import sizes
from engine.errors import AutopoiesisError
from engine.flush.due import FlushPlan, Part, digest, plan
from engine.flush.noted import Noted, decoded, encoded, left_behind, origin_of
from engine.flush.prompt import SYSTEM, BadReply, Note, prompt_of, read_reply
from engine.knowledge.apply import is_there, write_all
from engine.knowledge.harvest.held import why_held
from engine.knowledge.harvest.said import where_said
from engine.knowledge.item import Item
from engine.knowledge.journal import Journal
from engine.knowledge.plan import plan as plan_of
from engine.knowledge.proposed import NO_PROJECT
from engine.knowledge.review import waiting_for
from engine.knowledge.secrets import without_secrets
from engine.knowledge.session_notes import path_of, place_of, projects
from engine.provenance.hold import SECRET
from engine.provenance.spoken import voices_of
from engine.redaction.detect import redact
from engine.store.zone import local_day
from engine.transcripts.turn import Turn

if TYPE_CHECKING:
    from engine.conversations.conversations import Conversation, Conversations
    from engine.flush.log import FlushLog
    from engine.knowledge.review import ReviewQueue, Waiting
    from engine.providers.asking import Asked, Question
    from engine.providers.chat import ChatProvider, ChatReply, Spending
    from engine.settings.model import FlushSettings
    from engine.store.change import ChangeCommit
    from engine.store.files import Files

JOURNALS = "scratch/flush"
"""Where a flush that is being written down leaves its journal."""


class Flusher:
    """Flushes the turns of conversations. Safe to use from several threads and processes.

    ``completer`` is ``None`` when no provider is to take notes. ``zone`` is the time zone whose days count: a
    journal covers one of them.
    """

    def __init__(
        self,
        files: Files,
        conversations: Conversations,
        log: FlushLog,
        settings: Callable[[], FlushSettings],
        completer: Callable[[FlushSettings], ChatProvider | None],
        *,
        commit: Callable[[Sequence[str], str], ChangeCommit],
        clock: Callable[[], datetime],
        on_problem: Callable[[str], None],
        review: Callable[[], ReviewQueue],
        spending: Callable[[ChatProvider], Spending | None] = lambda _completer: None,
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
        self._review = review
        self._spending = spending
        self._journal = Journal(files, JOURNALS, encoded, decoded, "its turns are flushed anew", on_problem)
        self._has_looked_behind = False
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

        ``room`` is the tokens that the history has in the prompt, ``dropped`` the number of its oldest turns
        that a prompt had no room for. ``everything`` and ``again`` are those of ``engine.flush.due.plan``.
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

        ``most`` limits how many parts a provider is asked about; the others are recorded as unflushed.
        ``why_not`` says why no provider is to be asked at all; empty to ask.

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
        finished = self._journal.finish(self._settle)
        if not self._has_looked_behind and not self._files.read_only:
            self._has_looked_behind = True
            if left := left_behind(self.log.all()):
                known = self._review().ids()
                self._review().put(each for each, ids in left if known.isdisjoint(ids))
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
        day = _day_of(conversation, part, self._zone())
        origin, known = origin_of(record, day), projects(self._files.workspace)
        items = [_item_of(note, day, known) for note in notes]
        decided = plan_of(items, origin, self._files, held=lambda item: why_held(item, said))
        with self._files.lock():
            stale = self._if_stale(part, record)
            if stale is not None:
                return self._kept(stale)
            record = replace(record, status="nothing")
            if not notes:
                return self._kept(record)
            waiting = waiting_for(
                decided.held,
                at=record.at,
                origin=origin,
                source=record.path,
                sha256="",
                where=self._finder(record.path) if decided.held else lambda _item: (0, ""),
            )
            noted = Noted(record, day, decided.edits, waiting)
            self._journal.keep(record.id, noted)
            return self._settle(record.id, noted)

    def _finder(self, path: str) -> Callable[[Item], tuple[int, str]]:
        """Finds the line of a conversation that says something; none if that is too long to read."""
        try:
            data = self._files.read(path)
        except (AutopoiesisError, FileNotFoundError):
            data = b""
        return lambda item: where_said(item, data)

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
            return replace(record, status="failed", error="the conversation has changed meanwhile")
        if self._is_flushed(record.path, part):
            error = "flushed by another program meanwhile; this reply was not used"
            return replace(record, status="nothing", error=error)
        return None

    def _is_flushed(self, path: str, part: Part) -> bool:
        known = self.log.recorded(path, part.turns)
        return all(number in known and known[number].state == "flushed" for number, _ in part.turns)

    def _settle(self, journal: str, noted: Noted) -> FlushRecord:
        """Writes the lines, puts up what waits, commits, records the flush and drops its journal; may be
        repeated.

        The lock is held.
        """
        record = noted.record
        written, refused = write_all(self._files, noted.edits)
        origin = origin_of(record, noted.day)
        late = waiting_for(refused, at=record.at, origin=origin, source=record.path, sha256="")
        waiting = (*noted.waiting, *late)
        # Further notes may have moved a line down.
        items = tuple(
            WrittenNote(edit.id, edit.path, is_there(self._files, edit), edit.line) for edit in written
        )
        record = replace(
            record, status="flushed" if items else "nothing", items=items, held=tuple(map(_held, waiting))
        )
        paths = [*dict.fromkeys(note.path for note in items)]
        if waiting:
            self._review().put(waiting)
            paths += self._review().paths
        if paths:
            done = self._commit(paths, _message(record))
            record = replace(record, commit=done.revision, uncommitted=done.why)
        for known in self.log.records(record.path):
            if known.id == record.id and known.status in ("flushed", "nothing"):
                record = known
                break
        else:
            self.log.append(record)
        self._journal.drop(journal)
        return record


def _item_of(note: Note, day: str, known: Sequence[str]) -> Item:
    """A note as an item, with why a person has to look at it whatever it says."""
    text, secrets = redact(note.text)
    project = note.to.partition(":")[2]
    why = f"{NO_PROJECT}{project}" if project and project not in known else ""
    return Item("notes", text, path_of(note.to, day), note.source, SECRET if secrets else why)


def _held(each: Waiting) -> HeldNote:
    return HeldNote(place_of(each.item.path), each.item.text, each.why, each.read, each.id)


def _refused(spending: Spending) -> str:
    """Why no further question may be asked; empty if one may."""
    try:
        spending.allow()
    except AutopoiesisError as error:
        return str(error)
    return ""


def _numbered(conversation: Conversation) -> list[tuple[int, Turn]]:
    return list(enumerate(conversation.turns, conversation.first + 1))


def _day_of(conversation: Conversation, part: Part, zone: str) -> str:
    return local_day(conversation.times[part.last - 1 - conversation.first], zone).isoformat()


def _message(record: FlushRecord) -> str:
    """What the commit of a flush's notes says (spec 10.1)."""
    turns = f"turn {record.first}" if record.first == record.last else f"turns {record.first}–{record.last}"
    name = origin_of(record, "").name
    return f"memory: notes of {name}, {turns}\n\nSession: {record.path}"
