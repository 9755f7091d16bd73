"""Checks that the parts that are never dropped fit: system prompt, identity and message (P0)."""

from __future__ import annotations

from collections.abc import Sequence

from engine.context.assemble import BUDGET_SETTING
from engine.context.budget import Piece
from engine.errors import BudgetError

_RESERVE_PART = 32
"""At most 1/32 of the budget is reserved for the reply."""
_STEP = 256


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
            where=BUDGET_SETTING,
            hint="raise the budget or shorten these files",
        )
    if taken + message > available:
        raise BudgetError(
            f"the message takes {message:,} tokens, system prompt and identity take {taken:,}, but {free}",
            where=BUDGET_SETTING,
            hint=f"shorten the message, or raise the budget to {_enough(taken + message, reserve):,}",
        )


def _enough(needed: int, reserve: int) -> int:
    """The smallest round budget for so many tokens and the reply reserve."""
    budget = -(-needed // _STEP) * _STEP
    while budget - reserve_of(budget, reserve) < needed:
        budget += _STEP
    return budget
