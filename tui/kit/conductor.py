"""Asks the engine for what the screen needs, off the screen's thread, and posts what comes back."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual.message import Message

from engine.activation.trace import Trace
from engine.context.compiled import Compiled
from engine.errors import AutopoiesisError
from tui.kit.bridge import EventBridge, Part
from tui.kit.lanes import Lane
from tui.kit.messages import CommandRan, EventsArrived, PartsRead, Said, TraceRead, Tried

if TYPE_CHECKING:
    from engine.engine import Engine

FEED_LIMIT = 100_000
"""Rows of the feed that are asked for."""
LEAVE_S = 0.5
"""How long leaving waits for the engine's answers at most."""
LEAVE_COMMAND_S = 3.0
"""How long it waits for a command that was stopped: longer than one that does not end is left to live."""
RunLine = Callable[[str, threading.Event], str]
"""Runs a command line and returns what it printed; stops it when the event is set."""


@dataclass(frozen=True, slots=True)
class Errand:
    """A small thing to do in order; ``done`` is said afterwards, where it is not empty."""

    do: Callable[[], None]
    done: str = ""


class Conductor:
    """Owns the lanes between screen and engine. Every method returns at once.

    Args:
        post: Takes messages from any thread.
    """

    def __init__(self, engine: Engine, post: Callable[[Message], object], run_line: RunLine) -> None:
        self._engine = engine
        self._run_line = run_line
        self._send = post
        self.bridge = EventBridge(lambda: self._post(EventsArrived()))
        self._unsubscribe: Callable[[], None] | None = None
        self._said: dict[Part, str] = {}
        self._parts: Lane[frozenset[Part], None] = Lane(
            self._read_parts,
            lambda _parts, _nothing: None,
            lambda _parts, error: self._post(Said(error, trouble=True)),
            merge=lambda waiting, new: waiting | new,
        )
        self._traces: Lane[str, tuple[Trace | None, Compiled | None]] = Lane(
            lambda key: (engine.trace_of(key), engine.compile_of(key)),
            lambda key, found: self._post(TraceRead(key, *found)),
            lambda key, error: self._post(TraceRead(key, None, None, error)),
        )
        self._tries: Lane[tuple[str, bool], tuple[Trace, Compiled]] = Lane(
            lambda wish: engine.try_message(wish[0], ask=wish[1]),
            lambda wish, found: self._post(Tried(wish[0], *found)),
            lambda wish, error: self._post(Tried(wish[0], None, None, error)),
        )
        self._commands: dict[threading.Event, Lane[str, str]] = {}
        self._errands: Lane[tuple[Errand, ...], None] = Lane(
            self._run_errands,
            lambda _errands, _nothing: None,
            lambda _errands, error: self._post(Said(error, trouble=True)),
            merge=lambda waiting, new: waiting + new,
        )
        self._lanes: tuple[Lane[Any, Any], ...] = (
            self._errands,
            self._parts,
            self._traces,
            self._tries,
        )

    @property
    def busy(self) -> bool:
        """Whether anything is under way."""
        return any(lane.busy for lane in (*self._lanes, *self._commands.values()))

    def start(self) -> None:
        """Listens to the engine and starts it."""
        self._unsubscribe = self._engine.subscribe(self.bridge.handle)
        self._errands.ask((Errand(self._engine.start),))

    def stop(self) -> None:
        """Stops listening, and the engine's background work."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        for stop in self._commands:
            stop.set()
        for lane in self._lanes:
            lane.stop(LEAVE_S / len(self._lanes))
        for lane in self._commands.values():
            lane.stop(LEAVE_COMMAND_S)
        self._engine.stop()

    def read(self, parts: frozenset[Part]) -> None:
        """Reads parts of the workspace: ``PartsRead``."""
        if parts:
            self._parts.ask(parts)

    def fetch(self, key: str) -> None:
        """Fetches trace and prompt of a message, the newest wish first: ``TraceRead``."""
        self._traces.ask(key)

    def try_text(self, text: str, *, ask: bool) -> None:
        """Tries a message, the newest wish first: ``Tried``; ``ask`` lets the gate be asked."""
        self._tries.ask((text, ask))

    def run(self, line: str) -> threading.Event:
        """Runs a command line, beside others that still run: ``CommandRan``; the event stops it."""
        stop = threading.Event()
        lane: Lane[str, str] = Lane(
            lambda line: self._run_line(line, stop),
            lambda line, output: self._post(CommandRan(line, output, stop)),
            lambda line, error: self._post(CommandRan(line, error, stop, failed=True)),
        )
        self._commands = {each: known for each, known in self._commands.items() if known.busy}
        self._commands[stop] = lane
        lane.ask(line)
        return stop

    def label(self, key: str, topic: str, useful: bool) -> None:
        """Records a label, then says so."""
        word = "useful" if useful else "noise"
        self._errands.ask(
            (Errand(lambda: self._engine.labels.label(key, topic, useful), f"{topic}: {word}"),)
        )

    def learn(self) -> None:
        """Lets the engine learn from labels given since, and says so where it did."""
        self._errands.ask((Errand(self._learn),))

    def answer(self, question_id: str, yes: bool) -> None:
        """Answers the gate."""
        self._errands.ask((Errand(lambda: self._engine.answer(question_id, yes)),))

    def rescan(self, *, quietly: bool) -> None:
        """Looks at every file again."""
        self._errands.ask((Errand(self._engine.rescan, "" if quietly else "every file was looked at again"),))

    def _learn(self) -> None:
        if self._engine.labels.learn():
            self._post(Said("learned from the labels"))

    def _run_errands(self, errands: tuple[Errand, ...]) -> None:
        for errand in errands:
            errand.do()
            if errand.done:
                self._post(Said(errand.done))

    def _read_parts(self, parts: frozenset[Part]) -> None:
        """Reads one part after the other and posts each at once: a slow or broken one holds up no other."""
        readers: dict[Part, Callable[[], PartsRead]] = {
            "feed": lambda: PartsRead(feed=self._engine.feed(FEED_LIMIT)),
            "digest": lambda: PartsRead(digest=self._engine.digest()),
            "ledger": lambda: PartsRead(ledger=self._engine.ledger()),
            "status": lambda: PartsRead(status=self._engine.status()),
        }
        for part, read in readers.items():
            if part not in parts:
                continue
            try:
                self._post(read())
                self._said.pop(part, None)
            except (AutopoiesisError, OSError) as error:
                if self._said.get(part) != str(error):
                    self._said[part] = str(error)
                    self._post(Said(str(error), trouble=True))

    def _post(self, message: Message) -> None:
        with contextlib.suppress(RuntimeError):  # the screen is gone: nothing is left to tell
            self._send(message)
