"""Drives the review screen in tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from engine.knowledge.review import PendingItem
from tests.tui.conftest import Run
from tests.tui.review_data import CONVERSATIONS, FakeReview, review_items
from tests.tui.screen_driven import ScreenDriven
from tui.screens.review.screen import ReviewScreen


class ReviewDriven(ScreenDriven[ReviewScreen]):
    """Drives a running review screen."""

    kind = ReviewScreen

    @property
    def review(self) -> FakeReview:
        """The fake review."""
        return self.engine.knowledge.review

    def listed(self) -> list[str]:
        """The texts of the listed items, as harvested."""
        queue = self.screen.queue
        return [queue.item_at(at).waiting.item.text for at in range(queue.row_count)]

    def selected(self) -> str:
        """The text of the selected item."""
        item = self.screen.queue.selected
        return item.waiting.item.text if item is not None else ""

    def verdicts(self) -> dict[str, str]:
        """The verdicts given in this test, by item text."""
        before = {each.id for each in review_items() if each.verdict}
        settled = [each for each in self.review.queue.items if each.verdict and each.id not in before]
        return {each.item.text: each.verdict for each in settled}


@asynccontextmanager
async def open_review(
    run: Run,
    size: tuple[int, int] = (120, 40),
    *,
    items: Sequence[PendingItem] | None = None,
    settle: bool = True,
    theme: str = "",
    **changes: Any,
) -> AsyncIterator[ReviewDriven]:
    """Opens the review screen: ``async with open_review(run, items=()) as driven``."""
    async with run(size, theme=theme, **changes) as workbench:
        driven = ReviewDriven(workbench.app, workbench.pilot, workbench.engine)
        driven.review.queue.items = tuple(review_items() if items is None else items)
        for path, text in CONVERSATIONS.items():
            file = workbench.engine.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        await driven.send("v")
        await driven.pilot.pause()
        if settle:
            await driven.settle()
        yield driven
