"""The tune screen as a test drives it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from engine.activation.policy import Cuts
from tests.tui.conftest import Driven, Run
from tests.tui.tune_data import FakeTuning
from tui.screens.tune import TuneScreen
from tui.screens.tune_state import TuneState


class Tuned(Driven):
    """A running tune screen and the hand that drives it."""

    @property
    def screen(self) -> TuneScreen:
        """The tune screen, whatever lies over it."""
        return next(each for each in self.app.screen_stack if isinstance(each, TuneScreen))

    def is_open(self) -> bool:
        """Whether it is still open."""
        return any(isinstance(each, TuneScreen) for each in self.app.screen_stack)

    @property
    def state(self) -> TuneState:
        """What it knows."""
        return self.screen.state

    @property
    def tuning(self) -> FakeTuning:
        """What it asks."""
        return self.engine.tuning

    @property
    def now(self) -> Cuts:
        """Where the cuts stand."""
        return self.state.now

    def zoomed(self) -> str | None:
        """Which panel has the whole area."""
        return self.screen.zoomed

    @property
    def said(self) -> str:
        """All that was said in passing and is still to be seen."""
        return "\n".join(str(each.message) for each in self.app._notifications)

    def line(self, words: str) -> str:
        """The first line of the screen that holds some words."""
        return next(line for line in self.lines if words in line)

    async def settle(self) -> None:
        """Waits until workbench and tune screen rest."""
        for _round in range(400):
            await self.pilot.pause()
            waiting = any(each.waiting for each in self.app.screen_stack if isinstance(each, TuneScreen))
            if not waiting and not self.bench.conductor.busy and not self.bench.waiting:
                break
        await self.pilot.pause()


@asynccontextmanager
async def tuning(
    run: Run,
    size: tuple[int, int] = (120, 40),
    *,
    topic: str = "code-style",
    settle: bool = True,
    theme: str = "",
    **changes: Any,
) -> AsyncIterator[Tuned]:
    """Opens the tune screen on a topic: ``async with tuning(run) as driven``."""
    async with run(size, theme=theme) as driven:
        tuned = Tuned(driven.app, driven.pilot, driven.engine)
        for name, value in changes.items():
            setattr(tuned.tuning, name, value)
        tuned.app.push_screen(TuneScreen(tuned.bench, topic))
        await tuned.pilot.pause()
        if settle:
            await tuned.settle()
        yield tuned
