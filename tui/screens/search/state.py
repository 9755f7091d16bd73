"""Searching, counting what can be searched, and adding results to a preset. All of it may block."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from engine.search.reports import IndexStatus
from engine.search.results import CATEGORIES
from engine.search.sources import all_sources
from engine.store.paths import Workspace
from tui.kit.full_screen import committed
from tui.render.search import Hit, Words, hit_of
from tui.screens.search.draw import Inventory, Passage

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
    hits = tuple(hit_of(rank, result, words) for rank, result in enumerate(found[: search.limit], 1))
    if all(hit.missing and not hit.matched for hit in hits):
        hits = tuple(replace(hit, wordless=True) for hit in hits)
    return Answer(
        search,
        hits,
        len(found) > search.limit or len(found) >= MAX_LIMIT,
        min(len(elsewhere), search.limit),
        len(elsewhere) > search.limit,
        engine.index.status(),
    )


def read_inventory(engine: Engine) -> Inventory:
    """Counts the searchable files by category."""
    files = Counter(source.category for source in all_sources(Workspace(engine.workspace.root)))
    return Inventory(engine.index.status(), dict(files))


KINDS: tuple[str, ...] = ("", *CATEGORIES)
"""The categories in the order that the key cycles through them; the first is all."""
Phase = Literal["overview", "searching", "found", "nothing", "error"]


class SearchState:
    def __init__(self, query: str) -> None:
        self.wanted = Search(query)
        self.answer: Answer | None = None
        self.problem = ""
        self.pending = False
        self.slow = False
        self.inventory: Inventory | None = None
        self.passage: Passage | None = None

    @property
    def query(self) -> str:
        return self.wanted.query

    @property
    def only(self) -> str:
        """The category the search is restricted to; empty for all."""
        return self.wanted.only

    @property
    def has_query(self) -> bool:
        return bool(self.wanted.query.strip())

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The listed results: those of the last search until the next one answers."""
        return self.answer.hits if self.answer is not None and self.has_query else ()

    @property
    def found_for(self) -> tuple[str, str]:
        """Query and category of the listed results."""
        return (self.answer.search.query, self.answer.search.only) if self.answer is not None else ("", "")

    @property
    def more(self) -> bool:
        return self.answer is not None and self.answer.more

    @property
    def status(self) -> IndexStatus | None:
        """The last known state of the index."""
        return self.inventory.status if self.inventory is not None else None

    @property
    def phase(self) -> Phase:
        if not self.has_query:
            return "overview"
        if self.problem:
            return "error"
        if self.hits:
            return "found"
        return "searching" if self.pending or self.answer is None else "nothing"

    def ask(self, query: str) -> bool:
        """Sets the query; ``False`` if it is unchanged."""
        if query == self.wanted.query:
            return False
        self._want(replace(self.wanted, query=query, limit=FIRST_LIMIT))
        return True

    def restrict_to(self, only: str) -> None:
        """Restricts the search to a category; empty for all."""
        self._want(replace(self.wanted, only=only, limit=FIRST_LIMIT))

    def next_kind(self, step: int) -> None:
        """Restricts the search to the next category that has files; the cycle includes all."""
        files = self.inventory.files if self.inventory is not None else {}
        kinds = [kind for kind in KINDS if kind in ("", self.only) or files.get(kind) or not files]
        self.restrict_to(kinds[(kinds.index(self.only) + step) % len(kinds)])

    def want_more(self) -> bool:
        """Raises the limit to the maximum; ``False`` if there are no more results to fetch."""
        if not self.more or self.pending or self.wanted.limit >= MAX_LIMIT:
            return False
        self._want(replace(self.wanted, limit=MAX_LIMIT))
        return True

    def _want(self, search: Search) -> None:
        self.wanted = search
        self.pending = self.has_query
        self.slow = False
        if not self.has_query:
            self.answer, self.problem, self.passage = None, "", None

    def take(self, search: Search, answer: Answer | None, problem: str) -> bool:
        """Stores an answer; ``False`` if it is not for the current search."""
        if search != self.wanted or not self.has_query:
            return False
        self.pending = self.slow = False
        self.problem = problem
        self.answer = answer if answer is not None else self.answer if not problem else None
        if answer is not None and answer.status is not None and self.inventory is not None:
            self.inventory = replace(self.inventory, status=answer.status)
        return True

    def take_passage(self, passage: Passage, selected: Hit | None) -> bool:
        """Stores a result's passage; ``False`` if another result is selected by now."""
        if passage.hit != selected or passage == self.passage:
            return False
        self.passage = passage
        return True
