"""Drives the cache screen in tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from tests.tui.conftest import Run
from tests.tui.discussion_data import MEMORY, NOW, FakeCaches
from tests.tui.screen_driven import ScreenDriven
from tui.kit.clock import Clock
from tui.screens.cache.screen import CacheScreen
from tui.screens.cache.state import CacheState


class Cached(ScreenDriven[CacheScreen]):
    """Drives a running cache screen."""

    kind = CacheScreen

    @property
    def state(self) -> CacheState:
        """The screen's state."""
        return self.screen.state

    @property
    def caches(self) -> FakeCaches:
        """The fake that it calls."""
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

    def later(self, seconds: float) -> None:
        """Advances the clock by a tick."""
        now = NOW + timedelta(seconds=seconds)
        self.bench.clock = Clock(now=lambda: now, monotonic=lambda: 1000.0 + seconds, grace_s=0.0)
        if self.ticking():
            self.screen._tick()


@asynccontextmanager
async def caching(
    run: Run,
    size: tuple[int, int] = (120, 40),
    *,
    settle: bool = True,
    theme: str = "",
    **changes: Any,
) -> AsyncIterator[Cached]:
    """Opens the cache screen: ``async with caching(run, caches=FakeCaches.none()) as driven``."""
    async with run(size, theme=theme, **changes) as driven:
        cached = Cached(driven.app, driven.pilot, driven.engine)
        paths = [cached.caches.path(each.discussion_id) for each in cached.caches.states]
        for path in (MEMORY, "memory-config.yaml", *filter(None, paths)):
            file = cached.engine.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{path}\n", encoding="utf-8")
        await cached.send("C")
        await cached.pilot.pause()
        if settle:
            await cached.settle()
        yield cached
