"""A feed row in full: a message with its time, session and agent, or a file."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from engine.conversations.conversations import TurnKey
from engine.errors import AutopoiesisError
from engine.transcripts.places import head_fields, read_head
from tui.kit.overlays import Builder
from tui.render.draw import Row, labelled, wrap
from tui.render.figures import clock, local
from tui.render.roles import Roles
from tui.render.safe import first_line, visible_lines

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.live.feed import FeedEntry

_LARGEST = 200_000
"""Bytes of a file that are shown."""
_LABELS = 9


def line_of(engine: Engine, key: str) -> int:
    """The line at which a turn begins in its transcript; 0 if it is not known."""
    turn_key = TurnKey.of(key)
    if turn_key is None:
        return 0
    try:
        conversation = engine.conversations.read(turn_key.path)
    except (AutopoiesisError, OSError):
        return 0
    turn = conversation.turn(turn_key.ordinal) if conversation is not None else None
    return turn.line if turn is not None else 0


def message_page(engine: Engine, entry: FeedEntry) -> Builder:
    """The whole text of a row, with its time and, if it is of a conversation, session and agent."""
    facts = [("time", f"{local(entry.at).date().isoformat()} {clock(entry.at)}")]
    turn_key = TurnKey.of(entry.key)
    if turn_key is not None:
        try:
            head = read_head(engine.workspace.root / turn_key.path)
        except OSError:
            head = b""
        fields = head_fields(head, ("session_id", "channel", "model"))
        agent = " · ".join(filter(None, (fields["channel"], fields["model"])))
        facts += [("session", fields["session_id"]), ("agent", agent), ("file", turn_key.path)]
    if entry.note:
        facts.append(("fired" if turn_key is not None else "note", entry.note))

    def build(width: int, roles: Roles) -> list[Row]:
        rows = [
            row
            for name, words in facts
            if words
            for row in labelled(name, first_line(words), width, _LABELS, roles.muted, tone=roles.faint)
        ]
        rows.append(Row())
        return rows + _lines(entry.text, width, roles)

    return build


def file_page(engine: Engine, path: str) -> Builder:
    """The beginning of a file of the workspace, or why it cannot be read."""
    try:
        with closing(engine.files.read_blocks(path)) as blocks:  # a transcript may have a gigabyte
            data = next(blocks, b"")
    except (AutopoiesisError, OSError) as error:
        problem = str(error)
        return lambda width, roles: wrap([("! ", roles.error), (problem, roles.normal)], width, indent=2)
    text = data[:_LARGEST].decode("utf-8", "replace")

    def build(width: int, roles: Roles) -> list[Row]:
        rows = _lines(text, width, roles)
        return [*rows, Row(("… e opens the whole file", roles.gate))] if len(data) > _LARGEST else rows

    return build


def _lines(text: str, width: int, roles: Roles) -> list[Row]:
    return [row for line in visible_lines(text) for row in wrap([(line, roles.normal)], width)]
