"""Drives screens over the workbench in tests, on fakes or on a workspace with the real engine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, Self, TypeVar, cast

from engine.activation.policy import Thresholds
from engine.context.views import StatusView
from engine.engine import Engine
from tests.tui.conftest import Driven, Run
from tests.tui.fake_engine import FakeEngine
from tui.app import WorkbenchApp
from tui.kit.full_screen import FullScreen
from tui.kit.preferences import Preferences
from tui.kit.questions import Clock
from tui.screens.tune.screen import TuneScreen

ScreenT = TypeVar("ScreenT", bound=FullScreen)


class ThreadlessEngine(Engine):
    """The real engine without its background threads."""

    def start(self) -> None:
        """Starts no watchers."""


class WatchingEngine(ThreadlessEngine):
    """Says that it watches the workspace, as the header of a running workbench does."""

    def status(self) -> StatusView:
        return replace(super().status(), watch_mode="live")


class ScreenDriven(Driven, Generic[ScreenT]):
    """Drives a running screen of one kind; ``panel`` is still the workbench's."""

    engine: Any
    kind: type[ScreenT]
    key: str
    """Opens the screen."""

    @classmethod
    async def over(cls, below: Driven, *, settle: bool = True) -> Self:
        """Opens the screen over the workbench."""
        driven = cls(below.app, below.pilot, below.engine)
        await driven.send(cls.key)
        await driven.pilot.pause()
        if settle:
            await driven.settle()
        return driven

    @classmethod
    @asynccontextmanager
    async def on_fakes(
        cls, run: Run, size: tuple[int, int] = (120, 40), *, settle: bool = True, **changes: Any
    ) -> AsyncIterator[Self]:
        """Opens the screen with the fake engine: ``async with JobsDriven.on_fakes(run) as driven``."""
        async with run(size, **changes) as workbench:
            yield await cls.over(workbench, settle=settle)

    @classmethod
    @asynccontextmanager
    async def on_files(
        cls, root: Path, size: tuple[int, int] = (120, 40), *, settle: bool = True, **more: Any
    ) -> AsyncIterator[Self]:
        """Opens the screen on a workspace: ``async with JobsDriven.on_files(root, now=NOW) as driven``."""
        async with open_workbench(root, size, **more) as workbench:
            yield await cls.over(workbench, settle=settle)

    def _open_screens(self) -> list[ScreenT]:
        return [each for each in self.app.screen_stack if isinstance(each, self.kind)]

    @property
    def screen(self) -> ScreenT:
        """The screen, even while others cover it."""
        return self._open_screens()[0]

    @property
    def state(self) -> Any:
        """The screen's state."""
        return self.screen.state  # type: ignore[attr-defined]

    def is_open(self) -> bool:
        """Whether it is still open."""
        return bool(self._open_screens())

    def shows(self, name: str) -> bool:
        """Whether a panel is visible."""
        return bool(self.screen.panel_named(name).display)

    def focused_panel(self) -> str:
        """The focused panel."""
        return str(self.screen.panel_in_use)

    def zoomed(self) -> str | None:
        """The zoomed panel."""
        return self.screen.zoomed

    @property
    def toasts(self) -> str:
        """The text of the visible notifications."""
        return "\n".join(str(each.message) for each in self.app._notifications)

    def line(self, words: str) -> str:
        """The first line of the screen that contains ``words``."""
        return next(line for line in self.lines if words in line)

    def flat(self) -> str:
        """The screen's text without frames and line breaks."""
        return " ".join(self.text.replace("│", " ").split())

    def pending(self) -> bool:
        """Whether the workbench or the screen is waiting for something."""
        return super().pending() or any(each.waiting for each in self._open_screens())


@asynccontextmanager
async def open_workbench(
    root: Path,
    size: tuple[int, int] = (120, 40),
    *,
    now: datetime,
    read_only: bool = False,
    theme: str = "",
    grace_s: float = 0.4,
    engine: type[Engine] = ThreadlessEngine,
) -> AsyncIterator[Driven]:
    """Opens the workbench on a workspace, with the real engine."""
    with engine.open(root, clock=lambda: now, read_only=read_only) as opened:
        app = WorkbenchApp(
            opened,
            preferences=Preferences(root.parent / "tui.yaml"),
            clock=Clock(now=lambda: now, monotonic=lambda: 1000.0, grace_s=grace_s),
            theme=theme,
        )
        async with app.run_test(size=size, notifications=True) as pilot:
            driven = Driven(app, pilot, cast(FakeEngine, opened))
            await driven.settle()
            yield driven


class TuneDriven(ScreenDriven[TuneScreen]):
    kind, key = TuneScreen, "t"

    @classmethod
    async def on_topic(cls, below: Driven, topic: str, *, settle: bool = True) -> Self:
        """Opens the screen on a topic."""
        driven = cls(below.app, below.pilot, below.engine)
        driven.app.push_screen(TuneScreen(driven.bench, topic))
        await driven.pilot.pause()
        if settle:
            await driven.settle()
        return driven

    @property
    def tuning(self) -> Any:
        return self.engine.tuning

    @property
    def now(self) -> Thresholds:
        """The current thresholds."""
        return self.screen.state.now


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
    async with run(size, theme=theme) as workbench:
        for name, value in changes.items():
            setattr(workbench.engine.tuning, name, value)
        yield await TuneDriven.on_topic(workbench, topic, settle=settle)
