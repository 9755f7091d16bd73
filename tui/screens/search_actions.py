"""What the search screen does for each command: one method per action, found by the command's class."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tui import clipboard
from tui.commands import search
from tui.commands.command import SearchPanel
from tui.editor import file_of
from tui.render.search_hits import Hit, lines_of
from tui.render.search_overview import KINDS
from tui.safe import visible
from tui.screens.screen_actions import ScreenActions
from tui.screens.search_work import MOST, Addition
from tui.widgets.panel import Motion

if TYPE_CHECKING:
    from tui.screens.search import SearchScreen


class SearchActions(ScreenActions[SearchPanel]):
    """The actions of one search screen."""

    screen: SearchScreen

    def __init__(self, screen: SearchScreen) -> None:
        super().__init__(screen)
        self._adding: Hit | None = None
        self._file_of: tuple[Hit | None, str] = (None, "")
        self.doing |= {
            search.Leave: self.back,
            search.Ask: self.to_line,
            search.ToResults: self.to_results,
            search.FocusResults: partial(self.go_to, "results"),
            search.FocusPreview: partial(self.go_to, "preview"),
            search.FocusWhy: partial(self.go_to, "why"),
            search.Read: partial(self.go_to, "preview"),
            search.NextResult: partial(self.step, Motion.DOWN),
            search.PreviousResult: partial(self.step, Motion.UP),
            search.More: self.more,
            search.Why: self.why,
            search.NextKind: partial(self.kind, 1),
            search.PreviousKind: partial(self.kind, -1),
            search.EditThere: self.edit,
            search.CopyPlace: self.copy_place,
            search.CopyText: self.copy,
            search.AddToPreset: self.ask_preset,
        }

    # Moving about

    def go_to(self, name: SearchPanel) -> None:
        """Focuses a panel; one that is not in view takes the place of what is, or the whole area."""
        screen = self.screen
        if screen.zoomed is not None or (screen.low and name != "results"):
            self.enlarge(None if screen.low and name == "results" else name)
        elif name not in screen.in_view():
            screen.why_wanted = name == "why"
            self.enlarge(None)
        screen.focus_panel(name)

    def to_results(self) -> None:
        """Gives the results the keys at once; letters that are still on their way count as well."""
        screen = self.screen
        screen.prompt.remember(screen.prompt.input.value)
        screen.flow.at_once()
        self.go_to("results")

    def stops(self) -> tuple[SearchPanel, ...]:
        """The panels in view, then the query."""
        return (*self.screen.in_view(), "query")

    def to_line(self) -> None:
        """Takes the keys into the line, to type what to search for."""
        self.screen.open_line("query", "search", self.screen.prompt.input.value)

    def step(self, motion: Motion) -> None:
        """Moves the selection, whichever panel has the keys."""
        self.screen.results.move(motion)

    def unzoom(self) -> None:
        """Shows all panels again."""
        screen = self.screen
        super().unzoom()
        if screen.panel_in_use not in screen.in_view():
            screen.focus_panel("results")

    def back(self) -> None:
        """Leaves the innermost level there is."""
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

    def more(self, *, quietly: bool = False) -> None:
        """Asks for as many results as there can be."""
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
        """Looks at every file again, and searches again."""
        super().rescan()
        screen = self.screen
        screen.work.look()
        screen.flow.again()

    def why(self) -> None:
        """Shows the reasons, or takes them away."""
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

    def edit(self) -> None:
        """Opens the file in the editor, at the result's first line."""
        selected = self.screen.results.selected
        if selected is not None:
            self.edit_file(self.file(), selected.result.start_line)
            self.screen.flow.again()

    def copy_place(self) -> None:
        """Copies where the result stands."""
        selected = self.screen.results.selected
        if selected is not None:
            path = selected.result.path.encode("utf-8", "replace").decode()
            place = f"{path}:{selected.result.start_line}"
            clipboard.copy(self.screen.bench.app, place)
            self.screen.say(f"copied {place}")

    def ask_preset(self) -> None:
        """Asks for the preset that the selected result goes into."""
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
