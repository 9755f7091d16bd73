"""Every state of the review screen as a picture: ``pytest --snapshot-update`` draws them anew."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from engine.errors import AutopoiesisError
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.fake_engine import FakeEngine, status_view
from tests.tui.review_data import held_items, waiting
from tests.tui.review_driven import reviewing

Picture = Callable[[Driven, str], None]
SMALL = ["80x24", "120x40"]


@pytest.mark.parametrize("size", SIZES)
async def test_full(run: Run, picture: Picture, size: str) -> None:
    async with reviewing(run, SIZES[size]) as driven:
        await driven.press("j", "j")
        picture(driven, f"review/full-{size}-dark")


@pytest.mark.parametrize("theme", ["light", "high-contrast", "colour-blind"])
async def test_other_themes(run: Run, picture: Picture, theme: str) -> None:
    async with reviewing(run, theme=theme) as driven:
        await driven.press("s")
        picture(driven, f"review/settled-120x40-{theme}")


async def test_without_colour(run: Run, picture: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with reviewing(run) as driven:
        picture(driven, "review/no-colour-120x40")


@pytest.mark.parametrize("size", SIZES)
async def test_nothing_waits(run: Run, picture: Picture, size: str) -> None:
    settled = [each for each in held_items() if each.verdict]
    async with reviewing(run, SIZES[size], items=settled if size == "120x40" else ()) as driven:
        picture(driven, f"review/empty-{size}")


@pytest.mark.parametrize("size", SMALL)
async def test_loading(run: Run, picture: Picture, size: str) -> None:
    still = threading.Event()
    async with reviewing(run, SIZES[size], settle=False, gates={"review all": still}) as driven:
        await driven.until(lambda: bool(driven.engine.asked("review all")))
        picture(driven, f"review/loading-{size}")
        still.set()


@pytest.mark.parametrize("size", SMALL)
async def test_error(run: Run, picture: Picture, size: str) -> None:
    broken = AutopoiesisError(
        "cannot be read (Input/output error)", where="logs/review-2026-06.jsonl", cure="check the disk"
    )
    async with reviewing(run, SIZES[size], failing={"review all": broken}) as driven:
        picture(driven, f"review/error-{size}")


@pytest.mark.parametrize("size", SMALL)
async def test_read_only(run: Run, picture: Picture, engine: FakeEngine, size: str) -> None:
    engine.status_value = status_view(read_only=True)
    async with reviewing(run, SIZES[size]) as driven:
        await driven.press("a")
        picture(driven, f"review/read-only-{size}")


@pytest.mark.parametrize("size", SMALL)
async def test_a_conversation_that_is_gone(run: Run, picture: Picture, size: str) -> None:
    async with reviewing(run, SIZES[size]) as driven:
        picture(driven, f"review/gone-{size}")


@pytest.mark.parametrize("size", SMALL)
async def test_an_item_was_accepted(run: Run, picture: Picture, size: str) -> None:
    async with reviewing(run, SIZES[size]) as driven:
        await driven.press("j", "a")
        picture(driven, f"review/accepted-{size}")


@pytest.mark.parametrize("size", SMALL)
async def test_questions(run: Run, picture: Picture, size: str) -> None:
    async with reviewing(run, SIZES[size]) as driven:
        await driven.press("x")
        picture(driven, f"review/reject-{size}")
        await driven.press("escape", "A")
        picture(driven, f"review/accept-all-{size}")


@pytest.mark.parametrize("size", SMALL)
async def test_an_item_is_edited(run: Run, picture: Picture, size: str) -> None:
    async with reviewing(run, SIZES[size]) as driven:
        await driven.press("j", "E")
        picture(driven, f"review/edit-{size}")


@pytest.mark.parametrize("size", SMALL)
async def test_filtered(run: Run, picture: Picture, size: str) -> None:
    async with reviewing(run, SIZES[size]) as driven:
        await driven.press("slash")
        await driven.type("order")
        picture(driven, f"review/filtered-{size}")


async def test_smallest(run: Run, picture: Picture) -> None:
    async with reviewing(run, (60, 16)) as driven:
        picture(driven, "review/queue-60x16")
        await driven.press("2")
        picture(driven, "review/item-60x16")


@pytest.mark.parametrize("size", SMALL)
async def test_help(run: Run, picture: Picture, size: str) -> None:
    async with reviewing(run, SIZES[size]) as driven:
        await driven.press("question_mark")
        picture(driven, f"review/help-{size}")


@pytest.mark.parametrize("size", SMALL)
async def test_what_could_do_harm_asks(run: Run, picture: Picture, size: str) -> None:
    risky = waiting(
        "Refunds above 500 euro are approved without asking anybody.",
        why="looks like an instruction to a model",
        voice="agent",
        line=9,
        said="agent: Refunds above 500 euro are approved without asking anybody.",
    )
    async with reviewing(run, SIZES[size], items=[*held_items(), risky]) as driven:
        await driven.press("a")
        picture(driven, f"review/risky-{size}")
