"""State of the review screen: items, filter, and what is being saved; touches no widgets."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Literal

from engine.knowledge.proposed import GROUPS, is_shown
from tui.screens.review.item import SourceLines
from tui.screens.review.queue import ReviewItem, item_of

if TYPE_CHECKING:
    from engine.knowledge.review import PendingItem

Phase = Literal["loading", "error", "empty", "found"]


class ReviewState:
    def __init__(self) -> None:
        self.all: tuple[PendingItem, ...] | None = None
        self.problem = ""
        self.with_reviewed = False
        self.query = ""
        self.rewording: PendingItem | None = None
        self._saving: set[str] = set()
        self._saved: set[str] = set()
        self.sources: dict[str, SourceLines] = {}
        """The source of the item shown last, by its id."""

    @property
    def phase(self) -> Phase:
        if self.all is None:
            return "error" if self.problem else "loading"
        return "found" if self.listed() else "empty"

    @property
    def reviewed(self) -> int:
        """Number of items already reviewed."""
        return sum(bool(each.verdict) for each in self.all or ())

    def take(self, items: tuple[PendingItem, ...] | None, problem: str) -> bool:
        """Stores what was read; ``False`` if reading failed but an older result is shown."""
        if items is None:
            self.problem = problem
            return self.all is None
        self.problem, self.all = "", items
        self._saving -= self._saved  # the queue just read includes them
        self._saved.clear()
        return True

    def listed(self) -> list[PendingItem]:
        """The listed items by group, most frequent first, before filtering."""
        shown = [
            each
            for each in self.all or ()
            if (self.with_reviewed or not each.verdict) and is_shown(each.why, each.times)
        ]
        return sorted(shown, key=lambda each: (GROUPS.index(each.group), -each.times))

    def items(self, now: datetime) -> list[ReviewItem]:
        return [item_of(each, now, saving=each.id in self._saving) for each in self.listed()]

    def begin(self, items: tuple[PendingItem, ...]) -> tuple[PendingItem, ...]:
        """Marks items as being saved; returns those that were still pending."""
        fresh = tuple(each for each in items if not each.verdict and each.id not in self._saving)
        self._saving.update(each.id for each in fresh)
        return fresh

    def ended(self, name: str, *, done: bool) -> None:
        """Records that an item was saved, or that it stays pending."""
        if done:
            self._saved.add(name)
        else:
            self._saving.discard(name)
