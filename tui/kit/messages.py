"""What background work tells the screen: finished values; the screen's handlers own the state."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from textual.message import Message

from engine.activation.trace import Trace
from engine.context.compiled import Compiled
from engine.context.views import DigestView, LedgerView, StatusView
from engine.live.feed import FeedEntry


class EventsArrived(Message):
    """The engine published something; more may follow within moments."""

    def can_replace(self, message: Message) -> bool:
        """One is enough."""
        return isinstance(message, EventsArrived)


class NextTheme(Message):
    """The person wants the next theme; the application has them."""


@dataclass
class PartsRead(Message):
    """A part of the workspace was read again; the others are ``None``."""

    feed: list[FeedEntry] | None = None
    digest: DigestView | None = None
    ledger: LedgerView | None = None
    status: StatusView | None = None


@dataclass
class TraceRead(Message):
    """What activation and the compiler made of a message of the feed."""

    key: str
    trace: Trace | None
    compiled: Compiled | None
    problem: str = ""


@dataclass
class Tried(Message):
    """What they would make of a message that was typed."""

    text: str
    trace: Trace | None
    compiled: Compiled | None
    problem: str = ""


@dataclass
class CommandRan(Message):
    """A command line ran; ``failed`` when ``output`` is the reason."""

    line: str
    output: str
    run: threading.Event
    """What would have stopped it, as ``Conductor.run`` returned it."""
    failed: bool = False


@dataclass
class Said(Message):
    """Something small was done, or could not be: one line for the person."""

    text: str
    error: bool = False
