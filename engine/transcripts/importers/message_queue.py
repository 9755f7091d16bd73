"""Tracks the messages that Claude Code queues while the agent works.

A message is logged when it enters the queue (``enqueue``) and when it leaves it: delivered into the running
turn (``remove``), sent as the next turn's prompt (``dequeue``), or taken back into the input line
(``popAll``). Depending on the version, the message then appears in its own record, in an attachment, or
nowhere else. Only text and order connect these records.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal

from engine.startup.records import dataclass

State = Literal["waiting", "sent", "added", "delivered"]
"""``waiting`` in the queue; ``sent`` as a prompt whose record is yet to come; ``added`` to the turns, but not
removed from the queue yet; ``delivered``: in the turns, but a record or attachment may still repeat it."""

_PLACEHOLDER = re.compile(
    r"(?:\\ )?\\\[(?:Pasted\\ text|Image|\.\.\.Truncated\\ text)(?:\\.|[^\]\\])*\\\](?:\\ )?"
)


@dataclass(slots=True)
class Queued:
    """A queued message."""

    text: str  # as queued
    by_user: bool  # Claude Code also queues its own notifications
    offset: int  # byte offset of the last line that contains the text
    at: datetime | None  # when that line was written, UTC
    state: State = "waiting"


class MessageQueue(list[Queued]):
    """The queued messages that further records may still mention."""

    def put(self, message: Queued, within_s: float) -> None:
        """Add a message, in place of the same one if that was sent up to ``within_s`` seconds before."""

        def is_back(each: Queued) -> bool:
            if each.state != "sent" or each.text != message.text or each.at is None or message.at is None:
                return False
            return (message.at - each.at).total_seconds() <= within_s

        self[:] = [*(each for each in self if not is_back(each)), message]

    def next_out(self, text: str) -> Queued | None:
        """The next message to leave the queue: the first with this text, or the first of all if empty."""
        queue = [each for each in self if each.state in ("waiting", "added")]
        if text:
            return next((each for each in queue if _plain(each.text) == _plain(text)), None)
        return next(iter(queue), None)

    @property
    def undelivered(self) -> list[Queued]:
        """The user's messages that are not in the turns yet."""
        return [each for each in self if each.by_user and each.state in ("waiting", "sent")]

    def discard(self, message: Queued) -> None:
        """Stop tracking a message."""
        self[:] = [each for each in self if each is not message]

    def left_by_program(self, text: str) -> None:
        """Stop tracking the program's message with this text, whose record tells alone that it was sent."""
        for message in self:
            if not message.by_user and message.text == text:
                self.discard(message)
                return

    def repeated_by_attachment(self, text: str) -> Queued | None:
        """The message that an attachment repeats: one with this text, preferably already delivered."""
        same = [each for each in self if each.by_user and delivers(text, each.text)]
        return min(same, key=lambda each: each.state != "delivered", default=None)

    def repeated_by_prompt(self, text: str, at: datetime | None, within_s: float) -> list[Queued]:
        """The messages that a prompt repeats, alone or joined with others.

        ``within_s`` is how many seconds after its delivery into a turn a prompt can still repeat a message.
        """

        def can_be(message: Queued) -> bool:
            if not message.by_user or message.state == "added":
                return False
            if message.state != "delivered":
                return True
            return at is not None and message.at is not None and (at - message.at).total_seconds() <= within_s

        possible = [each for each in self if can_be(each)]
        exact = next((each for each in possible if _plain(each.text) == _plain(text)), None)
        return [exact] if exact else [each for each in possible if delivers(text, each.text)]


def _plain(text: str) -> str:
    """Normalize a text for comparison; only some records prefix typed shell lines with ``!``."""
    return " ".join(text.split()).removeprefix("!").lstrip()


def delivers(text: str, typed: str) -> bool:
    """Whether a recorded text contains what was typed: the same, as whole lines, or with pastes expanded."""
    whole, part = _plain(text), _plain(typed)
    if whole == part:
        return True
    lines = "\n".join(map(_plain, text.split("\n")))
    if part and f"\n{chr(10).join(map(_plain, typed.strip().split(chr(10))))}\n" in f"\n{lines}\n":
        return True
    pattern, pasted = _PLACEHOLDER.subn(".*", re.escape(part))
    return (
        bool(pasted and pattern.replace(".*", "").strip())
        and re.fullmatch(pattern, whole, re.DOTALL) is not None
    )
