"""How much the current models take, as the providers' pages said in 2026-11: look again when that is old.

A model's own tokenizer may count some tenths more tokens than o200k does, so a budget near the window is too
close.
"""

from __future__ import annotations

import re

from engine.context.delimiters import one_line

WINDOWS: dict[str, int] = {
    "claude-fable-5-1": 1_000_000,
    "claude-opus-5-5": 1_000_000,
    "claude-opus-5": 1_000_000,
    "claude-sonnet-5-5": 1_000_000,
    "claude-sonnet-5": 1_000_000,
    "claude-haiku-5-5": 1_000_000,
    "claude-opus-4-6": 200_000,  # without the long-context option that some accounts have
    "claude-sonnet-4-6": 200_000,
    "claude-sonnet-4-5": 200_000,
    "claude-haiku-4-5": 200_000,
    "gpt-6-sol": 1_050_000,  # of which 922,000 are input
    "gpt-6-luna": 1_050_000,
    "gpt-5.6-sol": 1_050_000,
    "gpt-5.6-terra": 1_050_000,
    "gpt-5.6-luna": 1_050_000,
    "gpt-5.4-mini": 400_000,
    "gpt-5.4-nano": 400_000,
    "gpt-5.2": 400_000,
    "gpt-5-mini": 400_000,
    "gpt-5-nano": 400_000,
    "gpt-4.1": 1_047_576,
    "gpt-4.1-mini": 1_047_576,
    "gpt-4.1-nano": 1_047_576,
    "gpt-4o": 128_000,
    "gpt-4o-mini": 128_000,
    "gemini-3.8-flash": 1_048_576,
    "gemini-3.7-flash": 1_048_576,
    "gemini-3.6-flash": 1_048_576,
    "gemini-3.5-flash": 1_048_576,
    "gemini-3.5-flash-lite": 1_048_576,
    "gemini-3.1-pro": 1_048_576,
    "gemini-3.1-flash-lite": 1_048_576,
    "gemini-2.5-pro": 1_048_576,
    "gemini-2.5-flash": 1_048_576,
    "gemini-2.5-flash-lite": 1_048_576,
}
"""Context window in tokens by model."""

_EDITION = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest|preview)$")


def window_of(model: str) -> int | None:
    """Tokens that a model takes; ``None`` when it is not known.

    Dated editions and names as a router writes them (``anthropic/claude-opus-5-5``) are known too.
    """
    return WINDOWS.get(_EDITION.sub("", model.strip().lower().rpartition("/")[2]))


def within_window(budget: int, model: str, window: int | None, notes: list[str]) -> int:
    """A token budget, or the window of the model where that is less.

    Args:
        model: ``context_compiler.model``; may be empty.
        window: ``None`` where it is not known.
        notes: Gets a line where there is something to say.
    """
    name = one_line(model, 80) or "the model"
    if window is None:
        if model:
            notes.append(
                f"context_compiler.model: how much {name} takes is not known; set"
                " context_compiler.model_window to its tokens"
            )
        return budget
    if budget > window:
        notes.append(
            f"context_compiler.token_budget: {budget:,} tokens are more than {name} takes; {window:,} are"
            " used until you lower it"
        )
    return min(budget, window)
