"""What reaches a screen from background work and from the engine: many events in, one message out."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from textual.message import Message

from engine.activation.trace import Trace
from engine.context.compiled import Compiled
from engine.context.views import DIGEST_PATH, LEDGER_PATH, DigestView, LedgerView, StatusView
from engine.events import (
    AgentTold,
    CacheGivenUp,
    Committed,
    EngineEvent,
    ErrorReported,
    FileChanged,
    FlushDue,
    Flushed,
    GateAsked,
    GateClosed,
    Indexed,
    IndexProgress,
    JobEnded,
    JobStarted,
    PromptCompiled,
    TopicsReloaded,
    TurnArrived,
    TurnTraced,
    WatchState,
)
from engine.live.feed import FeedEntry


class EventsArrived(Message):
    """The engine published an event; more may follow shortly."""

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, EventsArrived)


class NextTheme(Message):
    """The user wants the next theme."""


class Redraw(Message):
    """The terminal may show something else than what was drawn."""


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
    """A label was given or undone, and learned: a topic's score for a message has changed."""

    key: str
    topic: str
    useful: bool | None
    """The label; ``None`` if there is none any more."""
    before: float | None
    """The score that it had; ``None`` if it is unknown, or has been restored."""


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


Part = Literal["feed", "digest", "ledger", "status"]
ALL_PARTS: frozenset[Part] = frozenset({"feed", "digest", "ledger", "status"})


@dataclass(slots=True)
class Burst:
    """A summary of several events."""

    parts: set[Part] = field(default_factory=set)
    """What to read again."""
    keys: set[str] = field(default_factory=set)
    """Messages with a new trace or prompt."""
    asked: list[GateAsked] = field(default_factory=list)
    """New questions of the gate, in order."""
    closed: set[str] = field(default_factory=set)
    """Ids of questions no longer open."""
    progress: IndexProgress | None = None
    """The latest indexing progress, if any."""
    indexed: bool = False
    """Search results may have changed."""
    written: bool = False
    """Files outside conversations have changed, such as settings, presets or knowledge."""
    jobs: bool = False
    """A job started or ended."""
    given_up: set[str] = field(default_factory=set)
    """Discussions whose caches were invalidated."""
    errors: list[str] = field(default_factory=list)
    """Errors to show."""


def condense(events: list[EngineEvent]) -> Burst:
    """Summarises events as what a screen has to do about them."""
    burst = Burst()
    for event in events:
        match event:
            case TurnArrived() | FlushDue() | Flushed() | AgentTold():
                burst.parts.add("feed")
            case TurnTraced(key=key):
                burst.parts.add("feed")
                burst.keys.add(key)
            case PromptCompiled(key=key):
                burst.keys.add(key)
            case FileChanged(path=path):
                burst.parts |= {"feed", "status"}
                burst.written = True
                if path == DIGEST_PATH:
                    burst.parts.add("digest")
                if path == LEDGER_PATH:
                    burst.parts.add("ledger")
            case TopicsReloaded():
                burst.parts |= {"feed", "status"}
                burst.written = True
            case Committed():
                burst.parts |= {"feed", "status"}
            case WatchState():
                burst.parts.add("status")
            case GateAsked():
                burst.asked.append(event)
            case GateClosed(question_id=question):
                burst.closed.add(question)
            case IndexProgress():
                burst.progress = event
            case Indexed():
                burst.indexed = True
            case CacheGivenUp(discussion_id=discussion):
                burst.given_up.add(discussion)
            case JobStarted():
                burst.jobs = True
            case JobEnded():
                burst.jobs = True
                burst.parts.add("feed")
            case ErrorReported(text=text):
                burst.parts |= {"feed", "status"}
                burst.errors.append(text)
    burst.keys.discard("")
    burst.asked = [each for each in burst.asked if each.question_id not in burst.closed]
    return burst


class EventBridge:
    """Collects events from any thread, and calls ``ring`` when the first of a burst arrives.

    Args:
        ring: Called on the engine's thread, so it must only post a message. The receiver waits a moment and
            then calls ``take``.
    """

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._lock = threading.Lock()
        self._events: list[EngineEvent] = []

    def handle(self, event: EngineEvent) -> None:
        """The callback for ``subscribe``."""
        with self._lock:
            self._events.append(event)
            first = len(self._events) == 1
        if first:
            self._ring()

    def take(self) -> Burst:
        """Summarises the events since the last call."""
        with self._lock:
            events, self._events = self._events, []
        return condense(events)
