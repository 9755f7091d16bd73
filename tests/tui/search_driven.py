"""The search screen as a test drives it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.tui.conftest import Driven, Run
from tests.tui.search_data import FakeSearch, write_files
from tui.commands.command import SearchPanel
from tui.screens.search import SearchScreen
from tui.screens.search_state import SearchState


class Searched(Driven):
    """A running search screen and the hand that drives it."""

    @property
    def screen(self) -> SearchScreen:
        """The search screen, whatever lies over it."""
        return next(each for each in self.app.screen_stack if isinstance(each, SearchScreen))

    def is_open(self) -> bool:
        """Whether it is still open."""
        return any(isinstance(each, SearchScreen) for each in self.app.screen_stack)

    @property
    def state(self) -> SearchState:
        """What it knows."""
        return self.screen.state

    @property
    def finding(self) -> FakeSearch:
        """What it asks."""
        return self.engine.finding

    def panel(self) -> str:
        """Which panel has the keys."""
        return self.screen.panel_in_use

    def zoomed(self) -> str | None:
        """Which panel has the whole area."""
        return self.screen.zoomed

    def shows(self, name: SearchPanel) -> bool:
        """Whether a panel is in view."""
        return bool(self.screen.panel_named(name).display)

    def selected(self) -> str:
        """The selected result as path:line."""
        hit = self.screen.results.selected
        return f"{hit.result.path}:{hit.result.start_line}" if hit is not None else ""

    @property
    def said(self) -> str:
        """All that was said in passing and is still to be seen."""
        return "\n".join(str(each.message) for each in self.app._notifications)

    def line(self, words: str) -> str:
        """The first line of the screen that holds some words."""
        return next(line for line in self.lines if words in line)

    async def until(self, met: Callable[[], bool]) -> None:
        """Waits for something that a background thread brings about."""
        for _round in range(500):
            await self.pilot.pause(0.01)
            if met():
                return
        raise AssertionError("it never came")

    async def settle(self) -> None:
        """Waits until workbench and search screen rest."""
        for _round in range(600):
            await self.pilot.pause(0.005)
            waiting = any(each.waiting for each in self.app.screen_stack if isinstance(each, SearchScreen))
            if not waiting and not self.bench.conductor.busy and not self.bench.waiting:
                break
        await self.pilot.pause()


@asynccontextmanager
async def searching(
    run: Run,
    size: tuple[int, int] = (120, 40),
    *,
    query: str = "",
    settle: bool = True,
    theme: str = "",
    **changes: Any,
) -> AsyncIterator[Searched]:
    """Opens the search screen, on the results of a query where one is given."""
    async with run(size, theme=theme) as driven:
        searched = Searched(driven.app, driven.pilot, driven.engine)
        write_files(searched.engine.root)
        searched.finding.root = searched.engine.root
        for name, value in changes.items():
            setattr(searched.finding, name, value)
        await searched.send("s")
        await searched.pilot.pause()
        if settle:
            await searched.settle()
        if query:
            await searched.type(query)
            await searched.press("enter")
        yield searched
