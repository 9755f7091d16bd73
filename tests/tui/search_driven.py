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


class SearchDriven(ScreenDriven[SearchScreen]):
    """Drives a running search screen."""

    kind = SearchScreen

    @property
    def state(self) -> SearchState:
        """The screen's state."""
        return self.screen.state

    @property
    def fake_search(self) -> FakeSearch:
        """The fake search."""
        return self.engine.fake_search

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
async def open_search(
    run: Run,
    size: tuple[int, int] = (120, 40),
    *,
    query: str = "",
    settle: bool = True,
    theme: str = "",
    **changes: Any,
) -> AsyncIterator[SearchDriven]:
    """Opens the search screen, on the results of ``query`` if given."""
    async with run(size, theme=theme) as workbench:
        driven = SearchDriven(workbench.app, workbench.pilot, workbench.engine)
        write_files(driven.engine.root)
        for name, value in changes.items():
            setattr(driven.fake_search, name, value)
        await driven.send("s")
        await driven.pilot.pause()
        if settle:
            await driven.settle()
        if query:
            await driven.type(query)
            await driven.press("enter")
        yield driven
