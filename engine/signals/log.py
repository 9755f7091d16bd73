"""What came of schedules and webhooks: ``logs/events-YYYY-MM.jsonl``, append-only (design 2).

Everything that programs know of an arrival is read from here, so that any of them may hand it out, and none
hands it out that another has. What was handed out and not ended comes up again after a while: whoever had
taken it may have been killed.
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
"""Files that are read: so long a delivery is known to have come before."""
MOST_SAID = 2_000
"""Characters of what is kept of a command's output, from its end."""

_NEWS = 500
_KEPT_TEXT = 200

State = Literal["arrived", "nothing", "waiting", "taken", "done", "failed"]
"""``nothing``: no playbook waits for it. ``taken``: handed out; from ``until`` on it is ``waiting`` again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A schedule that came due, or a webhook that arrived, and what came of it."""

    id: str
    at: datetime  # UTC
    source: str  # ``cron``, or what sent the webhook
    event: str  # the schedule, or the event's name
    text: str = ""
    """The message that it is for an agent. That of a webhook holds a stranger's words, and says so."""
    delivery: str = ""  # the sender's name for the delivery
    state: State = "arrived"
    topics: tuple[str, ...] = ()  # which became active
    why: str = ""
    tokens: int = 0  # of the prompt when it arrived
    by: str = ""  # who has taken it
    taken: int = 0  # how often it was handed out
    until: datetime | None = None  # when it is handed out again
    said: str = ""  # what came of it, or how a command's output ended

    @property
    def key(self) -> str:
        """Names it in the feed, and for ``Engine.trace_of``."""
        return f"signal:{self.source}:{self.event}@{self.id}"

    def is_open(self, now: datetime) -> bool:
        """Whether it is to be handed out."""
        is_late = self.state == "taken" and self.until is not None and self.until <= now
        return self.state == "waiting" or is_late


class SignalLog:
    """Writes and reads the log. Safe to use from several threads and processes."""

    def __init__(self, files: Files, clock: Callable[[], datetime]) -> None:
        self._files = files
        self._clock = clock
        self._months = MonthlyLog(files, KIND, clock)
        self._guard = threading.RLock()
        self._news: deque[Arrival] = deque(maxlen=_NEWS)
        self._forget()

    def all(self) -> list[Arrival]:
        """What arrived in the last months, oldest first."""
        with self._guard:
            self._refresh()
            return list(self._known.values())

    def news(self) -> list[Arrival]:
        """What has arrived, by any program, since this was asked last, beginning with the first reading."""
        with self._guard:
            self._refresh()
            found = [self._known[each.id] for each in self._news if each.id in self._known]
            self._news.clear()
            return found

    def arrive(self, source: str, event: str, text: str, delivery: str = "") -> Arrival | None:
        """Writes down that something arrived; ``None`` for a delivery that is there already.

        Raises:
            WriteFailed, ReadOnly: It was not written down.
        """
        with self._files.lock(), self._guard:
            self._refresh()
            if delivery and (source, delivery) in self._deliveries:
                return None
            name = f"evt_{secrets.token_hex(5)}"
            self._append(name, "arrived", source=source, event=event, text=text, delivery=delivery)
            return self._known[name]

    def traced(self, arrival: Arrival, topics: tuple[str, ...], why: str, tokens: int) -> None:
        """Writes down what it activates. Raises as ``arrive``."""
        with self._files.lock(), self._guard:
            self._refresh()
            state = self._known.get(arrival.id, arrival).state
            if state == "arrived":
                found: State = "waiting" if topics else "nothing"
                self._append(arrival.id, found, topics=topics, why=why, tokens=tokens)

    def take(self, by: str, lease: timedelta) -> Arrival | None:
        """Hands out the oldest that is to be handed out; ``None`` where there is none. Raises as ``arrive``.

        Args:
            lease: How long it is left to whoever takes it, unless that says before that it has ended.
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
        """The oldest that is to be handed out; ``None`` where there is none."""
        now = self._clock()
        return next((each for each in self.all() if each.is_open(now)), None)

    def end(self, name: str, *, failed: bool = False, said: str = "") -> Arrival:
        """Writes down that what was taken is dealt with. Of one that was ended before nothing changes.

        Raises:
            JobError: Nothing of that name has arrived.
            WriteFailed, ReadOnly: It was not written down.
        """
        with self._files.lock(), self._guard:
            self._refresh()
            found = self._known.get(name)
            if found is None:
                raise JobError("there is no such event", where=name, hint="see: autopoiesis events list")
            if found.state not in ("done", "failed"):
                self._append(name, "failed" if failed else "done", said=said[-MOST_SAID:])
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
            arrived = self._take(tree)
            if arrived is not None and not is_first:
                self._news.append(arrived)

    def _take(self, tree: dict[str, Any]) -> Arrival | None:
        """Takes in a record; gives what it says has arrived. One that is damaged is passed over."""
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
                new["text"] = known.text[:_KEPT_TEXT]  # it is not handed out any more
            self._known[read.id] = replace(known, **new)
        return None
