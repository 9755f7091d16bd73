"""Every state of the knowledge screen as a picture: ``pytest --snapshot-update`` draws them anew."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from engine.errors import AutopoiesisError
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.fake_engine import FakeEngine, status_view
from tests.tui.knowledge_driven import knowing
from tui.screens.knowledge.groups import TITLES

Picture = Callable[[Driven, str], None]
SMALL = ["80x24", "120x40"]


@pytest.mark.parametrize("size", SIZES)
async def test_full(run: Run, picture: Picture, size: str) -> None:
    async with knowing(run, SIZES[size]) as driven:
        picture(driven, f"knowledge/full-{size}-dark")


async def test_groups(run: Run, picture: Picture) -> None:
    async with knowing(run, SIZES["80x24"]) as driven:
        for group in TITLES:
            await driven.group(group)
            assert TITLES[group] in driven.text
            if group == "decisions":
                await driven.press("G")
            if group in ("decisions", "questions", "skills", "notes", "digest"):
                picture(driven, f"knowledge/{group}-80x24-dark")


async def test_nothing_is_known(run: Run, picture: Picture) -> None:
    async with knowing(run, SIZES["120x40"], empty=True) as driven:
        picture(driven, "knowledge/empty-120x40")


async def test_loading(run: Run) -> None:
    still = threading.Event()
    async with knowing(run, SIZES["80x24"], settle=False, gates={"scan": still}) as driven:
        await driven.until(lambda: bool(driven.engine.asked("scan")))
        assert "…" in driven.text
        still.set()


async def test_error(run: Run, picture: Picture) -> None:
    broken = AutopoiesisError("cannot be read (Input/output error)", where="knowledge/files", cure="look")
    async with knowing(run, SIZES["80x24"], failing={"notes": broken}) as driven:
        await driven.group("notes")
        picture(driven, "knowledge/error-80x24")


async def test_read_only(run: Run, engine: FakeEngine) -> None:
    engine.status_value = status_view(read_only=True)
    async with knowing(run, SIZES["80x24"]) as driven:
        await driven.press("R")
        assert "read-only" in driven.text


async def test_questions(run: Run, picture: Picture) -> None:
    async with knowing(run, SIZES["80x24"]) as driven:
        await driven.press("D")
        assert "digest" in driven.text
        await driven.press("escape")
        await driven.group("notes")
        await driven.press("space", "b")
        picture(driven, "knowledge/bind-80x24")


async def test_filtered(run: Run) -> None:
    async with knowing(run, SIZES["80x24"]) as driven:
        await driven.press("slash")
        await driven.type("quota")
        assert driven.listed() and all("quota" in words for _sign, words in driven.listed())


async def test_smallest(run: Run, picture: Picture) -> None:
    async with knowing(run, (60, 16)) as driven:
        picture(driven, "knowledge/groups-60x16")
        await driven.press("2")
        assert driven.in_use() == "pieces" and driven.screen.pieces.display
        await driven.press("3")
        assert driven.in_use() == "reading" and not driven.screen.pieces.display


async def test_help(run: Run) -> None:
    async with knowing(run, SIZES["80x24"]) as driven:
        await driven.press("2", "question_mark")
        assert "on this screen" in driven.text
