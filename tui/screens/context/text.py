"""Text as it stands in a prompt: broken at blanks into a panel's width, with line numbers before it.

Only how many lines each line takes is worked out for the whole; a line is drawn when it comes into view.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, split_graphemes
from rich.style import Style

from tui.render.draw import Row
from tui.render.figures import count
from tui.render.roles import Roles
from tui.screens.context.lists import RuleItem, sign_style

Part = tuple[int, int, int]
"""A line of the panel: the line of the text it belongs to, and from which character to which."""


@dataclass(frozen=True, slots=True, eq=False)
class TextPage:
    """A text to be shown."""

    lines: Sequence[str]
    """Safe to show."""
    numbers: Sequence[int] = ()
    """The number before each line, 0 for none; empty for no numbers at all."""
    signs: Sequence[str] = ()
    """Of a difference: ``+``, ``-``, a blank, or ``@`` for a place; empty for other texts."""
    markers: frozenset[int] = frozenset()
    """Lines that are markers between sections."""
    lit: tuple[int, int] = (0, 0)
    """The lines of the selected section, first and after the last; none are lit where they are all."""
    rule: tuple[int, RuleItem | None] = (0, None)
    """The line before which the stable prefix ends, and what the rule says; 0 for nowhere."""


def parts_of(lines: Sequence[str], width: int) -> list[Part]:
    """Where lines are broken so that each fits ``width`` cells; the blank at a break is not shown."""
    width = max(4, width)
    parts: list[Part] = []
    for at, line in enumerate(lines):
        if len(line) <= width and (line.isascii() or cell_len(line) <= width):
            parts.append((at, 0, len(line)))
        elif line.isascii():
            parts.extend((at, start, end) for start, end in _broken(line, width))
        else:
            parts.extend((at, start, end) for start, end in _broken_wide(line, width))
    return parts


def _broken(line: str, width: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    start, size = 0, len(line)
    while size - start > width:
        blank = line.rfind(" ", start + 1, start + width + 1)
        end = blank if blank > start + width // 3 else start + width
        found.append((start, end))
        start = end + 1 if line[end] == " " else end
    return [*found, (start, size)]


def _broken_wide(line: str, width: int) -> list[tuple[int, int]]:
    """As ``_broken``, for lines whose characters are not all one cell wide."""
    found: list[tuple[int, int]] = []
    begin = cells = 0
    blank = -1
    for start, end, size in split_graphemes(line)[0]:
        if cells + size > width and start > begin:
            if line[start:end] == " ":
                found.append((begin, start))
                begin, cells, blank = end, 0, -1
                continue
            cut = blank if blank > begin else start
            found.append((begin, cut))
            begin = cut + 1 if cut == blank else cut
            cells, blank = cell_len(line[begin:start]), -1
        if line[start:end] == " ":
            blank = start
        cells += size
    return [*found, (begin, len(line))]


def gutter_of(page: TextPage) -> int:
    """Cells of the line numbers or signs, and the blanks behind them."""
    if page.signs:
        return 2
    return len(str(max(page.numbers))) + 2 if any(page.numbers) else 0


def draw_part(page: TextPage, part: Part, gutter: int, roles: Roles) -> Row:
    """A line of the panel."""
    at, start, end = part
    row = Row()
    line = page.lines[at]
    style = _style(page, at, line, roles)
    if page.signs:
        row.fit(page.signs[at] if page.signs[at] in "+-" and not start else "", gutter, style)
    elif gutter:
        number = page.numbers[at] if at < len(page.numbers) and not start else 0
        row.fit(str(number) if number else "", gutter - 2, roles.faint, "right").gap(2)
    return row.add(line[start:end], style)


def _style(page: TextPage, at: int, line: str, roles: Roles) -> Style:
    if page.signs:
        return {"+": sign_style("+", roles), "-": sign_style("-", roles), "@": roles.tier2}.get(
            page.signs[at], roles.muted
        )
    first, end = page.lit
    if at in page.markers:
        return roles.accent if first <= at < end else roles.faint
    if end and not first <= at < end:
        return roles.muted
    return roles.strong if line.startswith("#") else roles.normal


def position(first: int, last: int, total: int) -> str:
    """Which lines of how many are in view: ``1–30 of 1,204``."""
    return f"{count(first)}–{count(last)} of {count(total)}"
