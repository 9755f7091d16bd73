"""The context screen as a test drives it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.tui.conftest import Driven, Run
from tests.tui.context_data import prompt, prompt_before
from tui.screens.context import ContextScreen
from tui.screens.context_state import ContextState


class Contexted(Driven):
    """A running context screen and the hand that drives it."""

    @property
    def screen(self) -> ContextScreen:
        """The context screen, whatever lies over it."""
        return next(each for each in self.app.screen_stack if isinstance(each, ContextScreen))

    def is_open(self) -> bool:
        """Whether it is still open."""
        return any(isinstance(each, ContextScreen) for each in self.app.screen_stack)

    @property
    def state(self) -> ContextState:
        """What it knows."""
        return self.screen.state

    def zoomed(self) -> str | None:
        """Which of its panels has the whole area."""
        return self.screen.zoomed

    def comparing(self) -> bool:
        """Whether two prompts are compared."""
        return self.state.comparing

    def in_use(self) -> str:
        """Which of its panels has the keys."""
        return self.screen.panel_in_use

    @property
    def label(self) -> str:
        """The selected section."""
        return self.state.chosen.label if self.state.chosen is not None else ""

    @property
    def said(self) -> str:
        """All that was said in passing and is still to be seen."""
        return "\n".join(str(each.message) for each in self.app._notifications)

    def line(self, words: str) -> str:
        """The first line of the screen that holds some words."""
        return next(line for line in self.lines if words in line)

    async def settle(self) -> None:
        """Waits until workbench and context screen rest."""
        for _round in range(400):
            await self.pilot.pause()
            waiting = any(each.waiting for each in self.app.screen_stack if isinstance(each, ContextScreen))
            if not waiting and not self.bench.conductor.busy and not self.bench.waiting:
                break
        await self.pilot.pause()


@asynccontextmanager
async def looking(
    run: Run,
    size: tuple[int, int] = (120, 40),
    *,
    settle: bool = True,
    theme: str = "",
    **changes: Any,
) -> AsyncIterator[Contexted]:
    """Opens the context screen on the newest message: ``async with looking(run) as driven``."""
    changes = {"compiled": prompt(), "compiled_before": prompt_before(), **changes}
    root = Path.home() / "memory"
    for section in changes["compiled"].sections:
        if section.source:
            (root / section.source).parent.mkdir(parents=True, exist_ok=True)
            (root / section.source).write_text(section.text, encoding="utf-8")
    async with run(size, theme=theme, settle=settle, **changes) as driven:
        looked = Contexted(driven.app, driven.pilot, driven.engine)
        await looked.send("c")
        await looked.pilot.pause()
        if settle:
            await looked.settle()
        yield looked
