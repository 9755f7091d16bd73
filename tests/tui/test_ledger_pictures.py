"""Snapshots of the ledger screen; ``pytest --snapshot-update`` redraws them."""

from __future__ import annotations

import threading
from collections.abc import Callable

from engine.errors import LedgerBroken
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.screen_driven import open_ledger

Picture = Callable[[Driven, str], None]


async def test_full_with_a_question_and_filtered(run: Run, picture: Picture) -> None:
    async with open_ledger(run, SIZES["80x24"]) as driven:
        picture(driven, "ledger/full-80x24-dark")
        await driven.press("j", "r")
        picture(driven, "ledger/restore-80x24")
        await driven.press("escape", "question_mark")
        assert "in entries" in driven.text
        await driven.press("escape", "k", "s", "slash")
        await driven.type("quota")
        picture(driven, "ledger/narrowed-80x24")


async def test_full_and_verified(run: Run, picture: Picture) -> None:
    async with open_ledger(run, SIZES["120x40"]) as driven:
        picture(driven, "ledger/full-120x40-dark")
        await driven.press("enter", "G", "plus")
        assert driven.zoomed() == driven.focused_panel()
        await driven.press("escape", "1", "v", "G")
        driven.app.clear_notifications()
        await driven.settle()
        picture(driven, "ledger/verified-120x40")


async def test_largest_size(run: Run, picture: Picture) -> None:
    async with open_ledger(run, SIZES["200x60"]) as driven:
        picture(driven, "ledger/full-200x60-dark")


async def test_smallest_size(run: Run, picture: Picture) -> None:
    async with open_ledger(run, (60, 16)) as driven:
        picture(driven, "ledger/entries-60x16")
        await driven.press("tab")
        assert driven.shows("record") and not driven.shows("entries")


async def test_loading_damaged_and_empty(run: Run, picture: Picture) -> None:
    release = threading.Event()
    async with open_ledger(run, SIZES["80x24"], settle=False, blocked={"entries": release}) as driven:
        await driven.until(lambda: bool(driven.engine.calls_of("entries")))
        assert "…" in driven.text
        driven.engine.failing["entries"] = LedgerBroken(
            "cannot be read as a ledger (JSONDecodeError: Expecting value)",
            where="knowledge/ledger.json",
            hint="run: autopoiesis ledger rebuild",
        )
        release.set()
        await driven.settle()
        picture(driven, "ledger/damaged-80x24")
        driven.engine.failing.clear()
        driven.ledger.known.clear()
        await driven.press("ctrl+r")
        driven.app.clear_notifications()
        await driven.settle()
        picture(driven, "ledger/empty-80x24")
