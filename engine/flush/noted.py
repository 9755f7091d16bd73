"""What a flush has noted, as its journal keeps it until it is written (design 6.2).

Earlier versions kept lines in a form of their own, and what they held in the record of the flush alone; both
are still read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from engine.context.flush_record import FlushRecord, record_in
from engine.knowledge.edit import Edit, Held
from engine.knowledge.harvest.finding import work_of, work_tree
from engine.knowledge.item import ITEM_CHARACTERS, Item, Origin, item_id
from engine.knowledge.review import Waiting, waiting_for
from engine.knowledge.session_notes import edit_for, path_of
from engine.store.paths import slugify, valid_session_id


@dataclass(frozen=True, slots=True)
class Noted:
    """What is to be written.

    Attributes:
        record: The flush, without what was written and what waits.
        day: The day of its turns, ISO 8601.
        edits: The lines.
        waiting: What is put up for review.
    """

    record: FlushRecord
    day: str
    edits: tuple[Edit, ...]
    waiting: tuple[Waiting, ...]


def origin_of(record: FlushRecord, day: str) -> Origin:
    """Where the notes of a flush come from: its session, or its file where that has none or an odd one."""
    is_named = valid_session_id(record.session)
    name = record.session if is_named else slugify(PurePosixPath(record.path).stem)
    return Origin(name, day, (record.first, record.last))


def encoded(noted: Noted) -> bytes:
    """What was noted as its journal holds it."""
    tree = {"record": asdict(noted.record), "day": noted.day, **work_tree(noted.edits, noted.waiting)}
    return json.dumps(tree).encode()


def decoded(data: bytes) -> Noted | None:
    """What a journal says was noted; ``None`` where it says nothing."""
    try:
        tree = json.loads(data)
        record, day = record_in(tree["record"]), tree["day"]
        if record is None or not isinstance(day, str):
            return None
        if "lines" in tree:
            return Noted(record, day, *_earlier(tree["lines"], record, day))
        return Noted(record, day, *work_of(tree))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def left_behind(records: Iterable[FlushRecord]) -> list[tuple[Waiting, frozenset[str]]]:
    """Notes that earlier versions held, as the review queue takes them.

    Args:
        records: The flushes.

    Returns:
        Each with the ids under one of which it is in the queue, if it is: this, or that of a fact.
    """
    found: list[tuple[Waiting, frozenset[str]]] = []
    for record in records:
        name = record.session or PurePosixPath(record.path).stem
        for note, each in zip(record.held, _waiting(record, record.at[:10]), strict=True):
            if not note.id:
                fact = item_id(Item("facts", note.text[:ITEM_CHARACTERS]), name)
                found.append((each, frozenset((each.id, fact))))
    return found


def _earlier(
    lines: Iterable[Mapping[str, Any]], record: FlushRecord, day: str
) -> tuple[tuple[Edit, ...], tuple[Waiting, ...]]:
    """The lines and what waits, out of an earlier version's journal.

    Raises:
        KeyError, TypeError: It does not hold them.
    """
    edits: list[Edit] = []
    for line in lines:
        if not all(isinstance(text, str) for text in line.values()):
            raise TypeError("a field is no text")
        item = Item("notes", line["said"], path_of(line["to"], day))
        edits.append(replace(edit_for(item, origin_of(record, day)), line=line["text"]))
    return tuple(edits), _waiting(record, day)


def _waiting(record: FlushRecord, day: str) -> tuple[Waiting, ...]:
    """What a record says was held."""
    origin = origin_of(record, day)
    items = [Item("notes", note.text, path_of(note.to, day)) for note in record.held]
    held = [
        Held(item_id(item, origin.name), item, note.reason, note.read)
        for item, note in zip(items, record.held, strict=True)
    ]
    return waiting_for(held, at=record.at, origin=origin, source=record.path, sha256="")
