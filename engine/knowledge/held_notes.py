"""Held notes of a flush wait for a person where everything waits: in the review queue (robustness M3)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engine.knowledge.edit import Held
from engine.knowledge.item import ITEM_CHARACTERS, Item, Origin, item_id
from engine.knowledge.review import waiting_for

if TYPE_CHECKING:
    from engine.context.flush_record import FlushRecord
    from engine.knowledge.review import ReviewQueue


def put_up(queue: ReviewQueue, record: FlushRecord, day: str) -> Sequence[str]:
    """Puts the held notes of a flush up for review; those that wait or were settled already stay as they are.

    A note that is accepted becomes a fact, wherever the model wanted it.

    Args:
        queue: What waits.
        record: The flush.
        day: The day of the turns, ``YYYY-MM-DD``.

    Returns:
        The files that the queue is in.

    Raises:
        WriteFailed, ReadOnly: Some are not recorded.
    """
    origin = Origin(record.session or PurePosixPath(record.path).stem, day)
    items = [
        (
            Item("facts", note.text[:ITEM_CHARACTERS], voice="agent"),
            f"{note.reason} (meant for {note.to})",
            note.read,
        )
        for note in record.held
    ]
    queue.put(
        waiting_for(
            [Held(item_id(item, origin.name), item, why, read) for item, why, read in items],
            at=record.at,
            origin=origin,
            source=record.path,
            sha256="",
            where=lambda _item: (0, ""),
        )
    )
    return queue.paths
