"""From an arrival to an agent: triggered playbooks, the prompt, and hand-out (spec 4.4).

Due schedules, webhooks and their outcomes are recorded in ``logs/events-YYYY-MM.jsonl``, append-only (design
2). All state is read from this log, so any process can hand out an arrival and no two hand out the same one.
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

from engine.activation.trace import Event, Message
from engine.errors import AutopoiesisError, ConfigError, JobError
from engine.events import EngineEvent, PromptCompiled, Signal, TurnTraced
from engine.store.monthly import AnotherFile, Mark, MonthlyLog, record_of
from engine.store.typed import typed

if TYPE_CHECKING:
    from engine.activation.trace import Trace
    from engine.basics.parts import BasicParts
    from engine.context.compiled import Compiled
    from engine.store.files import Files

POLL_S = 1.0
"""Seconds between checks for arrivals in other processes."""
LEASE = timedelta(minutes=15)
"""How long a taken event is reserved for its taker."""
_ORPHANED = timedelta(seconds=30)
"""Age at which an arrival recorded but not traced by another process is traced here."""


@dataclass(frozen=True, slots=True)
class HandedOut:
    """An event for an agent."""

    arrival: Arrival
    prompt: Compiled  # compiled at hand-out, from the current memory


class Signals:
    """Receives arrivals and hands them out. Thread-safe.

    Args:
        publish: Called on the thread that causes the event.
    """

    def __init__(self, parts: BasicParts, publish: Callable[[EngineEvent], None]) -> None:
        self.log = SignalLog(parts.files, parts.clock)
        self._parts = parts
        self._publish = publish
        self._own: set[str] = set()
        self._reported: set[str] = set()
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def fire(self, schedule: str) -> str:
        """Activates the topics of a due schedule at once; returns the trace's reason.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        text = f"The schedule {schedule} came due: it is {self._parts.clock():%Y-%m-%d %H:%M} UTC."
        arrival = self._record("cron", schedule, text)
        return self._process(arrival).why if arrival is not None else ""

    def arrive(self, source: str, event: str, text: str, delivery: str = "") -> Arrival | None:
        """Records a webhook; it is processed soon if ``start`` was called.

        Args:
            text: The message for an agent, with untrusted text marked as such.
            delivery: The sender's id of the delivery; a known one is ignored.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        arrival = self._record(source, event, text, delivery)
        self._wake.set()
        return arrival

    def take(self, by: str, lease: timedelta = LEASE) -> HandedOut | None:
        """The oldest waiting event, with its prompt; ``None`` if there is none.

        Raises:
            BudgetError: The sections that may never be dropped exceed the budget; the event keeps waiting.
            WriteFailed, ReadOnly: The hand-out cannot be recorded.
        """
        waiting = self.log.next()
        if waiting is None:
            return None
        compiled = self._compile(waiting)  # first, so that no event is taken without a prompt
        arrival = self.log.take(by, lease)
        if arrival is None:
            return None
        if arrival.id != waiting.id:  # another process was faster
            compiled = self._compile(arrival)
        if self._parts.injections.record(compiled, arrival.text):
            self._parts.prefixes.note(compiled, "")
        return HandedOut(arrival, compiled)

    def start(self) -> None:
        """Starts a thread that processes arrivals."""
        if self._thread is None and not self._parts.files.read_only:
            self._thread = threading.Thread(target=self._watch, name="autopoiesis-signals", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stops the thread."""
        self._stop.set()
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(5)

    def look(self) -> None:
        """Processes arrivals once.

        Raises:
            AutopoiesisError: The log cannot be read or written.
        """
        now = self._parts.clock()
        for arrival in self.log.news():
            if arrival.id not in self._own and arrival.source != "cron":  # the schedule announces those
                self._publish(Signal(arrival.at, "", arrival.source, arrival.event))
        for arrival in self.log.all():
            if arrival.state == "arrived" and (arrival.id in self._own or now - arrival.at > _ORPHANED):
                self._process(arrival)

    def _watch(self) -> None:
        while not self._stop.is_set():
            try:
                self.look()
            except ConfigError:
                pass  # reported where the file is watched; what waits is looked at again once it is mended
            except (AutopoiesisError, OSError) as error:
                self._report(f"events are not looked at: {error}")
            self._wake.wait(POLL_S)
            self._wake.clear()

    def _record(self, source: str, event: str, text: str, delivery: str = "") -> Arrival | None:
        arrival = self.log.arrive(source, event, text, delivery)
        if arrival is not None:
            self._own.add(arrival.id)
            self._publish(Signal(arrival.at, arrival.key, source, event))
        return arrival

    def _process(self, arrival: Arrival) -> Trace:
        """Traces an arrival, compiles its prompt and publishes both."""
        trace = self._trace(arrival, record=True)
        self._publish(TurnTraced(arrival.key, trace))
        compiled = None
        if trace.active:
            try:
                compiled = self._parts.prompts.compile(arrival.text, trace)
            except AutopoiesisError as error:
                self._report(f"no prompt for {arrival.source} {arrival.event}: {error}")
        self.log.traced(arrival, trace.active, trace.why, compiled.tokens if compiled else 0)
        if compiled is not None:
            self._publish(PromptCompiled(arrival.key, compiled))
        self._own.discard(arrival.id)
        self._wake.set()
        return trace

    def _compile(self, arrival: Arrival) -> Compiled:
        return self._parts.prompts.compile(arrival.text, self._trace(arrival, record=False))

    def _trace(self, arrival: Arrival, *, record: bool) -> Trace:
        """Activates topics by the event alone. Its text is untrusted: neither patterns nor similarity are
        matched against it, so a sender cannot choose playbooks by wording."""
        message = Message("", at=arrival.at, event=Event(arrival.source, arrival.event))
        return self._parts.turns.trace_message(message, key=arrival.key, record=record, ask=record)

    def _report(self, text: str) -> None:
        """Reports each error once: it would recur with every poll."""
        if text not in self._reported:
            self._reported.add(text)
            self._parts.report_error(text)


KIND = "events"
MONTHS = 2
"""Number of monthly files that are read: repeated deliveries are recognized for this long."""
OUTPUT_CHARS = 2_000
"""Characters kept from the end of a reported result."""

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
    said: str = ""  # the reported result

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
