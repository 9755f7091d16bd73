"""When the search screen searches: while somebody types, when files change, when the index comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.timer import Timer

from tui.kit.bridge import Burst
from tui.kit.prompt import PromptLine
from tui.screens.search.layout import SearchLayout
from tui.screens.search.results_panel import ResultsPanel
from tui.screens.search.work import Answered, Looked

if TYPE_CHECKING:
    from tui.kit.bench import Bench

TYPING_S = 0.12
"""How long the typing must rest before it is searched for."""
PATIENCE_S = 0.3
"""How long an answer may take before the screen says that it is being waited for."""
POLL_S = 1.0
"""How often an index that is being made is looked at."""


class SearchFlow(SearchLayout):
    """The timers of one search screen, and what its answers lead to."""

    def __init__(self, bench: Bench, query: str = "") -> None:
        super().__init__(bench, query)
        self._typing: Timer | None = None
        self._patience: Timer | None = None
        self._poll: Timer | None = None

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
            self.work.forget()
            self.work.look()
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
            self.work.forget()
            return
        self.work.search(self.state.wish)
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

    @on(Answered)
    def _answered(self, answered: Answered) -> None:
        """An answer came."""
        if self.state.take(answered.wish, answered.answer, answered.problem):
            self._watch_index()
            self.show()
            self.read_selected()

    def read_selected(self) -> None:
        """Reads the selected result's surroundings, unless they are in view."""
        state = self.state
        selected = self.results.selected
        if selected is not None and (state.passage is None or state.passage.hit != selected):
            self.work.read(selected, state.query)

    @on(Looked)
    def _looked(self, looked: Looked) -> None:
        """What can be searched is known; an index that came back is asked at once."""
        state = self.state
        inventory = looked.inventory
        before, state.inventory = state.status, inventory
        self._watch_index()
        self.show()
        if (
            before is not None
            and before.state != "ready"
            and inventory.status.state == "ready"
            and state.asked
        ):
            self.work.search(state.wish)

    def _watch_index(self) -> None:
        """Looks at an index that is being made until it is there."""
        status = self.state.status
        wanted = status is not None and status.state != "ready" and not status.trouble
        if wanted and self._poll is None:
            self._poll = self.set_interval(POLL_S, self.work.look)
        elif not wanted and self._poll is not None:
            self._poll.stop()
            self._poll = None

    def heard(self, burst: Burst) -> None:
        """Files changed, or the index did: searches again."""
        if not burst.parts and burst.progress is None and not burst.indexed:
            return
        self.work.look()
        if self.state.asked and not self.state.pending:
            self.work.search(self.state.wish)

    def begin(self) -> None:
        """Searches where there is a query already."""
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
