"""What the search screen knows: the query, what it keeps to, what was found, and what is under way.

Nothing here touches a widget or waits for anything.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from engine.search.reports import IndexStatus
from engine.search.results import CATEGORIES
from tui.render.search_hits import Hit
from tui.screens.search.overview import Inventory
from tui.screens.search.passage import Passage
from tui.screens.search.searching import FIRST, MOST, Answer, Search

KINDS: tuple[str, ...] = ("", *CATEGORIES)
"""What the search can keep to, in the order of the key; the first is everything."""
Phase = Literal["overview", "searching", "found", "nothing", "error"]


class SearchState:
    """The state of one search screen."""

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
        """What is looked for."""
        return self.wanted.query

    @property
    def only(self) -> str:
        """The one category the search keeps to; empty for all."""
        return self.wanted.only

    @property
    def asked(self) -> bool:
        """Whether there is anything to look for."""
        return bool(self.wanted.query.strip())

    @property
    def hits(self) -> tuple[Hit, ...]:
        """What is listed: what was found last, until the next answer is there."""
        return self.answer.hits if self.answer is not None and self.asked else ()

    @property
    def found_for(self) -> tuple[str, str]:
        """Query and category of what is listed."""
        return (self.answer.search.query, self.answer.search.only) if self.answer is not None else ("", "")

    @property
    def more(self) -> bool:
        """Whether there are more results than are listed."""
        return self.answer is not None and self.answer.more

    @property
    def status(self) -> IndexStatus | None:
        """How the index stood when it was last looked at."""
        return self.inventory.status if self.inventory is not None else None

    @property
    def phase(self) -> Phase:
        """What the list shows."""
        if not self.asked:
            return "overview"
        if self.problem:
            return "error"
        if self.hits:
            return "found"
        return "searching" if self.pending or self.answer is None else "nothing"

    def ask(self, query: str) -> bool:
        """Takes another query; ``False`` where it is the same."""
        if query == self.wanted.query:
            return False
        self._want(replace(self.wanted, query=query, limit=FIRST))
        return True

    def keep_to(self, only: str) -> None:
        """Keeps to a category, or to none."""
        self._want(replace(self.wanted, only=only, limit=FIRST))

    def next_kind(self, step: int) -> None:
        """Keeps to the next category that has files, all of them together being one as well."""
        files = self.inventory.files if self.inventory is not None else {}
        kinds = [kind for kind in KINDS if kind in ("", self.only) or files.get(kind) or not files]
        self.keep_to(kinds[(kinds.index(self.only) + step) % len(kinds)])

    def want_more(self) -> bool:
        """Asks for as many results as there can be; ``False`` where these are all."""
        if not self.more or self.pending or self.wanted.limit >= MOST:
            return False
        self._want(replace(self.wanted, limit=MOST))
        return True

    def _want(self, search: Search) -> None:
        self.wanted = search
        self.pending = self.asked
        self.slow = False
        if not self.asked:
            self.answer, self.problem, self.passage = None, "", None

    def take(self, search: Search, answer: Answer | None, problem: str) -> bool:
        """Takes an answer over; ``False`` where it is not to what is looked for now."""
        if search != self.wanted or not self.asked:
            return False
        self.pending = self.slow = False
        self.problem = problem
        self.answer = answer if answer is not None else self.answer if not problem else None
        if answer is not None and answer.status is not None and self.inventory is not None:
            self.inventory = replace(self.inventory, status=answer.status)
        return True

    def take_passage(self, passage: Passage, selected: Hit | None) -> bool:
        """Takes a result's surroundings over; ``False`` where another result is selected by now."""
        if passage.hit != selected or passage == self.passage:
            return False
        self.passage = passage
        return True
