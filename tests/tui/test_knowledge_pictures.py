"""Every state of the knowledge screen as a picture: ``pytest --snapshot-update`` draws them anew."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from engine.errors import AutopoiesisError
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.fake_engine import FakeEngine, status_view
from tests.tui.knowledge_driven import knowing
from tui.render.knowledge_groups import TITLES, Group

Picture = Callable[[Driven, str], None]
SMALL = ["80x24", "120x40"]


@pytest.mark.parametrize("size", SIZES)
async def test_full(run: Run, picture: Picture, size: str) -> None:
    async with knowing(run, SIZES[size]) as driven:
        picture(driven, f"knowledge/full-{size}-dark")


@pytest.mark.parametrize("theme", ["light", "high-contrast", "colour-blind"])
async def test_other_themes(run: Run, picture: Picture, theme: str) -> None:
    async with knowing(run, theme=theme) as driven:
        await driven.group("notes")
        picture(driven, f"knowledge/notes-120x40-{theme}")


async def test_without_colour(run: Run, picture: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with knowing(run) as driven:
        picture(driven, "knowledge/no-colour-120x40")


@pytest.mark.parametrize("size", SMALL)
@pytest.mark.parametrize("group", [name for name in TITLES if name != "facts"])
async def test_groups(run: Run, picture: Picture, size: str, group: Group) -> None:
    async with knowing(run, SIZES[size]) as driven:
        await driven.group(group)
        if group == "decisions":
            await driven.press("G")
        picture(driven, f"knowledge/{group}-{size}-dark")


@pytest.mark.parametrize("size", SIZES)
async def test_nothing_is_known(run: Run, picture: Picture, size: str) -> None:
    async with knowing(run, SIZES[size], empty=True) as driven:
        picture(driven, f"knowledge/empty-{size}")


@pytest.mark.parametrize("size", SMALL)
async def test_loading(run: Run, picture: Picture, size: str) -> None:
    still = threading.Event()
    async with knowing(run, SIZES[size], settle=False, gates={"scan": still}) as driven:
        await driven.until(lambda: bool(driven.engine.asked("scan")))
        picture(driven, f"knowledge/loading-{size}")
        still.set()


@pytest.mark.parametrize("size", SMALL)
async def test_error(run: Run, picture: Picture, size: str) -> None:
    broken = AutopoiesisError("cannot be read (Input/output error)", where="knowledge/files", cure="look")
    async with knowing(run, SIZES[size], failing={"notes": broken}) as driven:
        await driven.group("notes")
        picture(driven, f"knowledge/error-{size}")


@pytest.mark.parametrize("size", SMALL)
async def test_read_only(run: Run, picture: Picture, engine: FakeEngine, size: str) -> None:
    engine.status_value = status_view(read_only=True)
    async with knowing(run, SIZES[size]) as driven:
        await driven.press("R")
        picture(driven, f"knowledge/read-only-{size}")


@pytest.mark.parametrize("size", SMALL)
async def test_questions(run: Run, picture: Picture, size: str) -> None:
    async with knowing(run, SIZES[size]) as driven:
        await driven.press("D")
        picture(driven, f"knowledge/digest-off-{size}")
        await driven.press("escape")
        await driven.group("notes")
        await driven.press("space", "b")
        picture(driven, f"knowledge/bind-{size}")


@pytest.mark.parametrize("size", SMALL)
async def test_filtered(run: Run, picture: Picture, size: str) -> None:
    async with knowing(run, SIZES[size]) as driven:
        await driven.press("slash")
        await driven.type("quota")
        picture(driven, f"knowledge/filtered-{size}")


async def test_smallest(run: Run, picture: Picture) -> None:
    async with knowing(run, (60, 16)) as driven:
        picture(driven, "knowledge/groups-60x16")
        await driven.press("2")
        picture(driven, "knowledge/pieces-60x16")
        await driven.press("3")
        picture(driven, "knowledge/reading-60x16")


@pytest.mark.parametrize("size", SMALL)
async def test_help(run: Run, picture: Picture, size: str) -> None:
    async with knowing(run, SIZES[size]) as driven:
        await driven.press("2", "question_mark")
        picture(driven, f"knowledge/help-{size}")
