"""Due schedules, webhooks and their outcomes: ``logs/events-YYYY-MM.jsonl``, append-only (design 2).

All state is read from this log, so any process can hand out an arrival and no two hand out the same one.
An arrival that was taken but not completed becomes available again after its lease: its taker may have
crashed.
"""

from __future__ import annotations

import secrets
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from engine.errors import JobError
from engine.store.monthly import AnotherFile, Mark, MonthlyLog, record_of
from engine.store.typed import typed

if TYPE_CHECKING:
    from engine.store.files import Files

KIND = "events"
MONTHS = 2
"""Number of monthly files that are read: repeated deliveries are recognized for this long."""
OUTPUT_CHARS = 2_000
"""Characters kept from the end of a command's output."""

_NEWS = 500
_KEPT_TEXT = 200

State = Literal["arrived", "nothing", "waiting", "taken", "done", "failed"]
"""``nothing``: it triggers no playbook. ``taken``: handed out; available again from ``until`` on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A due schedule or an incoming webhook, and its outcome."""

    id: str
    at: datetime  # UTC
    source: str  # ``cron``, or the webhook's sender
    event: str  # the schedule, or the event's name
    text: str = ""
    """The message for the agent. A webhook's message quotes untrusted text and marks it as such."""
    delivery: str = ""  # the sender's id of the delivery
    state: State = "arrived"
    topics: tuple[str, ...] = ()  # activated by it
    why: str = ""
    tokens: int = 0  # of the prompt on arrival
    by: str = ""  # who took it
    taken: int = 0  # number of hand-outs
    until: datetime | None = None  # end of the lease
    said: str = ""  # the reported result, or the end of a command's output

    @property
    def key(self) -> str:
        """Identifies it in the feed and for ``Engine.trace_of``."""
        return f"signal:{self.source}:{self.event}@{self.id}"

    def is_open(self, now: datetime) -> bool:
        """True if it can be handed out now."""
        is_late = self.state == "taken" and self.until is not None and self.until <= now
        return self.state == "waiting" or is_late


class SignalLog:
    """Reads and writes the log. Thread-safe and safe across processes."""

    def __init__(self, files: Files, clock: Callable[[], datetime]) -> None:
        self._files = files
        self._clock = clock
        self._months = MonthlyLog(files, KIND, clock)
        self._guard = threading.RLock()
        self._news: deque[Arrival] = deque(maxlen=_NEWS)
        self._forget()

    def all(self) -> list[Arrival]:
        """Arrivals of the last ``MONTHS`` months, oldest first."""
        with self._guard:
            self._refresh()
            return list(self._known.values())

    def news(self) -> list[Arrival]:
        """Arrivals recorded by any process since the last call, or since the log was first read."""
        with self._guard:
            self._refresh()
            found = [self._known[each.id] for each in self._news if each.id in self._known]
            self._news.clear()
            return found

    def arrive(self, source: str, event: str, text: str, delivery: str = "") -> Arrival | None:
        """Records an arrival; ``None`` for a delivery that is already known.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        with self._files.lock(), self._guard:
            self._refresh()
            if delivery and (source, delivery) in self._deliveries:
                return None
            name = f"evt_{secrets.token_hex(5)}"
            self._append(name, "arrived", source=source, event=event, text=text, delivery=delivery)
            return self._known[name]

    def traced(self, arrival: Arrival, topics: tuple[str, ...], why: str, tokens: int) -> None:
        """Records what it activates. Raises as ``arrive``."""
        with self._files.lock(), self._guard:
            self._refresh()
            state = self._known.get(arrival.id, arrival).state
            if state == "arrived":
                state = "waiting" if topics else "nothing"
                self._append(arrival.id, state, topics=topics, why=why, tokens=tokens)

    def take(self, by: str, lease: timedelta) -> Arrival | None:
        """Hands out the oldest open arrival; ``None`` if there is none. Raises as ``arrive``.

        Args:
            lease: Time after which it can be handed out again unless ``end`` is called first.
        """
        if self.next() is None:
            return None
        with self._files.lock(), self._guard:
            found = self.next()
            if found is None:
                return None
            self._append(found.id, "taken", by=by, until=self._clock() + lease, taken=found.taken + 1)
            return self._known[found.id]

    def next(self) -> Arrival | None:
        """The oldest open arrival; ``None`` if there is none."""
        now = self._clock()
        return next((each for each in self.all() if each.is_open(now)), None)

    def end(self, name: str, *, failed: bool = False, said: str = "") -> Arrival:
        """Records that an arrival was handled; no change if it already was.

        Raises:
            JobError: No such event.
            WriteFailed, ReadOnly: It was not recorded.
        """
        with self._files.lock(), self._guard:
            self._refresh()
            found = self._known.get(name)
            if found is None:
                raise JobError("no such event", where=name, hint="see: autopoiesis events list")
            if found.state not in ("done", "failed"):
                self._append(name, "failed" if failed else "done", said=said[-OUTPUT_CHARS:])
            return self._known[name]

    def _append(self, name: str, state: State, **fields: Any) -> None:
        record = {"id": name, "at": self._clock(), "state": state, **fields}
        plain = {
            key: value.isoformat() if isinstance(value, datetime) else value
            for key, value in record.items()
            if value not in ("", 0, ())
        }
        self._months.append(plain)
        self._refresh()

    def _forget(self) -> None:
        self._marks: dict[str, Mark] = {}
        self._known: dict[str, Arrival] = {}
        self._deliveries: set[tuple[str, str]] = set()

    def _refresh(self) -> None:
        is_first = not self._marks
        try:
            lines = self._months.added(self._marks, MONTHS)
        except AnotherFile:
            self._forget()
            is_first, lines = True, self._months.added(self._marks, MONTHS)
        for tree in filter(None, map(record_of, lines)):
            arrived = self._apply(tree)
            if arrived is not None and not is_first:
                self._news.append(arrived)

    def _apply(self, tree: dict[str, Any]) -> Arrival | None:
        """Applies a record; returns the arrival if it is a new one. Damaged records are skipped."""
        try:
            read = typed(Arrival, {"source": "", "event": "", **tree})
        except (ValueError, TypeError, KeyError):
            return None
        known = self._known.get(read.id)
        if read.state == "arrived" and known is None:
            self._known[read.id] = read
            if read.delivery:
                self._deliveries.add((read.source, read.delivery))
            return read
        if known is not None:
            new = {
                name: getattr(read, name) for name in tree if name not in ("id", "at") and hasattr(read, name)
            }
            if read.state in ("nothing", "done", "failed"):
                new["text"] = known.text[:_KEPT_TEXT]  # it will not be handed out again
            self._known[read.id] = replace(known, **new)
        return None
