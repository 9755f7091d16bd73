"""Drives the search screen in tests."""

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
    """Drives a running search screen."""

    kind = SearchScreen

    @property
    def state(self) -> SearchState:
        """The screen's state."""
        return self.screen.state

    @property
    def finding(self) -> FakeSearch:
        """The fake that it calls."""
        return self.engine.finding

    def shows(self, name: str) -> bool:
        """Whether a panel is visible."""
        return bool(self.screen.panel_named(name).display)

    def watching(self) -> bool:
        """Whether an index being built is polled."""
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
    """Opens the search screen, on the results of ``query`` if given."""
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
