"""Puts the pieces of a compile in order and measures the result (design 5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from engine.context import tokens
from engine.context.budget import Count, Piece, Placement
from engine.context.caps import Cap, shown_tokens
from engine.context.compiled import LAST_STABLE_LAYER, Section, Slot, SlotName
from engine.errors import BudgetError

PRIORITIES: dict[SlotName, int] = {
    "system": 0,
    "identity": 0,
    "memory": 1,
    "journal": 1,
    "projects": 1,
    "preset": 2,
    "topics": 2,
    "knowledge": 3,
    "history": 4,
    "message": 0,
}
"""The slots in the order of the budget table (spec 6.2), with the priority of what fills them."""

_BREAKPOINT_LAYERS = (5, 6, 7)


HISTORY_LAYER = 11
BUDGET_SETTING = "context_compiler.token_budget"
_RETRIEVED_PRIORITY = 3


@dataclass(frozen=True, slots=True)
class Assembled:
    """The prompt as one text, with the offsets that caching needs. Fields as in ``Compiled``."""

    text: str
    tokens: int
    sections: tuple[Section, ...]
    stable_prefix_length: int
    boundaries: tuple[int, ...]


def assemble(pieces: Iterable[Piece], count: Count) -> Assembled:
    """Join pieces by layer, and within a layer by their order.

    The tokens of the parts add up (``delimiters.GAP``); of another tokenizer the whole is counted.
    """
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
        tokens=sum(piece.tokens for piece in ordered) if count is tokens.count else count(text),
        sections=tuple(piece.section for piece in ordered),
        stable_prefix_length=stable,
        boundaries=tuple(boundaries),
    )


def within_budget(placement: Placement, count: Count, available: int) -> tuple[Assembled, int]:
    """The assembled prompt, and how many turns were dropped so that the whole fits.

    The whole is counted: o200k's parts add up, another tokenizer's might not.

    Raises:
        BudgetError: What may never be dropped takes more than ``available`` tokens.
    """
    turns = 0
    assembled = assemble(placement.pieces, count)
    while assembled.tokens > available:
        removable = [piece for piece in placement.pieces if piece.section.priority]
        if not removable:
            raise BudgetError(
                f"the fixed text takes {assembled.tokens:,} tokens of {available:,}",
                where=BUDGET_SETTING,
                cure="raise the budget or shorten the identity files",
            )
        volatile = [piece for piece in removable if piece.section.layer > LAST_STABLE_LAYER]
        worst = max(piece.section.priority for piece in volatile or removable)
        group = [piece for piece in volatile or removable if piece.section.priority == worst]
        # The excerpts share one block and go together; of the rest, what got room last goes first.
        for piece in group if worst == _RETRIEVED_PRIORITY else group[-1:]:
            placement.remove(piece, "the prompt as a whole was longer than its parts")
            turns += piece.section.layer == HISTORY_LAYER
        assembled = assemble(placement.pieces, count)
    return assembled, turns


def slots(
    pieces: Iterable[Piece], caps: Mapping[SlotName, Sequence[Cap]], available: int, *, without: Set[SlotName]
) -> tuple[Slot, ...]:
    """Use against cap, in tokens.

    Args:
        pieces: What is in the prompt; a slot is charged for its markers as well.
        caps: By slot; slots without a cap take what remains. One in KiB is shown in the tokens that so many
            bytes of the slot's own text make, so that ``used`` exceeds it when the bytes do.
        available: Tokens of the whole prompt: no cap is shown larger.
        without: Slots that are shown only when they are used.
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
