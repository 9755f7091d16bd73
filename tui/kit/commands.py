"""What every screen does for the commands that all screens have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from textual.app import SuspendNotSupported

from engine.store import programs
from tui.kit import clipboard
from tui.kit.command import Catalog, Need, Situation, command, command_of
from tui.kit.confirm import ConfirmScreen
from tui.kit.editor import editor_command, with_terminal
from tui.kit.frame import Frame
from tui.kit.help import help_lines
from tui.kit.messages import NextTheme
from tui.kit.page import Builder, Offer, PageScreen
from tui.kit.panel import KEYS_OF, Motion
from tui.render.draw import Row, wrap
from tui.render.roles import Roles

WRITABLE: Need[Situation] = Need(lambda here: not here.read_only, "the workspace is read-only")
ROWS: Need[Situation] = Need(lambda here: here.rows, "there is nothing here yet")


def _moves(motion: Motion, title: str, where: str) -> Callable[[Any], None]:
    return command_of(
        f"Go {where}.", lambda screen: screen.move(motion), *KEYS_OF[motion], title=title, palette=False
    )


def goes_to(
    panel: str, key: str, title: str, more: str = "", *, does: str = "", **declared: Any
) -> Callable[[Any], None]:
    """The command that goes to a panel.

    Args:
        title: What the panel is, behind "Go to".
        more: What its help says behind that.
        does: Its help, where that begins otherwise.
        declared: As ``command`` takes it.
    """
    return command_of(
        does or f"Go to {title}{more}.", lambda screen: screen.go_to(panel), key,
        title=f"Go to {title}", footer="panel", **declared,
    )  # fmt: skip


class Commanded(Frame):
    """A screen with the commands that all screens have.

    A screen's own are methods of a subclass, which names the panels they are about and the names of its line.
    """

    def __init_subclass__(cls, panels: Sequence[str] = (), lines: Sequence[str] = (), **rest: Any) -> None:
        if panels:
            cls.catalog = Catalog.of(cls, Commanded, panels, lines)
            cls.BINDINGS = cls.catalog.bindings
        super().__init_subclass__(**rest)

    # The gate's question

    @command(
        "y", "ctrl+y",
        title="Answer the gate: yes", footer="answer the gate", rank=0, when=lambda here: here.question,
    )  # fmt: skip
    def answer_yes(self) -> None:
        """Tell the gate that the topic applies to the message it asks about."""
        self.bench.questions.answer(True)

    @command(
        "n", "ctrl+n",
        title="Answer the gate: no", footer="answer the gate", rank=0, when=lambda here: here.question,
    )  # fmt: skip
    def answer_no(self) -> None:
        """Tell the gate that the topic does not apply."""
        self.bench.questions.answer(False)

    # Moving about

    def go_to(self, name: str) -> None:
        """Focuses a panel; from an enlarged one that panel is enlarged instead."""
        if self.zoomed is not None:
            self.enlarge(name)
        self.focus_panel(name)

    def stops(self) -> tuple[str, ...]:
        """Where tab goes, in order: panels, and the line where it is one of them."""
        return self.in_view()

    def cycle(self, step: int) -> None:
        """Goes to the next panel that is in view; from a line that is none of them back to where it was."""
        names = self.stops()
        if self.in_line and self.panel_in_use not in names:
            self.leave_line()
            return
        at = names.index(self.panel_in_use) if self.panel_in_use in names else -1
        name = names[(at + step) % len(names)]
        if name in self.catalog.lines:
            self.to_line()
        else:
            self.focus_panel(name)

    def to_line(self) -> None:
        """Gives the line the keys, where tab stops there."""

    @command("tab", title="Next panel", in_line=True, palette=False)
    def next_panel(self) -> None:
        """Go to the next panel."""
        self.cycle(1)

    @command("shift+tab", title="Previous panel", in_line=True, palette=False)
    def previous_panel(self) -> None:
        """Go to the panel before."""
        self.cycle(-1)

    down = _moves(Motion.DOWN, "Down", "down one line")
    up = _moves(Motion.UP, "Up", "up one line")
    half_down = _moves(Motion.HALF_DOWN, "Half a page down", "down half a page")
    half_up = _moves(Motion.HALF_UP, "Half a page up", "up half a page")
    first = _moves(Motion.FIRST, "To the first line", "to the first line")
    last = _moves(Motion.LAST, "To the last line", "to the last line; in the feed, follow what comes in")

    def move(self, motion: Motion) -> None:
        """Moves inside the panel in use."""
        if not self.in_line:
            self.panel_named(self.panel_in_use).move(motion)

    @command(
        "plus",
        title="Enlarge the panel", footer="enlarge", rank=40,
        needs=[Need(lambda here: not here.zoomed, "the panel is enlarged already")],
    )  # fmt: skip
    def zoom(self) -> None:
        """Give the focused panel the whole area."""
        if not self.in_line:
            self.enlarge(self.panel_in_use)

    @command(
        "underscore", title="Show all panels", needs=[Need(lambda here: here.zoomed, "no panel is enlarged")]
    )
    def unzoom(self) -> None:
        """Show all panels again."""
        self.enlarge(None)

    def enlarge(self, name: str | None) -> None:
        """Gives a panel the whole area, or each its own again."""
        self.zoomed = name
        self.lay_out()
        self.show()

    @command("escape", title="Back", in_line=True, footer="back", rank=30, palette=False)
    def back(self) -> None:
        """Back out one level; at the last one, return to the workbench."""
        raise AssertionError(f"{type(self).__name__} cannot be left")

    # Acting on the selection

    @command("Y", title="Copy the text", needs=[ROWS])
    def copy(self) -> None:
        """Copy what is selected, or all that the panel shows; over SSH too, where the terminal allows it."""
        if not self.in_line:
            self.copy_text(self.panel_named(self.panel_in_use).selected_text())

    def copy_text(self, text: str) -> None:
        """Puts a text on the clipboard, as much of it as terminals take."""
        self.say(clipboard.copied(self.bench.app, text))

    def edit_file(self, relative: str, line: int = 0) -> None:
        """Hands the terminal to the editor, at a line where one is given, then looks at what changed."""
        bench = self.bench
        words = editor_command(bench.engine.workspace.root / relative, line=line)
        if not words:
            self.say("no editor is set; set $EDITOR", error=True)
            return
        program = programs.find(words[0])
        if program is None:
            why = "there is no such program" if Path(words[0]).is_absolute() else "it is not on PATH"
            hint = "set $EDITOR to one that is" if Path(words[0]).is_absolute() else "give its full path"
            self.say(f"{words[0]} cannot be started: {why}; {hint}", error=True)
            return
        try:
            with self.app.suspend():
                code, problem = with_terminal([program, *words[1:]])
        except SuspendNotSupported:
            self.say("this terminal cannot be handed to an editor", error=True)
            return
        if problem:
            hint = "set $EDITOR to another editor"
            self.say(f"{words[0]} cannot be started: {problem}; {hint}", error=True)
            return
        if code:
            self.say(f"{words[0]} ended with {code}", error=True)
        bench.conductor.rescan(quietly=True)

    def page(self, title: str, build: Builder, *, full: bool = False, offer: Offer | None = None) -> None:
        """Opens a page over the self."""
        self.app.clear_notifications()  # on a small screen they would lie over it
        self.app.push_screen(PageScreen(title, build, full=full, offer=offer))

    def ask(self, title: str, question: str, answer: str, then: Callable[[], None]) -> None:
        """Asks first, and does it only if the person says so."""

        def answered(yes: bool | None) -> None:
            if yes:
                then()

        self.app.clear_notifications()  # on a small screen they would lie over the answers
        self.app.push_screen(ConfirmScreen(title, question, answer), answered)

    # About the workbench

    @command("ctrl+p", title="All actions", in_line=True, palette=False)
    def palette(self) -> None:
        """Search all actions by name."""
        self.app.action_command_palette()

    @command("question_mark", title="Help", footer="help", rank=14)
    def help(self) -> None:
        """Show what every key does here."""
        catalog, situation = self.catalog, self.situation
        signs = self.panel_named(situation.panel).signs
        self.page("help", lambda width, roles: help_lines(catalog, situation, signs, width, roles), full=True)

    @command(
        "exclamation_mark",
        title="Show the problems", needs=[Need(lambda here: here.problems, "nothing is wrong")],
    )  # fmt: skip
    def problems(self) -> None:
        """List what was found wrong in settings, topics and files, with line and hint."""
        status = self.bench.status
        lines = [str(problem) for problem in status.problems] if status is not None else []
        self.page("problems", lambda width, roles: _bullets(lines, width, roles))

    @command("T", title="Next theme")
    def theme(self) -> None:
        """Use the next theme; the choice is kept in tui.yaml of your user settings."""
        self.bench.post_message(NextTheme())

    @command("ctrl+r", title="Rescan the workspace", in_line=True)
    def rescan(self) -> None:
        """Look at every file again; only needed where changes are not noticed by themselves."""
        self.bench.conductor.rescan(quietly=False)

    @command("ctrl+z", title="Suspend", in_line=True)
    def suspend(self) -> None:
        """Put the workbench aside and return to the shell; fg brings it back."""
        self.app.action_suspend_process()

    @command("q", title="Quit")
    def quit(self) -> None:
        """Quit; from inside something it first backs out, as esc does."""
        self.back()


def _bullets(lines: list[str], width: int, roles: Roles) -> list[Row]:
    return [
        row for line in lines for row in wrap([("! ", roles.error), (line, roles.normal)], width, indent=2)
    ]
