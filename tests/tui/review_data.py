"""Items that wait for a person, in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engine.knowledge.review import Waiting
from engine.knowledge.reviewing import Reviewed

if TYPE_CHECKING:
    from tests.tui.fake_engine import FakeEngine


class FakeReview:
    """A queue and what settles it."""

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine
        self.items: tuple[Waiting, ...] = ()

    @property
    def queue(self) -> FakeReview:
        """Itself."""
        return self

    def all(self) -> tuple[Waiting, ...]:
        """All of them."""
        self._engine.note("review all")
        return self.items

    def waiting(self) -> tuple[Waiting, ...]:
        """Those that wait."""
        return tuple(each for each in self.all() if not each.verdict)

    def accept(self, name: str, text: str = "") -> Reviewed:
        """Settles it."""
        self._engine.note("accept", name, text)
        waiting = self._settle(name, "accepted", text)
        return Reviewed(waiting, f"- {text or waiting.item.text}", "knowledge/facts.md", 7, commit="a" * 40)

    def reject(self, name: str) -> Reviewed:
        """Settles it."""
        self._engine.note("reject", name)
        return Reviewed(self._settle(name, "rejected", ""), commit="b" * 40)

    def _settle(self, name: str, verdict: str, text: str) -> Waiting:
        found = next(each for each in self.items if each.id == name)
        settled = replace(found, verdict=verdict, text=text)  # type: ignore[arg-type]
        self.items = tuple(settled if each.id == name else each for each in self.items)
        return found
