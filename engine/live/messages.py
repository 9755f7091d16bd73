"""Finds a person's message by the name given on the command line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from engine.conversations.conversations import TurnKey
from engine.errors import TranscriptError
from engine.live.feed import KEPT_ENTRIES
from engine.store.paths import shown

if TYPE_CHECKING:
    from engine.conversations.conversations import Conversation, Conversations
    from engine.conversations.turns import Turns
    from engine.live.feed import FeedEntry

LAST = "last"

_NUMBERED = re.compile(r"(.+):(\d{1,9})")
_LIST = "list sessions with: autopoiesis session list"


class HasConversations(Protocol):
    """What the functions here need from the engine."""

    @property
    def conversations(self) -> Conversations: ...

    @property
    def turns(self) -> Turns: ...

    def feed(self, limit: int) -> list[FeedEntry]: ...


@dataclass(frozen=True, slots=True)
class SpokenMessage:
    """A person's message in a conversation."""

    key: str  # for ``Engine.compile_of`` and ``Engine.compile_before``
    path: str
    session_id: str  # may be empty
    turn: int  # from 1
    text: str


def find_message(engine: HasConversations, name: str, session: str = "") -> SpokenMessage:
    """Finds a message by name.

    Args:
        name: ``last``, or ``last:2`` for the one before it, across all conversations in feed order; a session
            id or conversation path for its last message, or with ``:7`` for its turn 7; or the key of a turn.
            An agent's turn means the message that it answers.
        session: The session or conversation to which ``last`` refers.

    Raises:
        TranscriptError: There is no such message.
    """
    key = TurnKey.of(name) if "#" in name else None
    match = _NUMBERED.fullmatch(name) if key is None else None
    base, number = (match[1], int(match[2])) if match else (key.path if key else name, 0)
    if base != LAST:
        conversation = _conversation(engine, base)
        if key or match:
            return _of_turn(engine, conversation, key.ordinal + 1 if key else number)
        return _newest(engine, conversation, 1)
    if session:
        return _newest(engine, _conversation(engine, session), max(1, number))
    said = [entry.key for entry in engine.feed(KEPT_ENTRIES) if entry.kind == "user" and entry.key]
    return _from_end(engine, said, max(1, number), "")


def _newest(engine: HasConversations, conversation: Conversation, number: int) -> SpokenMessage:
    said = [
        str(TurnKey(conversation.path, ordinal))
        for ordinal, turn in enumerate(conversation.turns, conversation.first)
        if turn.role == "user" and turn.is_dialogue
    ]
    return _from_end(engine, said, number, conversation.path)


def _from_end(engine: HasConversations, said: Sequence[str], number: int, where: str) -> SpokenMessage:
    if not said:
        raise TranscriptError("no messages from a person yet", where=where, hint=_LIST)
    if number > len(said):
        raise TranscriptError(
            f"cannot go back {number:,} messages: there are only {len(said):,}", where=where, hint=_LIST
        )
    return _at(engine, said[-number])


def _of_turn(engine: HasConversations, conversation: Conversation, number: int) -> SpokenMessage:
    """The message at a turn, or the one that the turn answers."""
    if conversation.turn(number - 1) is None:
        reach = f"turns {conversation.first + 1} to {conversation.end}" if conversation.turns else "no turns"
        raise TranscriptError(f"no turn {number:,}; available: {reach}", where=conversation.path)
    key = engine.turns.question(str(TurnKey(conversation.path, number - 1)))
    if key is None:
        raise TranscriptError(
            f"no message from a person up to turn {number:,}",
            where=conversation.path,
            hint="choose a later turn",
        )
    return _at(engine, key)


def _at(engine: HasConversations, key: str) -> SpokenMessage:
    found = engine.turns.find(key)
    turn = found[0].turn(found[1]) if found is not None else None
    if found is None or turn is None:
        raise TranscriptError(f"the turn {shown(key)} no longer exists", hint="try again")
    conversation, ordinal = found
    return SpokenMessage(key, conversation.path, conversation.session_id, ordinal + 1, turn.text)


def _conversation(engine: HasConversations, name: str) -> Conversation:
    return engine.conversations.read(name) or engine.conversations.of_session(name)
