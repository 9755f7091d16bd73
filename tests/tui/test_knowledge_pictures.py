"""Snapshots of the knowledge screen; ``pytest --snapshot-update`` redraws them."""

from __future__ import annotations

from collections.abc import Callable

from engine.errors import AutopoiesisError
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.screen_driven import open_knowledge
from tui.screens.knowledge.pieces import TITLES

Picture = Callable[[Driven, str], None]


async def test_full_and_every_group(run: Run, picture: Picture) -> None:
    async with open_knowledge(run, SIZES["80x24"]) as driven:
        picture(driven, "knowledge/full-80x24-dark")
        for group in TITLES:
            await driven.group(group)
            assert TITLES[group] in driven.text
            if group == "decisions":
                await driven.press("G")
            if group in ("decisions", "skills", "notes", "digest"):
                picture(driven, f"knowledge/{group}-80x24-dark")
        await driven.group("notes")
        await driven.press("space", "b")
        picture(driven, "knowledge/bind-80x24")
        await driven.press("escape", "2", "question_mark")
        assert "on this screen" in driven.text


async def test_sizes(run: Run, picture: Picture) -> None:
    async with open_knowledge(run, SIZES["120x40"]) as driven:
        picture(driven, "knowledge/full-120x40-dark")
        await driven.resize(*SIZES["200x60"])
        picture(driven, "knowledge/full-200x60-dark")
        await driven.resize(60, 16)
        picture(driven, "knowledge/groups-60x16")
        await driven.press("2")
        assert driven.focused_panel() == "pieces" and driven.screen.pieces.display
        await driven.press("3")
        assert driven.focused_panel() == "reading" and not driven.screen.pieces.display


async def test_empty(run: Run, picture: Picture) -> None:
    async with open_knowledge(run, SIZES["120x40"], empty=True) as driven:
        picture(driven, "knowledge/empty-120x40")


async def test_error(run: Run, picture: Picture) -> None:
    broken = AutopoiesisError("cannot be read (Input/output error)", where="knowledge/files", hint="look")
    async with open_knowledge(run, SIZES["80x24"], failing={"notes": broken}) as driven:
        await driven.group("notes")
        picture(driven, "knowledge/error-80x24")
