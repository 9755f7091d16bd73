"""Joins the pieces of a compile in order and measures the result (design 5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

from engine.context.budget import Cap, Piece, shown_tokens
from engine.context.compiled import LAST_STABLE_LAYER, Section, Slot, SlotName
from engine.startup.records import dataclass

PRIORITIES: dict[SlotName, int] = {
    "system": 0,
    "identity": 0,
    "rules": 1,
    "memory": 1,
    "journal": 1,
    "projects": 1,
    "preset": 2,
    "topics": 2,
    "knowledge": 3,
    "history": 4,
    "message": 0,
}
"""The slots in the order of the budget table (spec 6.2), with the priority of their contents."""

_BREAKPOINT_LAYERS = (5, 6, 7)
HISTORY_LAYER = 11
BUDGET_SETTING = "context_compiler.token_budget"


@dataclass(frozen=True, slots=True)
class Assembled:
    """The prompt as one text, with the offsets that caching needs. Fields as in ``Compiled``."""

    text: str
    tokens: int
    sections: tuple[Section, ...]
    stable_prefix_length: int
    boundaries: tuple[int, ...]


def assemble(pieces: Iterable[Piece]) -> Assembled:
    """Joins pieces by layer and order; their tokens add up (``delimiters.GAP``)."""
    ordered = sorted(pieces, key=lambda piece: (piece.section.layer, piece.order))
    ends: dict[int, int] = {}
    offset = 0
    stable = 0
    for piece in ordered:
        offset += len(piece.rendered)
        ends[piece.section.layer] = offset
        if piece.section.layer <= LAST_STABLE_LAYER:
            stable = offset
    boundaries: dict[int, None] = {}
    for layer in _BREAKPOINT_LAYERS:
        end = max((end for each, end in ends.items() if each <= layer), default=0)
        if end:
            boundaries[end] = None
    text = "".join(piece.rendered for piece in ordered)
    return Assembled(
        text=text,
        tokens=sum(piece.tokens for piece in ordered),
        sections=tuple(piece.section for piece in ordered),
        stable_prefix_length=stable,
        boundaries=tuple(boundaries),
    )


def slots(
    pieces: Iterable[Piece], caps: Mapping[SlotName, Sequence[Cap]], available: int, *, without: Set[SlotName]
) -> tuple[Slot, ...]:
    """Used tokens, including markers, and caps of the slots.

    Args:
        caps: By slot. A cap in KiB is converted at the slot's own ratio of tokens to bytes, so that ``used``
            exceeds it when the bytes do.
        available: Tokens of the whole prompt, the upper limit of every cap.
        without: Slots that are only listed if used.
    """
    used = dict.fromkeys(PRIORITIES, 0)
    size = dict.fromkeys(PRIORITIES, 0)
    for piece in pieces:
        used[piece.section.slot] += piece.tokens
        size[piece.section.slot] += len(piece.section.text.encode("utf-8"))
    return tuple(
        Slot(name, priority, used[name], shown_tokens(caps.get(name, ()), used[name], size[name], available))
        for name, priority in PRIORITIES.items()
        if used[name] or name not in without
    )
