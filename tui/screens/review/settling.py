"""Accepting and rejecting items, one after the other, and what is said of it."""

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
    from engine.knowledge.review import Waiting
    from engine.knowledge.reviewing import Reviewed, Reviewing

Verb = Literal["accept", "reject"]
NAMED = 40
"""Characters of an item in a word in passing."""


@dataclass(frozen=True, slots=True)
class Settling:
    """Items and what is to become of them; several are told of in one sentence."""

    items: tuple[Waiting, ...]
    verb: Verb
    text: str = ""
    """What is accepted in place of the one item's own text."""
    sure: bool = False
    """The person was shown why it is dangerous, and said yes."""

    def settle(
        self,
        review: Reviewing,
        ended: Callable[[str, bool], None],
        tell: Callable[..., None],
    ) -> None:
        """Does one after the other; one that is refused holds up none behind it.

        Args:
            ended: Called with the id of each, and whether it was settled.
            tell: Says in passing what became of them, with ``error`` where it failed.
        """
        done: list[Reviewed] = []
        for item in self.items:
            try:
                done.append(self._one(review, item))
            except (AutopoiesisError, OSError) as error:
                tell(f"{first_line(item.item.text)[:NAMED]}: {error}", error=True)
                ended(item.id, False)
            else:
                ended(item.id, True)
        if len(done) == 1:
            tell(_told(done[0], self.verb))
        elif done:
            tell(_told_several(done))

    def _one(self, review: Reviewing, item: Waiting) -> Reviewed:
        if self.verb == "reject":
            return review.reject(item.id)
        return review.accept(item.id, self.text, sure=self.sure)


def _told(done: Reviewed, verb: Verb) -> str:
    """What became of one: where it stands now, and its commit."""
    after = committed(done.commit, done.uncommitted)
    if verb == "reject":
        return f"rejected: {first_line(text_of(done.waiting))[:NAMED]} · {after}"
    if done.settled:
        return f"accepted already: {first_line(text_of(done.waiting))[:NAMED]} · {after}"
    place = f"{done.path}:{done.number}" if done.number else done.path or ", ".join(done.paths)
    return f"stood there already: {place} · {after}" if done.known else f"accepted: {place} · {after}"


def _told_several(done: list[Reviewed]) -> str:
    """What became of several: how many lines in which file, and the last commit."""
    paths = Counter(path for each in done for path in (each.path, *each.paths) if path)
    counts = [f"{path} {number}" for path, number in paths.items()]
    known = sum(each.known for each in done)
    stood = f"{known:,} stood there already" if known else ""
    last = committed(done[-1].commit, done[-1].uncommitted)
    parts = (f"accepted {plural(len(done), 'item')}", *counts, stood, last)
    return " · ".join(part for part in parts if part)
