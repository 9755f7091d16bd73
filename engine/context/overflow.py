"""What must never be dropped has to fit: system prompt, identity and message (P0)."""

from __future__ import annotations

from collections.abc import Sequence

from engine.context.assemble import BUDGET_SETTING
from engine.context.budget import Piece
from engine.errors import BudgetError

_RESERVE_PART = 32
"""One token in so many is the most that is kept free for the reply."""
_STEP = 256


def reserve_of(budget: int, wanted: int) -> int:
    """Tokens of a budget that are kept free for the reply."""
    return max(0, min(wanted, budget // _RESERVE_PART))


def refuse_overflow(fixed: Sequence[Piece], message: int, budget: int, reserve: int) -> None:
    """Checks that the fixed files and the message fit.

    Args:
        fixed: The pieces of the fixed files.
        message: Tokens of the message.
        budget: Tokens of prompt and reply reserve.
        reserve: Tokens wanted for the reply.

    Raises:
        BudgetError: They do not.
    """
    available, taken = budget - reserve_of(budget, reserve), sum(piece.tokens for piece in fixed)
    free = f"{available:,} of {budget:,} are free beside the reply reserve"
    if taken > available:
        sizes = sorted(fixed, key=lambda each: -each.tokens)
        names = ", ".join(f"{each.section.source or each.section.label} {each.tokens:,}" for each in sizes)
        raise BudgetError(
            f"system prompt and identity take {taken:,} tokens ({names}), and {free}",
            where=BUDGET_SETTING,
            hint="raise the budget or shorten these files",
        )
    if taken + message > available:
        raise BudgetError(
            f"the message takes {message:,} tokens, system prompt and identity take {taken:,}, and {free}",
            where=BUDGET_SETTING,
            hint=f"shorten the message, or raise the budget to {_enough(taken + message, reserve):,}",
        )


def _enough(needed: int, reserve: int) -> int:
    """The least round budget that holds so many tokens beside the reply reserve."""
    budget = -(-needed // _STEP) * _STEP
    while budget - reserve_of(budget, reserve) < needed:
        budget += _STEP
    return budget
