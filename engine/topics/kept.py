"""Topics as they were read last, in a file of scratch/ (deletable): most files are the same the next time.

A file counts as the same while it is the same inode, of the same size, and was written and last changed at
the same moment. Nobody can set the last of these, so a file of scratch/ that came with a stranger's workspace
describes none of its topics.
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
"""How topics are read from their files; those of another form are read anew."""
_LIMIT = 64 * 1024**2
_LOCK_WAIT_S = 1.0
_SUM = 9
_SETTLED_NS = 2 * 10**9
"""How long a file must have been left alone: one that is written twice within a tick of the file system's
clock has the same times both times."""

Stamp = tuple[int, int, int, int]
"""Inode, size in bytes, and when it was written and changed, ns."""

_HEAD = [_FORM, [field.name for field in fields(Topic)], [field.name for field in fields(Trigger)]]


def load_kept(files: Files) -> dict[str, tuple[Stamp, Topic]]:
    """The topics that were kept, by path; none where the file is damaged or of another form."""
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
    """Keeps topics. Where that is not possible, their files are read again the next time.

    Args:
        topics: With the stamp that each one's file had before it was read.
    """
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
