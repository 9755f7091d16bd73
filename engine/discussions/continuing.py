"""Which session a message that is said now belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.conversations.conversations import TurnKey
from engine.discussions.sending import CHANNEL
from engine.errors import PathRefused
from engine.store.paths import valid_session_id
from engine.transcripts.places import head_fields, read_head

if TYPE_CHECKING:
    from engine.store.paths import Workspace


def session_to_continue(workspace: Workspace, key: str) -> str:
    """The session of a turn, if it was begun by sending a message and has not ended; else empty.

    Other agents' sessions are theirs: nothing is written into them from here.
    """
    name = TurnKey.of(key)
    if name is None:
        return ""
    try:
        place = workspace.resolve(name.path)
    except PathRefused:
        return ""
    fields = head_fields(read_head(place), ("session_id", "channel", "ended"))
    session = fields["session_id"]
    if fields["channel"] != CHANNEL or fields["ended"] or not valid_session_id(session):
        return ""
    return session
