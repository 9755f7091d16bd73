"""Takes in what a person enters in Claude Code, also while the agent is at work: each message once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from engine.transcripts.corrections import is_correction
from engine.transcripts.days import moment
from engine.transcripts.importers.claude_said import attachment_of, sender_of, typed_of
from engine.transcripts.importers.lines import Record
from engine.transcripts.importers.queued import MessageQueue, Queued, State
from engine.transcripts.importers.session import EPOCH, START, Checkpoint, SessionReader, text_of
from engine.transcripts.injected import strip_injected
from engine.transcripts.turn import COMMAND, CORRECTION, Block, Text, Turn

_STATES: dict[str, State] = {"wa": "waiting", "se": "sent", "sa": "said", "he": "heard"}
_REPEATED_WITHIN_S = 5.0


class TypedAheadReader(SessionReader):
    """Says what a person entered when it reaches the agent, and shows at the end what has not."""

    def __init__(self, finished: Callable[[Turn], None], since: Checkpoint = START) -> None:
        super().__init__(finished, since)
        self._queue = MessageQueue()

    @property
    def total(self) -> int:
        """Turns so far, those included that may still change."""
        return super().total + len(self._queue.unheard)

    @property
    def unfinished(self) -> tuple[Turn, ...]:
        """The last turn, and what was typed and has not reached the agent."""
        turns = list(super().unfinished)
        before = self._earlier
        for message in self._queue.unheard:
            day, clock, before = self._heading(message.at or self.last or before or EPOCH, before)
            text = strip_injected(message.text).strip()
            turns.append(Turn("user", clock, (Text(text),), self._kind_of(text), day=day))
        return tuple(turns)

    def resume(self, read: Callable[[int], Iterable[Record]]) -> None:
        """Take up the messages that wait."""
        for tag, offset in still_open(self._since):
            for record in read(offset) if tag in _STATES else ():
                if record.get("type") == "queue-operation":
                    message = self._queued(record, offset)
                    message.state = _STATES[tag]
                    self._queue.append(message)

    def _open(self) -> str:
        return ",".join(f"{each.state[:2]}{each.offset}" for each in self._queue)

    def _heard(self, typed: str, others: list[Block], kind: str, *, has_words: bool) -> None:
        """A prompt: said now, unless it was typed ahead and stands there already."""
        repeats = self._queue.delivered(typed, self.last, _REPEATED_WITHIN_S) if typed else []
        stands = bool(repeats) and all(each.state == "heard" for each in repeats)
        if typed and not repeats and kind != COMMAND:
            # The queue is emptied in order, so what was typed before and is still in it will not come.
            for message in self._queue.unheard:
                self._say([Text(message.text)], self._kind_of(message.text))
            for message in tuple(self._queue):
                if message.state == "waiting" and message.is_persons:
                    message.state = "said"
                elif message.state in ("sent", "heard"):
                    self._queue.settled(message)
        for message in repeats:
            self._queue.settled(message)
        if not stands:
            self._say([Text(typed), *others], kind, is_question=has_words)
        elif self.turns.is_open("user", kind):
            self.turns.add(*others)

    def _kind_of(self, text: str) -> str:
        return CORRECTION if self.acted and is_correction(text) else ""

    def _queued(self, record: Record, offset: int) -> Queued:
        """A message as the record of a movement of the queue has it."""
        content = record.get("content")
        parts = content if isinstance(content, list) else []
        text = content if isinstance(content, str) else "\n\n".join(text_of(part, "text") for part in parts)
        typed = strip_injected(typed_of(text)).strip()
        return Queued(typed or text, bool(typed), offset, moment(record.get("timestamp")))

    def _moved(self, record: Record) -> None:
        """A message that was typed ahead enters or leaves the queue."""
        moved = self._queued(record, self._offset)
        operation = text_of(record, "operation")
        if operation == "enqueue":
            self._queue.append(moved)
            return
        message = self._queue.leaves(moved.text)
        if operation == "popAll":
            for each in [message] if message is not None and moved.text else list(self._queue):
                self._leave_out("taken-back", each.is_persons and each.state == "waiting")
                self._queue.settled(each)
        elif message is not None and not message.is_persons:
            self._queue.settled(message)
        elif operation == "dequeue":
            if message is not None:
                message.state = "heard" if message.state == "said" else "sent"
                message.at = moved.at
        elif message is None and not moved.is_persons:
            return
        elif message is not None and message.state == "said":
            self._queue.settled(message)
        else:
            heard = message or moved
            self._say([Text(heard.text)], self._kind_of(heard.text))
            if message is None:
                self._queue.append(moved)
            heard.state, heard.at = "heard", moved.at
            heard.offset = moved.offset if moved.is_persons else heard.offset

    def _attached(self, attachment: Any) -> None:
        """A message that was typed ahead and taken into the running turn, as newer versions log it."""
        mode = text_of(attachment, "commandMode")
        if text_of(attachment, "type") != "queued_command":
            self._leave_out("system-records")
            return
        if mode not in ("", "prompt", "bash") or sender_of(attachment) != "person":
            self._leave_out("injected")
            return
        prompt = attachment.get("prompt")
        parts = prompt if isinstance(prompt, list) else [{"type": "text", "text": prompt}]
        text = "\n\n".join(filter(None, (text_of(part, "text") for part in parts)))
        typed = strip_injected(typed_of(text)).strip()
        others: list[Block] = [
            attachment_of(part) for part in parts if text_of(part, "type") in ("image", "document")
        ]
        self._leave_out("images", len(others))
        if mode == "bash" and not typed.startswith("!"):
            typed = f"! {typed}"
        message = self._queue.repeated(typed)
        if message is not None and message.state in ("said", "heard"):
            if message.state == "heard":
                self._queue.settled(message)
            if self.turns.is_open("user", self._kind_of(typed)):
                self.turns.add(*others)
        elif typed or others:
            self._say([Text(typed), *others], self._kind_of(typed))
            if message is not None and message.state == "sent":
                self._queue.settled(message)
            elif message is not None:
                message.state = "said"


def still_open(since: Checkpoint) -> Iterator[tuple[str, int]]:
    """What was open at a checkpoint, in order: a tag of two letters, and the offset of its line."""
    for part in since.open.split(","):
        if part[2:].isdecimal():
            yield part[:2], int(part[2:])
