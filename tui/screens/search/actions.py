"""What the search screen does for each command: one method per action, found by the command's class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.kit import clipboard
from tui.kit.actions import WRITABLE, ScreenActions
from tui.kit.command import Need, Situation, command
from tui.kit.editor import file_of
from tui.kit.panel import Motion
from tui.render.safe import visible
from tui.render.search_hits import Hit, lines_of
from tui.screens.search.overview import KINDS
from tui.screens.search.work import MOST, Addition

if TYPE_CHECKING:
    from tui.screens.search.screen import SearchScreen


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSituation(Situation):
    """What the commands of this screen depend on."""

    result: bool = False
    """A search result is selected."""


A_RESULT: Need[SearchSituation] = Need(lambda here: here.result, "no result is selected")
ITS_FILE: Need[SearchSituation] = Need(lambda here: here.file, "the file is not there any more")


class SearchActions(ScreenActions, panels=("results", "preview", "why"), lines=("query", "preset")):
    """The actions of one search screen."""

    screen: SearchScreen

    def __init__(self, screen: SearchScreen) -> None:
        super().__init__(screen)
        self._adding: Hit | None = None
        self._file_of: tuple[Hit | None, str] = (None, "")

    # Moving about

    def go_to(self, name: str) -> None:
        """Focuses a panel; one that is not in view takes the place of what is, or the whole area."""
        screen = self.screen
        if screen.zoomed is not None or (screen.low and name != "results"):
            self.enlarge(None if screen.low and name == "results" else name)
        elif name not in screen.in_view():
            screen.why_wanted = name == "why"
            self.enlarge(None)
        screen.focus_panel(name)

    @command(
        "enter",
        title="Go from the line to the results", panels=["query"], footer="results", rank=0, palette=False,
    )  # fmt: skip
    def to_results(self) -> None:
        """Go to the results of what is typed."""
        screen = self.screen
        screen.prompt.remember(screen.prompt.input.value)
        screen.flow.at_once()
        self.go_to("results")

    def stops(self) -> tuple[str, ...]:
        """The panels in view, then the query."""
        return (*self.screen.in_view(), "query")

    @command("slash", title="Type what to search for", footer="query", rank=2)
    def to_line(self) -> None:
        """Type what to search for; results come while you type, and enter goes to them."""
        self.screen.open_line("query", "search", self.screen.prompt.input.value)

    def step(self, motion: Motion) -> None:
        """Moves the selection, whichever panel has the keys."""
        self.screen.results.move(motion)

    @command("n", title="Next result", footer="next / previous", rank=18, needs=[A_RESULT])
    def next_result(self) -> None:
        """Select the next result, from any panel."""
        self.step(Motion.DOWN)

    @command("N", title="Previous result", footer="next / previous", rank=18, needs=[A_RESULT])
    def previous_result(self) -> None:
        """Select the result before, from any panel."""
        self.step(Motion.UP)

    def unzoom(self) -> None:
        """Show all panels again."""
        screen = self.screen
        super().unzoom()
        if screen.panel_in_use not in screen.in_view():
            screen.focus_panel("results")

    def back(self) -> None:
        """Back out one level: leave the line, show all panels, search every kind, return to the workbench."""
        screen, state = self.screen, self.screen.state
        if screen.panel_in_use == "preset" or (screen.panel_in_use == "query" and state.hits):
            screen.leave_line()
        elif screen.zoomed is not None:
            self.unzoom()
        elif state.only:
            self._keep_to("")
        else:
            screen.dismiss(None)

    # Searching

    def kind(self, step: int) -> None:
        """Keeps to the next kind of file."""
        screen = self.screen
        screen.state.next_kind(step)
        self._search_again()

    @command("c", title="Only the next kind of file", footer="kind", rank=6)
    def next_kind(self) -> None:
        """Keep to the next kind of file that there is: identity, memory, journal and so on; in the end to
        all.
        """
        self.kind(1)

    @command("C", title="Only the kind of file before")
    def previous_kind(self) -> None:
        """Keep to the kind of file before."""
        self.kind(-1)

    def _keep_to(self, only: str) -> None:
        self.screen.state.keep_to(only)
        self._search_again()

    def _search_again(self) -> None:
        screen = self.screen
        screen.flow.search()
        screen.show()
        if "results" not in screen.in_view():
            only = screen.state.only
            screen.say(f"only {KINDS.get(only, only)}" if only else "all kinds")

    @command("m", title="Bring more results", needs=[A_RESULT])
    def more(self, *, quietly: bool = False) -> None:
        """Bring more results than the first 50, up to 500; going down past the last one does it as well."""
        screen, state = self.screen, self.screen.state
        if state.want_more():
            screen.flow.search()
        elif not quietly or (state.more and not state.pending):
            screen.say(
                f"a search brings {MOST} results at most; another word narrows it"
                if state.more
                else "these are all"
            )

    def rescan(self) -> None:
        """Look at every file again, and searches again."""
        super().rescan()
        screen = self.screen
        screen.work.look()
        screen.flow.again()

    @command("w", title="Why this rank", footer="why", rank=4, needs=[A_RESULT])
    def why(self) -> None:
        """Show or hide why the selected result ranks there: the parts of its score, its ranks, its words."""
        screen = self.screen
        shown = "why" in screen.in_view()
        in_use = screen.panel_in_use
        if screen.zoomed is not None or screen.low:
            self.enlarge(None if shown else "why")
        else:
            screen.why_wanted = not shown
            self.enlarge(None)
        if not screen.in_line and in_use not in screen.in_view():
            screen.focus_panel("results" if shown or "why" not in screen.in_view() else "why")

    # The selected result

    def file(self) -> str:
        """The selected result's file; empty where it is gone."""
        selected = self.screen.results.selected
        if self._file_of[0] is not selected:
            root = self.screen.bench.engine.workspace.root
            self._file_of = (selected, file_of(root, selected.result.path) if selected is not None else "")
        return self._file_of[1]

    @command("e", title="Edit the file at this line", footer="edit", rank=8, needs=[A_RESULT, ITS_FILE])
    def edit(self) -> None:
        """Open the selected result's file in $VISUAL or $EDITOR, at its first line; then search again."""
        selected = self.screen.results.selected
        if selected is not None:
            self.edit_file(self.file(), selected.result.start_line)
            self.screen.flow.again()

    @command("y", title="Copy path:line", footer="copy place", rank=10, needs=[A_RESULT])
    def copy_place(self) -> None:
        """Copy where the selected result stands, as path:line."""
        selected = self.screen.results.selected
        if selected is not None:
            path = selected.result.path.encode("utf-8", "replace").decode()
            place = f"{path}:{selected.result.start_line}"
            clipboard.copy(self.screen.bench.app, place)
            self.screen.say(f"copied {place}")

    @command("a", title="Add the result to a preset", footer="to preset", rank=12, needs=[A_RESULT, WRITABLE])
    def ask_preset(self) -> None:
        """Add the selected result's lines to a preset, by its name; a new name makes a new preset."""
        self._adding = self.screen.results.selected
        if self._adding is not None:
            result = self._adding.result
            about = f"{visible(result.path)}:{lines_of(result)}"
            self.screen.open_line("preset", "preset", about=about)

    def add(self, name: str) -> None:
        """Adds the result to a preset; without a name nothing happens."""
        hit = self._adding
        self.screen.leave_line()
        if hit is not None and name.strip():
            self.screen.work.add(Addition(name.strip(), hit.result.path, lines_of(hit.result)))

    # Panels

    @command("1", title="Go to the results", footer="panel", rank=24)
    def focus_results(self) -> None:
        """Go to the results, best first."""
        self.go_to("results")

    @command("2", title="Go to the preview", footer="panel", rank=24)
    def focus_preview(self) -> None:
        """Go to the preview: the selected result with the lines around it in its file."""
        self.go_to("preview")

    @command("3", title="Go to why it ranks there", footer="panel", rank=24, needs=[A_RESULT])
    def focus_why(self) -> None:
        """Go to the reasons: what the selected result's score is made of, shown if it was not."""
        self.go_to("why")

    @command(
        "enter", "o",
        title="Read the result", panels=["results"], footer="read", rank=0,
        needs=[A_RESULT],
    )  # fmt: skip
    def read(self) -> None:
        """Read the selected result with the lines around it; small screens give it the whole area."""
        self.go_to("preview")

    @command("Y", title="Copy the text", needs=[A_RESULT])
    def copy(self) -> None:
        """Copy what the panel shows: of the results the selected one's whole text; over SSH as well
        (OSC 52).
        """
        super().copy()
