"""Whether a transcript that has ended is still what it was (spec 2.1: ``raw/`` is immutable).

One that has not ended grows at its end and gets its header completed, which needs no check. One
that has ended stays as it is. An import may take in what its source got since: then the header holds the
fingerprint of the new text, and the text is no shorter.
"""

from __future__ import annotations

from engine.store.header import locate
from engine.transcripts.importers.state import STATE_FIELD, read_state
from engine.transcripts.importers.text import Measured


def fault_of(before: bytes, after: bytes | None) -> str:
    """What was done to a transcript that must not be, in one clause; empty where nothing was.

    ``before`` is what was committed; ``after`` is ``None`` where the file is gone.
    """
    if before == after or not _field(before, "ended"):
        return ""
    if after is None:
        return "was deleted, though its session has ended"
    if _is_imported(after) and _size(after) >= _size(before):
        return ""
    return "was changed, though its session has ended"


def _is_imported(data: bytes) -> bool:
    """Whether the text below the header is the one that an import says it wrote."""
    state = read_state(_field(data, STATE_FIELD))
    return state is not None and state.text == Measured([data[locate(data).body :]]).fingerprint


def _field(data: bytes, name: str) -> object:
    header: dict[str, object] = dict(locate(data).mapping or {})
    return header.get(name)


def _size(data: bytes) -> int:
    return len(data) - locate(data).body
