"""Every state of the ledger screen as a picture: ``pytest --snapshot-update`` draws them anew."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from engine.errors import LedgerBroken
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.fake_engine import FakeEngine, status_view
from tests.tui.ledger_driven import auditing

Picture = Callable[[Driven, str], None]
SMALL = ["80x24", "120x40"]


def no_entries(engine: FakeEngine) -> None:
    """A ledger without any."""
    engine.knowledge.ledger.known.clear()


@pytest.mark.parametrize("size", SIZES)
async def test_full(run: Run, picture: Picture, size: str) -> None:
    async with auditing(run, SIZES[size]) as driven:
        picture(driven, f"ledger/full-{size}-dark")


async def test_empty(run: Run, picture: Picture) -> None:
    async with auditing(run, SIZES["80x24"], prepare=no_entries) as driven:
        picture(driven, "ledger/empty-80x24")


async def test_loading(run: Run) -> None:
    still = threading.Event()
    async with auditing(run, SIZES["80x24"], settle=False, gates={"entries": still}) as driven:
        await driven.until(lambda: bool(driven.engine.asked("entries")))
        assert "…" in driven.text
        still.set()
        await driven.settle()


async def test_damaged(run: Run, picture: Picture) -> None:
    broken = LedgerBroken(
        "cannot be read as a ledger (JSONDecodeError: Expecting value)",
        where="knowledge/ledger.json",
        cure="run: autopoiesis ledger rebuild",
    )
    async with auditing(run, SIZES["80x24"], failing={"entries": broken}) as driven:
        picture(driven, "ledger/damaged-80x24")


async def test_read_only(run: Run, engine: FakeEngine) -> None:
    engine.status_value = status_view(read_only=True)
    async with auditing(run, SIZES["80x24"]) as driven:
        await driven.press("j", "r")
        assert "read-only" in driven.text


async def test_a_line_is_selected(run: Run, picture: Picture) -> None:
    async with auditing(run, SIZES["120x40"]) as driven:
        await driven.press("enter", "G", "plus")
        picture(driven, "ledger/line-120x40")


async def test_it_asks_before_it_restores(run: Run, picture: Picture) -> None:
    async with auditing(run, SIZES["80x24"]) as driven:
        await driven.press("j", "r")
        picture(driven, "ledger/restore-80x24")


async def test_verified(run: Run, picture: Picture) -> None:
    async with auditing(run, SIZES["120x40"]) as driven:
        await driven.press("v", "G")
        driven.app.clear_notifications()
        await driven.settle()
        picture(driven, "ledger/verified-120x40")


async def test_narrowed(run: Run, picture: Picture) -> None:
    async with auditing(run, SIZES["80x24"]) as driven:
        await driven.press("s", "slash")
        await driven.type("quota")
        picture(driven, "ledger/narrowed-80x24")


async def test_smallest(run: Run, picture: Picture) -> None:
    async with auditing(run, (60, 16)) as driven:
        picture(driven, "ledger/entries-60x16")
        await driven.press("tab")
        assert driven.shows("record") and not driven.shows("entries")


async def test_help(run: Run) -> None:
    async with auditing(run, SIZES["80x24"]) as driven:
        await driven.press("question_mark")
        assert "in entries" in driven.text
