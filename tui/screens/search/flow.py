"""When the search screen searches: while a query is typed, when files change, when the index comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.timer import Timer

from tui.kit.bridge import Burst
from tui.kit.lanes import Lane
from tui.kit.prompt import PromptLine
from tui.render.search_hits import Hit
from tui.render.search_words import Words
from tui.screens.search.layout import SearchLayout
from tui.screens.search.overview import Inventory
from tui.screens.search.passage import Passage, read_passage
from tui.screens.search.results_panel import ResultsPanel
from tui.screens.search.searching import Answer, Search, answer_of, inventory_of

if TYPE_CHECKING:
    from tui.kit.bench import Bench

TYPING_S = 0.12
"""How long the typing must rest before it is searched for."""
PATIENCE_S = 0.3
"""How long an answer may take before the screen says that it is being waited for."""
POLL_S = 1.0
"""How often an index that is being made is looked at."""


class SearchFlow(SearchLayout):
    """The lanes and timers of one search screen, and what its answers lead to."""

    def __init__(self, bench: Bench, query: str = "") -> None:
        super().__init__(bench, query)
        self._typing: Timer | None = None
        self._patience: Timer | None = None
        self._poll: Timer | None = None
        engine = bench.engine
        self._searches: Lane[Search, Answer] = self.lane(
            lambda search: answer_of(engine, search),
            self._take_answer,
            lambda search, problem: self._take_answer(search, None, problem),
        )
        self._passages: Lane[tuple[Hit, str], Passage] = self.lane(
            lambda wanted: read_passage(wanted[0], Words(wanted[1]), engine.files),
            lambda _wanted, passage: self._take_passage(passage),
        )
        self._looks: Lane[None, Inventory] = self.lane(
            lambda _none: inventory_of(engine), lambda _none, inventory: self._take_inventory(inventory)
        )

    def look(self) -> None:
        """Looks at what can be searched."""
        self._looks.ask(None)

    def typed(self, query: str) -> None:
        """Takes what stands in the line; it is searched for when the typing rests."""
        state = self.state
        before = state.asked
        if not state.ask(query):
            return
        self._rest()
        if state.asked:
            self._typing = self.set_timer(TYPING_S, self.search)
        else:
            self._searches.drop()
            self.look()
        if state.asked is not before or state.phase != "found":
            self.show()

    def at_once(self) -> None:
        """Searches for what was typed last without waiting for a pause."""
        if self._typing is not None:
            self.search()

    def again(self) -> None:
        """Searches for the same again."""
        if self.state.asked:
            self.state.pending = True
            self.search()

    def search(self) -> None:
        """Looks for what is wanted now; an answer to anything older is dropped when it comes."""
        self._rest()
        if not self.state.asked:
            self._searches.drop()
            return
        self._searches.ask(self.state.wanted)
        if self._patience is None:
            self._patience = self.set_timer(PATIENCE_S, self._still_pending)

    def _rest(self) -> None:
        if self._typing is not None:
            self._typing.stop()
            self._typing = None

    def _still_pending(self) -> None:
        self._patience = None
        state = self.state
        if state.pending and not state.slow:
            state.slow = True
            self.show()

    def _take_answer(self, search: Search, answer: Answer | None, problem: str = "") -> None:
        if self.state.take(search, answer, problem):
            self._watch_index()
            self.show()
            self.read_selected()

    def read_selected(self) -> None:
        """Reads the selected result's surroundings, unless they are in view."""
        state = self.state
        selected = self.results.selected
        if selected is not None and (state.passage is None or state.passage.hit != selected):
            self._passages.ask((selected, state.query))

    def _take_passage(self, passage: Passage) -> None:
        if self.state.take_passage(passage, self.results.selected):
            self.show()

    def _take_inventory(self, inventory: Inventory) -> None:
        """What can be searched is known; an index that came back is asked at once."""
        state = self.state
        before, state.inventory = state.status, inventory
        self._watch_index()
        self.show()
        if (
            before is not None
            and before.state != "ready"
            and inventory.status.state == "ready"
            and state.asked
        ):
            self._searches.ask(state.wanted)

    def _watch_index(self) -> None:
        """Looks at an index that is being made until it is there."""
        status = self.state.status
        wanted = status is not None and status.state != "ready" and not status.trouble
        if wanted and self._poll is None:
            self._poll = self.set_interval(POLL_S, self.look)
        elif not wanted and self._poll is not None:
            self._poll.stop()
            self._poll = None

    def heard(self, burst: Burst) -> None:
        """Files changed, or the index did: searches again."""
        if not burst.parts and burst.progress is None and not burst.indexed:
            return
        self.look()
        if self.state.asked and not self.state.pending:
            self._searches.ask(self.state.wanted)

    def begin(self) -> None:
        """Looks at what there is, and searches where there is a query already."""
        self.look()
        self.prompt.enter_mode("search", value=self.state.query)
        if self.state.asked:
            self.prompt.line.action_select_all()
            self.again()

    @property
    def waiting(self) -> bool:
        """Whether something is under way that will change the screen."""
        return super().waiting or self._typing is not None

    @on(ResultsPanel.Moved)
    def _result_moved(self) -> None:
        self.why.show(self.results.selected if self.state.phase == "found" else None)
        self._fit_why()
        self.read_selected()
        self.update_footer()

    @on(PromptLine.Edited)
    def _edited(self, edited: PromptLine.Edited) -> None:
        if edited.mode == "search":
            self.typed(edited.value)
