"""Lines of styled text, measured in terminal cells.

All text passes ``tui.render.safe.visible`` on its way into a line, so panels cannot forget it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from rich.cells import cell_len, set_cell_size, split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui.render.safe import visible

Piece = tuple[str, Style]
Align = Literal["left", "right"]

FILL = "▇"
TRACK = "┄"
TICK = "│"
ELLIPSIS = "…"
NO_STYLE = Style()


class Row:
    """A line under construction, ``cells`` wide so far."""

    __slots__ = ("cells", "pieces")

    def __init__(self, *pieces: Piece) -> None:
        self.pieces: list[Piece] = []
        self.cells = 0
        for text, style in pieces:
            self.add(text, style)

    def add(self, text: str, style: Style = NO_STYLE) -> Row:
        """Appends text, made safe."""
        text = visible(text)
        if text:
            self.pieces.append((text, style))
            self.cells += cell_len(text)
        return self

    def fit(self, text: str, width: int, style: Style = NO_STYLE, align: Align = "left") -> Row:
        """Appends text in a column of exactly ``width`` cells, cut with an ellipsis if longer."""
        if width <= 0:
            return self
        text = clip(text, width)
        padding = width - cell_len(text)
        return self.gap(padding).add(text, style) if align == "right" else self.add(text, style).gap(padding)

    def add_found(self, text: str, query: str, plain: Style, mark: Style) -> Row:
        """Appends text in the style ``plain``, with a filter's matches in the style ``mark``."""
        for piece, style in marked(text, found(text, query), plain, mark):
            self.add(piece, style)
        return self

    def gap(self, cells: int = 1) -> Row:
        """Appends spaces."""
        return self.add(" " * cells)

    def to(self, column: int) -> Row:
        """Pads with spaces up to a column."""
        return self.gap(column - self.cells) if column > self.cells else self

    def extend(self, other: Row) -> Row:
        """Appends another line."""
        self.pieces.extend(other.pieces)
        self.cells += other.cells
        return self

    def right(self, other: Row, width: int) -> Row:
        """Appends another line right-aligned at ``width``, or drops it if there is no room."""
        if other.cells and self.cells + 1 + other.cells <= width:
            self.to(width - other.cells).extend(other)
        return self

    def cut(self, width: int) -> Row:
        """The line, cut with an ellipsis if it is wider than ``width``."""
        if self.cells <= width:
            return self
        row = Row()
        for text, style in self.pieces:
            room = width - row.cells
            if cell_len(text) >= room:
                return row.add(clip(text + " " * (room + 1), room), style)
            row.add(text, style)
        return row

    @property
    def text(self) -> str:
        """The line without its styles."""
        return "".join(text for text, _style in self.pieces)

    def strip(self, width: int, under: Style | None = None) -> Strip:
        """The finished line of exactly ``width`` cells, with ``under`` as the base style."""
        strip = Strip([Segment(text, style) for text, style in self.pieces], self.cells)
        if strip.cell_length > width and width > 0:
            strip = _cropped(strip, width)
        strip = strip.adjust_cell_length(width)
        return strip.apply_style(under) if under is not None else strip


def _cropped(strip: Strip, width: int) -> Strip:
    last = strip.crop(width - 1, width)
    style = next((segment.style for segment in last if segment.style), NO_STYLE)
    return Strip.join([strip.crop(0, width - 1), Strip([Segment(ELLIPSIS, style)], 1)])


def clip(text: str, width: int) -> str:
    """Text cut to ``width`` cells, with an ellipsis if something was cut."""
    text = visible(text, max(width, 0) * 4 + 16)
    if cell_len(text) <= width:
        return text
    if width <= 0:
        return ""
    return set_cell_size(text, width - 1).rstrip() + ELLIPSIS


def clip_start(text: str, width: int) -> str:
    """As ``clip``, but keeps the end; for paths."""
    text = visible(text)
    if cell_len(text) <= width:
        return text
    while text and cell_len(text) > width - 1:
        text = text[1:]
    return ELLIPSIS + text if width > 0 else ""


_WORDS = re.compile(r"\s+|\S+")


def wrap(pieces: Iterable[Piece], width: int, *, indent: int = 0, first: int = 0) -> list[Row]:
    """Wraps styled text at spaces, and within words longer than a line.

    Args:
        indent: Spaces before every line but the first.
        first: Cells of the first line reserved for the caller.
    """
    width = max(width, indent + 4)
    rows = [Row()]
    room = width - first
    start, blank = 0, ("", NO_STYLE)
    for text, style in pieces:
        for word in map(visible, _WORDS.findall(visible(text))):
            if word.isspace():
                blank = (word, style)
                continue
            row = rows[-1]
            before = cell_len(blank[0]) if row.cells > start else 0
            whole = cell_len(word) <= width - indent
            if row.cells > start and row.cells + before + (cell_len(word) if whole else 4) > room:
                rows.append(row := Row().gap(indent))
                room, start, before = width, indent, 0
            if before:
                row.add(*blank)
            blank = ("", NO_STYLE)
            for part in [word] if whole else _parts(word, room - row.cells, width - indent):
                if row.cells + cell_len(part) > room:
                    rows.append(row := Row().gap(indent))
                    room, start = width, indent
                row.add(part, style)
    return rows


def labelled(
    label: str, text: str, width: int, cells: int, style: Style = NO_STYLE, *, tone: Style = NO_STYLE
) -> list[Row]:
    """Wrapped text after a label of ``cells`` cells in the style ``tone``."""
    first, *rest = wrap([(text, style)], width, indent=cells, first=cells)
    return [Row().fit(label, cells, tone).extend(first), *rest]


def _parts(word: str, first: int, width: int) -> list[str]:
    """Splits a long word into a part of at most ``first`` cells and others of at most ``width``."""
    parts, part, cells, room = [], "", 0, first
    for start, end, size in split_graphemes(word)[0]:
        if cells + size > room:
            parts.append(part)
            part, cells, room = "", 0, width
        part += word[start:end]
        cells += size
    return [*parts, part]


def bar(
    value: float, width: int, fill: Style, track: Style, marks: Sequence[tuple[float, Style]] = ()
) -> Row:
    """A horizontal gauge.

    Args:
        value: The filled part, 0 to 1; anything above 0 fills at least one cell.
        marks: Positions from 0 to 1 with their styles; later ones are drawn on top.
    """
    filled = min(width, max(round(value * width), 1 if value > 0 else 0))
    cells: list[Piece] = [(FILL, fill)] * filled + [(TRACK, track)] * (width - filled)
    for at, style in marks:
        if 0 <= at <= 1 and width:
            cells[min(width - 1, int(at * width))] = (TICK, style)
    row = Row()
    for text, style in _runs(cells):
        row.add(text, style)
    return row


def _runs(cells: Iterable[Piece]) -> list[Piece]:
    runs: list[Piece] = []
    for text, style in cells:
        if runs and runs[-1][1] == style:
            runs[-1] = (runs[-1][0] + text, style)
        else:
            runs.append((text, style))
    return runs


def shares(parts: Sequence[int], whole: int, width: int) -> list[int]:
    """Cells for each part of a stacked gauge; non-zero parts get at least one."""
    if whole <= 0 or width <= 0:
        return [0 for _part in parts]
    cells = [max(1, round(part * width / whole)) if part > 0 else 0 for part in parts]
    while sum(cells) > width and max(cells) > 1:
        cells[cells.index(max(cells))] -= 1
    return cells


def marked(text: str, spans: Iterable[tuple[int, int]], plain: Style, mark: Style) -> list[Piece]:
    """Splits text at character spans, which get the style ``mark``."""
    pieces: list[Piece] = []
    at = 0
    for start, end in sorted(spans):
        start, end = max(at, start), min(len(text), end)
        if start >= end:
            continue
        if start > at:
            pieces.append((text[at:start], plain))
        pieces.append((text[start:end], mark))
        at = end
    if at < len(text):
        pieces.append((text[at:], plain))
    return pieces


def found(text: str, query: str) -> list[tuple[int, int]]:
    """Character spans of a filter's matches in a text, ignoring case."""
    if not query:
        return []
    return [match.span() for match in re.finditer(re.escape(query), text, re.IGNORECASE)]


def joined_within(parts: Sequence[str], cells: int, *, between: str = " · ") -> str:
    """As many of the first parts as fit, joined."""
    kept = list(parts)
    while len(kept) > 1 and cell_len(between.join(kept)) > cells:
        kept.pop()
    return between.join(kept)
