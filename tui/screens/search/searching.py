"""What is searched for and what comes of it, what can be searched, and what goes into a preset.

All of it may block.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.search.reports import IndexStatus
from engine.search.sources import all_sources
from engine.store.paths import Workspace
from tui.kit.full_screen import committed
from tui.render.search_hits import Hit, hit_of
from tui.render.search_words import Words
from tui.screens.search.overview import Inventory

if TYPE_CHECKING:
    from engine.context.presets import Presets
    from engine.engine import Engine

FIRST = 50
"""Results that a search brings at first."""
MOST = 500
"""Results that one search brings at most."""


@dataclass(frozen=True, slots=True)
class Search:
    """What to look for."""

    query: str
    only: str = ""
    """The one category to keep to; empty for all."""
    limit: int = FIRST


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of it."""

    search: Search
    hits: tuple[Hit, ...] = ()
    """Best first."""
    more: bool = False
    """There are more than these."""
    elsewhere: int = 0
    """Where nothing was found in one category: how many there are in all."""
    elsewhere_more: bool = False
    """And whether there are still more."""
    status: IndexStatus | None = None
    """How the index stood afterwards."""


@dataclass(frozen=True, slots=True)
class Addition:
    """Lines of a file that go into a preset."""

    preset: str
    path: str
    lines: str

    def add(self, presets: Presets) -> str:
        """Adds them; says what came of it, and what is still to do for them to reach the prompt."""
        change = presets.add(self.preset, self.path, self.lines)
        commit = committed(change.commit, change.why)
        done = f"{self.path.rpartition('/')[2]}:{self.lines} is in the preset {self.preset} · {commit}"
        use = f"autopoiesis preset use {self.preset} puts it into every prompt"
        return done if self.preset in change.active else f"{done} · {use}"


def answer_of(engine: Engine, search: Search) -> Answer:
    """Searches."""
    # One more than is shown tells whether there are more.
    found = engine.search(search.query, category=search.only or None, limit=min(search.limit + 1, MOST))
    elsewhere: list[Any] = []
    if not found and search.only:
        elsewhere = list(engine.search(search.query, category=None, limit=search.limit + 1))
    words = Words(search.query)
    return Answer(
        search,
        tuple(hit_of(rank, result, words) for rank, result in enumerate(found[: search.limit], 1)),
        len(found) > search.limit or len(found) >= MOST,
        min(len(elsewhere), search.limit),
        len(elsewhere) > search.limit,
        engine.index.status(),
    )


def inventory_of(engine: Engine) -> Inventory:
    """Looks at what can be searched."""
    files = Counter(source.category for source in all_sources(Workspace(engine.workspace.root)))
    return Inventory(engine.index.status(), dict(files))
