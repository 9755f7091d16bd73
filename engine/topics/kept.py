"""A cache of parsed topics in ``scratch/``, which may be deleted.

A file counts as unchanged if its inode, size, modification and change time are the same. The change time
cannot be set, so a cache that comes with someone else's workspace matches none of its topics.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from engine.store import checked
from engine.topics.model import Topic, Trigger

if TYPE_CHECKING:
    from engine.store.files import Files

KEPT_PATH = "scratch/topics.json"
_FORM = 2
"""Version of the cached form."""
_SETTLED_NS = 2 * 10**9
"""Minimum age of a file: one written twice within a tick of the file system's clock has the same times."""

Stamp = tuple[int, int, int, int]
"""Inode, size in bytes, modification and change time in ns."""

_TOPIC = tuple(fields(Topic))
_TRIGGER = tuple(fields(Trigger))
_TRIGGERS = [field.name for field in _TOPIC].index("triggers")
_WORDS = [field.name for field in _TRIGGER].index("words")
_TUPLES = [place for place, field in enumerate(_TOPIC) if str(field.type).startswith("tuple")]
_HEAD = [_FORM, [field.name for field in _TOPIC], [field.name for field in _TRIGGER]]


def load_kept(files: Files) -> dict[str, tuple[Stamp, Topic]]:
    """The cached topics by path; none if the file is damaged or of another version."""
    data = checked.load(files, KEPT_PATH)
    if data is None:
        return {}
    try:
        head, topics = json.loads(data[checked.SUM :])
        if head != _HEAD:
            return {}
        return {path: (tuple(stamp), _topic(values)) for path, stamp, values in topics}
    except (ValueError, TypeError, IndexError, RecursionError):
        return {}


def is_settled(stamp: Stamp) -> bool:
    """Whether a file is old enough that a later version would have another stamp."""
    return max(stamp[2], stamp[3]) < time.time_ns() - _SETTLED_NS


def keep(files: Files, topics: Iterable[tuple[Stamp, Topic]]) -> None:
    """Caches topics, each with the stamp of its file before it was read. Errors are ignored."""
    records = [(topic.path, stamp, _values(topic)) for stamp, topic in topics if is_settled(stamp)]
    checked.save(files, KEPT_PATH, json.dumps((_HEAD, records), separators=(",", ":")).encode())


def _values(topic: Topic) -> list[object]:
    """The values of a topic, in the order of its fields."""
    values = [getattr(topic, field.name) for field in _TOPIC]
    values[_TRIGGERS] = [[getattr(trigger, field.name) for field in _TRIGGER] for trigger in topic.triggers]
    return values


def _topic(values: list[Any]) -> Topic:
    for trigger in values[_TRIGGERS]:
        trigger[_WORDS] = tuple(trigger[_WORDS])
    values[_TRIGGERS] = [Trigger(*trigger) for trigger in values[_TRIGGERS]]
    for place in _TUPLES:
        values[place] = tuple(values[place])
    return Topic(*values)
