"""The search screen as a test drives it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.tui.conftest import Run
from tests.tui.screen_driven import ScreenDriven
from tests.tui.search_data import FakeSearch, write_files
from tui.screens.search.screen import SearchScreen
from tui.screens.search.state import SearchState


class Searched(ScreenDriven[SearchScreen]):
    """A running search screen and the hand that drives it."""

    kind = SearchScreen

    @property
    def state(self) -> SearchState:
        """What it knows."""
        return self.screen.state

    @property
    def finding(self) -> FakeSearch:
        """What it asks."""
        return self.engine.finding

    def shows(self, name: str) -> bool:
        """Whether a panel is in view."""
        return bool(self.screen.panel_named(name).display)

    def watching(self) -> bool:
        """Whether an index that is being made is looked at again and again."""
        return self.screen._poll is not None

    def selected(self) -> str:
        """The selected result as path:line."""
        hit = self.screen.results.selected
        return f"{hit.result.path}:{hit.result.start_line}" if hit is not None else ""


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
