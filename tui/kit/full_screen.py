"""A screen over the workbench, with its own panels and its own background work."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.timer import Timer

from tui.kit.bridge import Burst
from tui.kit.commands import Commanded
from tui.kit.messages import EventsArrived, Said
from tui.kit.work import ScreenWork


class FullScreen(Commanded):
    """Adds to ``Commanded`` how such a screen comes, hears of news, and goes.

    Work that may block is done by its ``work``; keys never wait for it.
    """

    burst_s: ClassVar[float] = 0.2
    """How long news may gather before the screen looks at it."""
    line_passes = True
    work: ScreenWork

    _burst: Timer | None = None

    # What a screen says of itself

    def begin(self) -> None:
        """What is to be done once it is there and its work has begun."""

    def end(self) -> None:
        """What is to be done when it is left, before its work ends."""

    def heard(self, burst: Burst) -> None:
        """Files, topics or settings are others than they were, or messages came in."""

    def patience(self) -> float:
        """Seconds in which news may gather from now on."""
        return self.burst_s

    # Coming and going

    def on_mount(self) -> None:
        """Shows what is known, and begins to ask for the rest."""
        if self.line_passes:
            self.prompt.display = False
        self.lay_out()
        self.bench.show_bars()
        self.bench.questions.show()
        self.show()
        self.work.start()
        self.begin()

    def on_unmount(self) -> None:
        """Lets go of the engine."""
        self.end()
        self.work.stop()

    @property
    def waiting(self) -> bool:
        """Whether something is under way that will change the screen."""
        return self.work.busy or self._burst is not None

    @on(EventsArrived)
    def _events_arrived(self) -> None:
        if self._burst is None:
            self._burst = self.set_timer(self.patience(), self._take_burst)

    def _take_burst(self) -> None:
        self._burst = None
        self.heard(self.work.bridge.take())

    @on(Said)
    def _said(self, said: Said) -> None:
        self.say(said.text, trouble=said.trouble)
