"""What a person types while the agent is at work: Claude Code queues it, and logs every movement.

A message is logged when it enters the queue (``enqueue``) and when it leaves it: taken into the running turn
(``remove``), sent as the next turn's prompt (``dequeue``), or taken back into the input line (``popAll``).
Depending on the version, the message then stands in a record of its own, in an attachment, or nowhere else.
Nothing ties these records together but the text and the order.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal

from engine.startup.records import dataclass

State = Literal["waiting", "sent", "said", "heard"]
"""``waiting`` in the queue, ``sent`` as a prompt whose record is still to come, ``said`` before it left the
queue, ``heard``: said, and a record or an attachment may still repeat it."""

_PLACEHOLDER = re.compile(
    r"(?:\\ )?\\\[(?:Pasted\\ text|Image|\.\.\.Truncated\\ text)(?:\\.|[^\]\\])*\\\](?:\\ )?"
)


@dataclass(slots=True)
class Queued:
    """A message that was typed ahead."""

    text: str  # as it was queued
    is_persons: bool  # the program queues notifications of its own
    offset: int  # byte offset of the last line that has the text
    at: datetime | None  # when that line was written, UTC
    state: State = "waiting"  # what became of it


class MessageQueue(list[Queued]):
    """The messages that were typed ahead and are still unsettled."""

    def leaves(self, text: str) -> Queued | None:
        """The message that leaves the queue: the first of this text, or the first of all when it is empty."""
        queue = [each for each in self if each.state in ("waiting", "said")]
        if text:
            return next((each for each in queue if _plain(each.text) == _plain(text)), None)
        return next(iter(queue), None)

    @property
    def unheard(self) -> list[Queued]:
        """What a person typed and nothing has repeated yet."""
        return [each for each in self if each.is_persons and each.state in ("waiting", "sent")]

    def settled(self, message: Queued) -> None:
        """A message needs no more attention."""
        self[:] = [each for each in self if each is not message]

    def repeated(self, text: str) -> Queued | None:
        """The message that an attachment repeats: one of this text, said already if there is one."""
        same = [each for each in self if each.is_persons and delivers(text, each.text)]
        return min(same, key=lambda each: each.state != "heard", default=None)

    def delivered(self, text: str, at: datetime | None, within_s: float) -> list[Queued]:
        """The messages that a prompt repeats, whole or among others.

        ``within_s`` is how long after it was taken into a turn a message can be repeated by a prompt, in
        seconds.
        """

        def can_be(message: Queued) -> bool:
            if not message.is_persons or message.state == "said":
                return False
            if message.state != "heard":
                return True
            return at is not None and message.at is not None and (at - message.at).total_seconds() <= within_s

        possible = [each for each in self if can_be(each)]
        exact = next((each for each in possible if _plain(each.text) == _plain(text)), None)
        return [exact] if exact else [each for each in possible if delivers(text, each.text)]


def _plain(text: str) -> str:
    """A text as it is compared: typed shell lines begin with an exclamation mark in some records only."""
    return " ".join(text.split()).removeprefix("!").lstrip()


def delivers(text: str, typed: str) -> bool:
    """Whether a recorded text is what was typed: itself, whole lines of it, or with what was pasted."""
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
