"""Searching, counting what can be searched, and adding results to a preset. All of it may block."""

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

FIRST_LIMIT = 50
"""Maximum results of a first search."""
MAX_LIMIT = 500
"""Maximum results of any search."""


@dataclass(frozen=True, slots=True)
class Search:
    """A search request."""

    query: str
    only: str = ""
    """The category to restrict to; empty for all."""
    limit: int = FIRST_LIMIT


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a search."""

    search: Search
    hits: tuple[Hit, ...] = ()
    """Best first."""
    more: bool = False
    """There are more results than ``hits``."""
    elsewhere: int = 0
    """If a category has no results: how many there are in all categories."""
    elsewhere_more: bool = False
    """There are more than ``elsewhere``."""
    status: IndexStatus | None = None
    """The state of the index after the search."""


@dataclass(frozen=True, slots=True)
class Addition:
    """Lines of a file to add to a preset."""

    preset: str
    path: str
    lines: str

    def add(self, presets: Presets) -> str:
        """Adds the lines and returns a message; if the preset is not in use, it says how to use it."""
        change = presets.add(self.preset, self.path, self.lines)
        commit = committed(change.commit, change.why)
        done = f"added {self.path.rpartition('/')[2]}:{self.lines} to preset {self.preset} · {commit}"
        hint = f"to include it in every prompt: autopoiesis preset use {self.preset}"
        return done if self.preset in change.active else f"{done} · {hint}"


def run_search(engine: Engine, search: Search) -> Answer:
    # One result more than the limit tells whether there are more.
    found = engine.search(search.query, category=search.only or None, limit=min(search.limit + 1, MAX_LIMIT))
    elsewhere: list[Any] = []
    if not found and search.only:
        elsewhere = list(engine.search(search.query, category=None, limit=search.limit + 1))
    words = Words(search.query)
    return Answer(
        search,
        tuple(hit_of(rank, result, words) for rank, result in enumerate(found[: search.limit], 1)),
        len(found) > search.limit or len(found) >= MAX_LIMIT,
        min(len(elsewhere), search.limit),
        len(elsewhere) > search.limit,
        engine.index.status(),
    )


def read_inventory(engine: Engine) -> Inventory:
    """Counts the searchable files by category."""
    files = Counter(source.category for source in all_sources(Workspace(engine.workspace.root)))
    return Inventory(engine.index.status(), dict(files))
