"""The context screen: the prompt as sent, why each section is included and what was left out (design 8)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from tui.kit.command import Need, command, command_of
from tui.kit.commands import ROWS, WRITABLE, goes_to
from tui.kit.full_screen import LOW, ListDetail
from tui.kit.messages import Burst
from tui.kit.prompt import Mode
from tui.kit.rows import RowList
from tui.render.draw import clip
from tui.render.figures import count, kilobytes
from tui.render.safe import first_line
from tui.screens.context.draw import (
    Comparison,
    ComparisonRequest,
    Summary,
    SummaryBar,
    TextPage,
    TextPanel,
    change_head,
    compare_with_earlier,
    left_out_detail,
    section_head,
    title_of,
)
from tui.screens.context.lists import (
    LeftOutPanel,
    PreparedPrompt,
    SectionItem,
    SectionsPanel,
    prepare,
)
from tui.screens.context.state import ContextState, Listed, first_number

if TYPE_CHECKING:
    from engine.context.compiled import Compiled
    from tui.kit.bench import Bench
    from tui.kit.lanes import Lane

FULL = (100, 32)
"""Minimum columns and lines to show what was left out below the text."""
NARROW = 72
"""Columns below which only one panel is visible."""
SHORT = 24
"""Lines below which the summary is two lines."""
WIDE = 160
DEFAULT_NAME = "scratch/prompt.md"


def _prepare(compiled: Compiled) -> PreparedPrompt:
    from engine.context.tokens import count  # noqa: PLC0415 — loads the vocabulary, which is slow

    return prepare(compiled, count)


@dataclass(frozen=True, slots=True)
class WriteRequest:
    path: str
    text: str
    replace: bool = False


A_PROMPT = Need(lambda here: here.state.compiled, "there is no prompt")


def _to_message(key: str, direction: str, further: str, step: int) -> Callable[[Any], None]:
    return command_of(f"Show the prompt of the {direction} message in the feed.",
                      lambda screen: screen.bench.feed.select(screen.message_beyond(step)),
                      key, f"{direction.capitalize()} message in the feed", "message", 10,
                      needs=[Need(lambda here: here.message_beyond(step) >= 0,
                                  f"no {further} message")])  # fmt: skip


class ContextScreen(ListDetail, panels=("sections", "text", "left-out"), lines=("name",)):
    """The layout of the screen, which follows the workbench's message."""

    area = "context"
    burst_s = 0.3

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.state = ContextState()
        self.left_out_open = False
        engine = bench.engine
        self._prepares = self.lane(_prepare, self._take_prompt)
        self._bare = self.plain_lane(
            lambda: engine.try_message("", ask=False)[1],
            self._take_bare,
            lambda problem: self._take_bare(None, problem),
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
        self._kept_as = DEFAULT_NAME
        self._written = ""
        self._file_of: tuple[str, str] = ("", "")
        self._writes: Lane[WriteRequest, bool] = self.lane(
            lambda request: bench.engine.keep_prompt(request.path, request.text, replace=request.replace),
            self._wrote,
            finish=True,
        )

    def body(self) -> ComposeResult:
        """The summary; sections on the left, text and what was left out on the right."""
        self.summary = SummaryBar(id="summary")
        self.sections = SectionsPanel(id="sections")
        self.text = TextPanel(id="text")
        self.left_out = LeftOutPanel(id="left-out")
        yield self.summary
        yield Horizontal(
            self.sections,
            Vertical(self.text, self.left_out, id="context-right"),
            id="context",
        )

    # What is on the screen

    @property
    def list_in_use(self) -> Listed:
        """The list that a filter applies to."""
        used = self.panel_before if self.in_line else self.panel_in_use
        return "left-out" if used == "left-out" else "sections"

    @property
    def compact(self) -> bool:
        """Whether what was left out replaces the text."""
        return self.app.size.width < FULL[0] or self.app.size.height < FULL[1]

    def in_view(self) -> tuple[str, ...]:
        if self.zoomed is not None:
            return (self.zoomed,)
        used = self.panel_before if self.in_line else self.panel_in_use
        if self.app.size.width < NARROW:
            return (used,)
        if self.compact:
            return ("sections", "left-out" if self.left_out_open else "text")
        return ("sections", "text", *(("left-out",) if self.left_out_open else ()))

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
        self.query_one("#context-right").display = shown != ("sections",)
        self.sections.set_class(shown == ("sections",), "-whole")
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

    def row_moved(self, moved: RowList.Moved) -> None:
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

    # Navigation

    def go_to(self, name: str) -> None:
        """Focuses a panel; one that does not fit is zoomed."""
        if name == "left-out" and not self.compact:
            self.left_out_open = True
        elif name == "text" and self.compact:
            self.left_out_open = False
        if self.zoomed is not None:
            self.zoomed = None if self.compact and self.zoomed == "left-out" else name
        if self.zoomed is None and name == "left-out" and name not in self.in_view():
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

    @command("escape", "Back", "back", 11, in_line=True, palette=False)
    def back(self) -> None:
        """Back out one level: leave the input line, clear the filter, show all panels, end the comparison,
        hide what was left out, or return to the workbench.
        """
        state = self.state
        if self.in_line:
            if self.prompt.mode == "filter":
                self.narrow("")
            self.leave_line()
        elif state.queries[self.list_in_use]:
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

    @command("enter", "Open the selection", panels=["sections", "left-out"], needs=[A_PROMPT, ROWS])
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

    @command("t", "Show the whole prompt or only the section", "whole", 4, needs=[A_PROMPT])
    def whole(self) -> None:
        """Toggle between the whole prompt, scrolled to the selected section, and only that section."""
        state = self.state
        state.whole = not state.whole
        state.comparing = False
        self.show(stay=False)
        if "text" not in self.in_view():
            self.go_to("text")

    @command("o", "Show what was left out", "left out", 6, needs=[A_PROMPT])
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

    @command("d", "Compare with the previous prompt", "diff", 8, needs=[A_PROMPT])
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

    def message_beyond(self, step: int) -> int:
        """The next row of the feed in the direction of ``step`` that has a prompt; -1 if there is none."""
        feed = self.bench.feed
        rows = range(feed.cursor + step, feed.row_count if step > 0 else -1, step)
        return next((at for at in rows if feed.item_at(at).key), -1)

    next_message = _to_message("J", "next", "later", 1)
    previous_message = _to_message("K", "previous", "earlier", -1)

    # Input lines

    @command("slash", "Filter the list", "filter", 12, needs=[A_PROMPT])
    def filter(self) -> None:
        """Narrow the focused list to the rows that contain what you type."""
        words = "left out" if self.panel_in_use == "left-out" else "sections"
        self.open_line("name", "filter", self.state.queries[self.list_in_use], words)

    @command("w", "Write the prompt to a file", "write", 18, needs=[A_PROMPT, WRITABLE])
    def write(self) -> None:
        """Write the prompt to a file in scratch/, which the memory ignores. Asks for the name."""
        compiled = self.state.compiled
        if compiled is not None:
            self._written = compiled.text
            self.open_line("name", "write", self._kept_as, "the prompt to")

    def filter_of(self, name: str) -> str:
        return next((query for each, query in self.state.queries.items() if each == name), "")

    def narrow(self, query: str) -> None:
        self.state.queries[self.list_in_use] = query
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

    @property
    def file(self) -> str:
        """The source, if it is an existing file."""
        source = self.source()
        if source != self._file_of[0]:
            self._file_of = (source, self.existing(source))
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

    @command("e", "Edit the source", "edit", 14,
             needs=[Need(lambda here: here.file, "the selection does not come from a file")])  # fmt: skip
    def edit(self) -> None:
        """Open the selection's file in $VISUAL or $EDITOR at its line, then recompile the prompt."""
        self._file_of = ("", "")
        self.edit_file(self.file, self._line())
        self.refetch()

    @command("y", "Copy the selected text", "copy", 16, needs=[A_PROMPT, ROWS])
    def copy(self) -> None:
        """Copy the selection: a section's text, its diff, or a left-out line."""
        state = self.state
        if self.panel_in_use == "left-out":
            text = self.left_out.selected_text()
        elif state.comparing:
            text = state.comparison.text(state.change) if state.comparison is not None else ""
        else:
            text = state.chosen.text if state.chosen is not None else ""
        self.copy_text(text)

    @command("Y", "Copy the whole prompt", needs=[A_PROMPT])
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

    focus_sections = goes_to("sections", "1", "the sections",
                             " of the prompt by layer, or the changed ones in a comparison",
                             rank=30)  # fmt: skip
    focus_text = goes_to("text", "2", "the text",
                         " of the selected section or the whole prompt; up and down scroll it",
                         rank=30)  # fmt: skip
    focus_left_out = goes_to("left-out", "3", "what was left out", ", with sizes, scores and reasons",
                             rank=30)  # fmt: skip
