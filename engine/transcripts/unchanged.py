"""Checks that an ended transcript is unchanged (spec 2.1: ``raw/`` is immutable).

One that has not ended grows at its end and gets its header completed, which needs no check. One
that has ended stays as it is. An import may take in what its source got since: then the header holds the
fingerprint of the new text, and the text is no shorter.
"""

from __future__ import annotations

from engine.store.header import locate
from engine.store.yamltext import Mapping
from engine.transcripts.importers.state import STATE_FIELD, read_state
from engine.transcripts.importers.text import BodyDigest


def forbidden_change(before: bytes, after: bytes | None) -> str:
    """The forbidden change made to a transcript, in one clause; empty if none.

    ``before`` is what was committed; ``after`` is ``None`` where the file is gone.
    """
    was = locate(before)
    if before == after or not (was.mapping or Mapping()).get("ended"):
        return ""
    if after is None:
        return "was deleted, though its session has ended"
    now = locate(after)
    state = read_state((now.mapping or Mapping()).get(STATE_FIELD))
    is_imported = state is not None and state.text == BodyDigest([after[now.body :]]).fingerprint
    if is_imported and len(after) - now.body >= len(before) - was.body:
        return ""
    return "was changed, though its session has ended"
