"""What the terminal shows: of what is drawn, only the cells that differ are sent.

Textual sends all that it draws, and a moved focus or another screen draws most cells: 20 to 110 kB at 120×40,
which one waits for over SSH.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.strip import Strip

Codes = tuple[str, str, str]
"""SGR codes of attributes, text and background; empty for the text of a blank, which shows none."""
Piece = tuple[str, Codes]
Cell = Piece | tuple[tuple[Piece, ...], int]
"""A character; or its place in pieces that are sent as one, as terminals disagree on the widths there."""

_NEAR = 3
"""Up to so many unchanged cells are sent again: skipping them takes more bytes."""


class Cells:
    """The cells on the terminal."""

    def __init__(self) -> None:
        self._rows: dict[int, list[Cell | None]] = {}

    def forget(self) -> None:
        """The terminal may show anything: what is drawn next is sent whole."""
        self._rows.clear()

    def differences(self, update: LayoutUpdate | ChopsUpdate, console: Console) -> CompositorUpdate | None:
        """The part of an update that the terminal does not show, which must be sent; None if it shows all."""
        output = _Output()
        for x, y, strip in _strips(update):
            plain, rest = _divided(strip, console._color_system or ColorSystem.TRUECOLOR)
            new: list[Cell] = [*plain, *((rest, at) for at in range(strip.cell_length - len(plain)))]
            row = self._rows.setdefault(y, [])
            row.extend([None] * (x + len(new) - len(row)))
            old = row[x : x + len(new)]
            if old == new:
                continue
            row[x : x + len(new)] = new
            for start, end in _runs([at for at, cell in enumerate(plain) if old[at] != cell]):
                output.cells(x + start, y, plain[start:end])
            if old[len(plain) :] != new[len(plain) :]:
                output.rest(x + len(plain), y, rest)
        return _Sequence(output.text) if output.text else None


class _Sequence(CompositorUpdate):
    def __init__(self, text: str) -> None:
        self._text = text

    def render_segments(self, console: Console) -> str:
        return self._text


class _Output:
    """Escape sequences and text, and where they leave the cursor with which codes."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._x, self._y = -1, -1
        self._pen: Codes = ("?", "?", "?")

    @property
    def text(self) -> str:
        return "".join((*self._parts, "\x1b[0m")) if self._parts else ""

    def cells(self, x: int, y: int, cells: Sequence[Piece]) -> None:
        """Adds cells side by side."""
        if y != self._y or x < self._x:
            self._parts.append(_at(x, y))
        elif x > self._x:
            self._parts.append(f"\x1b[{x - self._x}C")
        for codes, letters in groupby(cells, itemgetter(1)):
            self._write("".join(letter for letter, _codes in letters), codes)
        self._x, self._y = x + len(cells), y

    def rest(self, x: int, y: int, pieces: Sequence[Piece]) -> None:
        """Adds pieces after which the cursor may be in any column."""
        self._parts.append(_at(x, y))
        for piece in pieces:
            self._write(*piece)
        self._y = -1

    def _write(self, text: str, codes: Codes) -> None:
        if switch := _switch(self._pen, codes):
            self._parts.append(switch)
            beneath = self._pen[1] if self._pen[0] == codes[0] else "39"
            self._pen = codes[0], codes[1] or beneath, codes[2]
        self._parts.append(text)


def _runs(changed: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Half-open ranges around some columns, in order."""
    start = end = -1
    for at in changed:
        if start >= 0 and at - end > _NEAR:
            yield start, end
            start = -1
        start, end = start if start >= 0 else at, at + 1
    if start >= 0:
        yield start, end


def _at(x: int, y: int) -> str:
    return f"\x1b[{y + 1};{x + 1}H"


def _strips(update: LayoutUpdate | ChopsUpdate) -> Iterator[tuple[int, int, Strip]]:
    """The strips of an update with column and line; of a partial one, those that its spans touch, whole."""
    if isinstance(update, LayoutUpdate):
        for y, line in enumerate(update.strips, update.region.y):
            x = update.region.x
            for strip in line:
                yield x, y, strip
                x += strip.cell_length
        return
    for y, first, after in update.spans:
        for end, (x, part) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            if part is not None and x < after and end > first:
                yield x, y, part


def _divided(strip: Strip, system: ColorSystem) -> tuple[list[Piece], tuple[Piece, ...]]:
    """The cells of a strip up to the first text with a character that is not one cell wide; and the rest.

    The rest is never sent in part: terminals disagree on how wide such characters are.
    """
    pieces = [(text, _codes(style or Style.null(), system)) for text, style, _control in strip]
    plain: list[Piece] = []
    for at, (text, codes) in enumerate(pieces):
        if not _single(text):
            return plain, tuple(pieces[at:])
        blank = codes if codes[0] else ("", "", codes[2])
        plain += [(letter, blank if letter == " " else codes) for letter in text]
    return plain, ()


@lru_cache(maxsize=4096)
def _single(text: str) -> bool:
    """Whether each character is one cell wide."""
    return text.isascii() or all(cell_len(letter) == 1 for letter in text)


@lru_cache(maxsize=4096)
def _codes(style: Style, system: ColorSystem) -> Codes:
    """Explicit codes, so that each can change alone."""
    text = style.color.downgrade(system).get_ansi_codes() if style.color else ("39",)
    behind = style.bgcolor.downgrade(system).get_ansi_codes(foreground=False) if style.bgcolor else ("49",)
    return Strip.render_ansi(style.without_color, system), ";".join(text), ";".join(behind)


def _switch(pen: Codes, codes: Codes) -> str:
    """The sequence from some codes to others."""
    if pen == codes:
        return ""
    all_of = pen[0] != codes[0]
    wanted = [code for old, code in zip(pen, codes, strict=True) if code and (all_of or old != code)]
    if all_of:
        wanted.insert(0, "0")
    return f"\x1b[{';'.join(wanted)}m" if wanted else ""
