"""When the search screen searches: while somebody types, when files change, when the index comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.timer import Timer

from tui.kit.bridge import Burst
from tui.screens.search.overview import Inventory
from tui.screens.search.work import Answered

if TYPE_CHECKING:
    from tui.screens.search.screen import SearchScreen

TYPING_S = 0.12
"""How long the typing must rest before it is searched for."""
PATIENCE_S = 0.3
"""How long an answer may take before the screen says that it is being waited for."""
POLL_S = 1.0
"""How often an index that is being made is looked at."""


class SearchFlow:
    """The timers of one search screen, and what its answers lead to."""

    def __init__(self, screen: SearchScreen) -> None:
        self.screen = screen
        self._typing: Timer | None = None
        self._patience: Timer | None = None
        self._poll: Timer | None = None

    @property
    def waiting(self) -> bool:
        """Whether a pause in typing is being waited for."""
        return self._typing is not None

    def typed(self, query: str) -> None:
        """Takes what stands in the line; it is searched for when the typing rests."""
        screen, state = self.screen, self.screen.state
        before = state.asked
        if not state.ask(query):
            return
        self._rest()
        if state.asked:
            self._typing = screen.set_timer(TYPING_S, self.search)
        else:
            screen.work.forget()
            screen.work.look()
        if state.asked is not before or state.phase != "found":
            screen.show()

    def at_once(self) -> None:
        """Searches for what was typed last without waiting for a pause."""
        if self._typing is not None:
            self.search()

    def again(self) -> None:
        """Searches for the same again."""
        if self.screen.state.asked:
            self.screen.state.pending = True
            self.search()

    def search(self) -> None:
        """Looks for what is wanted now; an answer to anything older is dropped when it comes."""
        self._rest()
        if not self.screen.state.asked:
            self.screen.work.forget()
            return
        self.screen.work.search(self.screen.state.wish)
        if self._patience is None:
            self._patience = self.screen.set_timer(PATIENCE_S, self._still_pending)

    def _rest(self) -> None:
        if self._typing is not None:
            self._typing.stop()
            self._typing = None

    def _still_pending(self) -> None:
        self._patience = None
        state = self.screen.state
        if state.pending and not state.slow:
            state.slow = True
            self.screen.show()

    def answered(self, answered: Answered) -> None:
        """An answer came."""
        if self.screen.state.take(answered.wish, answered.answer, answered.problem):
            self._watch_index()
            self.screen.show()
            self.read_selected()

    def read_selected(self) -> None:
        """Reads the selected result's surroundings, unless they are in view."""
        screen, state = self.screen, self.screen.state
        selected = screen.results.selected
        if selected is not None and (state.passage is None or state.passage.hit != selected):
            screen.work.read(selected, state.query)

    def looked(self, inventory: Inventory) -> None:
        """What can be searched is known; an index that came back is asked at once."""
        state = self.screen.state
        before, state.inventory = state.status, inventory
        self._watch_index()
        self.screen.show()
        if (
            before is not None
            and before.state != "ready"
            and inventory.status.state == "ready"
            and state.asked
        ):
            self.screen.work.search(state.wish)

    def _watch_index(self) -> None:
        """Looks at an index that is being made until it is there."""
        status = self.screen.state.status
        wanted = status is not None and status.state != "ready" and not status.trouble
        if wanted and self._poll is None:
            self._poll = self.screen.set_interval(POLL_S, self.screen.work.look)
        elif not wanted and self._poll is not None:
            self._poll.stop()
            self._poll = None

    def heard(self, burst: Burst) -> None:
        """Files changed, or the index did: searches again."""
        screen = self.screen
        if not burst.parts and burst.progress is None and not burst.indexed:
            return
        screen.work.look()
        if screen.state.asked and not screen.state.pending:
            screen.work.search(screen.state.wish)
