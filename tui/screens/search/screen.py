"""The search screen: one method per command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from textual import on

from tui.kit import clipboard
from tui.kit.command import Need, Situation, command
from tui.kit.commands import WRITABLE, goes_to
from tui.kit.editor import file_of
from tui.kit.lanes import Lane
from tui.kit.panel import Motion
from tui.kit.prompt import PromptLine
from tui.render.safe import visible
from tui.render.search_hits import Hit, lines_of
from tui.screens.search.layout import SearchLayout
from tui.screens.search.overview import KINDS
from tui.screens.search.results_panel import ResultsPanel
from tui.screens.search.searching import MAX_LIMIT, Addition

if TYPE_CHECKING:
    from tui.kit.bench import Bench


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSituation(Situation):
    result: bool = False
    """A search result is selected."""


A_RESULT: Need[SearchSituation] = Need(lambda here: here.result, "no result is selected")
ITS_FILE: Need[SearchSituation] = Need(lambda here: here.file, "the file no longer exists")


class SearchScreen(SearchLayout, panels=("results", "preview", "why"), lines=("query", "preset")):
    def __init__(self, bench: Bench, query: str = "") -> None:
        super().__init__(bench, query)
        self._adding: Hit | None = None
        self._additions: Lane[Addition, str] = self.lane(
            lambda addition: addition.add(bench.engine.presets),
            lambda _addition, message: self.say(message),
            in_turn=True,
            finish=True,
        )

    @classmethod
    def over(cls, bench: Bench) -> Self:
        """The screen with the last query."""
        return cls(bench, bench.searched)

    # Navigation

    def go_to(self, name: str) -> None:
        """Focuses a panel; a hidden one replaces another or is zoomed."""
        if self.zoomed is not None or (self.low and name != "results"):
            self.enlarge(None if self.low and name == "results" else name)
        elif name not in self.in_view():
            self.why_wanted = name == "why"
            self.enlarge(None)
        self.focus_panel(name)

    @command(
        "enter",
        title="Go to the results", panels=["query"], footer="results", rank=0, palette=False,
    )  # fmt: skip
    def to_results(self) -> None:
        """Go to the results of the query."""
        self.prompt.remember(self.prompt.input.value)
        self.search_now()
        self.go_to("results")

    def stops(self) -> tuple[str, ...]:
        """The visible panels, then the query line."""
        return (*self.in_view(), "query")

    @command("slash", title="Edit the query", footer="query", rank=2)
    def to_line(self) -> None:
        """Edit the query. Results update as you type; enter goes to them."""
        self.open_line("query", "search", self.prompt.input.value)

    @command("n", title="Next result", footer="next / previous", rank=18, needs=[A_RESULT])
    def next_result(self) -> None:
        """Select the next result, from any panel."""
        self.results.move(Motion.DOWN)

    @command("N", title="Previous result", footer="next / previous", rank=18, needs=[A_RESULT])
    def previous_result(self) -> None:
        """Select the previous result, from any panel."""
        self.results.move(Motion.UP)

    def unzoom(self) -> None:
        """Show all panels again."""
        super().unzoom()
        if self.panel_in_use not in self.in_view():
            self.focus_panel("results")

    def back(self) -> None:
        """Back out one level: leave the input line, show all panels, search all kinds, or return to the
        workbench.
        """
        state = self.state
        if self.panel_in_use == "preset" or (self.panel_in_use == "query" and state.hits):
            self.leave_line()
        elif self.zoomed is not None:
            self.unzoom()
        elif state.only:
            state.restrict_to("")
            self._search_again()
        else:
            self.dismiss(None)

    # Searching

    @command("c", title="Next kind of file", footer="kind", rank=6)
    def next_kind(self) -> None:
        """Restrict the search to the next kind of file (identity, memory, journal …); after the last one,
        search all.
        """
        self.state.next_kind(1)
        self._search_again()

    @command("C", title="Previous kind of file")
    def previous_kind(self) -> None:
        """Restrict the search to the previous kind of file."""
        self.state.next_kind(-1)
        self._search_again()

    def _search_again(self) -> None:
        self.search()
        self.show()
        if "results" not in self.in_view():
            only = self.state.only
            self.say(f"only {KINDS.get(only, only)}" if only else "all kinds")

    @command("m", title="Load more results", needs=[A_RESULT])
    def more(self, *, quietly: bool = False) -> None:
        """Load more than the first 50 results, up to 500. Moving past the last result does the same."""
        state = self.state
        if state.want_more():
            self.search()
        elif not quietly or (state.more and not state.pending):
            self.say(
                f"limited to {MAX_LIMIT} results; add a word to narrow the search"
                if state.more
                else "no more results"
            )

    def rescan(self) -> None:
        """Re-read all files and repeat the search."""
        super().rescan()
        self.look()
        self.repeat_search()

    @command("w", title="Why this rank", footer="why", rank=4, needs=[A_RESULT])
    def toggle_why(self) -> None:
        """Show or hide why the selected result ranks where it does: score components, ranks and words."""
        shown = "why" in self.in_view()
        in_use = self.panel_in_use
        if self.zoomed is not None or self.low:
            self.enlarge(None if shown else "why")
        else:
            self.why_wanted = not shown
            self.enlarge(None)
        if not self.in_line and in_use not in self.in_view():
            self.focus_panel("results" if shown or "why" not in self.in_view() else "why")

    # The selected result

    def file(self) -> str:
        """The selected result's file; empty if it no longer exists."""
        selected = self.results.selected
        return file_of(self.bench.engine.workspace.root, selected.result.path) if selected is not None else ""

    @command("e", title="Edit the file at this line", footer="edit", rank=8, needs=[A_RESULT, ITS_FILE])
    def edit(self) -> None:
        """Open the selected result's file in $VISUAL or $EDITOR at its first line, then repeat the search."""
        selected = self.results.selected
        if selected is not None:
            self.edit_file(self.file(), selected.result.start_line)
            self.repeat_search()

    @command("y", title="Copy path:line", footer="copy place", rank=10, needs=[A_RESULT])
    def copy_place(self) -> None:
        """Copy the location of the selected result as path:line."""
        selected = self.results.selected
        if selected is not None:
            path = selected.result.path.encode("utf-8", "replace").decode()
            place = f"{path}:{selected.result.start_line}"
            clipboard.copy(self.bench.app, place)
            self.say(f"copied {place}")

    @command("a", title="Add the result to a preset", footer="to preset", rank=12, needs=[A_RESULT, WRITABLE])
    def ask_preset(self) -> None:
        """Add the selected result's lines to a preset by name; a new name creates a new preset."""
        self._adding = self.results.selected
        if self._adding is not None:
            result = self._adding.result
            about = f"{visible(result.path)}:{lines_of(result)}"
            self.open_line("preset", "preset", about=about)

    # Panels

    focus_results = goes_to("results", "1", "the results", ", best first", rank=24)
    focus_preview = goes_to(
        "preview", "2", "the preview", ": the selected result with its context in the file", rank=24
    )
    focus_why = goes_to(
        "why", "3", "why it ranks there",
        does="Go to the score components of the selected result, showing the panel if it is hidden.",
        rank=24, needs=[A_RESULT],
    )  # fmt: skip

    @command(
        "enter", "o", title="Read the result", panels=["results"], footer="read", rank=0, needs=[A_RESULT]
    )
    def read(self) -> None:
        """Read the selected result with its context; on small screens over the whole area."""
        self.go_to("preview")

    @command("Y", title="Copy the text", needs=[A_RESULT])
    def copy(self) -> None:
        """Copy what the panel shows; in the results, the full text of the selected one."""
        super().copy()

    @property
    def situation(self) -> SearchSituation:
        return self.situated(
            SearchSituation,
            filtered=bool(self.state.only),
            file=self.file(),
            result=self.results.selected is not None,
        )

    @on(ResultsPanel.PastTheEnd)
    def _past_the_end(self) -> None:
        self.more(quietly=True)

    @on(PromptLine.Entered)
    def _entered(self, entered: PromptLine.Entered) -> None:
        if entered.mode != "preset":
            return
        hit, name = self._adding, entered.value.strip()
        self.leave_line()
        if hit is not None and name:
            self._additions.ask(Addition(name, hit.result.path, lines_of(hit.result)))
