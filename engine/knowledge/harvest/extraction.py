"""What was taken out of one conversation, and what that took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.knowledge.item import Item

Outcome = Literal["extracted", "failed", "too-large", "unclear"]


@dataclass(frozen=True, slots=True)
class Extraction:
    """What came of asking about one conversation.

    Attributes:
        outcome: Only ``extracted`` has items. ``unclear``: nothing tells who speaks.
        items: What it taught, in order, each once.
        provider: Who was asked; ``markers`` asks nobody.
        model: Its model.
        attempts: How often it was asked for items.
        shown: Bytes of the conversation that were looked at whole.
        size: Bytes of the conversation.
        summarised: Only a summary was looked at, made part by part; of ``size`` the parts cover ``shown``.
        redacted: Places from which something that looks like a key was taken before it was sent.
        input_tokens, output_tokens: All calls together.
        cost_usd: What they cost; ``None`` where a price is not known.
        refused: A line for everything in the model's reply that could not be used.
        error: Why there are no items, one line; empty otherwise.
        lasting: Every other conversation would fail alike until a person changes something.
    """

    outcome: Outcome
    items: tuple[Item, ...] = ()
    provider: str = ""
    model: str = ""
    attempts: int = 0
    shown: int = 0
    size: int = 0
    summarised: bool = False
    redacted: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    refused: tuple[str, ...] = ()
    error: str = ""
    lasting: bool = False

    @property
    def coverage(self) -> float:
        """Share of the conversation that was looked at, 0 to 1."""
        return self.shown / self.size if self.size else 1.0
