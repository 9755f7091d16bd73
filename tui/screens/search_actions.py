"""What the search screen does for each command: one method per action, found by the command's class."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from tui.commands import catalog, search
from tui.commands.command import Command, SearchPanel, Situation
from tui.editor import file_of
from tui.render.help import help_lines
from tui.render.search_hits import Hit, lines_of
from tui.render.search_overview import KINDS
from tui.safe import visible
from tui.screens.page import MOTIONS, PageScreen
from tui.screens.search_work import MOST, Addition
from tui.widgets.panel import Motion

if TYPE_CHECKING:
    from tui.screens.search import SearchScreen


class SearchActions:
    """The actions of one search screen; ``perform`` is the way in for keys, footer and palette alike."""

    def __init__(self, screen: SearchScreen) -> None:
        self.screen = screen
        self._adding: Hit | None = None
        self._file_of: tuple[Hit | None, str] = (None, "")
        bench = screen.bench.actions
        self._doing: dict[type[Command], Callable[[], None]] = {
            catalog.AnswerYes: partial(bench.answer, True),
            catalog.AnswerNo: partial(bench.answer, False),
            search.BackOut: self.back,
            catalog.Quit: self.back,
            search.Ask: screen.open_query,
            search.ToResults: self.to_results,
            search.FocusResults: partial(self.go_to, "results"),
            search.FocusPreview: partial(self.go_to, "preview"),
            search.FocusWhy: partial(self.go_to, "why"),
            catalog.NextPanel: partial(self.cycle, 1),
            catalog.PreviousPanel: partial(self.cycle, -1),
            **{command: partial(self.move, command) for command in MOTIONS},
            search.Read: partial(self.go_to, "preview"),
            search.NextResult: partial(screen_move, screen, Motion.DOWN),
            search.PreviousResult: partial(screen_move, screen, Motion.UP),
            search.More: self.more,
            search.Why: self.why,
            search.NextKind: partial(self.kind, 1),
            search.PreviousKind: partial(self.kind, -1),
            search.EditThere: self.edit,
            search.CopyPlace: self.copy_place,
            search.CopyText: self.copy,
            search.AddToPreset: self.ask_preset,
            catalog.Zoom: self.zoom,
            catalog.Unzoom: self.unzoom,
            catalog.Palette: bench.palette,
            catalog.Help: self.help,
            catalog.Problems: bench.problems,
            catalog.Theme: bench.theme,
            catalog.Rescan: self.rescan,
            catalog.Suspend: bench.suspend,
        }

    @property
    def known(self) -> frozenset[type[Command]]:
        """Every command that something happens for."""
        return frozenset(self._doing)

    def perform(self, command: type[Command], situation: Situation) -> None:
        """Does what a command says, or says why not."""
        refusal = command.refusal(situation)
        if refusal:
            self.screen.say(refusal)
        else:
            self._doing[command]()

    # Moving about

    def go_to(self, name: SearchPanel) -> None:
        """Focuses a panel; one that is not in view takes the place of what is, or the whole area."""
        screen = self.screen
        if screen.zoomed is not None or (screen.low and name != "results"):
            self._enlarge(None if screen.low and name == "results" else name)
        elif name not in screen.in_view():
            screen.why_wanted = name == "why"
            self._enlarge(None)
        screen.focus_panel(name)

    def to_results(self) -> None:
        """Gives the results the keys at once; letters that are still on their way count as well."""
        screen = self.screen
        screen.prompt.remember(screen.prompt.input.value)
        screen.flow.at_once()
        self.go_to("results")

    def cycle(self, step: int) -> None:
        """Focuses the next panel that is in view, or the line."""
        screen = self.screen
        if screen.panel_in_use == "preset":
            self.leave_preset()
            return
        names: tuple[SearchPanel, ...] = ("query", *screen.in_view())
        here = names.index(screen.panel_in_use) if screen.panel_in_use in names else 0
        name = names[(here + step) % len(names)]
        if name == "query":
            screen.open_query()
        else:
            screen.focus_panel(name)

    def move(self, command: type[Command]) -> None:
        """Moves the selection in the results, else scrolls."""
        screen = self.screen
        if screen.panel_in_use not in ("query", "preset"):
            screen.panel_named(screen.panel_in_use).move(MOTIONS[command])

    def zoom(self) -> None:
        """Gives the panel in use the whole area."""
        screen = self.screen
        if screen.panel_in_use not in ("query", "preset"):
            self._enlarge(screen.panel_in_use)

    def unzoom(self) -> None:
        """Shows all panels again."""
        screen = self.screen
        self._enlarge(None)
        if screen.panel_in_use not in screen.in_view():
            screen.focus_panel("results")

    def _enlarge(self, name: SearchPanel | None) -> None:
        screen = self.screen
        screen.zoomed = name
        screen.lay_out()
        screen.show()

    def back(self) -> None:
        """Leaves the innermost level there is."""
        screen, state = self.screen, self.screen.state
        if screen.panel_in_use == "preset":
            self.leave_preset()
        elif screen.panel_in_use == "query" and state.hits:
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
        screen = self.screen
        screen.bench.actions.rescan()
        screen.work.look()
        screen.flow.again()

    def why(self) -> None:
        """Shows the reasons, or takes them away."""
        screen = self.screen
        shown = "why" in screen.in_view()
        in_use = screen.panel_in_use
        if screen.zoomed is not None or screen.low:
            self._enlarge(None if shown else "why")
        else:
            screen.why_wanted = not shown
            self._enlarge(None)
        if in_use not in ("query", "preset") and in_use not in screen.in_view():
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
            self.screen.bench.actions.edit_file(self.file(), selected.result.start_line)
            self.screen.flow.again()

    def copy_place(self) -> None:
        """Copies where the result stands."""
        selected = self.screen.results.selected
        if selected is not None:
            path = selected.result.path.encode("utf-8", "replace").decode()
            place = f"{path}:{selected.result.start_line}"
            self.screen.app.copy_to_clipboard(place)
            self.screen.say(f"copied {place}")

    def copy(self) -> None:
        """Copies what the panel in use says."""
        name = self.screen.panel_in_use
        if name not in ("query", "preset"):
            self.screen.bench.actions.copy_text(self.screen.panel_named(name).selected_text())

    def ask_preset(self) -> None:
        """Asks for the preset that the selected result goes into."""
        self._adding = self.screen.results.selected
        if self._adding is not None:
            result = self._adding.result
            self.screen.open_preset(f"{visible(result.path)}:{lines_of(result)}")

    def add(self, name: str) -> None:
        """Adds the result to a preset; without a name nothing happens."""
        hit = self._adding
        self.leave_preset()
        if hit is not None and name.strip():
            self.screen.work.add(Addition(name.strip(), hit.result.path, lines_of(hit.result)))

    def leave_preset(self) -> None:
        """Gives the keys back, and the line its query."""
        self._adding = None
        self.screen.leave_line()

    def help(self) -> None:
        """Opens the help for this screen."""
        situation = self.screen.situation
        self.screen.app.push_screen(
            PageScreen("help", lambda width, roles: help_lines(situation, width, roles), full=True)
        )


def screen_move(screen: SearchScreen, motion: Motion) -> None:
    """Moves the selection whatever has the keys."""
    screen.results.move(motion)
