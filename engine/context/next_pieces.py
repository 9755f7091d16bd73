"""What a larger token budget would have added to a prompt (spec 6.2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from engine.context.budget import USEFUL_TOKENS
from engine.context.compiled import LeftOut

NEXT_TOKENS = 500
"""By how many tokens the budget would be larger."""
_MARKER_TOKENS = 12
_PARTED_SLOTS = frozenset({"history"})
"""Slots whose left-out entries stand for many pieces."""


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
