"""What the context screen shows: which panels have a place, and what stands in them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tui.render.draw import clip
from tui.render.figures import count, kilobytes
from tui.render.safe import first_line
from tui.screens.context.difference import change_head
from tui.screens.context.head import section_head, title_of
from tui.screens.context.lists import SectionItem
from tui.screens.context.summary import Summary
from tui.screens.context.text import TextPage
from tui.screens.context.work import NumberWish

if TYPE_CHECKING:
    from tui.screens.context.screen import ContextScreen

FULL = (100, 32)
"""Columns and lines from which the budget has a place of its own."""
NARROW = 72
"""Columns below which only one panel is in view."""
LOW = 20
"""Lines below which the summary is one line."""
SHORT = 24
"""Lines below which it is two."""
WIDE = 160


class ContextView:
    """Hands the state of one context screen to its panels.

    Args:
        screen: The screen; nothing is shown any more once it is left.
    """

    def __init__(self, screen: ContextScreen) -> None:
        self.screen = screen

    @property
    def compact(self) -> bool:
        """Whether the budget, and with it what was left out, is folded away."""
        return self.screen.app.size.width < FULL[0] or self.screen.app.size.height < FULL[1]

    def in_view(self) -> tuple[str, ...]:
        """The panels that have a place just now."""
        screen = self.screen
        if screen.zoomed is not None:
            return (screen.zoomed,)
        used = screen.panel_before if screen.in_line else screen.panel_in_use
        if screen.app.size.width < NARROW:
            return (used,)
        if self.compact:
            return ("sections", "left-out" if screen.out_open else "text")
        return ("sections", "text", *(("left-out",) if screen.out_open else ()), "slots")

    def lay_out(self) -> None:
        """Gives every panel its place for the present size."""
        screen = self.screen
        if screen.gone:
            return
        size = screen.app.size
        screen.lay_out_frame(
            {
                "-low": size.height < LOW,
                "-short": LOW <= size.height < SHORT,
                "-wide": size.width >= WIDE,
            },
            "#summary",
        )
        shown = self.in_view()
        for panel in screen.panels:
            screen.query_one(f"#{panel}").display = panel in shown
        left = {"sections", "slots"} & set(shown)
        right = {"text", "left-out"} & set(shown)
        screen.query_one("#context-left").display = bool(left)
        screen.query_one("#context-right").display = bool(right)
        screen.query_one("#context-left").set_class(not right, "-whole")
        screen.slots.set_class(shown == ("slots",), "-whole")
        screen.left_out.set_class("text" not in shown, "-whole")
        screen.update_footer()

    def show(self, *, stay: bool = False) -> None:
        """Hands the state to the panels; each draws only what is different.

        Args:
            stay: Keeps the place in the text.
        """
        if self.screen.gone:
            return
        screen = self.screen
        self.show_summary()
        self.show_lists()
        self.show_text(stay=stay)
        screen.slots.show(screen.state.compiled)
        screen.update_footer()

    def show_summary(self) -> None:
        """The lines above the panels."""
        state = self.screen.state
        comparison = state.comparison if state.comparing else None
        self.screen.summary.show(
            Summary(state.shown, state.compiled, state.pending, state.without, comparison)
        )

    def show_lists(self) -> None:
        """The sections or changes, and what was left out."""
        screen = self.screen
        state = screen.state
        items = state.sections()
        note, trouble = self._note()
        index = state.change if state.comparing else state.section
        screen.sections.show_list(items, index, query=state.queries["sections"], note=note, trouble=trouble)
        rows = state.left_out_rows()
        query = state.queries["left-out"]
        nothing = "Nothing holds these words." if query else "Everything got in."
        screen.left_out.show_list(
            rows, state.left_out, query=query, note=nothing if state.compiled is not None else ""
        )
        listed = screen.left_out.entry
        if listed is not None:  # what is selected may be folded away by now
            state.left_out = listed.index
        self.frame_lists()

    def _note(self) -> tuple[str, bool]:
        """What stands in the list where it is empty, and whether that is bad news."""
        state = self.screen.state
        if state.problem:
            return f"{state.problem}. ctrl+r tries again.", True
        if state.placed is None:
            return "compiling …", False
        if state.comparing and (state.comparison is None or not state.comparison.difference.sections):
            if state.comparison is not None:
                return "The two prompts have the same sections.", False
            return state.compare_note or "comparing …", bool(state.compare_note) and state.compare_failed
        return "No section holds these words." if state.queries["sections"] else "The prompt is empty.", False

    def frame_lists(self) -> None:
        """Counts, the filter, and why the selected piece was left out."""
        screen = self.screen
        state, compiled = screen.state, screen.state.compiled
        if compiled is None:
            screen.sections.set_frame()
            screen.left_out.set_frame()
            return
        found = sum(isinstance(item, SectionItem) for item in screen.sections.items)
        if state.comparing:
            beside = f"{count(found)} differ"
        elif state.queries["sections"]:
            beside = f"{count(found)} of {count(len(compiled.sections))}"
        else:
            beside = count(len(compiled.sections))
        below = f"/{state.queries['sections']}" if state.queries["sections"] else ""
        screen.sections.set_frame(beside, below or ("d ends the comparison" if state.comparing else ""))
        tokens = sum(entry.tokens for entry in state.entries)
        listed = sum(isinstance(item, SectionItem) for item in screen.left_out.items)
        query = state.queries["left-out"]
        number = f"{count(listed)} of {count(len(state.entries))}" if query else count(len(state.entries))
        piece = state.piece()
        why = first_line(piece.reason) if piece is not None and listed else ""
        row = screen.left_out.entry
        if row is not None and row.fold:
            why = f"{'enter hides them' if state.unfolded else 'enter lists them'} · {row.note}"
        below = f"/{query}" if query else clip(why, screen.left_out.size.width - 4)
        screen.left_out.set_frame(f"{number} · {count(tokens)} tok", below)

    def show_text(self, *, stay: bool = False) -> None:
        """The text of what is selected.

        Args:
            stay: Keeps the place in it.
        """
        screen = self.screen
        state, section, compiled = screen.state, screen.state.chosen, screen.state.compiled
        change = state.chosen_change()
        page, line = state.page()
        place = None if stay else line
        if compiled is None or (state.comparing and change is None):
            screen.text.show(TextPage(()))
        elif change is not None:
            screen.text.show(page, partial(change_head, change), first_line(change.label), line=place)
        elif section is not None:
            head = partial(section_head, section, compiled.budget, lines=self._head_lines())
            size = len(compiled.text.encode("utf-8", "replace")) if state.whole else 0
            title = f"the whole prompt, {kilobytes(size)} KB" if state.whole else title_of(section)
            screen.text.show(page, head, title, line=place)
            self._ask_numbers()

    def _head_lines(self) -> int:
        return 2 if self.screen.app.size.height < LOW else 3 if self.compact else 5

    def _ask_numbers(self) -> None:
        state = self.screen.state
        section = state.chosen
        if (
            state.placed is not None
            and section is not None
            and section.source
            and state.section not in state.numbers
        ):
            self.screen.work.number(NumberWish(state.placed, state.section))
