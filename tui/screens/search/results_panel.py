"""Panels 1 and 3 of the search screen: the results, and why a result ranks where it does."""

from __future__ import annotations

from functools import lru_cache, partial

from textual.message import Message

from tui.kit.panel import LinesPanel, Motion
from tui.kit.rows import KeyedRows
from tui.render.draw import Row, joined_within
from tui.render.figures import count, score
from tui.render.roles import Roles
from tui.render.search import BACK, Hit, draw_why, hit_rows
from tui.screens.search.draw import KINDS, counted, draw_error, draw_nothing, draw_overview
from tui.screens.search.state import MAX_LIMIT, SearchState

ROOMY = 21
"""Minimum panel height for three-line results."""
BROAD = 100
"""Minimum width in cells to show a result's place beside its title."""


def draw_empty(state: SearchState, width: int, height: int, roles: Roles) -> list[Row]:
    """Draws the panel when there are no results."""
    answer = state.answer
    match state.phase:
        case "overview":
            return draw_overview(state.inventory, state.only, width, roles, height)
        case "error":
            return draw_error(state.problem, width, roles)
        case "nothing":
            elsewhere, more = (answer.elsewhere, answer.elsewhere_more) if answer else (0, False)
            return draw_nothing(state.query, state.only, elsewhere, more, state.status, width, roles)
        case _:
            return []


class ResultsPanel(KeyedRows[Hit], panel="results", number="1"):
    always_lit = True
    signs = (
        (".82", "the score, relative to the best result's; query words are in bold"),
        ("…", "the text continues before or after the lines shown"),
    )
    state: SearchState | None = None
    _found_for = ("", "")

    class PastTheEnd(Message):
        """The user tried to move past the last result."""

    @property
    def tall(self) -> int:
        return 3 if self.size.width < BROAD and self.size.height >= ROOMY else 2

    def show_results(self, state: SearchState) -> None:
        """Shows a new state; for the same query the selected result stays selected while it is listed."""
        from_top, self._found_for = state.found_for != self._found_for, state.found_for
        self.state = state
        empty = lru_cache(1)(partial(draw_empty, state))  # called once per line
        self.show_items(
            state.hits,
            lambda width, roles: empty(max(8, width), self.size.height, roles),
            (state.phase, state.inventory, state.problem, state.wanted, state.answer),
            from_top=from_top,
        )
        self.summarise()

    def key(self, item: Hit) -> tuple[str, int, int]:
        return item.key

    def select(self, index: int, *, by_hand: bool = True) -> None:
        """Selects a result; an index past the last one posts ``PastTheEnd``."""
        if index >= self.row_count:
            self.post_message(self.PastTheEnd())
        super().select(index, by_hand=by_hand)

    def move(self, motion: Motion) -> None:
        """Moves the selection; going to the last result from there counts as moving past it."""
        beyond = motion is Motion.LAST and self.cursor == self.row_count - 1
        super().move(Motion.DOWN if beyond else motion)

    def rows(self, item: Hit, width: int, chosen: bool) -> list[Row]:
        return hit_rows(item, width, self.tall, self.roles, chosen=chosen)

    def summarise(self) -> None:
        """Shows the result count and category beside the title, the position below."""
        state, room = self.state, self.size.width
        if state is None:
            return
        kind = f"only {KINDS.get(state.only, state.only)}" if state.only else ""
        found = counted(self.row_count, state.more) if state.phase in ("found", "nothing") else ""
        wordless = bool(state.hits) and state.hits[0].wordless
        none = "none has your words" if wordless else ""
        slow = "searching …" if state.slow else ""
        beside = " · ".join(part for part in (found, none, kind, slow) if part)
        below = ["nearest in meaning · / other words"] if wordless else []
        if self.row_count:
            below.append(f"{count(self.cursor + 1)} of {count(self.row_count)}")
            if state.more:
                can = state.wanted.limit < MAX_LIMIT
                below.append("m loads more" if can else "result limit reached; add a word")
        self.set_frame(beside, joined_within(below, room - 2), error=state.phase == "error")

    def text_of(self, item: Hit) -> str:
        return item.result.text


class WhyPanel(LinesPanel, panel="why", number="3", words="why this rank"):
    """The components of the selected result's score; only as tall as needed."""

    signs = (
        ("▇", "a component of the score; together they add up to the score"),
        (BACK, "a penalty, subtracted from the score"),
        ("✓", "a query word found in the text, its heading or its file name; ✗ one that is not"),
    )

    hit: Hit | None = None

    @property
    def row_count(self) -> int:
        return int(self.hit is not None)

    def show(self, hit: Hit | None) -> None:
        if hit != self.hit:
            self.hit = hit
            self.summarise()
            self.changed()
            self.scroll_to(y=0, animate=False, force=True)

    def summarise(self) -> None:
        hit = self.hit
        self.set_frame(f"{hit.rank} · {score(hit.result.score)}" if hit is not None else "")

    def draw(self, width: int, height: int) -> list[Row]:
        if self.hit is None:
            return [Row(("no result is selected", self.roles.faint))]
        rows = draw_why(self.hit, width, self.roles)
        return (
            rows if len(rows) <= height or not height else draw_why(self.hit, width, self.roles, tight=True)
        )

    def wanted(self, width: int) -> int:
        """The panel height that fits all components at a given width, including the frame."""
        return len(self.draw(max(20, width - 4), 0)) + 2
