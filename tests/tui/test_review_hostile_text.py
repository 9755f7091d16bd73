"""Hostile text in items, reasons, conversations and errors is shown only as text on the review screen."""

from __future__ import annotations

from engine.errors import AutopoiesisError
from engine.knowledge.review import PendingItem
from tests.tui.conftest import Run
from tests.tui.review_data import INBOX, pending_item
from tests.tui.screen_driven import open_review
from tests.tui.test_hostile_text import COMBINED, assert_each_harmless, assert_harmless


def poisoned(text: str) -> tuple[PendingItem, ...]:
    """Items with a text in every field."""
    first = pending_item(text, why=text, line=3, said=text, path=text, sha256=text, at=text)
    return first, pending_item(f"before {text}", source=text, line=1, said=text)


async def test_hostile_text_is_shown_and_has_no_effect(run: Run) -> None:
    async with open_review(run, (80, 24)) as driven:
        engine, review = driven.engine, driven.review
        await assert_each_harmless(driven, lambda text: setattr(review.queue, "items", poisoned(text)))
        review.queue.items = poisoned(COMBINED)
        (engine.root / INBOX).write_bytes((f"{COMBINED}\n" * 3).encode("utf-8", "surrogatepass"))
        await driven.press("ctrl+r", "g", "j", "k")
        assert driven.screen.queue.row_count == 2
        assert_harmless(driven)
        for keys in (["x"], ["escape", "A"], ["escape", "E"], ["escape", "enter", "Y"], ["escape", "s"]):
            await driven.press(*keys)
            assert_harmless(driven)
        await driven.resize(200, 60)
        assert_harmless(driven)
        before = len(engine.calls_of("accept"))
        await driven.press("s", "1", "G", "a")  # an unknown reason counts as risky and asks first
        assert_harmless(driven)
        await driven.press("right", "enter")
        assert_harmless(driven)
        assert len(engine.calls_of("accept")) > before and driven.is_open()
        await driven.resize(80, 24)
        engine.failing["review all"] = AutopoiesisError("closed")
        await driven.press("escape", "v")
        engine.failing["review all"] = AutopoiesisError(COMBINED, where=COMBINED, hint=COMBINED)
        await driven.press("ctrl+r")
        assert "cannot read the review queue" in driven.text
        assert_harmless(driven)
