"""What a flush has noted, as its journal keeps it until it is written (design 6.2).

Earlier versions kept what they held in the record of the flush alone, where it is still read. Their journals
are not: the turns of one are on no record, so they are flushed anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from engine.context.flush_record import FlushRecord
from engine.knowledge.edit import Held
from engine.knowledge.item import ITEM_CHARACTERS, Item, Origin, item_id
from engine.knowledge.review import Waiting, waiting_for
from engine.knowledge.session_notes import path_of
from engine.knowledge.work import Work
from engine.store.paths import slugify, valid_session_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted(Work):
    """What is to be written of a flush; its record says nothing yet of what was written and what waits."""

    record: FlushRecord
    day: str


def origin_of(record: FlushRecord, day: str) -> Origin:
    """Where the notes of a flush come from: its session, or its file where that has none or an odd one."""
    is_named = valid_session_id(record.session)
    name = record.session if is_named else slugify(PurePosixPath(record.path).stem)
    return Origin(name, day, (record.first, record.last))


def left_behind(records: Iterable[FlushRecord]) -> list[tuple[Waiting, frozenset[str]]]:
    """Notes that earlier versions held, as the review queue takes them.

    Returns:
        Each with the ids under one of which it is in the queue, if it is: this, or that of a fact.
    """
    found: list[tuple[Waiting, frozenset[str]]] = []
    for record in records:
        day = record.at[:10]
        origin, name = origin_of(record, day), record.session or PurePosixPath(record.path).stem
        for note in record.held:
            if note.id:
                continue
            item = Item("notes", note.text, path_of(note.to, day))
            held = Held(item_id(item, origin.name), item, note.reason, note.read)
            (each,) = waiting_for([held], at=record.at, origin=origin, source=record.path, sha256="")
            fact = item_id(Item("facts", note.text[:ITEM_CHARACTERS]), name)
            found.append((each, frozenset((each.id, fact))))
    return found
