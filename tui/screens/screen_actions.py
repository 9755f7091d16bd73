"""What every screen does for the commands that all screens have, and how a command finds its method."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Generic

from textual.app import SuspendNotSupported

from engine.store import programs
from tui import clipboard
from tui.commands import common
from tui.commands.command import LINES, Command, Name, Situation
from tui.draw import Row, wrap
from tui.editor import editor_command, with_terminal
from tui.figures import home
from tui.messages import NextTheme
from tui.render.help import help_lines
from tui.roles import Roles
from tui.screens.confirm import ConfirmScreen
from tui.screens.page import MOTIONS, Builder, PageScreen

if TYPE_CHECKING:
    from tui.screens.commanded import Commanded

COPY_LIMIT = 100_000
"""Characters a copy takes; terminals drop or choke on more."""

Doing = dict[type[Command], Callable[[], None]]
"""What is done for each command."""


class ScreenActions(Generic[Name]):
    """The actions of one screen; ``perform`` is the way in for keys, footer and palette alike.

    A screen's own actions are methods of a subclass, which adds them to ``doing``.
    """

    screen: Commanded[Name]

    def __init__(self, screen: Commanded[Name]) -> None:
        self.screen = screen
        self.doing: Doing = {
            common.AnswerYes: partial(self.answer, True),
            common.AnswerNo: partial(self.answer, False),
            common.NextPanel: partial(self.cycle, 1),
            common.PreviousPanel: partial(self.cycle, -1),
            **{command: partial(self.move, command) for command in MOTIONS},
            common.Zoom: self.zoom,
            common.Unzoom: self.unzoom,
            common.Palette: self.palette,
            common.Help: self.help,
            common.Problems: self.problems,
            common.Theme: self.theme,
            common.Rescan: self.rescan,
            common.Suspend: self.suspend,
            common.Quit: self.back,
        }

    @property
    def known(self) -> frozenset[type[Command]]:
        """Every command that something happens for."""
        return frozenset(self.doing)

    def perform(self, command: type[Command], situation: Situation) -> None:
        """Does what a command says, or says why not."""
        refusal = command.refusal(situation)
        if refusal:
            self.screen.say(refusal)
        else:
            self.doing[command]()

    # Moving about

    def go_to(self, name: Name) -> None:
        """Focuses a panel; from an enlarged one that panel is enlarged instead."""
        if self.screen.zoomed is not None:
            self.enlarge(name)
        self.screen.focus_panel(name)

    def stops(self) -> tuple[Name, ...]:
        """Where tab goes, in order: panels, and the line where it is one of them."""
        return self.screen.in_view()

    def cycle(self, step: int) -> None:
        """Goes to the next panel that is in view; from a line that is none of them back to where it was."""
        screen, names = self.screen, self.stops()
        if screen.in_line and screen.panel_in_use not in names:
            screen.leave_line()
            return
        at = names.index(screen.panel_in_use) if screen.panel_in_use in names else -1
        name = names[(at + step) % len(names)]
        if name in LINES:
            self.to_line()
        else:
            screen.focus_panel(name)

    def to_line(self) -> None:
        """Gives the line the keys, where tab stops there."""

    def move(self, command: type[Command]) -> None:
        """Moves inside the panel in use."""
        if not self.screen.in_line:
            self.screen.panel_named(self.screen.panel_in_use).move(MOTIONS[command])

    def zoom(self) -> None:
        """Gives the panel in use the whole area."""
        if not self.screen.in_line:
            self.enlarge(self.screen.panel_in_use)

    def unzoom(self) -> None:
        """Shows all panels again."""
        self.enlarge(None)

    def enlarge(self, name: Name | None) -> None:
        """Gives a panel the whole area, or each its own again."""
        self.screen.zoomed = name
        self.screen.lay_out()
        self.screen.show()

    def back(self) -> None:
        """Leaves the innermost level there is."""
        raise AssertionError(f"{type(self).__name__} cannot be left")

    # Acting on the selection

    def answer(self, yes: bool) -> None:
        """Answers the gate's question."""
        self.screen.bench.questions.answer(yes)

    def copy(self) -> None:
        """Puts what the panel in use shows, or has selected, on the clipboard."""
        if not self.screen.in_line:
            self.copy_text(self.screen.panel_named(self.screen.panel_in_use).selected_text())

    def copy_text(self, text: str) -> None:
        """Puts a text on the clipboard, as much of it as terminals take."""
        text = text.encode("utf-8", "replace").decode()
        file = clipboard.copy(self.screen.bench.app, text[:COPY_LIMIT])
        of = f" of {len(text):,}" if len(text) > COPY_LIMIT else ""
        where = f"; if the clipboard is closed to it: {home(file)}" if file is not None else ""
        self.screen.say(f"copied, {min(len(text), COPY_LIMIT):,}{of} characters{where}")

    def edit_file(self, relative: str, line: int = 0) -> None:
        """Hands the terminal to the editor, at a line where one is given, then looks at what changed."""
        screen, bench = self.screen, self.screen.bench
        words = editor_command(bench.engine.workspace.root / relative, line=line)
        if not words:
            screen.say("no editor is set; set $EDITOR", trouble=True)
            return
        program = programs.find(words[0])
        if program is None:
            why = "there is no such program" if Path(words[0]).is_absolute() else "it is not on PATH"
            cure = "set $EDITOR to one that is" if Path(words[0]).is_absolute() else "give its full path"
            screen.say(f"{words[0]} cannot be started: {why}; {cure}", trouble=True)
            return
        try:
            with screen.app.suspend():
                code, problem = with_terminal([program, *words[1:]])
        except SuspendNotSupported:
            screen.say("this terminal cannot be handed to an editor", trouble=True)
            return
        if problem:
            cure = "set $EDITOR to another editor"
            screen.say(f"{words[0]} cannot be started: {problem}; {cure}", trouble=True)
            return
        if code:
            screen.say(f"{words[0]} ended with {code}", trouble=True)
        bench.conductor.rescan(quietly=True)

    def page(self, title: str, build: Builder, *, full: bool = False) -> None:
        """Opens a page over the screen."""
        self.screen.app.push_screen(PageScreen(title, build, full=full))

    def ask(self, title: str, question: str, answer: str, then: Callable[[], None]) -> None:
        """Asks first, and does it only if the person says so."""

        def answered(yes: bool | None) -> None:
            if yes:
                then()

        self.screen.app.clear_notifications()  # on a small screen they would lie over the answers
        self.screen.app.push_screen(ConfirmScreen(title, question, answer), answered)

    # About the workbench

    def help(self) -> None:
        """Opens the help for what is focused."""
        situation = self.screen.situation
        self.page("help", lambda width, roles: help_lines(situation, width, roles), full=True)

    def problems(self) -> None:
        """Lists what is wrong in files."""
        status = self.screen.bench.status
        lines = [str(problem) for problem in status.problems] if status is not None else []
        self.page("problems", lambda width, roles: _bullets(lines, width, roles))

    def palette(self) -> None:
        """Opens the palette."""
        self.screen.app.action_command_palette()

    def theme(self) -> None:
        """Uses the next theme."""
        self.screen.bench.post_message(NextTheme())

    def rescan(self) -> None:
        """Looks at every file again."""
        self.screen.bench.conductor.rescan(quietly=False)

    def suspend(self) -> None:
        """Puts the workbench aside."""
        self.screen.app.action_suspend_process()


def _bullets(lines: list[str], width: int, roles: Roles) -> list[Row]:
    return [
        row for line in lines for row in wrap([("! ", roles.trouble), (line, roles.normal)], width, indent=2)
    ]
