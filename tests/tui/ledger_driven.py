"""The ledger and harvest screens as a test drives them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.tui.conftest import Run
from tests.tui.fake_engine import FakeEngine
from tests.tui.ledger_data import FakeLedger
from tests.tui.screen_driven import ScreenDriven
from tui.screens.harvest.screen import HarvestScreen
from tui.screens.ledger.screen import LedgerScreen

Prepare = Callable[[FakeEngine], None]


class Audited(ScreenDriven[LedgerScreen]):
    """A running ledger screen and the hand that drives it."""

    kind = LedgerScreen

    @property
    def ledger(self) -> FakeLedger:
        """What it asks."""
        return self.engine.knowledge.ledger

    def shows(self, name: str) -> bool:
        """Whether a panel is in view."""
        return bool(self.screen.panel_named(name).display)

    def selected(self) -> str:
        """The selected entry's sha256."""
        item = self.screen.entries.selected
        return item.sha256 if item is not None else ""


class Harvesting(ScreenDriven[HarvestScreen]):
    """A running harvest screen and the hand that drives it."""

    kind = HarvestScreen

    @property
    def ledger(self) -> FakeLedger:
        """What it asks."""
        return self.engine.knowledge.ledger

    @property
    def step(self) -> str:
        """Which step is in view."""
        return self.screen.state.step

    def shows(self, name: str) -> bool:
        """Whether a panel is in view."""
        return bool(self.screen.panel_named(name).display)

    def chosen(self) -> list[str]:
        """The conversations that are chosen, by name."""
        return [each.path.removeprefix("conversations/") for each in self.screen.state.chosen]

    def wishes(self) -> list[Any]:
        """What the engine was asked to do."""
        return [call[1] for call in self.engine.asked("harvest")]


@asynccontextmanager
async def auditing(
    run: Run,
    size: tuple[int, int] = (120, 40),
    *,
    settle: bool = True,
    theme: str = "",
    prepare: Prepare = lambda _engine: None,
    **changes: Any,
) -> AsyncIterator[Audited]:
    """Opens the ledger screen: ``async with auditing(run) as driven``."""
    async with run(size, theme=theme, **changes) as driven:
        prepare(driven.engine)
        for entry in driven.engine.knowledge.ledger.known.values():
            file = driven.engine.root / "conversations" / entry.name
            if "/" not in entry.name and "\0" not in entry.name and entry.name.isprintable():
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("a talk\n", encoding="utf-8")
        (driven.engine.root / "knowledge/facts.md").write_text("# Facts\n", encoding="utf-8")
        audited = Audited(driven.app, driven.pilot, driven.engine)
        await audited.send("L")
        await audited.pilot.pause()
        if settle:
            await audited.settle()
        yield audited


@asynccontextmanager
async def harvesting(
    run: Run, size: tuple[int, int] = (120, 40), *, key: str = "H", settle: bool = True, **changes: Any
) -> AsyncIterator[Harvesting]:
    """Opens the guided harvest from the ledger screen: ``async with harvesting(run) as driven``."""
    async with auditing(run, size, **changes) as audited:
        await audited.send(key)
        await audited.pilot.pause()
        driven = Harvesting(audited.app, audited.pilot, audited.engine)
        if settle:
            await driven.settle()
        yield driven
