"""The context screen: one method per command."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from textual import on

from tui.kit.command import Need, Situation, command
from tui.kit.commands import ROWS, WRITABLE, goes_to
from tui.kit.editor import file_of
from tui.kit.prompt import Mode, PromptLine
from tui.screens.context.head import left_out_detail
from tui.screens.context.layout import ContextLayout
from tui.screens.context.state import first_number

if TYPE_CHECKING:
    from tui.kit.bench import Bench
    from tui.kit.lanes import Lane

DEFAULT_NAME = "scratch/prompt.md"


@dataclass(frozen=True, slots=True)
class WriteRequest:
    path: str
    text: str
    replace: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSituation(Situation):
    prompt: bool = False
    """A compiled prompt is shown."""


A_PROMPT: Need[ContextSituation] = Need(lambda here: here.prompt, "there is no prompt")


class ContextScreen(ContextLayout, panels=("sections", "text", "left-out", "slots"), lines=("name",)):
    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self._kept_as = DEFAULT_NAME
        self._written = ""
        self._file_of: tuple[str, str] = ("", "")
        self._writes: Lane[WriteRequest, bool] = self.lane(
            lambda request: bench.engine.keep_prompt(request.path, request.text, replace=request.replace),
            self._wrote,
            finish=True,
        )

    # Navigation

    def go_to(self, name: str) -> None:
        """Focuses a panel; one that does not fit is zoomed."""
        if name == "left-out" and not self.compact:
            self.left_out_open = True
        elif name == "text" and self.compact:
            self.left_out_open = False
        if self.zoomed is not None:
            self.zoomed = None if self.compact and self.zoomed in ("left-out", "slots") else name
        if self.zoomed is None and name in ("left-out", "slots") and name not in self.in_view():
            self.zoomed = name
        self.lay_out()
        self.focus_panel(name)

    def stops(self) -> tuple[str, ...]:
        """The visible panels; if only one fits, sections and text."""
        names = self.in_view()
        return ("sections", "text") if len(names) == 1 and self.zoomed is None else names

    def enlarge(self, name: str | None) -> None:
        """Zooms a panel, or restores the layout with ``None``."""
        self.zoomed = name
        self.lay_out()
        shown = self.in_view()
        self.focus_panel(self.panel_in_use if self.panel_in_use in shown else shown[0])
        self.call_after_refresh(self.show)

    @command("escape", title="Back", in_line=True, footer="back", rank=11, palette=False)
    def back(self) -> None:
        """Back out one level: leave the input line, clear the filter, show all panels, end the comparison,
        hide what was left out, or return to the workbench.
        """
        state = self.state
        if self.in_line:
            if self.prompt.mode == "filter":
                self.narrow("")
            self.leave_line()
        elif state.queries[self.listed]:
            self.narrow("")
        elif self.zoomed is not None:
            self.unzoom()
        elif state.comparing:
            self.toggle_comparison()
        elif self.left_out_open and self.panel_in_use == "left-out":
            self.toggle_left_out()
        else:
            self.dismiss(None)

    # Views

    @command("enter", title="Open the selection", panels=["sections", "left-out"], needs=[A_PROMPT, ROWS])
    def open(self) -> None:
        """Open the selection: the text of a section, or the details of a left-out entry."""
        if self.panel_in_use == "left-out":
            entry = self.state.left_out_entry()
            if self.state.on_fold:
                self.state.unfolded = not self.state.unfolded
                self.show_lists()
            elif entry is not None:
                self.page("left out", lambda width, roles: left_out_detail(entry, width, roles))
        elif self.zoomed is not None or "text" not in self.in_view():
            self.enlarge("text")
        else:
            self.focus_panel("text")

    @command("t", title="Show the whole prompt or only the section", footer="whole", rank=4, needs=[A_PROMPT])
    def whole(self) -> None:
        """Toggle between the whole prompt, scrolled to the selected section, and only that section."""
        state = self.state
        state.whole = not state.whole
        state.comparing = False
        self.show(stay=False)
        if "text" not in self.in_view():
            self.go_to("text")

    @command("o", title="Show what was left out", footer="left out", rank=6, needs=[A_PROMPT])
    def toggle_left_out(self) -> None:
        """Show or hide what was left out, below the text."""
        if self.zoomed == "left-out":
            self.unzoom()
            return
        self.left_out_open = not self.left_out_open
        if self.zoomed is not None:
            self.zoomed = None
        self.lay_out()
        self.focus_panel("left-out" if self.left_out_open else "sections")
        self.call_after_refresh(self.show)

    @command("d", title="Compare with the previous prompt", footer="diff", rank=8, needs=[A_PROMPT])
    def toggle_comparison(self) -> None:
        """Compare with the previous message's prompt: sections added, removed and changed, and whether the
        stable prefix is unchanged or where it first differs. Press again to end the comparison.
        """
        state = self.state
        state.comparing = not state.comparing
        state.queries["sections"] = ""
        self.compare()
        self.show(stay=False)
        if state.comparing and self.compact:
            self.left_out_open = False
        if state.comparing and self.panel_in_use != "sections":
            self.go_to("sections")
        self.lay_out()

    def message(self, step: int) -> None:
        """Selects the next message in the feed, in the direction of ``step``, that has a prompt."""
        feed = self.bench.feed
        at = feed.cursor + step
        while 0 <= at < feed.row_count:
            if feed.item_at(at).key:
                feed.select(at)
                return
            at += step
        self.say("no later message" if step > 0 else "no earlier message")

    @command("J", title="Next message in the feed", footer="message", rank=10)
    def next_message(self) -> None:
        """Show the prompt of the next message in the feed."""
        self.message(1)

    @command("K", title="Previous message in the feed", footer="message", rank=10)
    def previous_message(self) -> None:
        """Show the prompt of the previous message in the feed."""
        self.message(-1)

    # Input lines

    @command("slash", title="Filter the list", footer="filter", rank=12, needs=[A_PROMPT])
    def filter(self) -> None:
        """Narrow the focused list to the rows that contain what you type."""
        words = "left out" if self.panel_in_use == "left-out" else "sections"
        self.open_line("name", "filter", self.state.queries[self.listed], words)

    @command("w", title="Write the prompt to a file", footer="write", rank=18, needs=[A_PROMPT, WRITABLE])
    def write(self) -> None:
        """Write the prompt to a file in scratch/, which the memory ignores. Asks for the name."""
        compiled = self.state.compiled
        if compiled is not None:
            self._written = compiled.text
            self.open_line("name", "write", self._kept_as, "the prompt to")

    def narrow(self, query: str) -> None:
        self.state.queries[self.listed] = query
        self.show_lists()
        self.take_selection()

    def entered(self, mode: Mode, value: str) -> None:
        self.leave_line()
        if mode == "write" and value.strip():
            self._kept_as = value.strip()
            self._writes.ask(WriteRequest(self._kept_as, self._written))

    def _wrote(self, request: WriteRequest, done: bool) -> None:
        if done:
            self.say(f"written to {request.path}")
            return
        question = f"{request.path} already exists. Replace it with the prompt?"
        self.ask("write", question, "Replace", partial(self._writes.ask, replace(request, replace=True)))

    # Acting on the selection

    def source(self) -> str:
        """The source of the selection, relative to the workspace."""
        state = self.state
        if self.panel_in_use == "left-out":
            entry = state.left_out_entry()
            return entry.source if entry is not None else ""
        change = state.chosen_change()
        if change is not None:
            return change.after.source or change.before.source
        return state.chosen.source if state.chosen is not None and not state.comparing else ""

    def file(self) -> str:
        """The source, if it is an existing file."""
        source = self.source()
        if source != self._file_of[0]:
            self._file_of = (source, file_of(self.bench.engine.workspace.root, source))
        return self._file_of[1]

    def _line(self) -> int:
        """The line in the file where the selection, or the visible text, starts."""
        state = self.state
        entry, change = state.left_out_entry(), state.chosen_change()
        if self.panel_in_use == "left-out" and entry is not None:
            return first_number(entry.lines)
        if change is not None:
            return first_number(change.after.lines or change.before.lines)
        top = self.text.line_in_view if self.panel_in_use == "text" and not state.whole else 0
        return state.source_line(top)

    @command(
        "e",
        title="Edit the source", footer="edit", rank=14,
        needs=[Need(lambda here: here.file, "the selection does not come from a file")],
    )  # fmt: skip
    def edit(self) -> None:
        """Open the selection's file in $VISUAL or $EDITOR at its line, then recompile the prompt."""
        self._file_of = ("", "")
        self.edit_file(self.file(), self._line())
        self.refetch()

    @command("y", title="Copy the selected text", footer="copy", rank=16, needs=[A_PROMPT, ROWS])
    def copy(self) -> None:
        """Copy the selection: a section's text, its diff, or a left-out line."""
        state = self.state
        if self.panel_in_use == "left-out":
            text = self.left_out.selected_text()
        elif self.panel_in_use == "slots":
            text = self.slots.selected_text()
        elif state.comparing:
            text = state.comparison.text(state.change) if state.comparison is not None else ""
        else:
            text = state.chosen.text if state.chosen is not None else ""
        self.copy_text(text)

    @command("Y", title="Copy the whole prompt", needs=[A_PROMPT])
    def copy_prompt(self) -> None:
        """Copy the whole prompt. If it is too long for the terminal's clipboard, it is cut with a note."""
        compiled = self.state.compiled
        if compiled is not None:
            self.copy_text(compiled.text)

    def rescan(self) -> None:
        """Re-read all files and recompile the prompt."""
        super().rescan()
        self.refetch()

    # Panels

    focus_sections = goes_to(
        "sections", "1", "the sections",
        " of the prompt by layer, or the changed ones in a comparison", rank=30,
    )  # fmt: skip
    focus_text = goes_to(
        "text", "2", "the text",
        " of the selected section or the whole prompt; up and down scroll it", rank=30,
    )  # fmt: skip
    focus_left_out = goes_to(
        "left-out", "3", "what was left out",
        ", with sizes, scores and reasons", rank=30,
    )  # fmt: skip
    focus_slots = goes_to("slots", "4", "the budget", ": use and cap of each slot", rank=30)

    @property
    def situation(self) -> ContextSituation:
        return self.situated(
            ContextSituation,
            filtered=bool(self.state.queries[self.listed]),
            file=self.file(),
            prompt=self.state.compiled is not None,
        )

    @on(PromptLine.Edited)
    def _edited(self, edited: PromptLine.Edited) -> None:
        if edited.mode == "filter":
            self.narrow(edited.value)

    @on(PromptLine.Entered)
    def _entered(self, entered: PromptLine.Entered) -> None:
        self.entered(entered.mode, entered.value)
