"""A prompt prepared for display, and its lists: sections by layer, and what was left out."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import ClassVar, Literal

from rich.cells import cell_len
from rich.style import Style

from engine.context.assemble import NEXT_TOKENS
from engine.context.compiled import LAST_STABLE_LAYER, LAYERS, Compiled, LeftOut, Section
from tui.kit.rows import RowList
from tui.render.budget import alone_and_found, best_of
from tui.render.budget import place as place_of
from tui.render.draw import Row, clip, clip_start, wrap
from tui.render.figures import count, plural, score
from tui.render.roles import Roles
from tui.render.safe import first_line, visible

NOWHERE = -1
ROOMY = 64
"""Minimum width in cells for rows to include the kind of section."""
WIDE = 92
"""Minimum width in cells for rows to include the reason."""
_TIGHT = 40
_SPEAKER = re.compile(r"§\d* (?:\w+: )?")
"""What precedes a message that search found on its line."""


@dataclass(frozen=True, slots=True, eq=False)
class PreparedPrompt:
    """A prompt with the positions of its sections. Lines are counted from 0."""

    compiled: Compiled
    prefix_tokens: int
    """Tokens of its stable prefix, including section markers."""
    lines: tuple[str, ...]
    """Its lines, safe to display."""
    markers: tuple[int, ...]
    """The line of each section's marker; ``NOWHERE`` if the section is not found in the text."""
    ends: tuple[int, ...]
    """The line after each section's last line."""
    prefix_end: int
    """The first line of the volatile part; 0 without a stable prefix."""
    breaks: tuple[tuple[int, int], ...]
    """For each cache boundary: the index of the section after it, and its character offset."""
    left_out: tuple[LeftOut, ...]
    """Ordered by ``left_out_order``."""


def prepare(compiled: Compiled, count: Callable[[str], int]) -> PreparedPrompt:
    """Finds every section in a prompt's text; takes milliseconds for a long one.

    Args:
        count: Counts tokens.
    """
    text = compiled.text
    raw = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in raw), initial=0))[:-1]
    markers: list[int] = []
    ends: list[int] = []
    begins: list[int] = []
    at = 0
    for section in compiled.sections:
        found = _begin(text, section.text, at)
        if found < 0:
            markers.append(markers[-1] if markers else NOWHERE)
            ends.append(ends[-1] if ends else 0)
            begins.append(at)
            continue
        at = found + len(section.text)
        line = bisect_right(starts, found) - 1
        markers.append(max(0, line - 1))
        ends.append(line + section.text.count("\n") + 1)
        begins.append(found)
    length = compiled.stable_prefix_length
    return PreparedPrompt(
        compiled,
        count(text[:length]) if length else 0,
        tuple(map(visible, raw)),
        tuple(markers),
        tuple(ends),
        bisect_left(starts, length) if length else 0,
        tuple((bisect_left(begins, each), each) for each in compiled.boundaries),
        left_out_order(compiled.left_out, compiled.next_pieces),
    )


def _begin(text: str, section: str, at: int) -> int:
    """Where a section's text begins, from ``at``; -1 if nowhere.

    It begins on the line after its marker; a message that search found, behind its speaker: ``§ user: …``.
    """
    found = text.find(section, at)
    while found > 0 and text[found - 1] != "\n":
        if _SPEAKER.fullmatch(text, text.rfind("\n", 0, found) + 1, found):
            break
        found = text.find(section, found + 1)
    return found


def left_out_order(left_out: Sequence[LeftOut], next_pieces: Sequence[LeftOut]) -> tuple[LeftOut, ...]:
    """Orders left-out entries: what 500 more tokens would add first, then the rest.

    If there are many search results, they come last.
    """
    known = {(each.label, each.source, each.lines) for each in next_pieces}
    alone, found = alone_and_found(
        [each for each in left_out if (each.label, each.source, each.lines) not in known]
    )
    return (*next_pieces, *alone, *found)


Sign = Literal["", "+", "-", "~"]
Fold = Literal["", "▸", "▾"]
"""A row that groups others: collapsed or expanded."""


@dataclass(frozen=True, slots=True)
class HeadItem:
    """A heading above rows: a layer or a group."""

    text: str
    number: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class RuleItem:
    """A line across the list: the end of the stable prefix, or a cache boundary."""

    stable: bool
    """Whether it is the end of the stable prefix."""
    characters: int
    """Characters of the prompt up to here."""
    tokens: int = 0
    """Tokens of the prompt up to here; only for the stable prefix."""
    cached: bool = True
    """Whether this is a cache boundary."""


@dataclass(frozen=True, slots=True)
class SectionItem:
    """A section or a left-out entry."""

    index: int
    """Its index among the sections or the left-out entries."""
    priority: int
    kind: str
    """For example ``identity``."""
    place: str
    """Its source; its label if it does not come from a file."""
    tokens: int
    score: float | None
    """Search relevance, if ranked."""
    note: str
    """Why it is included or left out."""
    sign: Sign = ""
    """In a comparison: added, removed, changed or moved."""
    fold: Fold = ""


ListItem = HeadItem | RuleItem | SectionItem


def kind_of(label: str) -> str:
    """The kind in a label: ``identity`` in ``identity:SOUL.md``."""
    return first_line(label.partition(":")[0])


def item_of(entry: Section | LeftOut, index: int) -> SectionItem:
    """The row of a section or a left-out entry."""
    note = entry.why if isinstance(entry, Section) else entry.reason
    place = place_of(entry.source, entry.lines) or first_line(entry.label)
    kind = kind_of(entry.label)
    return SectionItem(index, entry.priority, kind, place, entry.tokens, entry.score, first_line(note))


def section_items(prepared: PreparedPrompt, query: str = "") -> list[ListItem]:
    """The matching sections by layer, with the cache boundaries and the end of the stable prefix."""
    compiled = prepared.compiled
    items: list[ListItem] = []
    breaks = dict(prepared.breaks)
    stable = compiled.stable_prefix_length > 0
    for layer, group in groupby(enumerate(compiled.sections), key=lambda each: each[1].layer):
        sections = list(group)
        first = sections[0][0]
        if stable and layer > LAST_STABLE_LAYER:
            stable = False
            items.append(prefix_rule(prepared))
        elif first in breaks and first and not query:
            items.append(RuleItem(False, breaks[first]))
        rows = [item_of(section, index) for index, section in sections]
        kept = [row for row in rows if matches(row, query)]
        if kept:
            items.append(
                HeadItem(LAYERS.get(layer, ""), layer, sum(section.tokens for _, section in sections))
            )
            items.extend(kept)
    if stable and compiled.sections:
        items.append(prefix_rule(prepared))
    return items if any(isinstance(item, SectionItem) for item in items) else []


def prefix_rule(prepared: PreparedPrompt) -> RuleItem:
    length = prepared.compiled.stable_prefix_length
    return RuleItem(True, length, prepared.prefix_tokens, length in prepared.compiled.boundaries)


def left_out_items(
    entries: Sequence[LeftOut], wanted: int, query: str = "", *, unfolded: bool = False
) -> list[ListItem]:
    """Rows for what was left out. Without a filter, many search results are grouped in one row.

    Args:
        entries: Ordered by ``left_out_order``.
        wanted: How many of them 500 more tokens would add.
        unfolded: Whether to list grouped search results below their row.
    """
    found = alone_and_found(entries[wanted:])[1] if not query else ()
    fold = len(entries) - len(found)
    shown = entries if unfolded else entries[:fold]
    rows = [row for index, each in enumerate(shown) if matches(row := item_of(each, index), query)]
    first = [row for row in rows if row.index < wanted]
    others = [row for row in rows if row.index >= wanted]
    after = sum(row.tokens for row in others if row.index < fold) + sum(each.tokens for each in found)
    if found:
        others.insert(fold - wanted, _fold(found, len(entries), unfolded=unfolded))
    if not first:
        return list(others)
    head = HeadItem(f"{NEXT_TOKENS} more tokens would add", tokens=sum(row.tokens for row in first))
    return [head, *first, *([HeadItem("after that", tokens=after)] if others else []), *others]


def _fold(found: Sequence[LeftOut], index: int, *, unfolded: bool) -> SectionItem:
    """The row that groups search results; its index comes after all entries."""
    best, tokens = best_of(found), sum(each.tokens for each in found)
    return SectionItem(
        index,
        best.priority,
        "search",
        f"{count(len(found))} search results",
        tokens,
        best.score,
        f"best: {place_of(best.source.rpartition('/')[2], best.lines)}",
        fold="▾" if unfolded else "▸",
    )


def matches(row: SectionItem, query: str) -> bool:
    query = query.casefold()
    return not query or any(query in text.casefold() for text in (row.place, row.kind, row.note))


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns shared by all rows of a list."""

    tokens: int = 5
    """Cells for the largest token count."""
    place: int = 0
    """Cells for the longest place."""
    ranked: bool = False
    reasons: bool = False
    """Show the reason even if the list is narrow."""

    @classmethod
    def of(cls, items: Sequence[ListItem], *, reasons: bool = False) -> Columns:
        rows = [item for item in items if isinstance(item, SectionItem)]
        largest = max((row.tokens for row in rows), default=0)
        longest = max((cell_len(row.place) + 2 * bool(row.fold) for row in rows), default=0)
        return cls(max(3, len(count(largest))), longest, any(row.score is not None for row in rows), reasons)


def draw_item(
    item: ListItem, width: int, roles: Roles, columns: Columns, *, query: str = "", chosen: bool = False
) -> Row:
    """Draws a row in at most ``width`` cells, highlighting ``query``."""
    if isinstance(item, RuleItem):
        return draw_rule(item, width, roles)
    if isinstance(item, HeadItem):
        return _head(item, width, roles)
    return _section(item, width, roles, columns, query, chosen)


def _head(item: HeadItem, width: int, roles: Roles) -> Row:
    row = Row()
    if item.number:
        row.add(f"{item.number} ", roles.faint)
    row.add(clip(item.text, width - row.cells), roles.normal)
    return row.right(Row((count(item.tokens), roles.faint)), width) if item.tokens else row


def rule_text(item: RuleItem, width: int) -> str:
    """The longest text of a rule that fits."""
    if not item.stable:
        wordings: tuple[str, ...] = (
            f"cache boundary at {count(item.characters)} characters",
            "cache boundary",
            "cache",
        )
    else:
        tokens, characters = plural(item.tokens, "token"), plural(item.characters, "character")
        whole = f"stable prefix ends here: {tokens}, {characters}"
        wordings = (
            *([f"{whole} · cache boundary"] if item.cached else []), whole,
            f"stable prefix ends here: {count(item.tokens)} tok, {count(item.characters)} chars",
            f"prefix {count(item.tokens)} tok, {count(item.characters)} ch", "stable prefix ends",
        )  # fmt: skip
    return next((words for words in wordings if len(words) <= width), "")


def draw_rule(item: RuleItem, width: int, roles: Roles) -> Row:
    """Draws a line across a list or text, with the rule's text."""
    sign, line, words = ("━", roles.accent, roles.accent) if item.stable else ("┄", roles.faint, roles.faint)
    text = rule_text(item, width - 4)
    row = Row((sign * (2 if text else width), line))
    if text:
        row.add(f" {text} ", words).add(sign * max(0, width - row.cells), line)
    return row


def _section(item: SectionItem, width: int, roles: Roles, columns: Columns, query: str, chosen: bool) -> Row:
    row = Row()
    if item.sign:
        row.add(f"{item.sign} ", sign_style(item.sign, roles))
    row.add(f"P{item.priority} ", roles.slot(item.priority))
    row.fit(count(item.tokens), columns.tokens, roles.strong if chosen else roles.normal, "right").gap(2)
    if width >= ROOMY:
        row.fit(item.kind, 13, roles.muted).gap()
    right = Row()
    if columns.ranked and width >= _TIGHT:
        right.gap(2).fit("" if item.score is None else score(item.score), 3, roles.tier2, "right")
    room = width - row.cells - right.cells
    noted = width >= (_TIGHT if columns.reasons else WIDE)
    limit = min(columns.place, max(18, room * 11 // 20)) if noted else room
    name = clip(f"{item.fold} {item.place}", limit) if item.fold else clip_start(item.place, limit)
    style = roles.strong if chosen else roles.normal
    row.add_found(name, query, style, roles.accent + Style(underline=True))
    if noted:
        row.to(width - right.cells - room + limit).gap(2)
        row.add(clip(item.note, width - right.cells - row.cells), roles.muted)
    return row.to(width - right.cells).extend(right)


def sign_style(sign: Sign, roles: Roles) -> Style:
    return {"+": roles.active, "-": roles.error, "~": roles.gate, ">": roles.tier2}.get(sign, roles.normal)


class EntryList(RowList[ListItem]):
    """Rows with headings and rules between them, which the selection skips."""

    always_lit = True
    reasons: ClassVar[bool] = False
    """Whether to show the reason even if the list is narrow."""
    note = ""
    is_error = False
    _columns = Columns()
    _words = ""

    @property
    def entry(self) -> SectionItem | None:
        chosen = self.selected
        return chosen if isinstance(chosen, SectionItem) else None

    def show_list(
        self, items: Sequence[ListItem], index: int, *, query: str = "", note: str = "", error: bool = False
    ) -> None:
        """Shows a new list.

        Args:
            index: The index of the entry to select.
            query: Text to highlight.
            note: Shown if there are no rows.
            error: Whether the note is an error.
        """
        if items is not self.items:
            columns = Columns.of(items, reasons=self.reasons)
            if (columns, query) != (self._columns, self._words):
                self._columns, self._words = columns, query
                self._cache.clear()
                self.refresh()
            self.show(items)
        if not items and (note, error) != (self.note, self.is_error):
            self.refresh()
        self.note, self.is_error = note, error
        self.select_entry(index)

    def select_entry(self, index: int) -> None:
        """Selects the entry with an index, or the first one if it is not listed."""
        rows = ((at, item) for at, item in enumerate(self.items) if isinstance(item, SectionItem))
        self.select(next((at for at, item in rows if item.index == index), 0), by_hand=False)

    def select(self, index: int, *, by_hand: bool = True) -> None:
        """Selects a row; from a heading, the nearest entry in the direction of movement."""
        size = self.row_count
        if not size:
            return
        index = max(0, min(index, size - 1))
        ahead, back = range(index, size), range(index, -1, -1)
        for way in (ahead, back) if index >= self.cursor else (back, ahead):
            at = next((at for at in way if isinstance(self.items[at], SectionItem)), None)
            if at is not None:
                super().select(at, by_hand=by_hand)
                return

    def reveal(self) -> None:
        """Scrolls to the selection and the headings directly above it."""
        super().reveal()
        top = self.cursor
        while top > 0 and not isinstance(self.items[top - 1], SectionItem):
            top -= 1
        if self.size.height > self.cursor - top and top < self.scroll_offset.y:
            self.scroll_to(y=top, animate=False, force=True)

    def _index_of(self, item: ListItem | None) -> int:
        """Keeps the cursor; the screen sets the selection."""
        return min(max(self.cursor, 0), self.row_count - 1)

    def row(self, item: ListItem, width: int, chosen: bool) -> Row:
        return draw_item(item, width, self.roles, self._columns, query=self._words, chosen=chosen)

    def empty(self, width: int) -> list[Row]:
        roles = self.roles
        if self.is_error:
            return wrap([("! ", roles.error), (self.note, roles.error)], width, indent=2)
        return wrap([(self.note, roles.muted)], width)

    def selected_text(self) -> str:
        entry = self.entry
        if entry is None:
            return ""
        score = "" if entry.score is None else f" {entry.score:.4f}"
        return f"P{entry.priority} {entry.kind} {entry.place} {entry.tokens}{score} {entry.note}"


class SectionsPanel(EntryList, panel="sections", number="1"):
    """Panel 1: the sections by layer, or the changed ones in a comparison."""

    signs = (
        ("━", "end of the stable prefix: everything above is the same for every message"),
        ("┄", "cache boundary: a provider may cache everything above"),
        ("P0", "budget priority, 0 to 4; the number before a layer's name is its position, 1 to 12"),
        ("+", "in a comparison: added; - removed, ~ changed, > moved"),
    )


class LeftOutPanel(EntryList, panel="left-out", number="3", words="left out"):
    """Panel 3: what was left out."""

    signs = (
        ("P0", "budget priority, 0 to 4"),
        (".62", "search score"),
        ("▸", "search results that were left out; enter shows or hides them"),
    )
    reasons = True
