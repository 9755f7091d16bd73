"""Messages from background work to the screen."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from textual.message import Message

from engine.activation.trace import Trace
from engine.context.compiled import Compiled
from engine.context.views import DigestView, LedgerView, StatusView
from engine.live.feed import FeedEntry


class EventsArrived(Message):
    """The engine published an event; more may follow shortly."""

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, EventsArrived)


class NextTheme(Message):
    """The user wants the next theme."""


@dataclass
class PartsRead(Message):
    """Parts of the workspace were read; the others are ``None``."""

    feed: list[FeedEntry] | None = None
    digest: DigestView | None = None
    ledger: LedgerView | None = None
    status: StatusView | None = None


@dataclass
class TraceRead(Message):
    """The trace and prompt of a message in the feed."""

    key: str
    trace: Trace | None
    compiled: Compiled | None
    problem: str = ""


@dataclass
class Tried(Message):
    """The trace and prompt of a typed message."""

    text: str
    trace: Trace | None
    compiled: Compiled | None
    problem: str = ""


@dataclass
class Learned(Message):
    """A label was learned: a topic's score for a message has changed."""

    key: str
    topic: str
    before: float
    """The score that it had."""


@dataclass
class CommandRan(Message):
    """A command line ended; ``failed`` if ``output`` is an error."""

    line: str
    output: str
    run: threading.Event
    """Its stop event, as ``Conductor.run`` returned it."""
    failed: bool = False


@dataclass
class Notice(Message):
    """A one-line notification."""

    text: str
    error: bool = False
