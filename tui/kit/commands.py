"""The commands that all screens share."""

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
    """A command that focuses a panel.

    Args:
        title: Completes "Go to …".
        more: Appended to the help text.
        does: Replaces the help text.
        declared: Passed to ``command``.
    """
    return command_of(
        does or f"Go to {title}{more}.", lambda screen: screen.go_to(panel), key,
        title=f"Go to {title}", footer="panel", **declared,
    )  # fmt: skip


class Commanded(Frame):
    """A screen with the commands that all screens share.

    A subclass declares its own commands as methods, and names its panels and the names its prompt can have.
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
        """Answer the gate: the topic applies to the message."""
        self.bench.questions.answer(True)

    @command(
        "n", "ctrl+n",
        title="Answer the gate: no", footer="answer the gate", rank=0, when=lambda here: here.question,
    )  # fmt: skip
    def answer_no(self) -> None:
        """Answer the gate: the topic does not apply."""
        self.bench.questions.answer(False)

    # Navigation

    def go_to(self, name: str) -> None:
        """Focuses a panel; if another is enlarged, enlarges this one instead."""
        if self.zoomed is not None:
            self.enlarge(name)
        self.focus_panel(name)

    def stops(self) -> tuple[str, ...]:
        """What tab cycles through: panels, and on some screens the prompt."""
        return self.in_view()

    def cycle(self, step: int) -> None:
        """Focuses the next panel; leaves a prompt that is not part of the cycle."""
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
        """Focuses the prompt on screens where tab includes it."""

    @command("tab", title="Next panel", in_line=True, palette=False)
    def next_panel(self) -> None:
        """Go to the next panel."""
        self.cycle(1)

    @command("shift+tab", title="Previous panel", in_line=True, palette=False)
    def previous_panel(self) -> None:
        """Go to the previous panel."""
        self.cycle(-1)

    down = _moves(Motion.DOWN, "Down", "down one line")
    up = _moves(Motion.UP, "Up", "up one line")
    half_down = _moves(Motion.HALF_DOWN, "Half a page down", "down half a page")
    half_up = _moves(Motion.HALF_UP, "Half a page up", "up half a page")
    first = _moves(Motion.FIRST, "To the first line", "to the first line")
    last = _moves(Motion.LAST, "To the last line", "to the last line; in the feed, follow new rows")

    def move(self, motion: Motion) -> None:
        if not self.in_line:
            self.panel_named(self.panel_in_use).move(motion)

    @command(
        "plus",
        title="Enlarge the panel", footer="enlarge", rank=40,
        needs=[Need(lambda here: not here.zoomed, "the panel is already enlarged")],
    )  # fmt: skip
    def zoom(self) -> None:
        """Enlarge the focused panel to the whole area."""
        if not self.in_line:
            self.enlarge(self.panel_in_use)

    @command(
        "underscore", title="Show all panels", needs=[Need(lambda here: here.zoomed, "no panel is enlarged")]
    )
    def unzoom(self) -> None:
        """Show all panels again."""
        self.enlarge(None)

    def enlarge(self, name: str | None) -> None:
        """Enlarges a panel, or shows all again."""
        self.zoomed = name
        self.lay_out()
        self.show()

    @command("escape", title="Back", in_line=True, footer="back", rank=30, palette=False)
    def back(self) -> None:
        """Go back one level; from the top level, return to the workbench."""
        raise NotImplementedError

    # Selection

    @command("Y", title="Copy the text", needs=[ROWS])
    def copy(self) -> None:
        """Copy the selection, or everything the panel shows; works over SSH if the terminal allows it."""
        if not self.in_line:
            self.copy_text(self.panel_named(self.panel_in_use).selected_text())

    def copy_text(self, text: str) -> None:
        self.say(clipboard.copied(self.bench.app, text))

    def edit_file(self, relative: str, line: int = 0) -> None:
        """Opens a file in the editor, optionally at a line, then rescans."""
        bench = self.bench
        words = editor_command(bench.engine.workspace.root / relative, line=line)
        if not words:
            self.say("no editor is set; set $EDITOR", error=True)
            return
        program = programs.find(words[0])
        if program is None:
            reason = (
                "no such program; set $EDITOR"
                if Path(words[0]).is_absolute()
                else "not on PATH; use its full path"
            )
            self.say(f"cannot start {words[0]}: {reason}", error=True)
            return
        try:
            with self.app.suspend():
                code, problem = with_terminal([program, *words[1:]])
        except SuspendNotSupported:
            self.say("this terminal cannot run an editor", error=True)
            return
        if problem:
            self.say(f"cannot start {words[0]}: {problem}; set $EDITOR to another editor", error=True)
            return
        if code:
            self.say(f"{words[0]} exited with code {code}", error=True)
        bench.conductor.rescan(quietly=True)

    def page(self, title: str, build: Builder, *, full: bool = False, offer: Offer | None = None) -> None:
        """Opens a page over the screen."""
        self.app.clear_notifications()  # on a small screen they would cover it
        if offer is not None:
            clock = self.bench.clock
            ready_at = clock.monotonic() + clock.grace_s
            offer = offer._replace(is_ready=lambda: clock.monotonic() >= ready_at)
        self.app.push_screen(PageScreen(title, build, full=full, offer=offer))

    def ask(
        self,
        title: str,
        question: str,
        answer: str,
        then: Callable[[], None],
        otherwise: Callable[[], None] = lambda: None,
    ) -> None:
        """Calls ``then`` if the user confirms, ``otherwise`` if not."""

        def answered(yes: bool | None) -> None:
            (then if yes else otherwise)()

        self.app.clear_notifications()  # on a small screen they would cover the buttons
        self.app.push_screen(ConfirmScreen(title, question, answer), answered)

    # The workbench

    @command("ctrl+p", title="All actions", in_line=True, palette=False)
    def palette(self) -> None:
        """Search all actions by name."""
        self.app.action_command_palette()

    @command("question_mark", title="Help", footer="help", rank=14)
    def help(self) -> None:
        """Show what each key does here."""
        catalog, situation = self.catalog, self.situation
        signs = self.panel_named(situation.panel).signs
        self.page("help", lambda width, roles: help_lines(catalog, situation, signs, width, roles), full=True)

    @command(
        "exclamation_mark",
        title="Show problems", needs=[Need(lambda here: here.problems, "there are no problems")],
    )  # fmt: skip
    def problems(self) -> None:
        """List the problems found in settings, topics and files, with line and hint."""
        status = self.bench.status
        lines = [str(problem) for problem in status.problems] if status is not None else []
        self.page("problems", lambda width, roles: _bullets(lines, width, roles))

    @command("T", title="Next theme")
    def theme(self) -> None:
        """Switch to the next theme; the choice is saved in tui.yaml in your user settings."""
        self.bench.post_message(NextTheme())

    @command("ctrl+r", title="Rescan the workspace", in_line=True)
    def rescan(self) -> None:
        """Rescan all files; only needed if changes are not detected automatically."""
        self.bench.conductor.rescan(quietly=False)

    @command("ctrl+z", title="Suspend", in_line=True)
    def suspend(self) -> None:
        """Suspend the workbench and return to the shell; fg resumes it."""
        self.app.action_suspend_process()

    @command("q", title="Quit")
    def quit(self) -> None:
        """Quit, or go back one level, as esc does."""
        self.back()


def _bullets(lines: list[str], width: int, roles: Roles) -> list[Row]:
    return [
        row for line in lines for row in wrap([("! ", roles.error), (line, roles.normal)], width, indent=2)
    ]
