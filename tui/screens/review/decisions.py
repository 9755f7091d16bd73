"""Accepting and rejecting items in the background, and the notifications about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from engine.errors import AutopoiesisError
from tui.kit.full_screen import committed
from tui.render.figures import plural
from tui.render.safe import first_line
from tui.screens.review.queue import text_of

if TYPE_CHECKING:
    from engine.knowledge.review import PendingItem
    from engine.knowledge.reviewing import Reviewing, ReviewResult

Verb = Literal["accept", "reject"]
NAMED = 40
"""Characters of an item shown in a notification."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Items to accept or reject."""

    items: tuple[PendingItem, ...]
    verb: Verb
    text: str = ""
    """The edited text to accept instead of the single item's own."""
    sure: bool = False
    """The user confirmed a risky item."""

    def apply(
        self,
        review: Reviewing,
        ended: Callable[[str, bool], None],
        tell: Callable[..., None],
    ) -> None:
        """Processes the items in order; a failed one does not stop the others.

        Args:
            ended: Called with each item's id and whether it succeeded.
            tell: Shows a notification.
        """
        done: list[ReviewResult] = []
        for item in self.items:
            try:
                done.append(self._one(review, item))
            except (AutopoiesisError, OSError) as error:
                tell(f"{first_line(item.item.text)[:NAMED]}: {error}", error=True)
                ended(item.id, False)
            else:
                ended(item.id, True)
        if len(done) == 1:
            tell(_summary(done[0], self.verb))
        elif done:
            tell(_summary_of_all(done))

    def _one(self, review: Reviewing, item: PendingItem) -> ReviewResult:
        if self.verb == "reject":
            return review.reject(item.id)
        return review.accept(item.id, self.text, sure=self.sure)


def _summary(done: ReviewResult, verb: Verb) -> str:
    after = committed(done.commit, done.uncommitted)
    if verb == "reject":
        return f"rejected: {first_line(text_of(done.waiting))[:NAMED]} · {after}"
    if done.settled:
        return f"already accepted: {first_line(text_of(done.waiting))[:NAMED]} · {after}"
    place = f"{done.path}:{done.number}" if done.number else done.path or ", ".join(done.paths)
    return f"{'already there' if done.known else 'accepted'}: {place} · {after}"


def _summary_of_all(done: list[ReviewResult]) -> str:
    """The number of lines by file, and the last commit."""
    paths = Counter(path for each in done for path in (each.path, *each.paths) if path)
    counts = [f"{path} {number}" for path, number in paths.items()]
    known = sum(each.known for each in done)
    already = f"{known:,} already there" if known else ""
    last = committed(done[-1].commit, done[-1].uncommitted)
    parts = (f"accepted {plural(len(done), 'item')}", *counts, already, last)
    return " · ".join(part for part in parts if part)
