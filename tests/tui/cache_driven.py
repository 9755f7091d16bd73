"""Drives the cache screen in tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from tests.tui.conftest import Run
from tests.tui.discussion_data import MEMORY, NOW, FakeCaches
from tests.tui.screen_driven import ScreenDriven
from tui.kit.questions import Clock
from tui.screens.cache.screen import CacheScreen, CacheState


class CacheDriven(ScreenDriven[CacheScreen]):
    """Drives a running cache screen."""

    kind = CacheScreen

    @property
    def state(self) -> CacheState:
        """The screen's state."""
        return self.screen.state

    @property
    def caches(self) -> FakeCaches:
        """The fake caches."""
        return self.engine.caches

    def shows(self, name: str) -> bool:
        """Whether a panel is visible."""
        return bool(self.screen.panel_named(name).display)

    def selected(self) -> str:
        """The selected discussion."""
        item = self.screen.discussions.selected
        return item.state.discussion_id if item is not None else ""

    def ticking(self) -> bool:
        """Whether the screen is redrawn every second."""
        return self.screen._countdown is not None

    def advance_clock(self, seconds: float) -> None:
        """Sets the clock to ``seconds`` after the start and runs one tick."""
        now = NOW + timedelta(seconds=seconds)
        self.bench.clock = Clock(now=lambda: now, monotonic=lambda: 1000.0 + seconds, grace_s=0.0)
        if self.ticking():
            self.screen._tick()


@asynccontextmanager
async def open_cache(
    run: Run,
    size: tuple[int, int] = (120, 40),
    *,
    settle: bool = True,
    theme: str = "",
    **changes: Any,
) -> AsyncIterator[CacheDriven]:
    """Opens the cache screen: ``async with open_cache(run, caches=FakeCaches.none()) as driven``."""
    async with run(size, theme=theme, **changes) as workbench:
        driven = CacheDriven(workbench.app, workbench.pilot, workbench.engine)
        paths = [driven.caches.path(each.discussion_id) for each in driven.caches.states]
        for path in (MEMORY, "memory-config.yaml", *filter(None, paths)):
            file = driven.engine.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{path}\n", encoding="utf-8")
        await driven.send("C")
        await driven.pilot.pause()
        if settle:
            await driven.settle()
        yield driven
