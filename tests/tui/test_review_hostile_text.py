"""Hostile text in items, reasons, conversations and errors: shown as plain text by the review screen."""

from __future__ import annotations

from engine.errors import AutopoiesisError
from engine.knowledge.review import PendingItem
from tests.tui.conftest import Run
from tests.tui.review_data import INBOX, waiting
from tests.tui.review_driven import reviewing
from tests.tui.test_hostile_text import HOSTILE, TOGETHER, assert_harmless, each_alone


def poisoned(text: str) -> tuple[PendingItem, ...]:
    """Items that hold a text wherever they can."""
    held = waiting(text, why=text, line=3, said=text, path=text, sha256=text, at=text)
    return held, waiting(f"before {text}", source=text, line=1, said=text)


async def test_it_is_shown_as_text_and_nothing_of_it_acts(run: Run) -> None:
    async with reviewing(run, (80, 24)) as driven:
        engine, review = driven.engine, driven.review
        await each_alone(driven, lambda text: setattr(review, "items", poisoned(text)))
        for text in TOGETHER:
            review.queue.items = poisoned(text)
            (engine.root / INBOX).write_bytes(f"{text}\n{text}\n{text}\n".encode("utf-8", "surrogatepass"))
            await driven.press("ctrl+r", "g", "j", "k")
            assert driven.screen.queue.row_count == 2
            assert_harmless(driven)
            for keys in (["x"], ["escape", "A"], ["escape", "E"], ["escape", "enter", "Y"], ["escape", "s"]):
                await driven.press(*keys)
                assert_harmless(driven)
            await driven.resize(200, 60)
            assert_harmless(driven)
            asked = len(engine.asked("accept"))
            await driven.press("s", "g", "a")  # a reason that is not ours counts as dangerous, which asks
            assert_harmless(driven)
            await driven.press("right", "enter")
            assert_harmless(driven)
            assert len(engine.asked("accept")) > asked and driven.is_open()
            await driven.resize(80, 24)
        engine.failing["review all"] = AutopoiesisError("closed")
        await driven.press("escape", "v")
        for text in HOSTILE:
            engine.failing["review all"] = AutopoiesisError(text, where=text, hint=text)
            await driven.press("ctrl+r")
            assert "cannot read the review queue" in driven.text, repr(text)
            assert_harmless(driven)
