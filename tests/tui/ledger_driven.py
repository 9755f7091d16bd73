"""Drives the ledger and harvest screens in tests."""

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


class LedgerDriven(ScreenDriven[LedgerScreen]):
    """Drives a running ledger screen."""

    kind = LedgerScreen

    @property
    def ledger(self) -> FakeLedger:
        """The fake ledger."""
        return self.engine.knowledge.ledger

    def shows(self, name: str) -> bool:
        """Whether a panel is visible."""
        return bool(self.screen.panel_named(name).display)

    def selected(self) -> str:
        """The selected entry's sha256."""
        item = self.screen.entries.selected
        return item.sha256 if item is not None else ""


class HarvestDriven(ScreenDriven[HarvestScreen]):
    """Drives a running harvest screen."""

    kind = HarvestScreen

    @property
    def ledger(self) -> FakeLedger:
        """The fake ledger."""
        return self.engine.knowledge.ledger

    @property
    def step(self) -> str:
        """The current step."""
        return self.screen.state.step

    def shows(self, name: str) -> bool:
        """Whether a panel is visible."""
        return bool(self.screen.panel_named(name).display)

    def chosen(self) -> list[str]:
        """The names of the selected conversations."""
        return [each.path.removeprefix("conversations/") for each in self.screen.state.chosen]

    def requests(self) -> list[Any]:
        """The harvest requests sent to the engine."""
        return [call[1] for call in self.engine.calls_of("harvest")]


@asynccontextmanager
async def open_ledger(
    run: Run,
    size: tuple[int, int] = (120, 40),
    *,
    settle: bool = True,
    theme: str = "",
    prepare: Prepare = lambda _engine: None,
    **changes: Any,
) -> AsyncIterator[LedgerDriven]:
    """Opens the ledger screen: ``async with open_ledger(run) as driven``."""
    async with run(size, theme=theme, **changes) as workbench:
        prepare(workbench.engine)
        for entry in workbench.engine.knowledge.ledger.known.values():
            file = workbench.engine.root / "conversations" / entry.name
            if "/" not in entry.name and "\0" not in entry.name and entry.name.isprintable():
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("a talk\n", encoding="utf-8")
        (workbench.engine.root / "knowledge/facts.md").write_text("# Facts\n", encoding="utf-8")
        driven = LedgerDriven(workbench.app, workbench.pilot, workbench.engine)
        await driven.send("L")
        await driven.pilot.pause()
        if settle:
            await driven.settle()
        yield driven


@asynccontextmanager
async def open_harvest(
    run: Run, size: tuple[int, int] = (120, 40), *, key: str = "H", settle: bool = True, **changes: Any
) -> AsyncIterator[HarvestDriven]:
    """Opens the guided harvest from the ledger screen: ``async with open_harvest(run) as driven``."""
    async with open_ledger(run, size, **changes) as ledger:
        await ledger.send(key)
        await ledger.pilot.pause()
        driven = HarvestDriven(ledger.app, ledger.pilot, ledger.engine)
        if settle:
            await driven.settle()
        yield driven
