"""Hostile text in items, reasons, conversations and errors: the review screen shows it as text only."""

from __future__ import annotations

import pytest

from engine.errors import AutopoiesisError
from engine.knowledge.review import Waiting
from tests.tui.conftest import Run
from tests.tui.review_data import INBOX, waiting
from tests.tui.review_driven import reviewing
from tests.tui.test_hostile_text import HOSTILE, TOGETHER, assert_harmless, each_alone


def poisoned(text: str) -> tuple[Waiting, ...]:
    """Items that hold a text wherever they can."""
    held = waiting(text, why=text, line=3, said=text, path=text, sha256=text, at=text)
    return held, waiting(f"before {text}", source=text, line=1, said=text)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_each_is_shown_as_text(run: Run, size: tuple[int, int]) -> None:
    async with reviewing(run, size) as driven:
        await each_alone(driven, lambda text: setattr(driven.review, "items", poisoned(text)))


@pytest.mark.parametrize("text", TOGETHER)
async def test_nothing_of_it_acts(run: Run, text: str) -> None:
    async with reviewing(run, (80, 24), items=poisoned(text)) as driven:
        (driven.engine.root / INBOX).write_bytes(f"{text}\n{text}\n{text}\n".encode("utf-8", "surrogatepass"))
        await driven.press("j", "k")
        assert driven.screen.queue.row_count == 2
        assert_harmless(driven)
        for keys in (["x"], ["escape", "A"], ["escape", "E"], ["escape", "enter", "Y"], ["escape", "s"]):
            await driven.press(*keys)
            assert_harmless(driven)
        await driven.press("g", "a")  # a reason that is not ours counts as dangerous, which asks
        assert_harmless(driven)
        await driven.press("right", "enter")
        await driven.settle()
        assert_harmless(driven)
        assert driven.engine.asked("accept") and driven.is_open()


async def test_as_an_error(run: Run) -> None:
    async with reviewing(run, failing={"review all": AutopoiesisError("closed")}) as driven:
        for text in HOSTILE:
            driven.engine.failing["review all"] = AutopoiesisError(text, where=text, cure=text)
            await driven.press("ctrl+r")
            assert "What waits cannot be read." in driven.text, repr(text)
            assert_harmless(driven)
