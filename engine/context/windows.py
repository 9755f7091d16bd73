"""Context windows of current models, from the providers' pages in 2026-11.

A model's own tokenizer may count tens of per cent more tokens than o200k, so a budget close to the window is
too large.
"""

from __future__ import annotations

from engine.context.delimiters import one_line
from engine.startup.lazy import expression

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

_EDITION = expression(r"-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest|preview)$")


def window_of(model: str) -> int | None:
    """The context window of a model in tokens, if known.

    Dated versions and names with a provider (``anthropic/claude-opus-5-5``) are recognized.
    """
    return WINDOWS.get(_EDITION.sub("", model.strip().lower().rpartition("/")[2]))


def within_window(budget: int, model: str, window: int | None, notes: list[str]) -> int:
    """A token budget, limited to the model's window if that is known.

    Args:
        model: ``context_compiler.model``; may be empty.
        notes: Problems are added here.
    """
    name = one_line(model, 80) or "the model"
    if window is None:
        if model:
            notes.append(
                f"context_compiler.model: the context window of {name} is not known; set"
                " context_compiler.model_window to its size in tokens"
            )
        return budget
    if budget > window:
        notes.append(
            f"context_compiler.token_budget: {budget:,} tokens exceed the context window of {name};"
            f" using {window:,} until you lower it"
        )
    return min(budget, window)
