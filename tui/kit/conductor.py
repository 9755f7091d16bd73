"""Asks the engine for what the screen needs, off the screen's thread, and posts what comes back."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Set
from typing import TYPE_CHECKING, Any

from textual.message import Message

from engine.activation.trace import Trace
from engine.context.compiled import Compiled
from engine.errors import AutopoiesisError
from tui.kit.bridge import Part
from tui.kit.lanes import Lane
from tui.kit.messages import CommandRan, PartsRead, Said, TraceRead, Tried

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


class Conductor:
    """Owns the lanes between screen and engine. Every method returns at once.

    Args:
        post: Takes messages from any thread.
    """

    def __init__(self, engine: Engine, post: Callable[[Message], object], run_line: RunLine) -> None:
        self._engine = engine
        self._run_line = run_line
        self._send = post
        self._said: dict[Part, str] = {}
        self._parts: Lane[Set[Part], None] = Lane(
            self._read_parts,
            lambda _parts, _nothing: None,
            lambda _parts, error: self._post(Said(error, error=True)),
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
        self._errands: Lane[tuple[Callable[[], object], str], object] = Lane(
            lambda errand: errand[0](),
            lambda errand, _nothing: self._post(Said(errand[1])) if errand[1] else None,
            lambda _errand, error: self._post(Said(error, error=True)),
            in_turn=True,
        )
        self._lanes: tuple[Lane[Any, Any], ...] = (self._errands, self._parts, self._traces, self._tries)

    @property
    def busy(self) -> bool:
        """Whether anything is under way."""
        return any(lane.busy for lane in (*self._lanes, *self._commands.values()))

    def start(self) -> None:
        """Starts the engine's background work."""
        self._do(self._engine.start)

    def stop(self) -> None:
        """Ends what is under way, and the engine's background work."""
        for stop in self._commands:
            stop.set()
        for lane in self._lanes:
            lane.stop(LEAVE_S / len(self._lanes))
        for lane in self._commands.values():
            lane.stop(LEAVE_COMMAND_S)
        self._engine.stop()

    def read(self, parts: Set[Part]) -> None:
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
        said = f"{topic}: {'useful' if useful else 'noise'}"
        self._do(lambda: self._engine.labels.label(key, topic, useful), said)

    def learn(self) -> None:
        """Lets the engine learn from labels given since, and says so where it did."""
        self._do(self._learn)

    def answer(self, question_id: str, yes: bool) -> None:
        """Answers the gate."""
        self._do(lambda: self._engine.answer(question_id, yes))

    def rescan(self, *, quietly: bool) -> None:
        """Looks at every file again."""
        self._do(self._engine.rescan, "" if quietly else "every file was looked at again")

    def _do(self, errand: Callable[[], object], said: str = "") -> None:
        """Has a small thing done in its turn, and says so afterwards."""
        self._errands.ask((errand, said))

    def _learn(self) -> None:
        if self._engine.labels.learn():
            self._post(Said("learned from the labels"))

    def _read_parts(self, parts: Set[Part]) -> None:
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
                    self._post(Said(str(error), error=True))

    def _post(self, message: Message) -> None:
        with contextlib.suppress(RuntimeError):  # the screen is gone: nothing is left to tell
            self._send(message)
