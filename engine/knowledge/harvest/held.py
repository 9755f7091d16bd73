"""Which items of a conversation wait for a person (robustness M3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.knowledge.proposed import TOO_LONG, group_of
from engine.provenance.hold import OUTSIDE, Doubt, doubt_of

if TYPE_CHECKING:
    from engine.knowledge.harvest.reading import SourceText
    from engine.knowledge.item import Item


def why_held(item: Item, source: SourceText) -> Doubt | None:
    """Why an item waits for a person; ``None`` when it may be written.

    What is proposed without a model waits anyhow. It says why it was proposed, unless there is a reason to
    look twice: a group of proposals is accepted at once.

    Args:
        item: The item.
        source: The conversation that it was taken out of.
    """
    is_rule = bool(item.why) and item.voice == "person"
    doubt = doubt_of(item.text, source.said, path=item.path, may_order=is_rule)
    if not item.why or (doubt is not None and item.why.startswith(TOO_LONG)):
        return doubt
    if doubt is not None and (
        group_of(doubt.why) == "risky" or (doubt.why == OUTSIDE and item.voice != "person")
    ):
        return doubt
    return Doubt(item.why)
