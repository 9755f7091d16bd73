"""From an arrival to an agent: triggered playbooks, the prompt, and hand-out (spec 4.4)."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from engine.activation.trace import Event, Message
from engine.errors import AutopoiesisError
from engine.events import EngineEvent, PromptCompiled, Signal, TurnTraced
from engine.providers.outgoing import sendable
from engine.settings.trust import read
from engine.signals.log import OUTPUT_CHARS, Arrival, SignalLog
from engine.store import programs

if TYPE_CHECKING:
    from engine.activation.trace import Trace
    from engine.basics.parts import BasicParts
    from engine.context.compiled import Compiled

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
        """Starts a thread that processes arrivals and runs ``events.command``."""
        if self._thread is None and not self._parts.files.read_only:
            self._thread = threading.Thread(target=self._watch, name="autopoiesis-signals", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stops the thread. A running command is killed, and its event handed out again later."""
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
        self._run_commands()

    def _watch(self) -> None:
        while not self._stop.is_set():
            try:
                self.look()
            except (AutopoiesisError, OSError) as error:
                self._report(f"an event is waiting: {error}")
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

    def _run_commands(self) -> None:
        # Read each time: another process may revoke trust.
        while not self._stop.is_set() and (settings := read(self._parts.files).config.events).command:
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
                self._stop.is_set,
            )
            if ended is not None:
                succeeded, output = ended
                self.log.end(handed.arrival.id, failed=not succeeded, said=output)
                if not succeeded:
                    self._parts.report_error(
                        f"events.command failed for {handed.arrival.id}: {output[-300:]}"
                    )

    def _report(self, text: str) -> None:
        """Reports each error once: it would recur with every poll."""
        if text not in self._reported:
            self._reported.add(text)
            self._parts.report_error(text)


_CHUNK = 64 * 1024
_POLL_S = 0.5


def run_command(
    argv: Sequence[str],
    prompt: str,
    deadline_s: float,
    variables: Mapping[str, str],
    is_closing: Callable[[], bool],
) -> tuple[bool, str] | None:
    """Runs a command without a shell, in the home folder, so that it cannot pick up a workspace file by name.

    It is killed with its children when its time is up or this program exits.

    Args:
        prompt: Written to its stdin.
        variables: Added to its environment.

    Returns:
        True if it succeeded, and the end of its output; ``None`` if this program exits.
    """
    program = programs.find(argv[0])
    if program is None:
        return False, f"{argv[0]} not found on PATH; give its full path in events.command"
    end = time.monotonic() + deadline_s
    with tempfile.TemporaryFile() as stdin:
        stdin.write(prompt.encode("utf-8", "replace"))
        stdin.seek(0)
        try:
            process = subprocess.Popen(
                [program, *argv[1:]],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=Path.home(),
                env=programs.surroundings(variables),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return False, f"cannot start: {error}"
    assert process.stdout is not None
    output, reason, is_open = b"", "", True
    with process.stdout:
        while is_open or process.poll() is None:
            if is_closing() or time.monotonic() > end:
                reason = f"timed out after {deadline_s:g} s"
                break
            if not is_open:  # it closed its output but is still running
                time.sleep(0.01)
            elif select.select([process.stdout], [], [], _POLL_S)[0]:
                chunk = os.read(process.stdout.fileno(), _CHUNK)
                is_open, output = bool(chunk), (output + chunk)[-4 * OUTPUT_CHARS :]
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    status = process.wait()
    if reason and is_closing():
        return None
    text = output.decode("utf-8", "replace").strip()
    text = f"{text}\n{reason}".strip() if reason else text or f"status {status}"
    return not reason and status == 0, text[-OUTPUT_CHARS:]
