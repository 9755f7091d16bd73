"""Which items of a conversation wait for a person, however they were taken out of it (robustness M3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.knowledge.proposed import TOO_LONG, group_of
from engine.provenance.hold import OUTSIDE, Doubt, doubt_of

if TYPE_CHECKING:
    from engine.knowledge.item import Item
    from engine.provenance.voices import Voices


def why_held(item: Item, said: Voices) -> Doubt | None:
    """Why an item waits for a person; ``None`` when it may be written.

    What is proposed without a model always waits. It says why it was proposed, unless there is a reason to
    look twice: a group of proposals is accepted at once. A note of a session may be in words of the model's
    own, which also says whom it comes from.
    """
    is_note = item.category == "notes"
    is_rule = bool(item.why) and item.voice == "person" and not is_note
    doubt = doubt_of(
        item.text,
        said,
        path="" if is_note else item.path,
        is_tool=is_note and item.voice == "tool",
        needs_ground=not is_note,
        may_order=is_rule,
    )
    if is_note and item.why:
        return Doubt(item.why) if doubt is None or group_of(item.why) == "risky" else doubt
    if not item.why or (doubt is not None and item.why.startswith(TOO_LONG)):
        return doubt
    if doubt is not None and (
        group_of(doubt.why) == "risky" or (doubt.why == OUTSIDE and item.voice != "person")
    ):
        return doubt
    return Doubt(item.why)
