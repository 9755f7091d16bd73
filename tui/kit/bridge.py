"""From the engine's threads to the screen: many events in, one message out."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from engine.context.views import DIGEST_PATH, LEDGER_PATH
from engine.events import (
    CacheGivenUp,
    Committed,
    EngineEvent,
    FileChanged,
    FlushDue,
    Flushed,
    GateAsked,
    GateClosed,
    Indexed,
    IndexProgress,
    PromptCompiled,
    TopicsReloaded,
    Trouble,
    TurnArrived,
    TurnTraced,
    WatchState,
)

Part = Literal["feed", "digest", "ledger", "status"]
ALL_PARTS: frozenset[Part] = frozenset({"feed", "digest", "ledger", "status"})


@dataclass(frozen=True, slots=True)
class Burst:
    """What a handful of events comes down to."""

    parts: frozenset[Part] = frozenset()
    """What has to be read again."""
    keys: frozenset[str] = frozenset()
    """Messages whose trace or prompt is new."""
    asked: tuple[GateAsked, ...] = ()
    """Questions the gate opened, in order."""
    closed: frozenset[str] = frozenset()
    """Ids of questions that are settled."""
    progress: IndexProgress | None = None
    """The last word on indexing, if there was one."""
    indexed: bool = False
    """Whether search finds other things than before."""
    given_up: frozenset[str] = frozenset()
    """Discussions whose caches no longer count."""
    troubles: tuple[str, ...] = ()
    """Failures to tell the person about."""


def condense(events: list[EngineEvent]) -> Burst:
    """Comes down to what a screen has to do about the events."""
    parts: set[Part] = set()
    keys: set[str] = set()
    asked: dict[str, GateAsked] = {}
    closed: set[str] = set()
    progress: IndexProgress | None = None
    indexed = False
    given_up: set[str] = set()
    troubles: list[str] = []
    for event in events:
        match event:
            case TurnArrived():
                parts.add("feed")
            case TurnTraced(key=key):
                parts.add("feed")
                keys.add(key)
            case PromptCompiled(key=key):
                keys.add(key)
            case FileChanged(path=path):
                parts |= {"feed", "status"}
                if path == DIGEST_PATH:
                    parts.add("digest")
                if path == LEDGER_PATH:
                    parts.add("ledger")
            case TopicsReloaded() | Committed():
                parts |= {"feed", "status"}
            case FlushDue() | Flushed():
                parts.add("feed")
            case WatchState():
                parts.add("status")
            case GateAsked(question_id=question):
                asked[question] = event
            case GateClosed(question_id=question):
                closed.add(question)
                asked.pop(question, None)
            case IndexProgress():
                progress = event
            case Indexed():
                indexed = True
            case CacheGivenUp(discussion_id=discussion):
                given_up.add(discussion)
            case Trouble(text=text):
                parts.add("feed")
                troubles.append(text)
    return Burst(
        frozenset(parts),
        frozenset(keys - {""}),
        tuple(asked.values()),
        frozenset(closed),
        progress,
        indexed,
        frozenset(given_up),
        tuple(troubles),
    )


class EventBridge:
    """Collects events from any thread and rings once when the first of a burst arrives.

    Args:
        ring: Called on the engine's thread; must only post a message. The receiver waits a moment and
            then calls ``take``.
    """

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._lock = threading.Lock()
        self._events: list[EngineEvent] = []

    def handle(self, event: EngineEvent) -> None:
        """What ``subscribe`` gets."""
        with self._lock:
            self._events.append(event)
            first = len(self._events) == 1
        if first:
            self._ring()

    def take(self) -> Burst:
        """All that was collected since the last call."""
        with self._lock:
            events, self._events = self._events, []
        return condense(events)
