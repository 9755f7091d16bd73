"""Screens above the workbench: opening, closing, and background work."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from textual import on
from textual.message import Message
from textual.timer import Timer

from tui.kit.bridge import Burst, EventBridge
from tui.kit.commands import Commanded
from tui.kit.lanes import Lane
from tui.kit.messages import EventsArrived, Notice

if TYPE_CHECKING:
    from tui.kit.bench import Bench

Ask = TypeVar("Ask")
Answer = TypeVar("Answer")

LEAVE_S = 0.2
"""Maximum wait for each lane when a screen is closed."""
COMMIT = 7
"""Characters shown of a commit hash."""


def committed(commit: str, why: str) -> str:
    """The commit of a change, or why there is none."""
    return f"commit {commit[:COMMIT]}" if commit else why or "not committed"


@dataclass
class Deliver(Message):
    """Background work has a result; ``take`` passes it to the screen."""

    take: Callable[[], object]

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Deliver) and self.take == message.take


class FullScreen(Commanded):
    """A screen with background work and engine events.

    Blocking work runs in lanes, which a screen creates with ``lane`` in its constructor; keys never wait.

    Args:
        used: The panel focused first; the first one by default.
    """

    burst_s: ClassVar[float] = 0.2
    """Seconds to collect events before the screen handles them."""
    line_passes = True

    def __init__(self, bench: Bench, used: str = "") -> None:
        super().__init__(bench, used or self.catalog.panels[0])
        self.bridge = EventBridge(lambda: self._post(EventsArrived()))
        self._unsubscribe: Callable[[], None] | None = None
        self._burst: Timer | None = None
        self._lanes: list[Lane[Any, Any]] = []
        self._stopped_on_close: list[Lane[Any, Any]] = []

    # Defined by screens

    @classmethod
    def over(cls, bench: Bench) -> Self:
        """The screen as the workbench opens it, with the workbench's selection if it uses that."""
        return cls(bench)

    def begin(self) -> None:
        """Called once the screen is open."""

    def end(self) -> None:
        """Called when the screen is closed, before its lanes stop."""

    def handle_events(self, burst: Burst) -> None:
        """Handles engine events."""

    def patience(self) -> float:
        """Seconds to collect events from now on."""
        return self.burst_s

    # Background work

    def lane(
        self,
        work: Callable[[Ask], Answer],
        then: Callable[[Ask, Answer], object],
        refused: Callable[[Ask, str], object] | None = None,
        *,
        merge: Callable[[Ask, Ask], Ask] | None = None,
        in_turn: bool = False,
        finish: bool = False,
    ) -> Lane[Ask, Answer]:
        """Creates a lane for one kind of work.

        Args:
            then: Receives request and result, on the screen's thread.
            refused: Receives request and error; by default, the error is shown as a notification.
            merge: Combines a waiting and a new request; by default, the newer one replaces the waiting one.
            in_turn: Process every request, in order.
            finish: Complete waiting requests even after the screen is closed; for writes.
        """

        def failed(asked: Ask, problem: str) -> None:
            if refused is not None and (self.listening or not finish):
                self.later(refused, asked, problem)
            else:
                self.tell(problem, error=True)

        lane: Lane[Ask, Answer] = Lane(work, partial(self.later, then), failed, merge, in_turn=in_turn)
        self._lanes.append(lane)
        if not finish:
            self._stopped_on_close.append(lane)
        return lane

    def later(self, take: Callable[..., object], *values: object) -> None:
        """Calls something on the screen's thread, unless the screen was closed; thread-safe.

        Without values, repeated pending calls are merged into one.
        """
        self._post(Deliver(partial(take, *values) if values else take))

    def tell(self, text: str, *, error: bool = False) -> None:
        """Shows a notification, on the workbench if the screen was closed; thread-safe."""
        if self.listening:
            self._post(Notice(text, error=error))
        else:
            self.bench.conductor.tell(text, error=error)

    def _post(self, message: Message) -> None:
        with contextlib.suppress(RuntimeError):  # the screen is gone
            self.post_message(message)

    @on(Deliver)
    def _delivered(self, message: Deliver) -> None:
        message.take()

    @on(Notice)
    def _noticed(self, notice: Notice) -> None:
        self.say(notice.text, error=notice.error)

    # Opening and closing

    def on_mount(self) -> None:
        if self.line_passes:
            self.prompt.display = False
        self.lay_out()
        self.bench.show_bars()
        self.bench.questions.show()
        self.show()
        self._unsubscribe = self.bench.engine.subscribe(self.bridge.handle)
        self.begin()

    def on_unmount(self) -> None:
        """Stops listening and reading; pending writes are completed."""
        self.end()
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        for lane in self._stopped_on_close:
            lane.stop(LEAVE_S)
        self.bench.conductor.writes.leave(each for each in self._lanes if each not in self._stopped_on_close)

    @property
    def listening(self) -> bool:
        """Whether the screen is open and receives events."""
        return self._unsubscribe is not None

    @property
    def waiting(self) -> bool:
        """Whether pending work will change the screen."""
        return self._burst is not None or any(lane.busy for lane in self._lanes)

    @on(EventsArrived)
    def _events_arrived(self) -> None:
        if self._burst is None:
            self._burst = self.set_timer(self.patience(), self._take_burst)

    def _take_burst(self) -> None:
        self._burst = None
        self.handle_events(self.bridge.take())
