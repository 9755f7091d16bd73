"""The workbench and every screen over it, on the sample workspace with the real engine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import cast

from engine.activation.trace import Trace
from engine.context.compiled import Compiled
from engine.events import TurnTraced
from tests.tui import screen_driven
from tests.tui.conftest import Driven
from tui.kit.full_screen import FullScreen
from tui.screens.harvest.screen import HarvestScreen
from tui.screens.ledger.screen import LedgerScreen
from tui.screens.workbench.screen import OPENINGS

NOW = datetime(2026, 6, 12, 18, 47, tzinfo=UTC)


class DeterministicEngine(screen_driven.WatchingEngine):
    """The real engine without its background threads and with fixed times."""

    def start(self) -> None:
        self.refresh_index()
        for entry in self.feed(40):
            trace = self.trace_of(entry.key) if entry.key else None
            if trace is not None:
                self.publish(TurnTraced(entry.key, trace))

    def trace_of(self, key: str) -> Trace | None:
        found = super().trace_of(key)
        return found and with_fixed_times(found)

    def try_message(self, text: str, *, ask: bool = True) -> tuple[Trace, Compiled]:
        trace, compiled = super().try_message(text, ask=ask)
        return with_fixed_times(trace), compiled


def with_fixed_times(trace: Trace) -> Trace:
    rows = tuple(replace(row, gate=row.gate and replace(row.gate, latency_ms=0.1)) for row in trace.rows)
    return replace(trace, rows=rows, tier1_ms=0.3, tier2_ms=0.1, gate_ms=0.1 if trace.gate_ms else 0.0)


open_workbench = partial(screen_driven.open_workbench, now=NOW, grace_s=0.0, engine=DeterministicEngine)


async def each_screen(driven: Driven) -> AsyncIterator[FullScreen]:
    """The workbench, then each screen over it, opened by its key, and the harvest from the ledger."""
    yield driven.bench
    for each in OPENINGS:
        await driven.press(each.key)
        await driven.until(lambda: not cast(FullScreen, driven.app.screen).waiting)
        yield cast(FullScreen, driven.app.screen)
        if isinstance(driven.app.screen, LedgerScreen):
            await driven.press("H")
            await driven.until(lambda: not cast(HarvestScreen, driven.app.screen).waiting)
            yield cast(HarvestScreen, driven.app.screen)
        while driven.app.screen is not driven.bench:
            driven.app.pop_screen()
            await driven.settle()
