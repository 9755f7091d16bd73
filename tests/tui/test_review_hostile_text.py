"""Hostile text in items, reasons, conversations and errors: the review screen shows it as text only."""

from __future__ import annotations

import pytest

from engine.errors import AutopoiesisError
from engine.knowledge.item import Origin
from tests.tui.conftest import Run
from tests.tui.review_data import INBOX, waiting
from tests.tui.review_driven import reviewing
from tests.tui.test_hostile_text import HOSTILE, assert_harmless


@pytest.mark.parametrize("text", HOSTILE)
async def test_nothing_of_it_acts(run: Run, text: str) -> None:
    size = (80, 24) if len(text) % 2 else (200, 60)
    held = waiting(text, why=text, line=3, said=text, path=text, sha256=text, at=text)
    other = waiting(f"before {text}", source=text, line=1, said=text)
    assert Origin(text, text)
    async with reviewing(run, size, items=[held, other]) as driven:
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


@pytest.mark.parametrize("text", HOSTILE)
async def test_as_an_error(run: Run, text: str) -> None:
    broken = AutopoiesisError(text, where=text, cure=text)
    async with reviewing(run, failing={"review all": broken}) as driven:
        assert "What waits cannot be read." in driven.text
        assert_harmless(driven)
