"""A cache of parsed topics in ``scratch/``, which may be deleted.

A file counts as unchanged if its inode, size, modification and change time are the same. The change time
cannot be set, so a cache that comes with someone else's workspace matches none of its topics.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from engine.errors import AutopoiesisError
from engine.topics.model import Topic, Trigger

if TYPE_CHECKING:
    from engine.store.files import Files

KEPT_PATH = "scratch/topics.json"
_FORM = 1
"""Version of the cached form."""
_LIMIT = 64 * 1024**2
_LOCK_WAIT_S = 1.0
_SUM = 9
_SETTLED_NS = 2 * 10**9
"""Minimum age of a file: one written twice within a tick of the file system's clock has the same times."""

Stamp = tuple[int, int, int, int]
"""Inode, size in bytes, modification and change time in ns."""

_HEAD = [_FORM, [field.name for field in fields(Topic)], [field.name for field in fields(Trigger)]]


def load_kept(files: Files) -> dict[str, tuple[Stamp, Topic]]:
    """The cached topics by path; none if the file is damaged or of another version."""
    try:
        data = files.read(KEPT_PATH, limit=_LIMIT)
        if data[:_SUM] != b"%08x\n" % zlib.crc32(memoryview(data)[_SUM:]):
            return {}
        head, topics = json.loads(memoryview(data)[_SUM:].tobytes())
        if head != _HEAD:
            return {}
        return {path: (tuple(stamp), _topic(record)) for path, stamp, record in topics}
    except (OSError, AutopoiesisError, ValueError, TypeError, KeyError, RecursionError):
        return {}


def keep(files: Files, topics: Iterable[tuple[Stamp, Topic]]) -> None:
    """Caches topics, each with the stamp of its file before it was read. Errors are ignored."""
    settled = time.time_ns() - _SETTLED_NS
    records = [
        (topic.path, stamp, _record(topic)) for stamp, topic in topics if max(stamp[2], stamp[3]) < settled
    ]
    data = json.dumps((_HEAD, records), separators=(",", ":")).encode()
    if _SUM + len(data) > _LIMIT:
        return
    try:
        with files.lock(timeout=_LOCK_WAIT_S):
            files.replace(KEPT_PATH, b"%08x\n" % zlib.crc32(data) + data)
    except AutopoiesisError:
        return


def _record(topic: Topic) -> dict[str, object]:
    triggers = [[getattr(trigger, field.name) for field in fields(Trigger)] for trigger in topic.triggers]
    return {field.name: getattr(topic, field.name) for field in fields(Topic)} | {"triggers": triggers}


def _topic(record: Mapping[str, Any]) -> Topic:
    triggers = tuple(Trigger(*map(_frozen, values)) for values in record["triggers"])
    return Topic(**{name: _frozen(value) for name, value in record.items()} | {"triggers": triggers})


def _frozen(value: Any) -> Any:
    return tuple(value) if type(value) is list else value
