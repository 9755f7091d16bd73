"""Pictures of the ledger screen; update them with ``pytest --snapshot-update``."""

from __future__ import annotations

import threading
from collections.abc import Callable

from engine.errors import LedgerBroken
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.ledger_driven import auditing

Picture = Callable[[Driven, str], None]


async def test_full_a_question_and_narrowed(run: Run, picture: Picture) -> None:
    async with auditing(run, SIZES["80x24"]) as driven:
        picture(driven, "ledger/full-80x24-dark")
        await driven.press("j", "r")
        picture(driven, "ledger/restore-80x24")
        await driven.press("escape", "question_mark")
        assert "in entries" in driven.text
        await driven.press("escape", "k", "s", "slash")
        await driven.type("quota")
        picture(driven, "ledger/narrowed-80x24")


async def test_full_verified_and_one_of_its_lines(run: Run, picture: Picture) -> None:
    async with auditing(run, SIZES["120x40"]) as driven:
        picture(driven, "ledger/full-120x40-dark")
        await driven.press("enter", "G", "plus")
        assert driven.zoomed() == driven.in_use()
        await driven.press("escape", "1", "v", "G")
        driven.app.clear_notifications()
        await driven.settle()
        picture(driven, "ledger/verified-120x40")


async def test_the_largest(run: Run, picture: Picture) -> None:
    async with auditing(run, SIZES["200x60"]) as driven:
        picture(driven, "ledger/full-200x60-dark")


async def test_the_smallest(run: Run, picture: Picture) -> None:
    async with auditing(run, (60, 16)) as driven:
        picture(driven, "ledger/entries-60x16")
        await driven.press("tab")
        assert driven.shows("record") and not driven.shows("entries")


async def test_loading_damaged_and_empty(run: Run, picture: Picture) -> None:
    still = threading.Event()
    async with auditing(run, SIZES["80x24"], settle=False, gates={"entries": still}) as driven:
        await driven.until(lambda: bool(driven.engine.asked("entries")))
        assert "…" in driven.text
        driven.engine.failing["entries"] = LedgerBroken(
            "cannot be read as a ledger (JSONDecodeError: Expecting value)",
            where="knowledge/ledger.json",
            hint="run: autopoiesis ledger rebuild",
        )
        still.set()
        await driven.settle()
        picture(driven, "ledger/damaged-80x24")
        driven.engine.failing.clear()
        driven.ledger.known.clear()
        await driven.press("ctrl+r")
        driven.app.clear_notifications()
        await driven.settle()
        picture(driven, "ledger/empty-80x24")
