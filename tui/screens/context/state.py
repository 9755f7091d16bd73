"""The state of the context screen: the prompt shown, the selected section and the comparison.

Nothing here touches a widget or blocks.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import Literal

from engine.context.compiled import Compiled, LeftOut, Section
from engine.context.difference import SectionChange
from tui.render.safe import visible
from tui.render.shown import Shown
from tui.screens.context.draw import Comparison, TextPage, difference_items
from tui.screens.context.lists import (
    NOWHERE,
    ListItem,
    PreparedPrompt,
    left_out_items,
    prefix_rule,
    section_items,
)

Listed = Literal["sections", "left-out"]
"""The lists that can be filtered."""

NO_MESSAGE = "no message yet: showing the prompt without one"
NOT_A_MESSAGE = "the selected feed row is not a message: showing the prompt without one"


class ContextState:
    def __init__(self) -> None:
        self.shown = Shown()
        self.prepared: PreparedPrompt | None = None
        self.wanted: Compiled | None = None
        self.without = ""
        self.problem = ""
        self.pending = True
        self.section = 0
        self.change = 0
        self.left_out = 0
        self.unfolded = False
        self.queries: dict[Listed, str] = {"sections": "", "left-out": ""}
        self.whole = False
        self.comparing = False
        self.comparison: Comparison | None = None
        self.compare_note = ""
        self.compare_failed = False
        self.numbers: dict[int, tuple[int, ...]] = {}
        # Cached, so that unchanged input yields the same object.
        self._lines_of = lru_cache(1)(_lines_of)
        self._diff_of = lru_cache(1)(_diff_of)
        self._sections_of = lru_cache(1)(section_items)
        self._changes_of = lru_cache(1)(difference_items)
        self._left_out_of = lru_cache(1)(_left_out_of)

    # Prompt

    def follow(self, shown: Shown) -> Literal["prepare", "bare", "nothing"]:
        """Follows the workbench's message; returns what has to be requested."""
        self.shown = shown
        self.without = self.problem = ""
        compiled = shown.compiled
        if compiled is not None:
            same = self.prepared is not None and self.prepared.compiled == compiled
            self.pending, self.wanted = not same, None if same else compiled
            return "nothing" if same else "prepare"
        self.pending, self.wanted = True, None
        if shown.pending:
            self.drop()
            return "nothing"
        if shown.problem:
            self.fail(shown.problem)
            return "nothing"
        self.without = NO_MESSAGE if shown.source == "nothing" else NOT_A_MESSAGE
        return "bare"

    def fail(self, problem: str) -> None:
        """Records why there is no prompt."""
        self.problem, self.pending = problem, False
        self.drop()

    def drop(self) -> None:
        self.prepared, self.comparison, self.compare_note = None, None, ""
        self.numbers = {}

    def take(self, prepared: PreparedPrompt) -> bool:
        """Stores a prepared prompt; ``False`` if another one is wanted by now."""
        if prepared.compiled is not self.wanted:
            return False
        name = _name(self.chosen)
        self.drop()
        self.prepared, self.wanted, self.pending = prepared, None, False
        sections = prepared.compiled.sections
        self.section = next(
            (at for at, section in enumerate(sections) if _name(section) == name),
            min(self.section, max(0, len(sections) - 1)),
        )
        self.left_out = min(self.left_out, max(0, len(self.entries) - 1))
        return True

    @property
    def compiled(self) -> Compiled | None:
        return self.prepared.compiled if self.prepared is not None else None

    @property
    def entries(self) -> tuple[LeftOut, ...]:
        """What was left out of the prompt."""
        return self.prepared.left_out if self.prepared is not None else ()

    @property
    def chosen(self) -> Section | None:
        sections = self.compiled.sections if self.compiled is not None else ()
        return sections[self.section] if self.section < len(sections) else None

    # Lists

    def sections(self) -> list[ListItem]:
        """Rows of the sections, or of the changes in a comparison."""
        query = self.queries["sections"]
        if self.comparing:
            return self._changes_of(self.comparison, query) if self.comparison is not None else []
        return self._sections_of(self.prepared, query) if self.prepared is not None else []

    def left_out_rows(self) -> list[ListItem]:
        prepared, query = self.prepared, self.queries["left-out"]
        return self._left_out_of(prepared, query, self.unfolded) if prepared is not None else []

    def left_out_entry(self) -> LeftOut | None:
        """The selected left-out entry."""
        return self.entries[self.left_out] if self.left_out < len(self.entries) else None

    @property
    def on_fold(self) -> bool:
        """Whether the row that groups search results is selected."""
        return bool(self.entries) and self.left_out == len(self.entries)

    # Text

    def page(self) -> tuple[TextPage, int]:
        """The text to show and its first visible line."""
        prepared, section = self.prepared, self.chosen
        if self.comparing:
            known = self.comparison is not None and self.chosen_change() is not None
            return self._diff_of(self.comparison, self.change) if known else TextPage(()), 0
        if prepared is None or section is None:
            return TextPage(()), 0
        if self.whole:
            marker = prepared.markers[self.section]
            page = TextPage(
                prepared.lines,
                range(1, len(prepared.lines) + 1),
                markers=frozenset(prepared.markers),
                lit=(marker, prepared.ends[self.section]) if marker != NOWHERE else (0, 0),
                rule=(prepared.prefix_end, prefix_rule(prepared)),
            )
            return page, max(0, marker)
        return TextPage(self._lines_of(section), self.numbers.get(self.section, ())), 0

    def source_line(self, line: int = 0) -> int:
        """The line in the source file of a line of the selected section; 1 if unknown."""
        numbers = self.numbers.get(self.section, ())
        number = next((each for each in islice(numbers, line, None) if each), 0)
        section = self.chosen
        return number or first_number(section.lines if section is not None else "")

    # Comparison

    def compare_with(self, compiled: Compiled, comparison: Comparison | None, note: str) -> None:
        """Stores a comparison; one of another prompt came too late and is ignored."""
        if compiled is self.compiled:
            self.comparison, self.compare_note, self.change = comparison, note, 0

    def chosen_change(self) -> SectionChange | None:
        """The selected change in a comparison."""
        changes = (
            self.comparison.difference.sections if self.comparing and self.comparison is not None else ()
        )
        return changes[self.change] if self.change < len(changes) else None


def _lines_of(section: Section) -> tuple[str, ...]:
    return tuple(map(visible, section.text.split("\n")))


def _diff_of(comparison: Comparison, change: int) -> TextPage:
    signs, lines = comparison.lines(change)
    return TextPage(lines, signs=signs)


def _left_out_of(prepared: PreparedPrompt, query: str, unfolded: bool) -> list[ListItem]:
    compiled = prepared.compiled
    wanted = len(compiled.next_pieces)
    return left_out_items(prepared.left_out, wanted, query, unfolded=unfolded)


def first_number(lines: str) -> int:
    """The first line of a range such as ``7-20``; 1 if empty."""
    first = lines.partition("-")[0]
    return int(first) if first.isdecimal() else 1


def _name(section: Section | None) -> tuple[str, str, str]:
    return (section.label, section.source, section.lines) if section is not None else ("", "", "")
