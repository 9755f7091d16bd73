"""The context screen: the prompt as sent, why each section is included and what was left out (design 8)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.types import CSSPathType

from tui.kit.bridge import Burst
from tui.kit.full_screen import FullScreen
from tui.kit.rows import RowList
from tui.render.draw import clip
from tui.render.figures import count, kilobytes
from tui.render.safe import first_line
from tui.screens.context.difference import Comparison, ComparisonRequest, change_head, compare_with_earlier
from tui.screens.context.head import section_head, title_of
from tui.screens.context.list_panels import LeftOutPanel, SectionsPanel, SlotsPanel
from tui.screens.context.lists import SectionItem
from tui.screens.context.prompt import PreparedPrompt, prepare
from tui.screens.context.state import ContextState, Listed
from tui.screens.context.summary import Summary, SummaryBar
from tui.screens.context.text import TextPage, TextPanel

if TYPE_CHECKING:
    from engine.context.compiled import Compiled
    from tui.kit.bench import Bench
    from tui.kit.lanes import Lane

FULL = (100, 32)
"""Minimum columns and lines to show the budget panel."""
NARROW = 72
"""Columns below which only one panel is visible."""
LOW = 20
"""Lines below which the summary is one line."""
SHORT = 24
"""Lines below which the summary is two lines."""
WIDE = 160


class ContextLayout(FullScreen):
    """The layout of the screen, which follows the workbench's message."""

    AUTO_FOCUS = "#sections"
    CSS_PATH: ClassVar[CSSPathType | None] = "context.tcss"
    area = "context"
    line = "name"
    burst_s = 0.3

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.state = ContextState()
        self.left_out_open = False
        engine = bench.engine
        self._prepares = self.lane(_prepare, self._take_prompt)
        self._bare: Lane[None, Compiled] = self.lane(
            lambda _none: engine.try_message("", ask=False)[1],
            lambda _none, compiled: self._take_bare(compiled),
            lambda _none, problem: self._take_bare(None, problem),
        )
        self._numbers: Lane[tuple[PreparedPrompt, int], tuple[int, ...]] = self.lane(
            lambda request: engine.lines_of(request[0].compiled.sections[request[1]]),
            self._take_numbers,
            lambda request, _problem: self._take_numbers(request, ()),
        )
        self._compares: Lane[ComparisonRequest, Comparison | None] = self.lane(
            partial(compare_with_earlier, engine),
            self._take_comparison,
            lambda request, problem: self._take_comparison(request, None, problem),
        )

    def body(self) -> ComposeResult:
        """The summary; sections and budget on the left, text and what was left out on the right."""
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
        yield self.prompt

    # What is on the screen

    @property
    def listed(self) -> Listed:
        """The list that a filter applies to."""
        used = self.panel_before if self.in_line else self.panel_in_use
        return "left-out" if used == "left-out" else "sections"

    @property
    def compact(self) -> bool:
        """Whether the budget is hidden and what was left out replaces the text."""
        return self.app.size.width < FULL[0] or self.app.size.height < FULL[1]

    def in_view(self) -> tuple[str, ...]:
        if self.zoomed is not None:
            return (self.zoomed,)
        used = self.panel_before if self.in_line else self.panel_in_use
        if self.app.size.width < NARROW:
            return (used,)
        if self.compact:
            return ("sections", "left-out" if self.left_out_open else "text")
        return ("sections", "text", *(("left-out",) if self.left_out_open else ()), "slots")

    def lay_out(self) -> None:
        if self.gone:
            return
        size = self.app.size
        self.lay_out_frame(
            {
                "-low": size.height < LOW,
                "-short": LOW <= size.height < SHORT,
                "-wide": size.width >= WIDE,
            },
            "#summary",
        )
        shown = self.in_view()
        for panel in self.panels:
            self.query_one(f"#{panel}").display = panel in shown
        left = {"sections", "slots"} & set(shown)
        right = {"text", "left-out"} & set(shown)
        self.query_one("#context-left").display = bool(left)
        self.query_one("#context-right").display = bool(right)
        self.query_one("#context-left").set_class(not right, "-whole")
        self.slots.set_class(shown == ("slots",), "-whole")
        self.left_out.set_class("text" not in shown, "-whole")
        self.update_footer()

    def show(self, *, stay: bool = True) -> None:
        """Updates all panels; each redraws only what changed.

        Args:
            stay: Keep the scroll position of the text.
        """
        if self.gone:
            return
        self.show_summary()
        self.show_lists()
        self.show_text(stay=stay)
        self.slots.show(self.state.compiled)
        self.update_footer()

    def show_summary(self) -> None:
        state = self.state
        comparison = state.comparison if state.comparing else None
        self.summary.show(Summary(state.shown, state.compiled, state.pending, state.without, comparison))

    def show_lists(self) -> None:
        state = self.state
        items = state.sections()
        note, error = self._note()
        index = state.change if state.comparing else state.section
        self.sections.show_list(items, index, query=state.queries["sections"], note=note, error=error)
        rows = state.left_out_rows()
        query = state.queries["left-out"]
        note = "no matches" if query else "nothing left out"
        self.left_out.show_list(
            rows, state.left_out, query=query, note=note if state.compiled is not None else ""
        )
        listed = self.left_out.entry
        if listed is not None:  # the selected entry may be folded away by now
            state.left_out = listed.index
        self.frame_lists()

    def _note(self) -> tuple[str, bool]:
        """The note for an empty section list, and whether it is an error."""
        state = self.state
        if state.problem:
            return f"{state.problem}. ctrl+r tries again.", True
        if state.prepared is None:
            return "compiling …", False
        if state.comparing and (state.comparison is None or not state.comparison.difference.sections):
            if state.comparison is not None:
                return "The two prompts have the same sections.", False
            return state.compare_note or "comparing …", bool(state.compare_note) and state.compare_failed
        return "no matches" if state.queries["sections"] else "The prompt is empty.", False

    def frame_lists(self) -> None:
        """Shows counts beside the titles; below, the filter or why the selected entry was left out."""
        state, compiled = self.state, self.state.compiled
        if compiled is None:
            self.sections.set_frame()
            self.left_out.set_frame()
            return
        found = sum(isinstance(item, SectionItem) for item in self.sections.items)
        if state.comparing:
            beside = f"{count(found)} differ" if state.comparison is not None else ""
        elif state.queries["sections"]:
            beside = f"{count(found)} of {count(len(compiled.sections))}"
        else:
            beside = count(len(compiled.sections))
        below = f"/{state.queries['sections']}" if state.queries["sections"] else ""
        self.sections.set_frame(beside, below or ("d ends the comparison" if state.comparing else ""))
        tokens = sum(entry.tokens for entry in state.entries)
        listed = sum(isinstance(item, SectionItem) for item in self.left_out.items)
        query = state.queries["left-out"]
        number = f"{count(listed)} of {count(len(state.entries))}" if query else count(len(state.entries))
        piece = state.left_out_entry()
        detail = first_line(piece.reason) if piece is not None and listed else ""
        row = self.left_out.entry
        if row is not None and row.fold:
            detail = f"{'enter hides them' if state.unfolded else 'enter lists them'} · {row.note}"
        below = f"/{query}" if query else clip(detail, self.left_out.size.width - 4)
        self.left_out.set_frame(f"{number} · {count(tokens)} tok", below)

    def show_text(self, *, stay: bool = False) -> None:
        """Shows the text of the selection; ``stay`` keeps the scroll position."""
        state, section, compiled = self.state, self.state.chosen, self.state.compiled
        change = state.chosen_change()
        page, line = state.page()
        place = None if stay else line
        if compiled is None or (state.comparing and change is None):
            self.text.show(TextPage(()))
        elif change is not None:
            self.text.show(page, partial(change_head, change), first_line(change.label), line=place)
        elif section is not None:
            head = partial(section_head, section, compiled.budget, lines=self._head_lines())
            size = len(compiled.text.encode("utf-8", "replace")) if state.whole else 0
            title = f"the whole prompt, {kilobytes(size)} KB" if state.whole else title_of(section)
            self.text.show(page, head, title, line=place)
            self._ask_numbers()

    def _head_lines(self) -> int:
        return 2 if self.app.size.height < LOW else 3 if self.compact else 5

    def _ask_numbers(self) -> None:
        state = self.state
        section = state.chosen
        if (
            state.prepared is not None
            and section is not None
            and section.source
            and state.section not in state.numbers
        ):
            self._numbers.ask((state.prepared, state.section))

    def panel_changed(self) -> None:
        """Lays out again: on a narrow screen only the focused panel is visible."""
        self.lay_out()

    # Events

    def begin(self) -> None:
        self.bench.followers.append(self.follow)
        self.follow()

    def end(self) -> None:
        self.bench.followers.remove(self.follow)

    def follow(self) -> None:
        """Handles a new message, or new details about it, in the workbench."""
        wanted = self.state.follow(self.bench.shown)
        if wanted == "prepare" and self.state.wanted is not None:
            self._prepares.ask(self.state.wanted)
        elif wanted == "bare":
            self._bare.ask(None)
        self.show()

    def handle_events(self, burst: Burst) -> None:
        """Recompiles the prompt without a message if files have changed; the workbench does the others."""
        if burst.written and self.state.without:
            self._bare.ask(None)

    def refetch(self) -> None:
        """Recompiles the prompt; the old one stays visible until the new one is ready."""
        self.bench.refetch()
        if self.state.without:
            self._bare.ask(None)

    def compare(self) -> None:
        """Requests the comparison if one is wanted."""
        state = self.state
        if not state.comparing or state.compiled is None or state.comparison is not None:
            return
        shown = self.bench.shown
        entry = self.bench.feed.selected
        if shown.key:
            self._compares.ask(ComparisonRequest(state.compiled, shown.key))
        elif shown.trying and entry is not None and entry.key:
            self._compares.ask(ComparisonRequest(state.compiled, entry.key, tried=True))
        else:
            state.compare_with(state.compiled, None, "No earlier message to compare with.")

    def _take_prompt(self, _compiled: Compiled, prepared: PreparedPrompt) -> None:
        before = self.state.chosen
        if self.state.take(prepared):
            after = self.state.chosen
            self.compare()
            self.show(stay=before is not None and after is not None and before.label == after.label)

    def _take_bare(self, compiled: Compiled | None, problem: str = "") -> None:
        state = self.state
        if not state.without:  # another message has been selected since
            return
        if compiled is None:
            state.fail(problem)
            self.show(stay=False)
        else:
            state.wanted = compiled
            self._prepares.ask(compiled)

    def _take_numbers(self, request: tuple[PreparedPrompt, int], lines: tuple[int, ...]) -> None:
        state, (prepared, index) = self.state, request
        if prepared is state.prepared:
            state.numbers[index] = lines
            if index == state.section and not state.whole and not state.comparing:
                self.show_text(stay=True)

    def _take_comparison(
        self, request: ComparisonRequest, comparison: Comparison | None, problem: str = ""
    ) -> None:
        note = problem
        if not note and comparison is None:
            note = "First message of its conversation: no earlier prompt to compare with."
        self.state.compare_failed = bool(problem)
        self.state.compare_with(request.compiled, comparison, note)
        self.show(stay=False)

    @on(RowList.Moved)
    def _row_moved(self, moved: RowList.Moved) -> None:
        if moved.by_hand:
            self.take_selection()
            self.frame_lists()
            self.update_footer()

    def take_selection(self) -> None:
        """Stores the lists' selection and shows its text."""
        state, piece, entry = self.state, self.left_out.entry, self.sections.entry
        if piece is not None:
            state.left_out = piece.index
        if entry is not None and entry.index != (state.change if state.comparing else state.section):
            if state.comparing:
                state.change = entry.index
            else:
                state.section = entry.index
            self.show_text()


def _prepare(compiled: Compiled) -> PreparedPrompt:
    from engine.context.tokens import count  # noqa: PLC0415 — loads the vocabulary, which is slow

    return prepare(compiled, count)
