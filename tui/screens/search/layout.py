"""The search screen: what is found while a query is typed, where it stands, why it ranks there (design 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.types import CSSPathType

from tui.kit.full_screen import FullScreen
from tui.screens.search.notice_bar import NoticeBar
from tui.screens.search.overview import draw_nothing, draw_overview, draw_trouble
from tui.screens.search.preview_panels import Preview, PreviewPanel, WhyPanel
from tui.screens.search.results_panel import Body, Results, ResultsPanel
from tui.screens.search.searching import MOST
from tui.screens.search.state import SearchState

if TYPE_CHECKING:
    from tui.kit.bench import Bench

NARROW = 100
"""Columns below which the preview stands under the results."""
LOW = 20
"""Lines below which one panel at a time is in view."""
HIGH = 34
"""Lines from which the reasons are in view without being asked for."""
REASONS = 0.5
"""The share of the right side that the reasons may take."""


class SearchLayout(FullScreen):
    """The screen on what is searched for.

    Args:
        query: What to begin with.
    """

    AUTO_FOCUS = "#prompt-input"
    CSS_PATH: ClassVar[CSSPathType | None] = "search.tcss"
    area = "search"
    line_passes = False
    burst_s = 1.0  # the index needs a moment to know the news

    def __init__(self, bench: Bench, query: str = "") -> None:
        super().__init__(bench, "query")
        self.panel_before = "results"
        self.state = SearchState(query)
        self.why_wanted: bool | None = None
        self._laid_out: tuple[str, ...] = ()

    def body(self) -> ComposeResult:
        """The line, a notice; results, and beside them preview and reasons."""
        self.results = ResultsPanel(id="results")
        self.preview = PreviewPanel(id="preview")
        self.why = WhyPanel(id="why")
        yield self.prompt
        yield NoticeBar(id="notice")
        with Container(id="search"):
            yield self.results
            with Vertical(id="search-side"):
                yield self.preview
                yield self.why

    def end(self) -> None:
        """Keeps the query for the next time."""
        self.bench.searched = self.state.query

    # What is on the screen

    @property
    def narrow(self) -> bool:
        """Whether the preview stands under the results."""
        return self.app.size.width < NARROW

    @property
    def low(self) -> bool:
        """Whether only one panel has room."""
        return self.app.size.height < LOW

    @property
    def shows_why(self) -> bool:
        """Whether the reasons are in view beside the preview, or instead of it."""
        if self.why_wanted is not None:
            return self.why_wanted
        return not self.narrow and self.app.size.height >= HIGH

    def in_view(self) -> tuple[str, ...]:
        """The panels that can be seen, in order."""
        if self.zoomed is not None:
            return (self.zoomed,)
        if self.low:
            return ("results",)
        if not self.state.hits:
            return ("results", "preview")
        if self.narrow:
            return ("results", "why" if self.shows_why else "preview")
        return ("results", "preview", "why") if self.shows_why else ("results", "preview")

    def lay_out(self) -> None:
        """Gives every panel its place for the present size."""
        shown = self._laid_out = self.in_view()
        self.lay_out_frame({"-low": self.low, "-narrow": self.narrow, "-alone": len(shown) == 1}, "#prompt")
        for panel in (self.results, self.preview, self.why):
            panel.display = panel.name_of in shown
        self.query_one("#search-side").display = "preview" in shown or "why" in shown
        self._fit_why()
        self._show_notice()

    def _fit_why(self) -> None:
        """The reasons take the lines they need, beside the preview at most half of them."""
        height: int | str = "1fr"
        if self.preview.display and self.why.display:
            side = self.query_one("#search-side").size
            if side.height and side.width:
                height = min(self.why.wanted(side.width), max(6, int(side.height * REASONS)))
        if str(self.why.styles.height) != str(height):
            self.why.styles.height = height

    def keep_focus(self) -> None:
        """Gives the keys to a panel that can be seen; by now there is room to measure for the reasons."""
        self._fit_why()
        super().keep_focus()

    def show(self) -> None:
        """Hands the state to the panels; each draws only what is different."""
        if self.in_view() != self._laid_out:
            self.lay_out()
        state = self.state
        phase, status = state.phase, state.status
        self.results.show(
            Results(
                hits=state.hits,
                more=state.more,
                can_more=state.wanted.limit < MOST,
                found_for=state.found_for,
                only=state.only,
                slow=state.slow,
                body=self._body(),
                about=(phase, state.inventory, state.problem, state.query, state.only, state.answer),
                count=phase in ("found", "nothing"),
                trouble=phase == "trouble",
            )
        )
        self.preview.show(
            Preview(
                state.passage if phase == "found" else None,
                how=phase in ("overview", "nothing"),
                meaning=status is not None and status.vectors > 0 and not status.without_vectors,
            )
        )
        self.why.show(self.results.selected if phase == "found" else None)
        self._fit_why()
        self._show_notice()
        self.update_footer()

    def _body(self) -> Body:
        state = self.state
        answer = state.answer
        match state.phase:
            case "overview":
                return lambda width, height, roles: draw_overview(
                    state.inventory, state.only, width, roles, height
                )
            case "trouble":
                problem = state.problem
                return lambda width, _height, roles: draw_trouble(problem, width, roles)
            case "nothing":
                elsewhere, more = (answer.elsewhere, answer.elsewhere_more) if answer else (0, False)
                return lambda width, _height, roles: draw_nothing(
                    state.query, state.only, elsewhere, more, state.status, width, roles
                )
            case _:
                return lambda _width, _height, _roles: []

    def _show_notice(self) -> None:
        status = self.bench.status
        read_only = status is not None and status.read_only
        bar = self.query_one(NoticeBar)
        bar.show(self.state.status, read_only=read_only)
        bar.display = bool(bar.words) and bool(self.query_one("#search").display)

    @property
    def line(self) -> str:
        """The line's name tells what is typed there."""
        return "preset" if self.prompt.mode == "preset" else "query"

    def leave_line(self) -> None:
        """Gives the keys back to where they came from, or to the results."""
        self.prompt.enter_mode("search", value=self.state.query)
        self.focus_panel(self.panel_before if self.panel_before in self.in_view() else "results")
