"""A traced message with trigger matches and supporting words marked.

Trigger matches are underlined; words that tier 2 counted for the topic are in italics. If there is room,
signs below the line show the same: solid for a trigger, dashed for a word, heavy for a strong one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len
from rich.style import Style

from engine.activation.trace import TopicTrace
from tui.render.draw import Piece, Row, wrap
from tui.render.figures import clock
from tui.render.roles import Roles
from tui.render.shown import Shown
from tui.render.table import Table

HIT_SIGN, STRONG_SIGN, WEAK_SIGN = "━", "┉", "┈"
STRONG = 0.5
"""Minimum weight of a strong word, from 0 to 1."""

Marks = Literal["signs", "brackets", "style"]
_Spans = Sequence[tuple[int, int]]
_LEAD = 16
_LINES = {ord("\n"): " ", ord("\r"): " ", ord("\t"): " "}


@dataclass(frozen=True, slots=True)
class MarkStyles:
    """Styles for the topic's trigger matches, strong and weak words, and other topics' matches."""

    hit: Style
    strong: Style
    weak: Style
    other: Style

    @classmethod
    def of(cls, roles: Roles) -> MarkStyles:
        """The styles of a theme; they differ by more than colour."""
        return cls(
            hit=roles.tier1 + Style(bold=True, underline=True),
            strong=roles.tier2 + Style(bold=True, italic=True),
            weak=roles.tier2 + Style(bold=False, italic=True),
            other=roles.tier1 + Style(bold=True),
        )


def message_rows(shown: Shown, table: Table, width: int, limit: int, roles: Roles) -> list[Row]:
    """The message in at most ``limit`` lines, with the marks of all topics; kind and time on the right."""
    if shown.source == "nothing":
        return []
    selected = table.rows[table.selected] if table.rows else None
    text = shown.trace.message.text if shown.trace is not None else shown.text
    who = _who(shown)
    room = width * limit - len(who) - 3
    others = [span for row in table.rows for span in _hits(row, len(text))]
    layers, styles = _layers(selected, len(text), roles), MarkStyles.of(roles)
    start = _start(text, [span for spans, _style in layers for span in spans] or others, room)
    stop = start + room * 2
    pieces = _painted(text, start, stop, [(others, styles.other), *layers], roles.strong)
    if start:
        pieces.insert(0, ("…", roles.faint))
    rows = wrap(pieces, width if limit > 1 else width - len(who) - 2)
    cut = len(rows) > limit or stop < len(text)
    rows = rows[:limit]
    if cut:
        rows[-1].add("…", roles.faint)
    if rows[-1].cells + len(who) + 2 > width and len(rows) < limit:
        rows.append(Row())
    rows[-1].right(Row((who, roles.muted)), width)
    return rows


def message_block(
    text: str, row: TopicTrace, width: int, limit: int, roles: Roles, *, marks: Marks = "signs"
) -> list[Row]:
    """The message as one topic saw it, in at most ``limit`` lines.

    Args:
        limit: Lines of text, not counting signs and legend.
        marks: ``signs`` below marked text, ``brackets`` around it (``[matched]``, ``‹word›``), or only its
            ``style``.
    """
    layers, styles = _layers(row, len(text), roles), MarkStyles.of(roles)
    spans = [span for found, _style in layers for span in found]
    start = _start(text, spans, width * limit)
    stop = start + width * limit * 2
    pieces = _painted(text, start, stop, layers, roles.normal)
    if marks == "brackets":
        ends = {styles.hit: "[]", styles.strong: "‹›", styles.weak: "‹›"}
        pieces = [
            (f"{ends[style][0]}{part}{ends[style][1]}" if style in ends else part, style)
            for part, style in pieces
        ]
    if start:
        pieces.insert(0, ("…", roles.faint))
    rows = wrap(pieces, width - 1)
    if len(rows) > limit or stop < len(text):
        rows = rows[:limit]
        rows[-1].add("…", roles.faint)
    if marks != "signs":
        return rows
    marked = [
        line for text_line in rows for line in (text_line, _signs(text_line, styles)) if line is not None
    ]
    return [*marked, *_legend(row, len(text), roles)]


def word_texts(text: str, row: TopicTrace) -> list[str]:
    """The distinct words that supported a topic, strongest first."""
    spans = [span for span in row.words if 0 <= span.start < span.end <= len(text)]
    spans.sort(key=lambda span: (-span.weight, span.start))
    words: dict[str, str] = {}
    for span in spans:
        word = text[span.start : span.end]
        words.setdefault(word.casefold(), word)
    return list(words.values())


def _hits(row: TopicTrace, length: int) -> list[tuple[int, int]]:
    """The spans of a topic's trigger matches within a text."""
    return [(hit.start, hit.end) for hit in row.hits if 0 <= hit.start < hit.end <= length]


def _layers(row: TopicTrace | None, length: int, roles: Roles) -> list[tuple[_Spans, Style]]:
    """The spans to mark for a topic; later ones are drawn on top."""
    if row is None:
        return []
    styles = MarkStyles.of(roles)
    words = [span for span in row.words if 0 <= span.start < span.end <= length]
    weak = [(span.start, span.end) for span in words if span.weight < STRONG]
    strong = [(span.start, span.end) for span in words if span.weight >= STRONG]
    return [(weak, styles.weak), (strong, styles.strong), (_hits(row, length), styles.hit)]


def _start(text: str, spans: _Spans, room: int) -> int:
    """The start offset that makes the first mark visible."""
    first = min((start for start, _end in spans), default=0)
    if first <= room - 12:
        return 0
    start = max(0, first - _LEAD)
    return text.find(" ", start, first) + 1 or start


def _painted(
    text: str, start: int, stop: int, layers: Sequence[tuple[_Spans, Style]], plain: Style
) -> list[Piece]:
    """Part of a text with its marks, on one line."""
    window = text[start:stop].translate(_LINES)
    paint = [plain] * len(window)
    for spans, style in layers:
        for a, b in spans:
            a, b = max(a - start, 0), min(b - start, len(window))
            if a < b:
                paint[a:b] = [style] * (b - a)
    pieces: list[Piece] = []
    at = 0
    for end in range(1, len(window) + 1):
        if end == len(window) or paint[end] != paint[at]:
            pieces.append((window[at:end], paint[at]))
            at = end
    return pieces


def _signs(line: Row, styles: MarkStyles) -> Row | None:
    """The signs below a line; ``None`` if it has no marks."""
    signs = {styles.hit: HIT_SIGN, styles.strong: STRONG_SIGN, styles.weak: WEAK_SIGN}
    colours = {style: style + Style(bold=False, italic=False, underline=False) for style in signs}
    below = Row()
    for text, style in line.pieces:
        if style in signs:
            below.add(signs[style] * cell_len(text), colours[style])
        else:
            below.gap(cell_len(text))
    return below if below.text.strip() else None


def _legend(row: TopicTrace, length: int, roles: Roles) -> list[Row]:
    """The meanings of the signs in use."""
    (weak, _), (strong, _), (hits, _) = _layers(row, length, roles)
    signs = (
        (hits, HIT_SIGN, roles.tier1 + Style(underline=False), "matched by a trigger"),
        (strong, STRONG_SIGN, roles.tier2, "supporting word"),
        (weak, WEAK_SIGN, roles.tier2, "weakly supporting word"),
    )
    legend = Row()
    for spans, sign, style, meaning in signs:
        if spans:
            legend.gap(3 if legend.cells else 0).add(sign, style).add(f" {meaning}", roles.faint)
    return [legend] if legend.cells else []


def _who(shown: Shown) -> str:
    if shown.source == "draft":
        return "typing"
    if shown.source == "kept":
        return "tried"
    if shown.entry is None:
        return ""
    return f"{shown.entry.kind} · {clock(shown.entry.at)}"
