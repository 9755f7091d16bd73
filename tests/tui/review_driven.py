"""The review screen as a test drives it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from engine.knowledge.review import PendingItem
from tests.tui.conftest import Run
from tests.tui.review_data import CONVERSATIONS, FakeReview, held_items
from tests.tui.screen_driven import ScreenDriven
from tui.screens.review.screen import ReviewScreen


class Reviewer(ScreenDriven[ReviewScreen]):
    """A running review screen and the hand that drives it."""

    kind = ReviewScreen

    @property
    def review(self) -> FakeReview:
        """What it asks."""
        return self.engine.knowledge.review

    def listed(self) -> list[str]:
        """The texts in the list, as they were harvested."""
        queue = self.screen.queue
        return [queue.item_at(at).waiting.item.text for at in range(queue.row_count)]

    def selected(self) -> str:
        """The text of the selected item."""
        item = self.screen.queue.selected
        return item.waiting.item.text if item is not None else ""

    def verdicts(self) -> dict[str, str]:
        """What was decided here, by text."""
        before = {each.id for each in held_items() if each.verdict}
        settled = [each for each in self.review.queue.items if each.verdict and each.id not in before]
        return {each.item.text: each.verdict for each in settled}


@asynccontextmanager
async def reviewing(
    run: Run,
    size: tuple[int, int] = (120, 40),
    *,
    items: Sequence[PendingItem] | None = None,
    settle: bool = True,
    theme: str = "",
    **changes: Any,
) -> AsyncIterator[Reviewer]:
    """Opens the review screen: ``async with reviewing(run, items=()) as driven``."""
    async with run(size, theme=theme, **changes) as driven:
        reviewer = Reviewer(driven.app, driven.pilot, driven.engine)
        reviewer.review.queue.items = tuple(held_items() if items is None else items)
        for path, text in CONVERSATIONS.items():
            file = driven.engine.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        await reviewer.send("v")
        await reviewer.pilot.pause()
        if settle:
            await reviewer.settle()
        yield reviewer
