"""Explains a compiled prompt in plain text: its sections, reasons and costs, and what was left out."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from engine.context.assemble import NEXT_TOKENS
from engine.context.compiled import HISTORY_LAYER, LAST_STABLE_LAYER, LAYERS, Compiled, LeftOut, Section, Slot

_PLACE_MARGIN = 36
"""Columns of a row not available to the path; a longer path is shortened in the middle."""

_REASON = 22
"""Columns usually left for the reason; after a longer path it moves to the next line."""

_BAR = 24
_RETRIEVED_PRIORITY = 3
_TURNS_SHOWN = 4
_RESULTS_SHOWN = 8


def outline(compiled: Compiled, *, width: int = 100) -> str:
    """The sections by layer with the end of the stable prefix marked, the budget, and what was left out.

    ``width``: columns to fill, 80 or more. Control characters are escaped.
    """
    width = max(80, width)
    lines = [*_summary(compiled, width), ""]
    lines += _sections(compiled, width)
    lines += ["", "budget by slot"]
    lines += [_slot(slot, compiled.budget) for slot in compiled.slots if slot.used or slot.cap]
    if compiled.left_out:
        total = sum(left.tokens for left in compiled.left_out)
        lines += ["", f"left out: {len(compiled.left_out)} pieces, {total:,} tokens"]
        lines += _left_out(compiled.left_out, width)
    lines += wrapped(next_line(compiled.next_pieces), width, "", "  ")
    if compiled.problems:
        lines += ["", f"problems: {len(compiled.problems)}"]
        for problem in compiled.problems:
            lines += wrapped(f"- {printable(problem)}", width, "  ", "    ")
    return "\n".join(lines) + "\n"


def _summary(compiled: Compiled, width: int) -> list[str]:
    free = compiled.budget - compiled.reply_reserve - compiled.tokens
    stable = sum(1 for section in compiled.sections if section.layer <= LAST_STABLE_LAYER)
    prefix = f"{compiled.stable_prefix_length:,} characters, {stable} of {len(compiled.sections)} sections"
    if compiled.boundaries:
        prefix += f"; cache boundaries at {', '.join(f'{each:,}' for each in compiled.boundaries)}"
    rows = [
        ("prompt", f"{compiled.tokens:,} of {compiled.budget:,} tokens"),
        ("", f"{compiled.reply_reserve:,} kept for the reply, {free:,} free"),
        *([("density", " · ".join(compiled.density.shares))] if compiled.density.tokens else []),
        ("prefix", prefix),
        ("topics", ", ".join(map(printable, compiled.active_topics)) or "none active"),
    ]
    if compiled.dropped_turns:
        flushed = f", {compiled.unflushed_turns:,} not flushed" if compiled.unflushed_turns else ""
        rows.append(("history", f"{compiled.dropped_turns:,} older turns dropped{flushed}"))
    lines: list[str] = []
    for name, text in rows:
        lines += wrapped(text, width, f"{name:<9}", " " * 9)
    return lines


def next_line(pieces: Sequence[LeftOut]) -> str:
    """``500 more tokens would add: deploy.md:12-40 (180), history 3-9 (60)``."""
    named: list[str] = []
    for missing in pieces:
        kind, _, name = missing.label.partition(":")
        place = missing.source or (f"{kind} {name}" if name else kind)
        lines = f":{missing.lines}" if missing.source and missing.lines else ""
        named.append(f"{printable(place)}{lines} ({missing.tokens:,})")
    added = f": {', '.join(named)}" if named else " nothing"
    return f"{NEXT_TOKENS} more tokens would add{added}"


def _sections(compiled: Compiled, width: int) -> list[str]:
    entries: list[_Row | str] = []
    is_stable = True
    for layer, group in groupby(compiled.sections, key=lambda section: section.layer):
        if is_stable and layer > LAST_STABLE_LAYER:
            is_stable = False
            entries.append(_rule("end of the stable prefix: the same bytes for every message", width))
        sections = list(group)
        entries.append(f"{layer:>2} {LAYERS[layer]}")
        if layer == HISTORY_LAYER and len(sections) > _TURNS_SHOWN:
            entries.append(_turns(sections))
        else:
            entries += [_row(section, section.why) for section in sections]
    return [f"{'tokens':>8}  P   section", *_table(entries, width)]


def _left_out(left_out: Sequence[LeftOut], width: int) -> list[str]:
    entries: list[_Row | str] = []
    results = 0
    folded = [left for left in left_out if left.priority == _RETRIEVED_PRIORITY][_RESULTS_SHOWN:]
    for left in left_out:
        results += left.priority == _RETRIEVED_PRIORITY
        if left.priority != _RETRIEVED_PRIORITY or results <= _RESULTS_SHOWN:
            entries.append(_row(left, left.reason))
        elif left is folded[0]:
            entries.append(
                f"{sum(each.tokens for each in folded):>8,}  P3  {len(folded)} more search results"
            )
    return _table(entries, width)


@dataclass(frozen=True, slots=True)
class _Row:
    tokens: int
    priority: int
    kind: str
    place: str
    score: float | None
    why: str


def _row(entry: Section | LeftOut, why: str) -> _Row:
    kind, _, name = entry.label.partition(":")
    place = entry.source or name
    if entry.source and entry.lines:
        place = f"{entry.source}:{entry.lines}"
    return _Row(entry.tokens, entry.priority, printable(kind), printable(place), entry.score, printable(why))


def _turns(sections: Sequence[Section]) -> _Row:
    first, last = (each.label.partition(":")[2] for each in (sections[0], sections[-1]))
    tokens = sum(each.tokens for each in sections)
    why = f"{len(sections)} turns within the sliding window"
    return _Row(tokens, sections[0].priority, "history", f"{first}-{last}", None, why)


def _table(entries: Sequence[_Row | str], width: int) -> list[str]:
    """Rows in columns as wide as needed; a reason that does not fit beside its row goes below it."""
    rows = [entry for entry in entries if isinstance(entry, _Row)]
    kinds = max((len(row.kind) for row in rows), default=0)
    places = min(max((len(row.place) for row in rows), default=0), width - _PLACE_MARGIN - _REASON)
    is_ranked = any(row.score is not None for row in rows)
    lines: list[str] = []
    for entry in entries:
        if isinstance(entry, str):
            lines.append(entry)
            continue
        score = "" if entry.score is None else f"{entry.score:.2f}"
        place = _shortened(entry.place, width - _PLACE_MARGIN)
        left = f"{entry.tokens:>8,}  P{entry.priority}  {entry.kind:<{kinds}}  {place:<{places}}"
        left += f"  {score:>4}" if is_ranked else ""
        indent = " " * (16 + kinds)
        if len(left) + 2 + len(entry.why) <= width:
            lines.append(f"{left}  {entry.why}".rstrip())
        else:
            lines.append(left.rstrip())
            lines += wrapped(entry.why, width, indent, indent)
    return lines


def _shortened(place: str, limit: int) -> str:
    if len(place) <= limit:
        return place
    end = limit // 2
    return f"{place[: limit - end - 1]}…{place[-end:]}"


def _slot(slot: Slot, budget: int) -> str:
    limit = budget if slot.cap is None else slot.cap
    filled = min(_BAR, -(-_BAR * slot.used // limit)) if limit else _BAR * bool(slot.used)
    cap = "" if slot.cap is None else f" of {slot.cap:,}"
    over = "  over its cap" if slot.cap is not None and slot.used > slot.cap else ""
    return (
        f"  P{slot.priority} {slot.name:<9} {'▇' * filled}{'▁' * (_BAR - filled)} {slot.used:>7,}{cap}{over}"
    )


def _rule(text: str, width: int) -> str:
    return f"── {text} ".ljust(width, "─")


def wrapped(text: str, width: int, first: str, rest: str) -> list[str]:
    """Wraps a text to ``width`` columns; ``first`` precedes the first line and ``rest`` the others."""
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    ) or [first.rstrip()]


def printable(text: str) -> str:
    """A text with its control characters escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
