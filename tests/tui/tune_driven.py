"""Drives the tune screen in tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from engine.activation.policy import Thresholds
from tests.tui.conftest import Run
from tests.tui.screen_driven import ScreenDriven
from tests.tui.tune_data import FakeTuning
from tui.screens.tune.screen import TuneScreen
from tui.screens.tune.state import TuneState


class Tuned(ScreenDriven[TuneScreen]):
    """Drives a running tune screen."""

    kind = TuneScreen

    @property
    def state(self) -> TuneState:
        """The screen's state."""
        return self.screen.state

    @property
    def tuning(self) -> FakeTuning:
        """The fake that it calls."""
        return self.engine.tuning

    @property
    def now(self) -> Thresholds:
        """The current thresholds."""
        return self.state.now


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
