"""Checks that a transcript does not change after its session has ended (spec 2.1: ``raw/`` is immutable).

Before that, it grows at its end and its header is completed, which needs no check. Only an import may change
an ended one, to add what its source gained since: then the header has the fingerprint of the new text, and
the text is no shorter.
"""

from __future__ import annotations

from engine.store.header import locate
from engine.store.yamltext import Mapping
from engine.transcripts.importers.state import STATE_FIELD, read_state
from engine.transcripts.importers.text import BodyDigest


def forbidden_change(before: bytes, after: bytes | None) -> str:
    """Describe a forbidden change to a transcript in one clause; empty if there is none.

    ``before`` is the committed content; ``after`` is ``None`` if the file was deleted.
    """
    was = locate(before)
    if before == after or not (was.mapping or Mapping()).get("ended"):
        return ""
    if after is None:
        return "was deleted although its session has ended"
    now = locate(after)
    state = read_state((now.mapping or Mapping()).get(STATE_FIELD))
    is_imported = state is not None and state.text == BodyDigest([after[now.body :]]).fingerprint
    if is_imported and len(after) - now.body >= len(before) - was.body:
        return ""
    return "was changed although its session has ended"
