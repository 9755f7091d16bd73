"""The commands that all screens share, the help generated from them, and their palette."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from textual.app import SuspendNotSupported
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from engine.errors import Problem
from engine.store import programs
from tui.kit import clipboard
from tui.kit.command import Catalog, Command, Here, Need, Scope, command, command_of
from tui.kit.editor import editor_command, file_of, with_terminal
from tui.kit.frame import Frame
from tui.kit.messages import NextTheme, Redraw
from tui.kit.overlays import Builder, ConfirmScreen, Offer, PageScreen, ProblemsScreen
from tui.kit.panel import KEYS_OF, Motion
from tui.kit.questions import QUESTION_CLOSED
from tui.render.draw import Row, joined_within, wrap
from tui.render.roles import Roles

_KEYS = 14
Signs = Sequence[tuple[str, str]]
"""Signs a panel draws, with their meanings."""


def help_lines(catalog: Catalog, here: Here, signs: Signs, width: int, roles: Roles) -> list[Row]:
    """Draws the help for the focused panel, generated from the commands."""
    titles: dict[Scope, str] = {
        "panel": f"in {here.panel_in_use}",
        "screen": "on this screen",
        "everywhere": "everywhere",
    }
    rows: list[Row] = []
    for scope, title in titles.items():
        commands = catalog.scoped(scope, here)
        if commands:
            rows += [Row()] if rows else []
            rows.append(Row((title, roles.strong)))
            rows += [row for each in commands for row in _command(each, here, width, roles)]
    return [*rows, *_signs(signs, width, roles)]


def _command(command: Command, here: Here, width: int, roles: Roles) -> list[Row]:
    refusal = command.refusal(here)
    keys = joined_within(command.shown_keys, _KEYS - 1, between=" ")
    lead = Row().fit(keys, _KEYS, roles.faint if refusal else roles.accent)
    pieces = [(command.help, roles.muted if refusal else roles.normal)]
    if refusal:
        pieces.append((f" Not now: {refusal}.", roles.gate))
    lines = wrap(pieces, width, indent=_KEYS, first=_KEYS)
    return [lead.extend(lines[0]), *lines[1:]]


def _signs(signs: Signs, width: int, roles: Roles) -> list[Row]:
    lines: list[Row] = []
    for sign, words in signs:
        first, *rest = wrap([(words, roles.muted)], width, indent=5, first=5)
        lines.extend((Row().gap(2).fit(sign, 3, roles.strong).extend(first), *rest))
    return [Row(), Row(("signs", roles.strong)), *lines] if lines else []


WRITABLE = Need(lambda here: not here.read_only, "the workspace is read-only")
ROWS = Need(lambda here: here.rows, "there is nothing here yet")


def _moves(motion: Motion, title: str, where: str) -> Callable[[Any], None]:
    return command_of(
        f"Go {where}.", lambda screen: screen.move(motion), " ".join(KEYS_OF[motion]), title, palette=False
    )


def goes_to(
    panel: str, key: str, title: str, more: str = "", *, does: str = "", rank: int = 24, **declared: Any
) -> Callable[[Any], None]:
    """A command that focuses a panel.

    Args:
        title: Completes "Go to …".
        more: Appended to the help text.
        does: Replaces the help text.
        declared: Passed to ``command``.
    """
    return command_of(does or f"Go to {title}{more}.", lambda screen: screen.go_to(panel), key,
                      f"Go to {title}", "panel", rank, **declared)  # fmt: skip


def labels(
    does: str, title: str, rank: int, needs: Sequence[Need], **declared: Any
) -> tuple[Callable[[Any], None], Callable[[Any], None]]:
    """The commands for useful and for noise, which call the screen's ``label``.

    Args:
        does: The help text, with ``{}`` for the word.
        title: The word is appended.
    """

    def labels_as(key: str, word: str, useful: bool) -> Callable[[Any], None]:
        def do(screen: Any) -> None:
            if screen.bench.questions.just_closed:
                screen.say(QUESTION_CLOSED)
            else:
                screen.label(useful)

        return command_of(does.format(word), do, key, f"{title} {word}", "useful / noise", rank,
                          needs=[*needs, WRITABLE], **declared)  # fmt: skip

    return labels_as("y", "useful", True), labels_as("n x", "noise", False)


def filters(about: str, rank: int) -> Callable[[Any], None]:
    """A command that filters the list of a screen with ``query_text``."""
    return command_of("Filter the list as you type.",
                      lambda screen: screen.open_line(screen.line, "filter", screen.query_text, about),
                      "slash", "Filter the list", "filter", rank)  # fmt: skip


def _to_match(key: str, direction: str, step: int) -> Callable[[Any], None]:
    return command_of(f"Go to the {direction} row that matches the filter.",
                      lambda screen: screen.go_to_match(step), key, f"{direction.capitalize()} match",
                      "next / previous match", 3, palette=False,
                      when=lambda screen: screen.narrowed)  # fmt: skip


class Commanded(Frame):
    """A screen with the commands that all screens share.

    A subclass declares its own commands as methods, and names its panels, of which the first has the focus at
    first, and the names its prompt can have. Its styles are those named like its package, next to its module.
    """

    def __init_subclass__(cls, panels: Sequence[str] = (), lines: Sequence[str] = (), **rest: Any) -> None:
        if panels:
            cls.catalog = Catalog.of(cls, Commanded, panels, lines)
            cls.BINDINGS = cls.catalog.bindings
            cls.AUTO_FOCUS = vars(cls).get("AUTO_FOCUS", f"#{panels[0]}")
            styles = Path(inspect.getfile(cls)).with_name(f"{cls.__module__.split('.')[-2]}.tcss")
            cls.CSS_PATH = styles if styles.is_file() else None
        super().__init_subclass__(**rest)

    # The gate's question

    @command("y ctrl+y", "Answer the gate: yes", "answer the gate", 0,
             when=lambda here: here.question, yields=True)  # fmt: skip
    def answer_yes(self) -> None:
        """Answer the gate: the topic applies to the message."""
        self.bench.questions.answer(True)

    @command("n ctrl+n", "Answer the gate: no", "answer the gate", 0,
             when=lambda here: here.question, yields=True)  # fmt: skip
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

    @command("tab", "Next panel", in_line=True, palette=False)
    def next_panel(self) -> None:
        """Go to the next panel."""
        self.cycle(1)

    @command("shift+tab", "Previous panel", in_line=True, palette=False)
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

    # While a filter is set, these letters do nothing else: who searches must not write.
    next_match = _to_match("n", "next", 1)
    previous_match = _to_match("N", "previous", -1)

    def filter_of(self, name: str) -> str:
        """What the list of a panel is filtered by; empty without a filter."""
        return self.panel_named(name).query_text if name in self.panels else ""

    @property
    def narrowed(self) -> str:
        """The panel with the filtered list: the focused one, or else the first; empty without a filter."""
        return next((name for name in (self.panel_in_use, *self.offered()) if self.filter_of(name)), "")

    def go_to_match(self, step: int) -> None:
        """Moves the selection of the filtered list by ``step`` rows, wrapping around."""
        self.panel_named(self.narrowed).turn(step)

    @command("plus", "Enlarge the panel", "enlarge", 40,
             needs=[Need(lambda here: not here.zoomed, "the panel is already enlarged")])  # fmt: skip
    def zoom(self) -> None:
        """Enlarge the focused panel to the whole area."""
        if not self.in_line:
            self.enlarge(self.panel_in_use)

    @command("underscore", "Show all panels", needs=[Need(lambda here: here.zoomed, "no panel is enlarged")])
    def unzoom(self) -> None:
        """Show all panels again."""
        self.enlarge(None)

    def enlarge(self, name: str | None) -> None:
        """Enlarges a panel, or shows all again."""
        self.zoomed = name
        self.lay_out()
        self.show()

    @command("escape", "Back", "back", 30, in_line=True, palette=False)
    def back(self) -> None:
        """Go back one level; from the top level, return to the workbench."""
        raise NotImplementedError

    # Selection

    @command("Y", "Copy the text", needs=[ROWS])
    def copy(self) -> None:
        """Copy the selection, or everything the panel shows; works over SSH if the terminal allows it."""
        if not self.in_line:
            self.copy_text(self.panel_named(self.panel_in_use).selected_text())

    def copy_text(self, text: str) -> None:
        self.say(clipboard.copied(self.bench.app, text))

    def copy_name(self, name: str) -> None:
        """Copies something short, and says what."""
        clipboard.copy(self.bench.app, name)
        self.say(f"copied {name}")

    def existing(self, *candidates: str) -> str:
        """The first of these relative paths that is a file in the workspace; empty if none is."""
        return file_of(self.bench.engine.workspace.root, *candidates)

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

    @command("ctrl+p", "All actions", in_line=True, palette=False)
    def palette(self) -> None:
        """Search all actions by name."""
        self.app.action_command_palette()

    @command("question_mark", "Help", "help", 14)
    def help(self) -> None:
        """Show what each key does here."""
        signs = self.panel_named(self.panel_in_use).signs
        self.page("help", lambda width, roles: help_lines(self.catalog, self, signs, width, roles), full=True)

    @command("exclamation_mark", "Show problems",
             needs=[Need(lambda here: here.bench.status is not None, "the memory is still being read"),
                    Need(lambda here: here.found_problems, "there are no problems")])  # fmt: skip
    def problems(self) -> None:
        """List the problems found in settings, topics and files, with line and hint; enter or e opens the
        file at the line.
        """
        self.app.clear_notifications()
        self.app.push_screen(ProblemsScreen(self.found_problems), self._open_problem)

    def _open_problem(self, problem: Problem | None) -> None:
        if problem is not None and (path := self.existing(problem.path)):
            self.edit_file(path, problem.line)
        elif problem is not None:
            self.say(f"{problem.path} is not a file")

    @command("T", "Next theme")
    def theme(self) -> None:
        """Switch to the next theme; the choice is saved in tui.yaml in your user settings."""
        self.bench.post_message(NextTheme())

    @command("ctrl+r", "Rescan the workspace", in_line=True)
    def rescan(self) -> None:
        """Rescan all files; only needed if changes are not detected automatically."""
        self.bench.conductor.rescan(quietly=False)

    @command("ctrl+l", "Redraw the screen", in_line=True)
    def redraw(self) -> None:
        """Draw the whole screen anew, after another program wrote on the terminal."""
        self.bench.post_message(Redraw())

    @command("ctrl+z", "Suspend", in_line=True)
    def suspend(self) -> None:
        """Suspend the workbench and return to the shell; fg resumes it."""
        self.app.action_suspend_process()

    @command("q", "Quit")
    def quit(self) -> None:
        """Quit, or go back one level, as esc does."""
        self.back()


class Palette(CommandPalette):
    """The palette. Its list is moved only once it is laid out: before, its rows have no place yet."""

    def _action_command_list(self, action: str) -> None:
        self.call_after_refresh(super()._action_command_list, action)


class Commands(Provider):
    """Lists all commands with their keys, and the reason for those unavailable."""

    async def discover(self) -> Hits:
        """All commands, in the order of the help, unavailable ones last."""
        screen = self.screen
        if isinstance(screen, Commanded):
            offered = [each for each in screen.catalog if each.palette and _offered(each, screen)]
            for command in sorted(offered, key=lambda each: _reason(screen, each) != ""):
                text = f"{command.title}  ({command.shown_keys[0]})"
                help_text = _help(screen, command)
                yield DiscoveryHit(Content(text), partial(screen.do, command), text=text, help=help_text)

    async def search(self, query: str) -> Hits:
        """Commands whose title matches the query."""
        screen = self.screen
        if not isinstance(screen, Commanded):
            return
        matcher = self.matcher(query)
        for each in screen.catalog:
            score = matcher.match(each.title) if each.palette and _offered(each, screen) else 0
            if score > 0:
                yield Hit(
                    score,
                    matcher.highlight(each.title),
                    partial(screen.do, each),
                    text=each.title,
                    help=_help(screen, each),
                )


def _offered(command: Command, here: Here) -> bool:
    """Temporary commands are listed only while they apply, all others always."""
    return command.applies(here) or command.when is None


def _help(screen: Commanded, command: Command) -> str:
    reason = _reason(screen, command)
    return f"not now: {reason}" if reason else command.help


def _reason(screen: Commanded, command: Command) -> str:
    if not command.applies(screen) and not screen.in_line:
        return screen.only_in(command)
    return command.refusal(screen)
