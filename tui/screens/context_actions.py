"""What the context screen does for each command: one method per action, found by the command's class."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tui.commands import context
from tui.commands.command import ContextPanel
from tui.editor import file_of
from tui.render.context_head import left_out_detail
from tui.screens.context_work import KeepWish, Kept
from tui.screens.screen_actions import ScreenActions
from tui.widgets.prompt import Mode

if TYPE_CHECKING:
    from tui.screens.context import ContextScreen

DEFAULT_NAME = "scratch/prompt.md"


class ContextActions(ScreenActions[ContextPanel]):
    """The actions of one context screen."""

    screen: ContextScreen

    def __init__(self, screen: ContextScreen) -> None:
        super().__init__(screen)
        self._name = DEFAULT_NAME
        self._written = ""
        self._file_of: tuple[str, str] = ("", "")
        self.doing |= {
            context.Leave: self.back,
            context.FocusSections: partial(self.go_to, "sections"),
            context.FocusText: partial(self.go_to, "text"),
            context.FocusLeftOut: partial(self.go_to, "left-out"),
            context.FocusSlots: partial(self.go_to, "slots"),
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
        }

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

    def stops(self) -> tuple[ContextPanel, ...]:
        """The panels in view; where only one has room, the two that matter most."""
        names = self.screen.in_view()
        return ("sections", "text") if len(names) == 1 and self.screen.zoomed is None else names

    def enlarge(self, name: ContextPanel | None) -> None:
        """Gives a panel the whole area, or each its own again."""
        screen = self.screen
        screen.zoomed = name
        screen.view.lay_out()
        shown = screen.view.in_view()
        screen.focus_panel(screen.panel_in_use if screen.panel_in_use in shown else shown[0])
        screen.call_after_refresh(screen.show)

    def back(self) -> None:
        """Leaves the innermost level there is."""
        screen, state = self.screen, self.screen.state
        if screen.in_line:
            if screen.prompt.mode == "filter":
                self.narrow("")
            screen.leave_line()
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
        """Opens the text of a section over the whole area, or everything about a piece that was left out.

        Of search results that stand in one row, it lists them below it, or hides them again.
        """
        screen = self.screen
        if screen.panel_in_use == "left-out":
            piece = screen.state.piece()
            if screen.state.on_fold:
                screen.state.unfolded = not screen.state.unfolded
                screen.view.show_lists()
            elif piece is not None:
                self.page("left out", lambda width, roles: left_out_detail(piece, width, roles))
        elif screen.zoomed is not None or "text" not in screen.view.in_view():
            self.enlarge("text")
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
        screen.call_after_refresh(screen.show)

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
        screen.open_line("name", "filter", screen.state.queries[screen.listed], words)

    def write(self) -> None:
        """Takes the keys into the line, to type a file's name."""
        compiled = self.screen.state.compiled
        if compiled is not None:
            self._written = compiled.text
            self.screen.open_line("name", "write", self._name, "the prompt to")

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
        self.screen.leave_line()
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
        replacing = partial(self.screen.work.keep, KeepWish(path, self._written, replace=True))
        question = f"{path} is there already. Replace it by the prompt?"
        self.ask("write", question, "Replace it", replacing)

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
        self.edit_file(self.file(), self._line())
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
        self.copy_text(text)

    def copy_prompt(self) -> None:
        """Copies the whole prompt."""
        compiled = self.screen.state.compiled
        if compiled is not None:
            self.copy_text(compiled.text)

    def rescan(self) -> None:
        """Looks at every file again, and compiles anew."""
        super().rescan()
        self.screen.refetch()


def _first(lines: str) -> int:
    first = lines.partition("-")[0]
    return int(first) if first.isdecimal() else 1
