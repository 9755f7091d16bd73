"""The search screen: what can be done there, one method for each command."""

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
from tui.screens.search.searching import MOST, Addition

if TYPE_CHECKING:
    from tui.kit.bench import Bench


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSituation(Situation):
    """What the commands of this screen depend on."""

    result: bool = False
    """A search result is selected."""


A_RESULT: Need[SearchSituation] = Need(lambda here: here.result, "no result is selected")
ITS_FILE: Need[SearchSituation] = Need(lambda here: here.file, "the file is not there any more")


class SearchScreen(SearchLayout, panels=("results", "preview", "why"), lines=("query", "preset")):
    """The search screen, with its commands."""

    def __init__(self, bench: Bench, query: str = "") -> None:
        super().__init__(bench, query)
        self._adding: Hit | None = None
        self._additions: Lane[Addition, str] = self.lane(
            lambda addition: addition.add(bench.engine.presets),
            lambda _addition, said: self.say(said),
            in_turn=True,
            finish=True,
        )

    @classmethod
    def over(cls, bench: Bench) -> Self:
        """The screen, on what was searched for last."""
        return cls(bench, bench.searched)

    # Moving about

    def go_to(self, name: str) -> None:
        """Focuses a panel; one that is not in view takes the place of what is, or the whole area."""
        if self.zoomed is not None or (self.low and name != "results"):
            self.enlarge(None if self.low and name == "results" else name)
        elif name not in self.in_view():
            self.why_wanted = name == "why"
            self.enlarge(None)
        self.focus_panel(name)

    @command(
        "enter",
        title="Go from the line to the results", panels=["query"], footer="results", rank=0, palette=False,
    )  # fmt: skip
    def to_results(self) -> None:
        """Go to the results of what is typed."""
        self.prompt.remember(self.prompt.input.value)
        self.at_once()
        self.go_to("results")

    def stops(self) -> tuple[str, ...]:
        """The panels in view, then the query."""
        return (*self.in_view(), "query")

    @command("slash", title="Type what to search for", footer="query", rank=2)
    def to_line(self) -> None:
        """Type what to search for; results come while you type, and enter goes to them."""
        self.open_line("query", "search", self.prompt.input.value)

    @command("n", title="Next result", footer="next / previous", rank=18, needs=[A_RESULT])
    def next_result(self) -> None:
        """Select the next result, from any panel."""
        self.results.move(Motion.DOWN)

    @command("N", title="Previous result", footer="next / previous", rank=18, needs=[A_RESULT])
    def previous_result(self) -> None:
        """Select the result before, from any panel."""
        self.results.move(Motion.UP)

    def unzoom(self) -> None:
        """Show all panels again."""
        super().unzoom()
        if self.panel_in_use not in self.in_view():
            self.focus_panel("results")

    def back(self) -> None:
        """Back out one level: leave the line, show all panels, search every kind, return to the workbench."""
        state = self.state
        if self.panel_in_use == "preset" or (self.panel_in_use == "query" and state.hits):
            self.leave_line()
        elif self.zoomed is not None:
            self.unzoom()
        elif state.only:
            state.keep_to("")
            self._search_again()
        else:
            self.dismiss(None)

    # Searching

    @command("c", title="Only the next kind of file", footer="kind", rank=6)
    def next_kind(self) -> None:
        """Keep to the next kind of file that there is: identity, memory, journal and so on; in the end to
        all.
        """
        self.state.next_kind(1)
        self._search_again()

    @command("C", title="Only the kind of file before")
    def previous_kind(self) -> None:
        """Keep to the kind of file before."""
        self.state.next_kind(-1)
        self._search_again()

    def _search_again(self) -> None:
        self.search()
        self.show()
        if "results" not in self.in_view():
            only = self.state.only
            self.say(f"only {KINDS.get(only, only)}" if only else "all kinds")

    @command("m", title="Bring more results", needs=[A_RESULT])
    def more(self, *, quietly: bool = False) -> None:
        """Bring more results than the first 50, up to 500; going down past the last one does it as well."""
        state = self.state
        if state.want_more():
            self.search()
        elif not quietly or (state.more and not state.pending):
            self.say(
                f"a search brings {MOST} results at most; another word narrows it"
                if state.more
                else "these are all"
            )

    def rescan(self) -> None:
        """Look at every file again, and searches again."""
        super().rescan()
        self.look()
        self.again()

    @command("w", title="Why this rank", footer="why", rank=4, needs=[A_RESULT])
    def toggle_why(self) -> None:
        """Show or hide why the selected result ranks there: the parts of its score, its ranks, its words."""
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
        """The selected result's file; empty where it is gone."""
        selected = self.results.selected
        return file_of(self.bench.engine.workspace.root, selected.result.path) if selected is not None else ""

    @command("e", title="Edit the file at this line", footer="edit", rank=8, needs=[A_RESULT, ITS_FILE])
    def edit(self) -> None:
        """Open the selected result's file in $VISUAL or $EDITOR, at its first line; then search again."""
        selected = self.results.selected
        if selected is not None:
            self.edit_file(self.file(), selected.result.start_line)
            self.again()

    @command("y", title="Copy path:line", footer="copy place", rank=10, needs=[A_RESULT])
    def copy_place(self) -> None:
        """Copy where the selected result stands, as path:line."""
        selected = self.results.selected
        if selected is not None:
            path = selected.result.path.encode("utf-8", "replace").decode()
            place = f"{path}:{selected.result.start_line}"
            clipboard.copy(self.bench.app, place)
            self.say(f"copied {place}")

    @command("a", title="Add the result to a preset", footer="to preset", rank=12, needs=[A_RESULT, WRITABLE])
    def ask_preset(self) -> None:
        """Add the selected result's lines to a preset, by its name; a new name makes a new preset."""
        self._adding = self.results.selected
        if self._adding is not None:
            result = self._adding.result
            about = f"{visible(result.path)}:{lines_of(result)}"
            self.open_line("preset", "preset", about=about)

    # Panels

    focus_results = goes_to("results", "1", "the results", ", best first", rank=24)
    focus_preview = goes_to(
        "preview", "2", "the preview", ": the selected result with the lines around it in its file", rank=24
    )
    focus_why = goes_to(
        "why", "3", "why it ranks there",
        does="Go to the reasons: what the selected result's score is made of, shown if it was not.",
        rank=24, needs=[A_RESULT],
    )  # fmt: skip

    @command(
        "enter", "o", title="Read the result", panels=["results"], footer="read", rank=0, needs=[A_RESULT]
    )
    def read(self) -> None:
        """Read the selected result with the lines around it; small screens give it the whole area."""
        self.go_to("preview")

    @command("Y", title="Copy the text", needs=[A_RESULT])
    def copy(self) -> None:
        """Copy what the panel shows: of the results the selected one's whole text; over SSH as well
        (OSC 52).
        """
        super().copy()

    # What the keys depend on, and what comes in

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
