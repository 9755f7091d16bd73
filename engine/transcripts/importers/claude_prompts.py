"""Collects the prompts in a Claude Code log, including those queued while the agent works, each once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from engine.transcripts.corrections import is_correction
from engine.transcripts.days import moment
from engine.transcripts.importers.claude_records import (
    attachment_of,
    is_task,
    sender_of,
    typed_command,
    typed_text,
)
from engine.transcripts.importers.lines import Record
from engine.transcripts.importers.message_queue import MessageQueue, Queued, State
from engine.transcripts.importers.session import EPOCH, START, Checkpoint, SessionReader, text_of
from engine.transcripts.injected import strip_injected
from engine.transcripts.turn import COMMAND, CORRECTION, Block, Text, Turn

_STATES: dict[str, State] = {"wa": "waiting", "se": "sent", "sa": "added", "he": "delivered"}
_TAGS = {state: tag for tag, state in _STATES.items()}
_REPEATED_WITHIN_S = 5.0
_PUT_BACK_WITHIN_S = 30.0
"""While the agent works, Claude Code 2.1.4x takes a message out about every 20 s, and puts it back."""


class PromptReader(SessionReader):
    """Adds each prompt when it reaches the agent; undelivered ones come last."""

    def __init__(self, finished: Callable[[Turn], None], since: Checkpoint = START) -> None:
        super().__init__(finished, since)
        self._queue = MessageQueue()

    @property
    def total(self) -> int:
        """Number of turns so far, including those that may still change."""
        return super().total + len(self._queue.undelivered)

    @property
    def unfinished(self) -> tuple[Turn, ...]:
        """The last turn, and the prompts that have not reached the agent."""
        turns = list(super().unfinished)
        before = self._previous_time
        for message in self._queue.undelivered:
            day, clock, before = self._heading(message.at or self.last or before or EPOCH, before)
            text = strip_injected(message.text).strip()
            turns.append(Turn("user", clock, (Text(text),), self._kind_in_queue(text), day=day))
        return tuple(turns)

    def resume(self, read: Callable[[int], Iterable[Record]]) -> None:
        """Restore the queued messages."""
        for tag, offset in open_places(self._since):
            for record in read(offset) if tag in _STATES else ():
                if record.get("type") == "queue-operation":
                    message = self._queued(record, offset)
                    message.state = _STATES[tag]
                    self._queue.append(message)

    def _open(self) -> str:
        return ",".join(f"{_TAGS[each.state]}{each.offset}" for each in self._queue)

    def _add_prompt(self, typed: str, others: list[Block], kind: str, *, is_question: bool) -> None:
        """Add a prompt, unless it was queued and is already in the turns."""
        repeats = self._queue.repeated_by_prompt(typed, self.last, _REPEATED_WITHIN_S) if typed else []
        is_present = bool(repeats) and all(each.state == "delivered" for each in repeats)
        if typed and not repeats and kind != COMMAND:
            # The queue is emptied in order, so no record will follow for earlier messages still in it.
            for message in self._queue.undelivered:
                self._add_queued(message.text)
            for message in tuple(self._queue):
                if message.state == "waiting" and message.by_user:
                    message.state = "added"
                elif message.state in ("sent", "delivered"):
                    self._queue.discard(message)
        for message in repeats:
            self._queue.discard(message)
        if not is_present:
            self._add_user_turn([Text(typed), *others], kind, is_question=is_question)
        elif self.turns.is_open("user", kind):
            self.turns.append(*others)

    def _kind_of(self, text: str) -> str:
        return CORRECTION if self.acted and is_correction(text) else ""

    def _kind_in_queue(self, text: str) -> str:
        return self._kind_of(text) if typed_command(text) is None else COMMAND

    def _add_queued(self, text: str, *others: Block) -> None:
        """Add what was typed into the queue."""
        command = typed_command(text)
        is_question = command is None or command.has_arguments
        self._add_user_turn([Text(text), *others], self._kind_in_queue(text), is_question=is_question)

    def _compacted(self) -> None:
        """Add the prompts that were sent before a summary took the place of their records; the record of a
        command follows.
        """
        for message in self._queue:
            if message.by_user and message.state == "sent" and typed_command(message.text) is None:
                self._add_queued(message.text)
                message.state, message.at = "delivered", self.last

    def _queued(self, record: Record, offset: int) -> Queued:
        """The message in the record of a queue operation."""
        content = record.get("content")
        parts = content if isinstance(content, list) else []
        text = content if isinstance(content, str) else "\n\n".join(text_of(part, "text") for part in parts)
        typed = "" if is_task(text) else typed_text(text).strip()
        return Queued(typed or text, bool(typed), offset, moment(record.get("timestamp")))

    def _queue_operation(self, record: Record) -> None:
        """Move a message into or out of the queue."""
        moved = self._queued(record, self._offset)
        operation = text_of(record, "operation")
        if operation == "enqueue":
            self._queue.put(moved, _PUT_BACK_WITHIN_S)
            return
        message = self._queue.next_out(moved.text)
        if operation == "popAll":
            for each in [message] if message is not None and moved.text else list(self._queue):
                self._leave_out("taken-back", each.by_user and each.state == "waiting")
                self._queue.discard(each)
        elif message is not None and not message.by_user:
            self._queue.discard(message)
        elif operation == "dequeue":
            if message is not None:
                message.state = "delivered" if message.state == "added" else "sent"
                message.at = moved.at
        elif message is None and not moved.by_user:
            return
        elif message is not None and message.state == "added":
            self._queue.discard(message)
        else:
            sent = message or moved
            self._add_queued(sent.text)
            if message is None:
                self._queue.append(moved)
            sent.state, sent.at = "delivered", moved.at
            sent.offset = moved.offset if moved.by_user else sent.offset

    def _queued_attachment(self, attachment: Any) -> None:
        """Add a queued message that was delivered into the running turn, as newer versions log it."""
        mode = text_of(attachment, "commandMode")
        if text_of(attachment, "type") != "queued_command":
            self._leave_out("system-records")
            return
        if mode not in ("", "prompt", "bash") or sender_of(attachment) != "user":
            self._leave_out("injected")
            return
        prompt = attachment.get("prompt")
        parts = prompt if isinstance(prompt, list) else [{"type": "text", "text": prompt}]
        text = "\n\n".join(filter(None, (text_of(part, "text") for part in parts)))
        typed = typed_text(text).strip()
        others: list[Block] = [
            attachment_of(part) for part in parts if text_of(part, "type") in ("image", "document")
        ]
        self._leave_out("images", len(others))
        if mode == "bash" and not typed.startswith("!"):
            typed = f"! {typed}"
        message = self._queue.repeated_by_attachment(typed)
        if message is not None and message.state in ("added", "delivered"):
            if message.state == "delivered":
                self._queue.discard(message)
            if self.turns.is_open("user", self._kind_in_queue(typed)):
                self.turns.append(*others)
        elif typed or others:
            self._add_queued(typed, *others)
            if message is not None and message.state == "sent":
                self._queue.discard(message)
            elif message is not None:
                message.state = "added"
        else:
            self._leave_out("injected")


def open_places(since: Checkpoint) -> Iterator[tuple[str, int]]:
    """Two-letter tag and line offset of everything still open at a checkpoint, in order."""
    for part in since.open.split(","):
        if part[2:].isdecimal():
            yield part[:2], int(part[2:])
