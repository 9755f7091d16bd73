"""The context screen: what can be done there, one method for each command."""

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
class Writing:
    """A prompt to be written into a file."""

    path: str
    text: str
    replace: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSituation(Situation):
    """What the commands of this screen depend on."""

    prompt: bool = False
    """A compiled prompt is shown."""


A_PROMPT: Need[ContextSituation] = Need(lambda here: here.prompt, "there is no prompt")


class ContextScreen(ContextLayout, panels=("sections", "text", "left-out", "slots"), lines=("name",)):
    """The context screen, with its commands."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self._kept_as = DEFAULT_NAME
        self._written = ""
        self._file_of: tuple[str, str] = ("", "")
        self._writes: Lane[Writing, bool] = self.lane(
            lambda asked: bench.engine.keep_prompt(asked.path, asked.text, replace=asked.replace),
            self._wrote,
            finish=True,
        )

    # Moving about

    def go_to(self, name: str) -> None:
        """Focuses a panel; one that has no place opens over the whole area."""
        if name == "left-out" and not self.compact:
            self.out_open = True
        elif name == "text" and self.compact:
            self.out_open = False
        if self.zoomed is not None:
            self.zoomed = None if self.compact and self.zoomed in ("left-out", "slots") else name
        if self.zoomed is None and name in ("left-out", "slots") and name not in self.in_view():
            self.zoomed = name
        self.lay_out()
        self.focus_panel(name)

    def stops(self) -> tuple[str, ...]:
        """The panels in view; where only one has room, the two that matter most."""
        names = self.in_view()
        return ("sections", "text") if len(names) == 1 and self.zoomed is None else names

    def enlarge(self, name: str | None) -> None:
        """Gives a panel the whole area, or each its own again."""
        self.zoomed = name
        self.lay_out()
        shown = self.in_view()
        self.focus_panel(self.panel_in_use if self.panel_in_use in shown else shown[0])
        self.call_after_refresh(self.show)

    @command("escape", title="Back", in_line=True, footer="back", rank=11, palette=False)
    def back(self) -> None:
        """Back out one level: leave the line, drop the filter, end the comparison, return to the
        workbench.
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
        elif self.out_open and self.panel_in_use == "left-out":
            self.toggle_left_out()
        else:
            self.dismiss(None)

    # What is shown

    @command("enter", title="Open the selection", panels=["sections", "left-out"], needs=[A_PROMPT, ROWS])
    def open(self) -> None:
        """Open what is selected: the text of a section over the whole area, everything about a left-out
        piece.
        """
        if self.panel_in_use == "left-out":
            piece = self.state.piece()
            if self.state.on_fold:
                self.state.unfolded = not self.state.unfolded
                self.show_lists()
            elif piece is not None:
                self.page("left out", lambda width, roles: left_out_detail(piece, width, roles))
        elif self.zoomed is not None or "text" not in self.in_view():
            self.enlarge("text")
        else:
            self.focus_panel("text")

    @command(
        "t", title="Show the whole prompt, or only the section", footer="whole", rank=4, needs=[A_PROMPT]
    )
    def whole(self) -> None:
        """Show the whole prompt as one text, at the selected section; once more shows only the section."""
        state = self.state
        state.whole = not state.whole
        state.comparing = False
        self.show(stay=False)
        if "text" not in self.in_view():
            self.go_to("text")

    @command("o", title="Show what was left out", footer="left out", rank=6, needs=[A_PROMPT])
    def toggle_left_out(self) -> None:
        """Show what was left out below the text; once more takes it away."""
        if self.zoomed == "left-out":
            self.unzoom()
            return
        self.out_open = not self.out_open
        if self.zoomed is not None:
            self.zoomed = None
        self.lay_out()
        self.focus_panel("left-out" if self.out_open else "sections")
        self.call_after_refresh(self.show)

    @command("d", title="Compare with the prompt before", footer="diff", rank=8, needs=[A_PROMPT])
    def toggle_comparison(self) -> None:
        """Compare with the prompt of the message before: sections that came, went and changed; once more ends
        it. Says whether the stable prefix is the same byte for byte, and else where it first differs.
        """
        state = self.state
        state.comparing = not state.comparing
        state.queries["sections"] = ""
        self.compare()
        self.show(stay=False)
        if state.comparing and self.compact:
            self.out_open = False
        if state.comparing and self.panel_in_use != "sections":
            self.go_to("sections")
        self.lay_out()

    def message(self, step: int) -> None:
        """Selects the next message of the feed that has a prompt."""
        feed = self.bench.feed
        at = feed.cursor + step
        while 0 <= at < feed.row_count:
            if feed.item_at(at).key:
                feed.select(at)
                return
            at += step
        self.say("there is no later message" if step > 0 else "there is no earlier message")

    @command("J", title="Next message of the feed", footer="message", rank=10)
    def next_message(self) -> None:
        """Show the prompt of the next message of the feed."""
        self.message(1)

    @command("K", title="Previous message of the feed", footer="message", rank=10)
    def previous_message(self) -> None:
        """Show the prompt of the message before it in the feed."""
        self.message(-1)

    # Lines that are typed

    @command("slash", title="Filter the list", footer="filter", rank=12, needs=[A_PROMPT])
    def filter(self) -> None:
        """Narrow the focused list to the rows that hold what is typed, while it is typed."""
        words = "left out" if self.panel_in_use == "left-out" else "sections"
        self.open_line("name", "filter", self.state.queries[self.listed], words)

    @command("w", title="Write the prompt to a file", footer="write", rank=18, needs=[A_PROMPT, WRITABLE])
    def write(self) -> None:
        """Write the prompt into a file below scratch/, where memory does not learn from it; asks its name."""
        compiled = self.state.compiled
        if compiled is not None:
            self._written = compiled.text
            self.open_line("name", "write", self._kept_as, "the prompt to")

    def narrow(self, query: str) -> None:
        """Narrows a list while it is typed."""
        self.state.queries[self.listed] = query
        self.show_lists()
        self.take_selection()

    def entered(self, mode: Mode, value: str) -> None:
        """A line was ended with enter."""
        self.leave_line()
        if mode == "write" and value.strip():
            self._kept_as = value.strip()
            self._writes.ask(Writing(self._kept_as, self._written))

    def _wrote(self, asked: Writing, done: bool) -> None:
        if done:
            self.say(f"written to {asked.path}")
            return
        question = f"{asked.path} is there already. Replace it by the prompt?"
        self.ask("write", question, "Replace it", partial(self._writes.ask, replace(asked, replace=True)))

    # Acting on the selection

    def source(self) -> str:
        """Where the selection comes from, relative to the workspace."""
        state = self.state
        if self.panel_in_use == "left-out":
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
            self._file_of = (source, file_of(self.bench.engine.workspace.root, source))
        return self._file_of[1]

    def _line(self) -> int:
        """The line of the file at which the selection begins, or the text that is in view."""
        state = self.state
        piece, change = state.piece(), state.chosen_change()
        if self.panel_in_use == "left-out" and piece is not None:
            return first_number(piece.lines)
        if change is not None:
            return first_number(change.after.lines or change.before.lines)
        top = self.text.line_in_view if self.panel_in_use == "text" and not state.whole else 0
        return state.source_line(top)

    @command(
        "e",
        title="Edit the source", footer="edit", rank=14,
        needs=[Need(lambda here: here.file, "the selection comes from no file")],
    )  # fmt: skip
    def edit(self) -> None:
        """Open the selection's file in $VISUAL or $EDITOR, at its line; then the prompt is compiled anew."""
        self._file_of = ("", "")
        self.edit_file(self.file(), self._line())
        self.refetch()

    @command("y", title="Copy the selected text", footer="copy", rank=16, needs=[A_PROMPT, ROWS])
    def copy(self) -> None:
        """Copy what is selected: a section's text, its difference, or a left-out line (OSC 52, also over
        SSH).
        """
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
        """Copy the whole prompt; what is too long for a terminal's clipboard is cut, and it says so."""
        compiled = self.state.compiled
        if compiled is not None:
            self.copy_text(compiled.text)

    def rescan(self) -> None:
        """Look at every file again, and compiles anew."""
        super().rescan()
        self.refetch()

    # Panels

    focus_sections = goes_to(
        "sections", "1", "the sections",
        " of the prompt, by layer, or to those that changed while two prompts are compared", rank=30,
    )  # fmt: skip
    focus_text = goes_to(
        "text", "2", "the text",
        " of the selected section, or of the whole prompt; up and down scroll it there", rank=30,
    )  # fmt: skip
    focus_left_out = goes_to(
        "left-out", "3", "what was left out",
        ": everything that did not get in, with its size, its score and the reason", rank=30,
    )  # fmt: skip
    focus_slots = goes_to("slots", "4", "the budget", ": what each slot uses, against its cap", rank=30)

    # What the keys depend on, and what comes in

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
