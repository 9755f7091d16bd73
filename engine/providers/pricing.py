"""What the models that answer gate questions cost (spec 12.1). Dated: look again when the date is old."""

from __future__ import annotations

import re
from typing import NamedTuple

AS_OF = "2026-11"
"""When the prices below were read from the providers' price pages."""


class Price(NamedTuple):
    """US dollars per million tokens."""

    input: float
    output: float


PRICES: dict[str, Price] = {
    "claude-haiku-5-5": Price(0.10, 0.50),  # prompts up to 100,000 tokens; a gate question has about 400
    "claude-haiku-4-5": Price(1.00, 5.00),
    "claude-sonnet-5-5": Price(2.00, 10.00),
    "claude-sonnet-5": Price(2.00, 10.00),
    "claude-sonnet-4-6": Price(3.00, 15.00),
    "claude-opus-5-5": Price(4.00, 20.00),
    "gpt-6-luna": Price(0.10, 0.50),
    "gpt-6-sol": Price(2.00, 10.00),
    "gpt-5.6-luna": Price(0.20, 1.20),
    "gpt-5.6-terra": Price(2.00, 12.00),
    "gpt-5.6-sol": Price(5.00, 30.00),
    "gpt-5-nano": Price(0.05, 0.40),
    "gpt-4.1-nano": Price(0.10, 0.40),
    "gpt-4o-mini": Price(0.15, 0.60),
    "gemini-3.5-flash-lite": Price(0.30, 2.50),  # thinking is billed as output; it is asked to do none
    "gemini-3.1-flash-lite": Price(0.25, 1.50),
    "gemini-2.5-flash-lite": Price(0.10, 0.40),
}

DEFAULT_MODELS = {
    "anthropic": "claude-haiku-5-5",
    "openai": "gpt-6-luna",
    "gemini": "gemini-3.5-flash-lite",
}
"""The cheapest current model of each provider that answers such questions well."""

ALIASES = {
    "haiku": "claude-haiku-5-5",
    "sonnet": "claude-sonnet-5-5",
    "opus": "claude-opus-5-5",
    "flash-lite": "gemini-3.5-flash-lite",
}
"""Short names, as the specification's ``gate_model: haiku``."""

_SNAPSHOT = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2})$")


def model_named(provider: str, name: str) -> str:
    """The model a setting means: an alias spelled out, nothing at all the provider's default."""
    return ALIASES.get(name, name) if name else DEFAULT_MODELS[provider]


def cost_of(model: str, input_tokens: int, output_tokens: int) -> float | None:
    """US dollars for a call; ``None`` when the model's price is not known. Dated snapshots cost the same."""
    price = PRICES.get(_SNAPSHOT.sub("", model))
    if price is None:
        return None
    return (input_tokens * price.input + output_tokens * price.output) / 1_000_000
