"""Runs engine calls off the screen's thread and posts the results as messages."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Set
from typing import TYPE_CHECKING, Any

from textual.message import Message

from engine.activation.trace import Trace
from engine.context.compiled import Compiled
from engine.errors import AutopoiesisError
from tui.kit.lanes import Lane, Writes
from tui.kit.messages import CommandRan, Learned, Notice, Part, PartsRead, TraceRead, Tried
from tui.render.words import label_word

if TYPE_CHECKING:
    from engine.engine import Engine

FEED_LIMIT = 100_000
"""Maximum rows of the feed."""
LEAVE_S = 0.5
"""Maximum wait for pending engine calls on exit."""
LEAVE_COMMAND_S = 3.0
"""Maximum wait for a stopped command on exit; after that, it is abandoned."""
RunLine = Callable[[str, threading.Event], str]
"""Runs a command line and returns its output; setting the event stops it."""


class Conductor:
    """Owns the lanes between screen and engine. Every method returns immediately.

    Args:
        post: Posts a message; thread-safe.
    """

    def __init__(self, engine: Engine, post: Callable[[Message], object], run_line: RunLine) -> None:
        self._engine = engine
        self._run_line = run_line
        self._send = post
        self._last_errors: dict[Part, str] = {}
        self._parts: Lane[Set[Part], None] = Lane(
            self._read_parts,
            lambda _parts, _nothing: None,
            lambda _parts, error: self._post(Notice(error, error=True)),
            merge=lambda waiting, new: waiting | new,
        )
        self._traces: Lane[str, tuple[Trace | None, Compiled | None]] = Lane(
            lambda key: (engine.trace_of(key), engine.compile_of(key)),
            lambda key, found: self._post(TraceRead(key, *found)),
            lambda key, error: self._post(TraceRead(key, None, None, error)),
        )
        self._tries: Lane[tuple[str, bool], tuple[Trace, Compiled]] = Lane(
            lambda request: engine.try_message(request[0], ask=request[1]),
            lambda request, found: self._post(Tried(request[0], *found)),
            lambda request, error: self._post(Tried(request[0], None, None, error)),
        )
        self._commands: dict[threading.Event, Lane[str, str]] = {}
        self._tasks: Lane[tuple[Callable[[], object], str], object] = Lane(
            lambda task: task[0](),
            lambda task, _nothing: self._post(Notice(task[1])) if task[1] else None,
            lambda _task, error: self._post(Notice(error, error=True)),
            in_turn=True,
        )
        self._labels: Lane[tuple[Callable[[], object], str], object] = Lane(
            lambda task: task[0](),
            lambda task, _nothing: self.tell(task[1]) if task[1] else None,
            lambda _task, error: self.tell(error, error=True),
            in_turn=True,
        )
        self._lanes: tuple[Lane[Any, Any], ...] = (self._tasks, self._parts, self._traces, self._tries)
        self._given: list[tuple[str, str, bool | None]] = []
        """The labels given, by message and topic, with those that were there before."""
        self._stopped = False
        self.writes = Writes()
        """The writes of closed screens."""

    @property
    def busy(self) -> bool:
        return any(lane.busy for lane in (*self._lanes, self._labels, *self._commands.values()))

    def start(self) -> None:
        self._do(self._engine.start)

    def stop(self) -> None:
        """Stops pending work and the engine's background work; ``writes`` keeps what is not written yet."""
        self._stopped = True
        self.writes.leave([self._labels])
        for stop in self._commands:
            stop.set()
        for lane in self._lanes:
            lane.stop(LEAVE_S / len(self._lanes))
        for lane in self._commands.values():
            lane.stop(LEAVE_COMMAND_S)
        self._engine.stop()

    def read(self, parts: Set[Part]) -> None:
        """Reads parts of the workspace; posts ``PartsRead``."""
        if parts:
            self._parts.ask(parts)

    def read_older(self) -> None:
        """Reads older conversations into the feed; posts ``PartsRead``."""
        self._do(self._read_older)

    def fetch(self, key: str) -> None:
        """Fetches the trace and prompt of a message; posts ``TraceRead``, for the newest request only."""
        self._traces.ask(key)

    def try_text(self, text: str, *, ask: bool) -> None:
        """Tries a message; posts ``Tried``. ``ask`` allows asking the gate."""
        self._tries.ask((text, ask))

    def run(self, line: str) -> threading.Event:
        """Runs a command line concurrently; posts ``CommandRan``. Setting the returned event stops it."""
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
        """Labels a topic for a message, learns from it and posts ``Learned``."""
        self._labels.ask((lambda: self._label(key, topic, useful), ""))

    def unlabel(self) -> None:
        """Undoes the last label given here, learns from it and posts ``Learned``."""
        self._labels.ask((self._unlabel, ""))

    def learn(self) -> None:
        """Lets the engine learn from new labels."""
        self._labels.ask((self._learn, ""))

    def answer(self, question_id: str, yes: bool) -> None:
        self._do(lambda: self._engine.answer(question_id, yes))

    def rescan(self, *, quietly: bool) -> None:
        self._do(self._engine.rescan, "" if quietly else "rescanned all files")

    def tell(self, text: str, *, error: bool = False) -> None:
        """Shows a notification; keeps an error for the end if the workbench is closed; thread-safe."""
        if not self._stopped:
            self._post(Notice(text, error=error))
        elif error:
            self.writes.failed(text)

    def _do(self, work: Callable[[], object], message: str = "") -> None:
        """Queues a small task; shows a message when it is done."""
        self._tasks.ask((work, message))

    def _label(self, key: str, topic: str, useful: bool) -> None:
        judged = self._engine.labels.label(key, topic, useful)
        self._given.append((key, topic, judged.was))
        words = (f"{topic}: {label_word(useful)}", judged.moved, "u undoes it")
        self.tell(" · ".join(filter(None, words)))
        self._post(Learned(key, topic, useful, judged.before.score if judged.before is not None else None))

    def _unlabel(self) -> None:
        if not self._given:
            self.tell("no label to undo")
            return
        key, topic, useful = self._given[-1]
        judged = self._engine.labels.label(key, topic, useful)
        self._given.pop()
        self.tell(" · ".join(filter(None, (f"{topic}: {label_word(useful)} again", judged.moved))))
        self._post(Learned(key, topic, useful, None))

    def _learn(self) -> None:
        if self._engine.labels.learn():
            self._post(Notice("learned from the labels"))

    def _read_older(self) -> None:
        self._engine.read_older()
        self.read({"feed"})

    def _read_parts(self, parts: Set[Part]) -> None:
        """Reads the parts one by one and posts each at once, so a slow or broken one holds up no other."""
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
                self._last_errors.pop(part, None)
            except (AutopoiesisError, OSError) as error:
                if self._last_errors.get(part) != str(error):
                    self._last_errors[part] = str(error)
                    self._post(Notice(str(error), error=True))

    def _post(self, message: Message) -> None:
        with contextlib.suppress(RuntimeError):  # the screen is gone
            self._send(message)
