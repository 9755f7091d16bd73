"""How a screen comes and goes, and what it has done off its thread."""

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
from tui.kit.messages import EventsArrived, Said

if TYPE_CHECKING:
    from tui.kit.bench import Bench

Ask = TypeVar("Ask")
Answer = TypeVar("Answer")

LEAVE_S = 0.2
"""How long leaving a screen waits for each of its lanes at most."""
COMMIT = 7
"""Characters of a commit's name that are shown."""


def committed(commit: str, why: str) -> str:
    """What became of a change in the history: its commit, or why there is none."""
    return f"commit {commit[:COMMIT]}" if commit else why or "not committed"


@dataclass
class Came(Message):
    """Something came of work in the background; ``take`` hands it to the screen."""

    take: Callable[[], object]

    def can_replace(self, message: Message) -> bool:
        """The same without values, twice in a row, is done once."""
        return isinstance(message, Came) and self.take == message.take


class FullScreen(Commanded):
    """Adds to ``Commanded`` background work and news.

    What may block is done in lanes, which a screen makes with ``lane`` when it is made; keys never wait.

    Args:
        used: What has the keys to begin with; the first panel when left out.
    """

    burst_s: ClassVar[float] = 0.2
    """How long news may gather before the screen looks at it."""
    line_passes = True

    def __init__(self, bench: Bench, used: str = "") -> None:
        super().__init__(bench, used or self.catalog.panels[0])
        self.bridge = EventBridge(lambda: self._post(EventsArrived()))
        self._unsubscribe: Callable[[], None] | None = None
        self._burst: Timer | None = None
        self._lanes: list[Lane[Any, Any]] = []
        self._leaving: list[Lane[Any, Any]] = []

    # What a screen says of itself

    @classmethod
    def over(cls, bench: Bench) -> Self:
        """The screen as a command of the workbench opens it; one that begins with a selection takes it."""
        return cls(bench)

    def begin(self) -> None:
        """What is to be done once it is there."""

    def end(self) -> None:
        """What is to be done when it is left, before its work ends."""

    def heard(self, burst: Burst) -> None:
        """Files, topics or settings are others than they were, or messages came in."""

    def patience(self) -> float:
        """Seconds in which news may gather from now on."""
        return self.burst_s

    # Work in the background

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
        """A lane of its own for one kind of work.

        Args:
            then: Takes what was asked and what came of it, on the screen's thread.
            refused: Takes why nothing did; the default says it in passing.
            merge: Makes one piece of a waiting and a new one; the default keeps the newest.
            in_turn: All that is asked is done, in order.
            finish: What waits is still done when the screen is left: for what is written.
        """

        def failed(asked: Ask, problem: str) -> None:
            if refused is not None:
                self.later(refused, asked, problem)
            else:
                self.tell(problem, error=True)

        made: Lane[Ask, Answer] = Lane(work, partial(self.later, then), failed, merge, in_turn=in_turn)
        self._lanes.append(made)
        if not finish:
            self._leaving.append(made)
        return made

    def later(self, take: Callable[..., object], *values: object) -> None:
        """Has something called on the screen's thread, from any thread; not where it was left.

        Without values it is called once for all the times that it was asked for meanwhile.
        """
        self._post(Came(partial(take, *values) if values else take))

    def tell(self, text: str, *, error: bool = False) -> None:
        """Tells the person something in passing, from any thread."""
        self._post(Said(text, error=error))

    def _post(self, message: Message) -> None:
        with contextlib.suppress(RuntimeError):  # the screen is gone: nothing is left to tell
            self.post_message(message)

    @on(Came)
    def _came(self, came: Came) -> None:
        came.take()

    @on(Said)
    def _said(self, said: Said) -> None:
        self.say(said.text, error=said.error)

    # Coming and going

    def on_mount(self) -> None:
        """Shows what is known, and begins to ask for the rest."""
        if self.line_passes:
            self.prompt.display = False
        self.lay_out()
        self.bench.show_bars()
        self.bench.questions.show()
        self.show()
        self._unsubscribe = self.bench.engine.subscribe(self.bridge.handle)
        self.begin()

    def on_unmount(self) -> None:
        """Stops listening and reading. What is on its way into a file is still written."""
        self.end()
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        for lane in self._leaving:
            lane.stop(LEAVE_S)

    @property
    def listening(self) -> bool:
        """Whether the screen is still there to hear what is found."""
        return self._unsubscribe is not None

    @property
    def waiting(self) -> bool:
        """Whether something is under way that will change the screen."""
        return self._burst is not None or any(lane.busy for lane in self._lanes)

    @on(EventsArrived)
    def _events_arrived(self) -> None:
        if self._burst is None:
            self._burst = self.set_timer(self.patience(), self._take_burst)

    def _take_burst(self) -> None:
        self._burst = None
        self.heard(self.bridge.take())
