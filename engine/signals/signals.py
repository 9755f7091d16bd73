"""From an arrival to an agent: the playbooks that wait for it, the prompt, and who takes it (spec 4.4)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from engine.activation.trace import Event, Message
from engine.errors import AutopoiesisError
from engine.events import EngineEvent, PromptCompiled, Signal, TurnTraced
from engine.providers.outgoing import sendable
from engine.settings.trust import read
from engine.signals.command import run_command
from engine.signals.log import Arrival, SignalLog

if TYPE_CHECKING:
    from engine.activation.trace import Trace
    from engine.basics.parts import BasicParts
    from engine.context.compiled import Compiled

LOOK_S = 1.0
"""How often it is looked what other programs took in, seconds."""
LEASE = timedelta(minutes=15)
"""How long what was taken is left to whoever took it."""
_ORPHANED = timedelta(seconds=30)
"""After which what another program took in, and left, is worked on here."""


@dataclass(frozen=True, slots=True)
class HandedOut:
    """An event for an agent."""

    arrival: Arrival
    prompt: Compiled  # made now, from the memory as it is now


class Signals:
    """Takes in what arrives, and hands it out. Safe to use from several threads.

    Args:
        publish: Called on the threads on which something happens.
    """

    def __init__(self, parts: BasicParts, publish: Callable[[EngineEvent], None]) -> None:
        self.log = SignalLog(parts.files, parts.clock)
        self._parts = parts
        self._publish = publish
        self._own: set[str] = set()
        self._told: set[str] = set()
        self._poke = threading.Event()
        self._leave = threading.Event()
        self._thread: threading.Thread | None = None

    def fire(self, schedule: str) -> str:
        """A schedule came due: its topics become active at once. Gives why.

        Raises:
            WriteFailed, ReadOnly: It was not written down.
        """
        text = f"The schedule {schedule} came due: it is {self._parts.clock():%Y-%m-%d %H:%M} UTC."
        arrival = self._arrived("cron", schedule, text)
        return self._work_on(arrival).why if arrival is not None else ""

    def arrive(self, source: str, event: str, text: str, delivery: str = "") -> Arrival | None:
        """A webhook arrived: it is written down, and worked on soon where ``start`` was called.

        Args:
            text: The message that it is for an agent; a stranger's words are marked in it.
            delivery: The sender's name for it; nothing happens where it came before.

        Raises:
            WriteFailed, ReadOnly: It was not written down.
        """
        arrival = self._arrived(source, event, text, delivery)
        self._poke.set()
        return arrival

    def take(self, by: str, lease: timedelta = LEASE) -> HandedOut | None:
        """The oldest event that waits, with its prompt; ``None`` where none does.

        Raises:
            BudgetError: What may never be dropped exceeds the budget; the event waits on.
            WriteFailed, ReadOnly: It cannot be written down who has it.
        """
        waiting = self.log.next()
        if waiting is None:
            return None
        compiled = self._compiled(waiting)  # before it is taken: one without a prompt is left to nobody
        arrival = self.log.take(by, lease)
        if arrival is None:
            return None
        if arrival.id != waiting.id:  # another program was faster
            compiled = self._compiled(arrival)
        if self._parts.injections.record(compiled, arrival.text):
            self._parts.prefixes.note(compiled, "")
        return HandedOut(arrival, compiled)

    def start(self) -> None:
        """Begins to work on what arrives, in a thread, and to run ``events.command``."""
        if self._thread is None and not self._parts.files.read_only:
            self._thread = threading.Thread(target=self._watch, name="autopoiesis-signals", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Ends that. A command that runs is ended, and its event handed out again later."""
        self._leave.set()
        self._poke.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(5)

    def look(self) -> None:
        """Works on what has arrived.

        Raises:
            AutopoiesisError: The log cannot be read or written.
        """
        now = self._parts.clock()
        for arrival in self.log.news():
            if arrival.id not in self._own and arrival.source != "cron":  # the schedule tells of those
                self._publish(Signal(arrival.at, "", arrival.source, arrival.event))
        for arrival in self.log.all():
            if arrival.state == "arrived" and (arrival.id in self._own or now - arrival.at > _ORPHANED):
                self._work_on(arrival)
        self._run_commands()

    def _watch(self) -> None:
        while not self._leave.is_set():
            try:
                self.look()
            except (AutopoiesisError, OSError) as error:
                self._tell(f"an event waits: {error}")
            self._poke.wait(LOOK_S)
            self._poke.clear()

    def _arrived(self, source: str, event: str, text: str, delivery: str = "") -> Arrival | None:
        arrival = self.log.arrive(source, event, text, delivery)
        if arrival is not None:
            self._own.add(arrival.id)
            self._publish(Signal(arrival.at, arrival.key, source, event))
        return arrival

    def _work_on(self, arrival: Arrival) -> Trace:
        """Traces it and compiles its prompt, and tells both."""
        trace = self._trace(arrival, record=True)
        self._publish(TurnTraced(arrival.key, trace))
        compiled = None
        if trace.active:
            try:
                compiled = self._parts.prompts.compile(arrival.text, trace)
            except AutopoiesisError as error:
                self._tell(f"no prompt for {arrival.source} {arrival.event}: {error}")
        self.log.traced(arrival, trace.active, trace.why, compiled.tokens if compiled else 0)
        if compiled is not None:
            self._publish(PromptCompiled(arrival.key, compiled))
        self._own.discard(arrival.id)
        self._poke.set()
        return trace

    def _compiled(self, arrival: Arrival) -> Compiled:
        return self._parts.prompts.compile(arrival.text, self._trace(arrival, record=False))

    def _trace(self, arrival: Arrival, *, record: bool) -> Trace:
        """What waits for the event. Its text is a stranger's: no pattern and no likeness is looked for in it,
        so that nobody outside can choose playbooks by his words."""
        message = Message("", at=arrival.at, event=Event(arrival.source, arrival.event))
        return self._parts.turns.trace_message(message, key=arrival.key, record=record, ask=record)

    def _run_commands(self) -> None:
        # Read anew each time: trust can be taken back by another program.
        while not self._leave.is_set() and (settings := read(self._parts.files).config.events).command:
            lease = timedelta(seconds=settings.command_deadline_s + 60)
            handed = self.take("events.command", lease)
            if handed is None:
                return
            ended = run_command(
                settings.command,
                sendable(handed.prompt.text),
                settings.command_deadline_s,
                {
                    "AUTOPOIESIS_HOME": os.fspath(self._parts.workspace.root),
                    "AUTOPOIESIS_EVENT": handed.arrival.id,
                },
                self._leave.is_set,
            )
            if ended is not None:
                went_well, said = ended
                self.log.end(handed.arrival.id, failed=not went_well, said=said)
                if not went_well:
                    self._parts.report_error(f"events.command failed for {handed.arrival.id}: {said[-300:]}")

    def _tell(self, text: str) -> None:
        """Tells what fails, each thing once: it would fail again at every look."""
        if text not in self._told:
            self._told.add(text)
            self._parts.report_error(text)
