"""The sample with every kind of ledger entry, and of conversation that a harvest meets."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from engine.engine import Engine
from engine.knowledge.harvest.report import HarvestRequest
from engine.knowledge.ledger import LedgerEntry, LedgerLine
from tests.tui.screen_driven import ScreenDriven, WatchingEngine
from tui.screens.harvest.screen import HarvestScreen
from tui.screens.ledger.screen import LedgerScreen

NOW = datetime(2026, 6, 12, 18, 47, tzinfo=UTC)
ROLLUP, CALL, MODEM, SVG, ROUND = (
    f"conversations/{name}"
    for name in (
        "2026-06-11-rollup-comparison.jsonl", "2026-06-11-vestrand-gateway-call.md",
        "kvalnes-modem-checklist.txt", "2026-06-05-svg-again.md", "2026-06-12-gauge-round.md",
    )
)  # fmt: skip
"""To harvest, harvested and still there, failed before, kept by a person, and still being written."""
MUSSEL = "conversations/2026-06-10-mussel-in-the-well.md"
"""Reclaimed; of its lines one was edited and one deleted since."""
LOST = "9" * 64
"""An entry whose conversation is nowhere."""


def make(root: Path) -> None:
    touch(root)
    with Engine.open(root, clock=lambda: NOW) as engine:
        knowledge = engine.knowledge
        knowledge.harvest.run(HarvestRequest((CALL,), reclaim=False))
        known = {entry.path: (name, entry) for name, entry in knowledge.ledger.entries().items()}
        knowledge.reclaimer.restore(known[SVG][0])
        for at, line in enumerate(known[MUSSEL][1].lines[:2]):
            file = root / line.path
            edited = line.text.replace(" ", " really ", 2) if at else ""
            file.write_text(file.read_text().replace(line.text, edited))
        lines = (LedgerLine("x", "knowledge/facts.md", "- The old notes say so. [from: old, 2026-05-14]"),)
        lost = LedgerEntry(
            "conversations/2026-05-14-old-notes.md", "harvested", "2026-05-14T21:40:00+00:00",
            {"facts": 2, "decisions": 1}, deleted=True, lines=lines, known=1, held=("item8", "item9"),
            provider="anthropic", model="claude-haiku-4-5", input_tokens=2_345, output_tokens=410,
            cost_usd=0.0044, size=9_400, shown=9_400, summarised=True,
        )  # fmt: skip
        knowledge.ledger.record(LOST, lost)
    (root / ROUND).write_text("# Gauge round\n\nuser: is it on?\n")
    touch(root)


def touch(root: Path) -> None:
    """The conversations were last written hours ago, and one of them just now."""
    for path in (root / "conversations").iterdir():
        before = 5 if path.name == Path(ROUND).name else 3 * 3600
        os.utime(path, (NOW.timestamp() - before,) * 2)


class LedgerDriven(ScreenDriven[LedgerScreen]):
    kind, key = LedgerScreen, "L"

    def selected(self) -> str:
        """The path of the selected entry."""
        item = self.screen.entries.selected
        return item.entry.path if item is not None else ""

    async def select(self, path: str) -> None:
        """Selects an entry."""
        screen = self.screen
        screen.entries.select_key(next(each.sha256 for each in screen.state.items if each.entry.path == path))
        await self.settle()


class HarvestDriven(ScreenDriven[HarvestScreen]):
    kind, key = HarvestScreen, "H"

    @property
    def step(self) -> str:
        """The current step."""
        return self.screen.state.step

    def chosen(self) -> list[str]:
        """The paths of the selected conversations."""
        return [each.path for each in self.screen.state.chosen]


open_ledger = partial(LedgerDriven.on_files, now=NOW, engine=WatchingEngine)
