"""The context screen: the prompt as it will be sent, why each part is in it, and what is not (design 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.types import CSSPathType

from tui.kit.bridge import Burst
from tui.kit.full_screen import FullScreen
from tui.kit.rows import RowList
from tui.screens.context.list_panels import LeftOutPanel, SectionsPanel
from tui.screens.context.state import ContextState, Listed
from tui.screens.context.summary_bar import SummaryBar
from tui.screens.context.text_panels import SlotsPanel, TextPanel
from tui.screens.context.view import ContextView
from tui.screens.context.work import (
    Bare,
    Compared,
    CompareWish,
    ContextWork,
    Numbered,
    Ready,
)

if TYPE_CHECKING:
    from tui.screens.workbench.screen import Workbench


class ContextLayout(FullScreen):
    """The screen on the prompt of the workbench's message.

    Args:
        bench: The workbench it was opened from.
    """

    AUTO_FOCUS = "#sections"
    CSS_PATH: ClassVar[CSSPathType | None] = "context.tcss"
    area = "context"
    work: ContextWork
    line = "name"
    burst_s = 0.3

    def __init__(self, bench: Workbench) -> None:
        super().__init__(bench, "sections")
        self.state = ContextState()
        self.work = ContextWork(bench.engine, self.post_message)
        self.view = ContextView(self)
        self.out_open = False

    def body(self) -> ComposeResult:
        """A summary; sections and budget on the left, text and what was left out on the right."""
        self.summary = SummaryBar(id="summary")
        self.sections = SectionsPanel(id="sections")
        self.slots = SlotsPanel(id="slots")
        self.text = TextPanel(id="text")
        self.left_out = LeftOutPanel(id="left-out")
        yield self.summary
        with Horizontal(id="context"):
            with Vertical(id="context-left"):
                yield self.sections
                yield self.slots
            with Vertical(id="context-right"):
                yield self.text
                yield self.left_out

    def below(self) -> ComposeResult:
        """The line."""
        yield self.prompt

    def begin(self) -> None:
        """Follows the workbench."""
        self.bench.followers.append(self.follow)
        self.follow()

    def end(self) -> None:
        """Follows it no more."""
        self.bench.followers.remove(self.follow)

    # What is on the screen

    def in_view(self) -> tuple[str, ...]:
        """The panels that have a place just now."""
        return self.view.in_view()

    def lay_out(self) -> None:
        """Gives every panel its place for the present size."""
        self.view.lay_out()

    def show(self) -> None:
        """Hands the state to the panels; the place in the text stays."""
        self.view.show(stay=True)

    def panel_changed(self) -> None:
        """On a narrow screen only the panel in use is in view."""
        self.view.lay_out()

    @property
    def listed(self) -> Listed:
        """The list that a filter is about."""
        used = self.panel_before if self.in_line else self.panel_in_use
        return "left-out" if used == "left-out" else "sections"

    # What comes in

    def follow(self) -> None:
        """The workbench shows another message, or more about it."""
        wanted = self.state.follow(self.bench.shown)
        if wanted == "place" and self.state.wanted is not None:
            self.work.place(self.state.wanted)
        elif wanted == "bare":
            self.work.bare()
        self.show()

    @on(Ready)
    def _ready(self, ready: Ready) -> None:
        before = self.state.chosen
        if self.state.take(ready.placed):
            after = self.state.chosen
            self.compare()
            same = before is not None and after is not None and before.label == after.label
            self.view.show(stay=same)

    @on(Bare)
    def _bare(self, bare: Bare) -> None:
        state = self.state
        if not state.without:  # another message is shown by now
            return
        if bare.compiled is None:
            state.fail(bare.problem)
            self.view.show()
        else:
            state.wanted = bare.compiled
            self.work.place(bare.compiled)

    @on(Numbered)
    def _numbered(self, numbered: Numbered) -> None:
        state = self.state
        if numbered.placed is state.placed:
            state.numbers[numbered.index] = numbered.lines
            if numbered.index == state.section and not state.whole and not state.comparing:
                self.view.show_text(stay=True)

    def compare(self) -> None:
        """Asks for the comparison, while there is to be one."""
        state = self.state
        if not state.comparing or state.compiled is None or state.comparison is not None:
            return
        shown = self.bench.shown
        entry = self.bench.feed.selected
        if shown.key:
            self.work.compare(CompareWish(state.compiled, shown.key))
        elif shown.trying and entry is not None and entry.key:
            self.work.compare(CompareWish(state.compiled, entry.key, with_key=True))
        else:
            state.compare_with(state.compiled, None, "There is no message before it to compare with.")

    @on(Compared)
    def _compared(self, compared: Compared) -> None:
        note = compared.problem
        if not note and compared.comparison is None:
            note = "This is the first message of its conversation: there is no prompt before it."
        self.state.compare_failed = bool(compared.problem)
        self.state.compare_with(compared.compiled, compared.comparison, note)
        self.view.show()

    def heard(self, burst: Burst) -> None:
        """Compiles anew where files, topics or settings are others."""
        if burst.parts & {"status", "digest"}:
            self.refetch()

    def refetch(self) -> None:
        """Compiles the prompt in view anew; it stays in view until the new one is there."""
        shown, conductor = self.bench.shown, self.bench.conductor
        if shown.key:
            conductor.fetch(shown.key)
        elif shown.trying:
            conductor.try_text(shown.text, ask=shown.source == "kept")
        elif self.state.without:
            self.work.bare()

    # What a person does

    @on(RowList.Moved)
    def _row_moved(self, moved: RowList.Moved) -> None:
        if not moved.by_hand:
            return
        state = self.state
        if moved.panel is self.left_out and self.left_out.entry is not None:
            state.left_out = self.left_out.entry.index
            self.view.frame_lists()
        elif moved.panel is self.sections and self.sections.entry is not None:
            index = self.sections.entry.index
            if state.comparing:
                state.change = index
            else:
                state.section = index
            self.view.show_text()
        self.update_footer()
