"""Which items of a conversation wait for a person (robustness M3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.provenance.hold import Doubt, doubt_of

if TYPE_CHECKING:
    from engine.knowledge.harvest.reading import SourceText
    from engine.knowledge.item import Item


def why_held(item: Item, source: SourceText) -> Doubt | None:
    """Why an item waits for a person; ``None`` when it may be written.

    Args:
        item: The item.
        source: The conversation that it was taken out of.
    """
    if item.why:
        return Doubt(item.why)
    return doubt_of(item.text, source.said, path=item.path)
