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


class TuneDriven(ScreenDriven[TuneScreen]):
    """Drives a running tune screen."""

    kind = TuneScreen

    @property
    def state(self) -> TuneState:
        """The screen's state."""
        return self.screen.state

    @property
    def tuning(self) -> FakeTuning:
        """The fake tuning."""
        return self.engine.tuning

    @property
    def now(self) -> Thresholds:
        """The current thresholds."""
        return self.state.now


@asynccontextmanager
async def open_tune(
    run: Run,
    size: tuple[int, int] = (120, 40),
    *,
    topic: str = "code-style",
    settle: bool = True,
    theme: str = "",
    **changes: Any,
) -> AsyncIterator[TuneDriven]:
    """Opens the tune screen on a topic: ``async with open_tune(run) as driven``."""
    async with run(size, theme=theme) as workbench:
        driven = TuneDriven(workbench.app, workbench.pilot, workbench.engine)
        for name, value in changes.items():
            setattr(driven.tuning, name, value)
        driven.app.push_screen(TuneScreen(driven.bench, topic))
        await driven.pilot.pause()
        if settle:
            await driven.settle()
        yield driven
