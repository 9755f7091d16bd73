"""The budget: how much of the prompt each slot uses, its cap, and what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.context.assemble import NEXT_TOKENS
from engine.context.compiled import Compiled, LeftOut, Slot
from tui.render.draw import FILL, TRACK, Row, bar, clip, clip_start, shares, wrap
from tui.render.figures import count, plural
from tui.render.roles import Roles
from tui.render.safe import first_line

RESERVE = "░"
FILLS = (FILL, FILL, FILL, FILL, FILL)
PLAIN_FILLS = ("█", "▓", "▒", "▚", "▤")
"""Fills by priority without colour."""
FEW = 3
"""Up to this many omitted search results are listed individually."""


def slots_of(compiled: Compiled) -> list[Slot]:
    """The used or capped slots by priority, without the message."""
    shown = [slot for slot in compiled.slots if (slot.used or slot.cap) and slot.name != "message"]
    return sorted(shown, key=lambda slot: slot.priority)


def stacked(compiled: Compiled, width: int, roles: Roles, *, coloured: bool = True) -> Row:
    """The whole budget as one gauge: used by priority, free, reply reserve."""
    fills = FILLS if coloured else PLAIN_FILLS
    slots = sorted((slot for slot in compiled.slots if slot.used > 0), key=lambda slot: slot.priority)
    reserve = shares([compiled.reply_reserve], compiled.budget, width)[0]
    used = sum(slot.used for slot in slots)
    room = min(shares([used], compiled.budget, width)[0], max(0, width - reserve))
    if len(slots) > room:  # too small for one cell each: the largest stand for all
        slots = [slot for slot in slots if slot in sorted(slots, key=lambda slot: -slot.used)[:room]]
    cells = shares([slot.used for slot in slots], used, room)
    if cells:
        cells[cells.index(max(cells))] += room - sum(cells)
    row = Row()
    for slot, number in zip(slots, cells, strict=True):
        row.add(fills[max(0, min(4, slot.priority))] * number, roles.slot(slot.priority))
    row.add(TRACK * max(0, width - row.cells - reserve), roles.faint)
    return row.add(RESERVE * max(0, width - row.cells), roles.faint)


def budget_lines(
    compiled: Compiled | None, width: int, height: int, roles: Roles, *, coloured: bool = True
) -> list[Row]:
    """Draws the panel; it may be taller than ``height``."""
    if compiled is None:
        return [Row(("no prompt", roles.normal)), Row(), *wrap([(_EMPTY, roles.muted)], width)]
    slots = slots_of(compiled)
    roomy = height >= len(slots) + 6
    rows = [stacked(compiled, width, roles, coloured=coloured)]
    if roomy:
        rows.append(density_row(compiled, width, roles))
    used = max([len(count(slot.used)) for slot in slots] + [5])
    caps = max([len(_cap(slot)) for slot in slots] + [0])
    gauge = max(_GAUGE, width - _NAME - used - caps - 2 - any(_is_over(slot) for slot in slots))
    for slot in slots:
        rows.append(_slot_row(slot, compiled, (gauge, used, caps), roles).cut(width))
    message = sum(slot.used for slot in compiled.slots if slot.name == "message")
    if roomy:
        rows.append(Row())
    rows.append(
        Row((f"message {count(message)} · reply reserve {count(compiled.reply_reserve)}", roles.muted))
    )
    rows.extend(_left_out(compiled, width, roles))
    if compiled.next_pieces and roomy:
        rows.append(next_row(compiled, width, roles))
    rows.extend(_footing(compiled, width, roles))
    return rows


_NAME = 13
"""Cells of a slot's priority and name."""
_GAUGE = 4
"""Minimum cells of a slot's gauge."""
_EMPTY = "Select a message in the feed, or press i to try one, to see its prompt."


def _cap(slot: Slot) -> str:
    return f"/{count(slot.cap)}" if slot.cap is not None else ""


def _is_over(slot: Slot) -> bool:
    return slot.cap is not None and slot.used > slot.cap


def _slot_row(slot: Slot, compiled: Compiled, columns: tuple[int, int, int], roles: Roles) -> Row:
    gauge, used, caps = columns
    style = roles.slot(slot.priority)
    whole = slot.cap if slot.cap else compiled.budget - compiled.reply_reserve
    row = Row((f"P{slot.priority} ", style)).fit(slot.name, 10, roles.normal)
    row.extend(bar(slot.used / whole if whole else 0.0, gauge, style, roles.faint)).gap()
    row.fit(count(slot.used), used, roles.error if _is_over(slot) else roles.strong, "right")
    row.fit(_cap(slot), caps, roles.muted)
    return row.add(" !", roles.error) if _is_over(slot) else row


def left_out_line(compiled: Compiled) -> str:
    """``3 left out · 1,940 tok``; empty if nothing was."""
    if not compiled.left_out:
        return ""
    tokens = sum(item.tokens for item in compiled.left_out)
    return f"{count(len(compiled.left_out))} left out · {count(tokens)} tok"


def density_row(compiled: Compiled, width: int, roles: Roles) -> Row:
    """``34 % for this message · 41 % always there · 25 % conversation``, as many parts as fit whole."""
    parts = list(compiled.density.shares)
    while len(" · ".join(parts)) > width:
        parts.pop()
    return Row((" · ".join(parts), roles.muted))


def next_row(compiled: Compiled, width: int, roles: Roles) -> Row:
    """``+500  deploy.md:12-40 180 · 2 more``: what 500 more tokens would have added, best first."""
    first, *others = compiled.next_pieces
    row = Row((f"+{NEXT_TOKENS} ", roles.muted))
    tail = f" {count(first.tokens)}" + (f" · {count(len(others))} more" if others else "")
    name = place(first.source, first.lines) or first_line(first.label)
    room = max(8, width - row.cells - len(tail))
    return row.add(clip_start(name, room), roles.muted).add(clip(tail, width - row.cells), roles.faint)


def alone_and_found(left_out: Sequence[LeftOut]) -> tuple[tuple[LeftOut, ...], tuple[LeftOut, ...]]:
    """Splits what was left out into items listed individually, and search results shown as one group.

    Hundreds of search results can be left out; they must not hide omitted topics or pinned files. Up to
    ``FEW`` search results are listed individually.
    """
    found = tuple(item for item in left_out if item.slot == "knowledge" and item.score is not None)
    if len(found) <= FEW:
        return tuple(left_out), ()
    listed = set(map(id, found))
    return tuple(item for item in left_out if id(item) not in listed), found


def best_of(found: Sequence[LeftOut]) -> LeftOut:
    """The best search result, preferring those that a larger budget would have added."""
    return max(found, key=lambda item: (item.limit != "", item.score or 0.0))


def _left_out(compiled: Compiled, width: int, roles: Roles) -> list[Row]:
    rows: list[Row] = []
    if compiled.left_out:
        alone, found = alone_and_found(compiled.left_out)
        rows.append(Row((left_out_line(compiled), roles.gate)))
        rows.extend(left_out_row(item, width, roles) for item in alone)
        if found:
            rows.extend(_found_rows(found, width, roles))
    if compiled.dropped_turns:
        flushed = f", {compiled.unflushed_turns:,} not flushed" if compiled.unflushed_turns else ""
        dropped = plural(compiled.dropped_turns, "older turn")
        rows.append(Row((f"{dropped} did not fit{flushed}", roles.muted)))
    return rows


def _found_rows(found: Sequence[LeftOut], width: int, roles: Roles) -> list[Row]:
    """``P3 356 search results  41,220``, with the best of them next to it or below."""
    best = best_of(found)
    where = place(best.source, best.lines)
    tokens = sum(item.tokens for item in found)
    label = f"{count(len(found))} search results"
    first = left_out_row(replace(best, source="", label=label, tokens=tokens, reason=""), width, roles)
    beside = Row(("best: ", roles.faint), (where, roles.faint))
    if first.cells + beside.cells <= width:
        return [first.extend(beside)]
    room = max(8, width - _INDENT)
    return [first, Row(("   best ", roles.faint)).add(clip_start(where, room), roles.faint)]


_INDENT = 8
_BESIDE = 64
"""Minimum width for the reason."""


def left_out_row(item: LeftOut, width: int, roles: Roles) -> Row:
    """``P3  deploy.md:12-40   420  reason``."""
    row = Row((f"P{item.priority} ", roles.slot(item.priority)))
    size = count(item.tokens)
    name = place(item.source, item.lines) or first_line(item.label)
    wide = width >= _BESIDE
    room = (width // 2 if wide else width) - row.cells - len(size) - 2
    row.fit(clip_start(name, room), room, roles.normal).gap(2).add(size, roles.muted)
    return row.gap(2).add(clip(first_line(item.reason), width - row.cells), roles.faint) if wide else row


def place(source: str, lines: str) -> str:
    """``knowledge/facts.md:12-40``."""
    return f"{first_line(source)}:{lines}" if source and lines else first_line(source)


def _footing(compiled: Compiled, width: int, roles: Roles) -> list[Row]:
    rows: list[Row] = []
    if compiled.text:
        percent = round(100 * compiled.stable_prefix_length / len(compiled.text))
        breaks = plural(len(compiled.boundaries), "cache boundary", "cache boundaries")
        rows.extend(wrap([(f"stable prefix {percent} % · {breaks}", roles.muted)], width))
    for problem in compiled.problems:
        rows.extend(wrap([("! ", roles.error), (problem, roles.error)], width, indent=2))
    return rows


def budget_state(compiled: Compiled | None) -> str:
    """``6,912/8,192`` for the border."""
    return f"{count(compiled.tokens)}/{count(compiled.budget)} tok" if compiled is not None else ""


def budget_frame(compiled: Compiled | None) -> str:
    """The same with the share that answers the message: ``6,912/8,192 tok · 34 % for message``."""
    shares = compiled.density.shares if compiled is not None else ()
    return " · ".join((budget_state(compiled), *(each.replace("this ", "") for each in shares[:1])))
