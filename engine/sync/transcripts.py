"""Merges two versions of a conversation: the longer one if it continues the other, otherwise both are kept.

Two diverged conversations are never interleaved.
"""

from __future__ import annotations

import re

from engine.errors import DocumentError
from engine.store.documents import edit_header
from engine.store.header import locate

_NAME = re.compile(r"(.*/)?([0-9]{4}-)(.+)\.md", re.DOTALL)
_SHORT = 8


def longer(ours: bytes, theirs: bytes) -> bytes | None:
    """The version that continues the other; ``None`` if they diverged.

    Headers are compared by their keys: fields are added when a session ends.
    """
    (left, mine), (right, other) = _parts(ours), _parts(theirs)
    if mine == other:
        return ours if len(left) >= len(right) else theirs
    if mine.startswith(other):
        return ours if right.keys() <= left.keys() else None
    if other.startswith(mine):
        return theirs if left.keys() <= right.keys() else None
    return None


def _parts(data: bytes) -> tuple[dict[str, object], bytes]:
    found = locate(data)
    # A new session has only a title line; the blank line below it makes no difference.
    return dict(found.mapping or {}), data[found.body :].rstrip(b"\n") if found.mapping else data


def as_own_session(path: str, data: bytes, name: str) -> tuple[str, bytes]:
    """Path and bytes of a second version, as a separate session.

    Args:
        name: The blob name of the version, so that it always gets the same path.
    """
    short = name[:_SHORT]
    header = locate(data).mapping
    session = str(header.get("session_id", "")) if header else ""
    found = _NAME.fullmatch(path)
    if session and found and found[3].startswith(f"{session}-"):
        other = f"{session}.{short}"
        try:
            edited = edit_header(data, {"session_id": other}, path)
        except DocumentError:
            pass
        else:
            return f"{found[1] or ''}{found[2]}{other}{found[3][len(session) :]}.md", edited
    stem, dot, suffix = path.rpartition(".")
    return (f"{stem}-{short}.{suffix}" if dot and "/" not in suffix else f"{path}-{short}"), data
