"""What the context screen does for each command: one method per action, found by the command's class."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from tui.commands import catalog, context
from tui.commands.command import Command, ContextPanel, Situation
from tui.editor import file_of
from tui.render.context_head import left_out_detail
from tui.render.help import help_lines
from tui.screens.confirm import ConfirmScreen
from tui.screens.context_work import KeepWish, Kept
from tui.screens.page import MOTIONS, Builder, PageScreen
from tui.widgets.prompt import Mode

if TYPE_CHECKING:
    from tui.screens.context import ContextScreen

DEFAULT_NAME = "scratch/prompt.md"


class ContextActions:
    """The actions of one context screen; ``perform`` is the way in for keys, footer and palette alike."""

    def __init__(self, screen: ContextScreen) -> None:
        self.screen = screen
        self._name = DEFAULT_NAME
        self._written = ""
        self._file_of: tuple[str, str] = ("", "")
        bench = screen.bench.actions
        self._doing: dict[type[Command], Callable[[], None]] = {
            catalog.AnswerYes: partial(bench.answer, True),
            catalog.AnswerNo: partial(bench.answer, False),
            context.BackOut: self.back,
            catalog.Quit: self.back,
            context.FocusSections: partial(self.go_to, "sections"),
            context.FocusText: partial(self.go_to, "text"),
            context.FocusLeftOut: partial(self.go_to, "left-out"),
            context.FocusSlots: partial(self.go_to, "slots"),
            catalog.NextPanel: partial(self.cycle, 1),
            catalog.PreviousPanel: partial(self.cycle, -1),
            **{command: partial(self.move, command) for command in MOTIONS},
            context.OpenSelected: self.open,
            context.WholePrompt: self.whole,
            context.LeftOutList: self.left_out,
            context.Compare: self.compare,
            context.FilterSections: self.filter,
            context.NextMessage: partial(self.message, 1),
            context.PreviousMessage: partial(self.message, -1),
            context.EditSource: self.edit,
            context.CopyText: self.copy,
            context.CopyPrompt: self.copy_prompt,
            context.WritePrompt: self.write,
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

    def go_to(self, name: ContextPanel) -> None:
        """Focuses a panel; one that has no place opens over the whole area."""
        screen = self.screen
        if name == "left-out" and not screen.view.compact:
            screen.out_open = True
        elif name == "text" and screen.view.compact:
            screen.out_open = False
        if screen.zoomed is not None:
            screen.zoomed = None if screen.view.compact and screen.zoomed in ("left-out", "slots") else name
        if screen.zoomed is None and name in ("left-out", "slots") and name not in screen.view.in_view():
            screen.zoomed = name
        screen.view.lay_out()
        screen.focus_panel(name)

    def cycle(self, step: int) -> None:
        """Focuses the next panel that is in view; where only one is, the next of the two that matter most."""
        screen = self.screen
        if screen.panel_in_use == "name":
            self.leave_line()
            return
        names = screen.view.in_view()
        if len(names) == 1 and screen.zoomed is None:
            names = ("sections", "text")
        at = names.index(screen.panel_in_use) if screen.panel_in_use in names else -1
        screen.focus_panel(names[(at + step) % len(names)])

    def move(self, command: type[Command]) -> None:
        """Moves the selection, or scrolls."""
        if self.screen.panel_in_use != "name":
            self.screen.panel_named(self.screen.panel_in_use).move(MOTIONS[command])

    def zoom(self) -> None:
        """Gives the panel in use the whole area."""
        screen = self.screen
        if screen.panel_in_use != "name":
            self._enlarge(screen.panel_in_use)

    def unzoom(self) -> None:
        """Shows the panels beside each other again."""
        self._enlarge(None)

    def _enlarge(self, name: ContextPanel | None) -> None:
        screen = self.screen
        screen.zoomed = name
        screen.view.lay_out()
        shown = screen.view.in_view()
        screen.focus_panel(screen.panel_in_use if screen.panel_in_use in shown else shown[0])
        screen.call_after_refresh(partial(screen.view.show, stay=True))

    def back(self) -> None:
        """Leaves the innermost level there is."""
        screen, state = self.screen, self.screen.state
        if screen.panel_in_use == "name":
            if screen.prompt.mode == "filter":
                self.narrow("")
            self.leave_line()
        elif state.queries[screen.listed]:
            self.narrow("")
        elif screen.zoomed is not None:
            self.unzoom()
        elif state.comparing:
            self.compare()
        elif screen.out_open and screen.panel_in_use == "left-out":
            self.left_out()
        else:
            screen.dismiss(None)

    # What is shown

    def open(self) -> None:
        """Opens the text of a section over the whole area, or everything about a piece that was left out."""
        screen = self.screen
        if screen.panel_in_use == "left-out":
            piece = screen.state.piece()
            if piece is not None:
                self._page("left out", lambda width, roles: left_out_detail(piece, width, roles))
        elif screen.zoomed is not None or "text" not in screen.view.in_view():
            self._enlarge("text")
        else:
            screen.focus_panel("text")

    def whole(self) -> None:
        """Shows the whole prompt, or only the section again."""
        state = self.screen.state
        state.whole = not state.whole
        state.comparing = False
        self.screen.view.show()
        if "text" not in self.screen.view.in_view():
            self.go_to("text")

    def left_out(self) -> None:
        """Opens what was left out, or closes it."""
        screen = self.screen
        if screen.zoomed == "left-out":
            self.unzoom()
            return
        screen.out_open = not screen.out_open
        if screen.zoomed is not None:
            screen.zoomed = None
        screen.view.lay_out()
        screen.focus_panel("left-out" if screen.out_open else "sections")
        screen.call_after_refresh(partial(screen.view.show, stay=True))

    def compare(self) -> None:
        """Shows what differs from the prompt before, or the sections again."""
        screen, state = self.screen, self.screen.state
        state.comparing = not state.comparing
        state.queries["sections"] = ""
        screen.compare()
        screen.view.show()
        if state.comparing and screen.view.compact:
            screen.out_open = False
        if state.comparing and screen.panel_in_use != "sections":
            self.go_to("sections")
        screen.view.lay_out()

    def message(self, step: int) -> None:
        """Selects the next message of the feed that has a prompt."""
        feed = self.screen.bench.feed
        at = feed.cursor + step
        while 0 <= at < feed.row_count:
            if feed.item_at(at).key:
                feed.select(at)
                return
            at += step
        self.screen.say("there is no later message" if step > 0 else "there is no earlier message")

    # Lines that are typed

    def filter(self) -> None:
        """Takes the keys into the line, to type what to look for."""
        screen = self.screen
        words = "left out" if screen.panel_in_use == "left-out" else "sections"
        self._open_line("filter", screen.state.queries[screen.listed], words)

    def write(self) -> None:
        """Takes the keys into the line, to type a file's name."""
        compiled = self.screen.state.compiled
        if compiled is not None:
            self._written = compiled.text
            self._open_line("write", self._name, "the prompt to")

    def _open_line(self, mode: Mode, value: str, about: str) -> None:
        screen = self.screen
        if screen.panel_in_use != "name":
            screen.panel_before = screen.panel_in_use
        screen.prompt.display = True
        screen.prompt.enter_mode(mode, value=value, about=about)
        screen.focus_panel("name")

    def leave_line(self) -> None:
        """Gives the keys back to where they came from."""
        screen = self.screen
        screen.focus_panel(screen.panel_before)
        screen.prompt.display = False

    def narrow(self, query: str) -> None:
        """Narrows a list while it is typed."""
        screen = self.screen
        screen.state.queries[screen.listed] = query
        screen.view.show_lists()
        self._take_selection()

    def _take_selection(self) -> None:
        """What a filter hides is not selected any more."""
        screen, state = self.screen, self.screen.state
        piece, entry = screen.left_out.entry, screen.sections.entry
        if piece is not None:
            state.left_out = piece.index
        if entry is None:
            return
        if state.comparing and entry.index != state.change:
            state.change = entry.index
            screen.view.show_text()
        elif not state.comparing and entry.index != state.section:
            state.section = entry.index
            screen.view.show_text()

    def entered(self, mode: Mode, value: str) -> None:
        """A line was ended with enter."""
        self.leave_line()
        if mode == "write" and value.strip():
            self._name = value.strip()
            self.screen.work.keep(KeepWish(self._name, self._written))

    def kept(self, kept: Kept) -> None:
        """A file was written, or could not be; a name that is taken is asked about."""
        screen = self.screen
        if kept.problem:
            screen.say(kept.problem, trouble=True)
        elif kept.taken:
            self._ask_to_replace(kept.path)
        else:
            screen.say(f"written to {kept.path}")

    def _ask_to_replace(self, path: str) -> None:
        def answered(yes: bool | None) -> None:
            if yes:
                self.screen.work.keep(KeepWish(path, self._written, replace=True))

        self.screen.app.clear_notifications()
        question = f"{path} is there already. Replace it by the prompt?"
        self.screen.app.push_screen(ConfirmScreen("write", question, "Replace it"), answered)

    # Acting on the selection

    def source(self) -> str:
        """Where the selection comes from, relative to the workspace."""
        screen, state = self.screen, self.screen.state
        if screen.panel_in_use == "left-out":
            piece = state.piece()
            return piece.source if piece is not None else ""
        change = state.chosen_change()
        if change is not None:
            return change.after.source or change.before.source
        return state.chosen.source if state.chosen is not None and not state.comparing else ""

    def file(self) -> str:
        """The same where it is a file that is there."""
        source = self.source()
        if source != self._file_of[0]:
            self._file_of = (source, file_of(self.screen.bench.engine.workspace.root, source))
        return self._file_of[1]

    def _line(self) -> int:
        """The line of the file at which the selection begins, or the text that is in view."""
        screen, state = self.screen, self.screen.state
        piece, change = state.piece(), state.chosen_change()
        if screen.panel_in_use == "left-out" and piece is not None:
            return _first(piece.lines)
        if change is not None:
            return _first(change.after.lines or change.before.lines)
        top = screen.text.line_in_view if screen.panel_in_use == "text" and not state.whole else 0
        return state.source_line(top)

    def edit(self) -> None:
        """Opens the source in the editor, then compiles anew."""
        self._file_of = ("", "")
        self.screen.bench.actions.edit_file(self.file(), self._line())
        self.screen.refetch()

    def copy(self) -> None:
        """Copies the text of what is selected."""
        screen, state = self.screen, self.screen.state
        if screen.panel_in_use == "left-out":
            text = screen.left_out.selected_text()
        elif screen.panel_in_use == "slots":
            text = screen.slots.selected_text()
        elif state.comparing:
            text = state.comparison.text(state.change) if state.comparison is not None else ""
        else:
            text = state.chosen.text if state.chosen is not None else ""
        screen.bench.actions.copy_text(text)

    def copy_prompt(self) -> None:
        """Copies the whole prompt."""
        compiled = self.screen.state.compiled
        if compiled is not None:
            self.screen.bench.actions.copy_text(compiled.text)

    def help(self) -> None:
        """Opens the help for this screen."""
        situation = self.screen.situation
        self._page("help", lambda width, roles: help_lines(situation, width, roles), full=True)

    def rescan(self) -> None:
        """Looks at every file again, and compiles anew."""
        self.screen.bench.actions.rescan()
        self.screen.refetch()

    def _page(self, title: str, build: Builder, *, full: bool = False) -> None:
        self.screen.app.push_screen(PageScreen(title, build, full=full))


def _first(lines: str) -> int:
    first = lines.partition("-")[0]
    return int(first) if first.isdecimal() else 1
