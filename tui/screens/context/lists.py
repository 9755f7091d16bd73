"""The lists of the context screen: sections by layer, what was left out, and changes between prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from rich.cells import cell_len
from rich.style import Style

from engine.context.compiled import LAST_STABLE_LAYER, LAYERS, LeftOut, Section
from engine.context.next_pieces import NEXT_TOKENS
from tui.render.budget import alone_and_found, best_of
from tui.render.budget import place as place_of
from tui.render.draw import Row, bar, clip, clip_start, found, marked
from tui.render.figures import count, plural, score
from tui.render.roles import Roles
from tui.render.safe import first_line
from tui.screens.context.prompt import PreparedPrompt

ROOMY = 64
"""Minimum width in cells for rows to include the kind of section."""
WIDE = 92
"""Minimum width in cells for rows to include the reason."""
_TIGHT = 40


Sign = Literal["", "+", "-", "~", ">"]
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
    share: float
    """Share of the token budget, 0 to 1."""
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


def item_of(entry: Section | LeftOut, index: int, budget: int) -> SectionItem:
    """The row of a section or a left-out entry."""
    note = entry.why if isinstance(entry, Section) else entry.reason
    place = place_of(entry.source, entry.lines) or first_line(entry.label)
    share = entry.tokens / budget if budget else 0.0
    kind = kind_of(entry.label)
    return SectionItem(index, entry.priority, kind, place, entry.tokens, share, entry.score, first_line(note))


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
        rows = [item_of(section, index, compiled.budget) for index, section in sections]
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
    entries: Sequence[LeftOut], wanted: int, budget: int, query: str = "", *, unfolded: bool = False
) -> list[ListItem]:
    """Rows for what was left out. Without a filter, many search results are grouped in one row.

    Args:
        entries: Ordered by ``left_out_order``.
        wanted: How many of them 500 more tokens would add.
        budget: In tokens.
        unfolded: Whether to list grouped search results below their row.
    """
    found = alone_and_found(entries[wanted:])[1] if not query else ()
    fold = len(entries) - len(found)
    shown = entries if unfolded else entries[:fold]
    rows = [row for index, each in enumerate(shown) if matches(row := item_of(each, index, budget), query)]
    first = [row for row in rows if row.index < wanted]
    others = [row for row in rows if row.index >= wanted]
    after = sum(row.tokens for row in others if row.index < fold) + sum(each.tokens for each in found)
    if found:
        others.insert(fold - wanted, _fold(found, len(entries), budget, unfolded=unfolded))
    if not first:
        return list(others)
    head = HeadItem(f"{NEXT_TOKENS} more tokens would add", tokens=sum(row.tokens for row in first))
    return [head, *first, *([HeadItem("after that", tokens=after)] if others else []), *others]


def _fold(found: Sequence[LeftOut], index: int, budget: int, *, unfolded: bool) -> SectionItem:
    """The row that groups search results; its index comes after all entries."""
    best, tokens = best_of(found), sum(each.tokens for each in found)
    return SectionItem(
        index,
        best.priority,
        "search",
        f"{count(len(found))} search results",
        tokens,
        tokens / budget if budget else 0.0,
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
    """Show the reason instead of the share of the budget."""

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
    if not columns.reasons:
        gauge = 3 if width < _TIGHT else 6 if width < ROOMY else 10
        row.extend(bar(item.share, gauge, roles.slot(item.priority), roles.faint)).gap()
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
    for piece, piece_style in marked(name, found(name, query), style, roles.accent + Style(underline=True)):
        row.add(piece, piece_style)
    if noted:
        row.to(width - right.cells - room + limit).gap(2)
        row.add(clip(item.note, width - right.cells - row.cells), roles.muted)
    return row.to(width - right.cells).extend(right)


def sign_style(sign: Sign, roles: Roles) -> Style:
    return {"+": roles.active, "-": roles.error, "~": roles.gate, ">": roles.tier2}.get(sign, roles.normal)
