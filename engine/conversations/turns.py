"""The turns of conversations through the three tiers and the compiler, each named by a key.

A turn that arrives is traced once, with the gate; one from before is traced with today's topics and with what
the gate already knows, because looking back must not ask anyone again.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from engine.conversations.conversations import Conversation, Conversations, TurnKey, tool_paths
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from datetime import datetime

    from engine.activation.trace import Correction, Message, Trace
    from engine.transcripts.turn import Turn

KEPT_TRACES = 1_000

_SIGNAL = "signal:"
"""How the key of a schedule or a webhook begins; what it brought is gone, so its trace is kept as it was."""
_State = tuple[int, str]
"""What a trace was made with: how often was forgotten before, and the version of the topics."""


@dataclass(frozen=True, slots=True)
class Before:
    """What stands before a message in its conversation."""

    turns: tuple[Turn, ...] = ()  # oldest first
    path: str = ""
    session_id: str = ""
    steering: tuple[str, ...] = ()
    """Topics that the agent's turns since a person last spoke called (spec 4.3)."""
    corrections: tuple[Correction, ...] = ()  # the hints of their output watchers
    ordinal: int = 0  # the number that the message has, or will have


@dataclass(frozen=True, slots=True)
class Exchange:
    """A person's message and what the agent has written in answer."""

    key: str  # of the message
    trace: Trace
    reply: str  # everything the agent wrote since, up to the person's next turn
    paths: tuple[str, ...]  # files that its tool calls named
    finished: bool  # whether the person has spoken again, so that nothing more will come


class Turns:
    """Traces of turns, remembered. Safe to use from several threads.

    Args:
        process: Traces a message; ``record`` logs its decisions, ``ask`` lets the gate be asked.
        version: Names the state of the topics; a trace of another state is made anew.
    """

    def __init__(
        self,
        conversations: Conversations,
        process: Callable[[Message, bool, bool], Trace],
        version: Callable[[], str],
    ) -> None:
        self._conversations = conversations
        self._process = process
        self._version = version
        self._guard = threading.Lock()
        self._forgotten = 0
        self._traces: OrderedDict[str, tuple[_State, Trace]] = OrderedDict()
        self._recording = threading.RLock()
        self._recorded: OrderedDict[str, str] = OrderedDict()

    def forget(self) -> None:
        """Drops every remembered trace, when settings, the gate or what tier 2 has learned have changed.

        A trace that is being made at that moment does not count afterwards either.
        """
        with self._guard:
            self._forgotten += 1
            self._traces = OrderedDict(
                (key, known) for key, known in self._traces.items() if key.startswith(_SIGNAL)
            )

    def trace_message(self, message: Message, *, key: str, record: bool, ask: bool) -> Trace:
        """Traces a message under a key."""
        state = self._state()
        trace = self._process(message, record, ask)
        with self._guard:
            self._traces[key] = (state, trace)
            self._traces.move_to_end(key)
            while len(self._traces) > KEPT_TRACES:
                self._traces.popitem(last=False)
        return trace

    def trace_turn(self, key: str, *, record: bool, ask: bool) -> Trace | None:
        """Traces a turn; ``None`` where there is nothing to trace: no such turn, a system turn, a memory.

        A turn is recorded once: later calls get the trace that was made then.
        """
        message = self._message(key)
        if message is None:
            return None
        if not record:
            return self.trace_message(message, key=key, record=False, ask=ask)
        with self._recording:
            if self._recorded.get(key) == message.text:
                return self.trace_of(key)
            trace = self.trace_message(message, key=key, record=True, ask=ask)
            self._recorded[key] = message.text
            while len(self._recorded) > KEPT_TRACES:
                self._recorded.popitem(last=False)
        return trace

    def trace_of(self, key: str) -> Trace | None:
        """The trace of a turn or signal, remembered, or made without asking the gate."""
        with self._guard:
            known = self._traces.get(key)
        if known is not None and (key.startswith(_SIGNAL) or known[0] == self._state()):
            message, before = self._message(key), known[1].message
            # The turn may have grown since.
            if message is None or (message.text, message.calls) == (before.text, before.calls):
                return known[1]
        return self.trace_turn(key, record=False, ask=False)

    def _state(self) -> _State:
        return self._forgotten, self._version()

    def _message(self, key: str) -> Message | None:
        found = self.find(key)
        return found[0].message(found[1]) if found is not None else None

    def find(self, key: str) -> tuple[Conversation, int] | None:
        """The conversation and ordinal that a key names."""
        name = TurnKey.of(key)
        conversation = self._conversations.read(name.path) if name else None
        if name is None or conversation is None or conversation.turn(name.ordinal) is None:
            return None
        return conversation, name.ordinal

    def asked_at(self, key: str) -> tuple[str, Trace, Before] | None:
        """The person's message at a key, or the one that the agent's turn there answered.

        Returns:
            Its text, its trace, and what stands before it; ``None`` when there is none.
        """
        asked = self._asked(key)
        trace = self.trace_of(str(asked)) if asked is not None else None
        found = self.find(str(asked)) if trace is not None else None
        if trace is None or found is None:
            return None
        return trace.message.text, trace, self.before(*found)

    def asked_before(self, key: str) -> tuple[str, Trace, Before] | None:
        """As ``asked_at`` for the person's message before that one; ``None`` when it is the first."""
        earlier = self.question_before(key)
        return None if earlier is None else self.asked_at(earlier)

    def question(self, key: str) -> str | None:
        """The key of the person's message at a key, or of the one that the agent's turn there answered."""
        asked = self._asked(key)
        return None if asked is None else str(asked)

    def question_before(self, key: str) -> str | None:
        """As ``question`` for the person's message before that one; ``None`` when it is the first."""
        asked = self._asked(key)
        return None if asked is None else self.question(str(TurnKey(asked.path, asked.ordinal - 1)))

    def _asked(self, key: str) -> TurnKey | None:
        found = self.find(key)
        ordinal = self._question(*found) if found is not None else None
        return None if found is None or ordinal is None else TurnKey(found[0].path, ordinal)

    def exchanges(self, path: str, first: int) -> list[Exchange]:
        """The exchanges of a conversation whose answers gained something from a turn on, oldest first.

        ``first`` is the number of the first new turn. A person's turn ends the exchange before it.
        """
        conversation = self._conversations.read(path)
        if conversation is None:
            return []
        asked = self._question(conversation, first - 1)
        starts = [] if asked is None else [asked]
        starts += [n for n in range(first, conversation.end) if self._is_question(conversation, n)]
        found = []
        for start, following in itertools.zip_longest(starts, starts[1:]):
            answer = [
                turn
                for ordinal in range(start + 1, conversation.end if following is None else following)
                if (turn := conversation.turn(ordinal)) is not None
                and turn.role == "agent"
                and turn.is_dialogue
            ]
            key = str(TurnKey(path, start))
            trace = self.trace_of(key) if answer else None
            if trace is not None:
                reply = "\n".join(turn.text for turn in answer)
                found.append(Exchange(key, trace, reply, tool_paths(answer), following is not None))
        return found

    def _question(self, conversation: Conversation, ordinal: int) -> int | None:
        """The last turn of a person at or before a number."""
        numbers = range(ordinal, conversation.first - 1, -1)
        return next((number for number in numbers if self._is_question(conversation, number)), None)

    @staticmethod
    def _is_question(conversation: Conversation, ordinal: int) -> bool:
        turn = conversation.turn(ordinal)
        return turn is not None and turn.role == "user" and turn.is_dialogue

    def next_message(self, text: str, session_id: str, at: datetime) -> tuple[Message, Before]:
        """A message as the next thing that a person says in a session, and what stands before it.

        It may stand in the transcript already, as its last turn. ``session_id`` is empty for a message of no
        conversation; ``at`` is UTC.

        Raises:
            TranscriptError: There is no such session.
        """
        from engine.activation.trace import Message  # noqa: PLC0415 — for its type alone elsewhere

        if not session_id:
            return Message(text, at=at), Before()
        conversation = self._conversations.of_session(session_id)
        ordinal = conversation.place_of_next(text)
        return conversation.said(text, at, ordinal), self.before(conversation, ordinal)

    def before(self, conversation: Conversation, ordinal: int) -> Before:
        """What stands before a turn."""
        steering = list(self._steering(conversation, ordinal))
        return Before(
            conversation.before(ordinal),
            conversation.path,
            conversation.session_id,
            tuple(dict.fromkeys(name for trace in steering for name in trace.active)),
            tuple(dict.fromkeys(correction for trace in steering for correction in trace.corrections)),
            ordinal,
        )

    def _steering(self, conversation: Conversation, ordinal: int) -> Iterator[Trace]:
        """The traces of what the agent has written since a person last spoke, oldest first."""
        answer = conversation.answer_before(ordinal)
        for number, turn in enumerate(answer, ordinal - len(answer)):
            if turn.role == "agent" and turn.is_dialogue:
                trace = self.trace_of(str(TurnKey(conversation.path, number)))
                if trace is not None:
                    yield trace
