"""What was taken out of one conversation, and what that cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.knowledge.item import Item

Outcome = Literal["extracted", "failed", "too-large", "unclear"]


@dataclass(frozen=True, slots=True)
class Extraction:
    """What came of asking about one conversation."""

    outcome: Outcome  # Only ``extracted`` has items. ``unclear``: nothing tells who speaks.
    items: tuple[Item, ...] = ()  # in order, each once
    provider: str = ""  # ``markers`` asks no model
    model: str = ""
    attempts: int = 0  # how often the model was asked for items
    shown: int = 0  # bytes of the conversation that were looked at whole
    size: int = 0  # bytes of the conversation
    summarised: bool = False
    """Only a summary was looked at, made part by part; the parts cover ``shown`` of ``size``."""
    redacted: int = 0  # secrets that were masked before anything was sent
    input_tokens: int = 0
    output_tokens: int = 0  # all calls together, as are the output tokens
    cost_usd: float | None = 0.0  # ``None`` if a price is unknown
    refused: tuple[str, ...] = ()  # a line for each part of the model's reply that could not be used
    error: str = ""  # why there are no items, one line; empty otherwise
    lasting: bool = False  # every other conversation would fail alike until a person changes something

    @property
    def coverage(self) -> float:
        """Share of the conversation that was looked at, 0 to 1."""
        return self.shown / self.size if self.size else 1.0
