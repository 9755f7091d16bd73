"""Joins the pieces of a compile in order and measures the result (design 5).

Whether what is never dropped fits (P0), how much of the prompt answers the message, and what a larger budget
would have added (spec 6.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace

from engine.context.budget import USEFUL_TOKENS, Cap, Piece, shown_tokens
from engine.context.compiled import (
    HISTORY_LAYER,
    LAST_STABLE_LAYER,
    Density,
    LeftOut,
    Section,
    Slot,
    SlotName,
)
from engine.errors import BudgetError
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
_BUDGET_SETTING = "context_compiler.token_budget"

_RESERVE_PART = 32
"""At most 1/32 of the budget is reserved for the reply."""
_STEP = 256

_ALWAYS_LAYER = 8
"""The last layer that does not depend on the message."""

NEXT_TOKENS = 500
"""By how many tokens the budget would be larger."""
_MARKER_TOKENS = 12
_PARTED_SLOTS = frozenset({"history"})
"""Slots whose left-out entries stand for many pieces."""


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


def reserve_of(budget: int, wanted: int) -> int:
    """Tokens of a budget that are reserved for the reply."""
    return max(0, min(wanted, budget // _RESERVE_PART))


def refuse_overflow(fixed: Sequence[Piece], message: int, budget: int, reserve: int) -> None:
    """Checks that the fixed files and a message of so many tokens fit.

    Args:
        budget: Tokens of prompt and reply reserve.
        reserve: Tokens wanted for the reply.

    Raises:
        BudgetError: They do not fit.
    """
    available, taken = budget - reserve_of(budget, reserve), sum(piece.tokens for piece in fixed)
    free = f"only {available:,} of {budget:,} are available after the reply reserve"
    if taken > available:
        sizes = sorted(fixed, key=lambda each: -each.tokens)
        names = ", ".join(f"{each.section.source or each.section.label} {each.tokens:,}" for each in sizes)
        raise BudgetError(
            f"system prompt and identity take {taken:,} tokens ({names}), but {free}",
            where=_BUDGET_SETTING,
            hint="raise the budget or shorten these files",
        )
    if taken + message > available:
        raise BudgetError(
            f"the message takes {message:,} tokens, system prompt and identity take {taken:,}, but {free}",
            where=_BUDGET_SETTING,
            hint=f"shorten the message, or raise the budget to {_enough(taken + message, reserve):,}",
        )


def _enough(needed: int, reserve: int) -> int:
    """The smallest round budget for so many tokens and the reply reserve."""
    budget = -(-needed // _STEP) * _STEP
    while budget - reserve_of(budget, reserve) < needed:
        budget += _STEP
    return budget


def density_of(pieces: Iterable[Piece]) -> Density:
    """The density of a prompt of these pieces."""
    for_message = always = conversation = 0
    for piece in pieces:
        if is_conversation(piece.section):
            conversation += piece.tokens
        elif is_for_message(piece.section):
            for_message += piece.tokens
        else:
            always += piece.tokens
    return Density(for_message, always, conversation)


def is_conversation(section: Section) -> bool:
    """Whether a section is the message or an earlier turn."""
    return section.slot == "message" or section.layer == HISTORY_LAYER


def is_for_message(section: Section) -> bool:
    """Whether a section is there because it answers the message. Presets are switched on by hand."""
    return section.layer > _ALWAYS_LAYER and section.slot != "preset" and not is_conversation(section)


def next_pieces(
    left_out: Iterable[LeftOut], stable: int, whole: int, labels: frozenset[str]
) -> tuple[LeftOut, ...]:
    """The pieces that would have been added, in order, with the tokens that would have been added of each.

    An estimate from their sizes, without compiling again; a piece that does not fit is added in part if that
    is worth a section.

    Args:
        left_out: In the order of placement.
        stable: Tokens that would be available to layers 6 and 7, which get two thirds of a budget.
        whole: Tokens that would be available to the prompt.
        labels: Labels of sections in the prompt; something left out under one of them is the rest of it.
    """
    found: list[LeftOut] = []
    for missing in left_out:
        if missing.limit != "room" or missing.tokens <= 0:
            continue
        is_known = missing.slot == "knowledge" and missing.priority == 1
        is_stable = is_known or missing.slot in ("memory", "projects")
        is_found = missing.slot == "knowledge" and not is_stable  # excerpts of one file share a label
        is_rest = missing.slot in _PARTED_SLOTS or (missing.label in labels and not is_found)
        marker = 0 if is_rest else _MARKER_TOKENS
        free = (min(stable, whole) if is_stable else whole) - marker
        tokens = min(missing.tokens, free)
        if tokens < missing.tokens and not is_rest and tokens < USEFUL_TOKENS and 4 * tokens < missing.tokens:
            continue
        if tokens <= 0:
            continue
        whole -= tokens + marker
        stable -= (tokens + marker) * is_stable
        if tokens < missing.tokens:
            reason = f"{tokens:,} of its {missing.tokens:,} tokens"
            missing = replace(missing, tokens=tokens, reason=reason)
        found.append(missing)
    return tuple(found)
