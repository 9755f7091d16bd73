"""Drives the context screen in tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.tui.conftest import Run
from tests.tui.context_data import prompt, prompt_before
from tests.tui.screen_driven import ScreenDriven
from tui.screens.context.screen import ContextScreen
from tui.screens.context.state import ContextState


class ContextDriven(ScreenDriven[ContextScreen]):
    """Drives a running context screen."""

    kind = ContextScreen

    @property
    def state(self) -> ContextState:
        """The screen's state."""
        return self.screen.state

    def comparing(self) -> bool:
        """Whether two prompts are being compared."""
        return self.state.comparing

    @property
    def label(self) -> str:
        """The selected section."""
        return self.state.chosen.label if self.state.chosen is not None else ""


@asynccontextmanager
async def open_context(
    run: Run,
    size: tuple[int, int] = (120, 40),
    *,
    settle: bool = True,
    theme: str = "",
    **changes: Any,
) -> AsyncIterator[ContextDriven]:
    """Opens the context screen on the newest message: ``async with open_context(run) as driven``."""
    changes = {"compiled": prompt(), "compiled_before": prompt_before(), **changes}
    root = Path.home() / "memory"
    for section in changes["compiled"].sections:
        if section.source:
            (root / section.source).parent.mkdir(parents=True, exist_ok=True)
            (root / section.source).write_text(section.text, encoding="utf-8")
    async with run(size, theme=theme, settle=settle, **changes) as workbench:
        driven = ContextDriven(workbench.app, workbench.pilot, workbench.engine)
        await driven.send("c")
        await driven.pilot.pause()
        if settle:
            await driven.settle()
        yield driven
