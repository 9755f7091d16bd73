"""What comes in to the context screen: prompts, comparisons, the workbench's next message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on

from tui.kit.bridge import Burst
from tui.kit.rows import RowList
from tui.screens.context.layout import ContextLayout
from tui.screens.context.work import (
    Bare,
    Compared,
    CompareWish,
    Numbered,
    Ready,
)

if TYPE_CHECKING:
    pass


class ContextFlow(ContextLayout):
    """The context screen and what it hears."""

    def begin(self) -> None:
        """Follows the workbench."""
        self.bench.followers.append(self.follow)
        self.follow()

    def end(self) -> None:
        """Follows it no more."""
        self.bench.followers.remove(self.follow)

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
            self.show(stay=same)

    @on(Bare)
    def _bare(self, bare: Bare) -> None:
        state = self.state
        if not state.without:  # another message is shown by now
            return
        if bare.compiled is None:
            state.fail(bare.problem)
            self.show(stay=False)
        else:
            state.wanted = bare.compiled
            self.work.place(bare.compiled)

    @on(Numbered)
    def _numbered(self, numbered: Numbered) -> None:
        state = self.state
        if numbered.placed is state.placed:
            state.numbers[numbered.index] = numbered.lines
            if numbered.index == state.section and not state.whole and not state.comparing:
                self.show_text(stay=True)

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
        self.show(stay=False)

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
            self.frame_lists()
        elif moved.panel is self.sections and self.sections.entry is not None:
            index = self.sections.entry.index
            if state.comparing:
                state.change = index
            else:
                state.section = index
            self.show_text()
        self.update_footer()
