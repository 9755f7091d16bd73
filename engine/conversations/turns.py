"""Traces the turns of conversations, each named by a key.

A turn that arrives is traced once and may ask the gate. A past turn is traced with the current topics and
with what the gate already knows: looking back must not ask again.
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
    from engine.transcripts.turn import ToolCall, Turn

KEPT_TRACES = 1_000

_SIGNAL = "signal:"
"""Key prefix of schedules and webhooks; their input is gone, so their traces are never made again."""
_State = tuple[int, str]
"""The state a trace was made in: the number of ``forget`` calls before it, and the topics' version."""


@dataclass(frozen=True, slots=True)
class Before:
    """What precedes a message in its conversation."""

    turns: tuple[Turn, ...] = ()  # oldest first
    path: str = ""
    session_id: str = ""
    steering: tuple[str, ...] = ()
    """Topics activated by the agent's turns since a person last spoke (spec 4.3)."""
    corrections: tuple[Correction, ...] = ()  # from the output watchers
    ordinal: int = 0  # of the message, or the one it will get


@dataclass(frozen=True, slots=True)
class Exchange:
    """A person's message and the agent's answer."""

    key: str  # of the message
    trace: Trace
    reply: str  # everything the agent wrote up to the person's next turn
    paths: tuple[str, ...]  # files named in its tool calls
    finished: bool  # whether the person has spoken again, which ends the answer
    calls: tuple[ToolCall, ...] = ()  # its tool calls


class Turns:
    """Traces turns and caches the traces. Thread-safe.

    Args:
        process: Traces a message, given ``record`` (log the decisions) and ``ask`` (the gate may be asked).
        version: Identifies the state of the topics; a trace of another state is made again.
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
        """Drops all cached traces, after a change of the settings, the gate or what tier 2 has learned.

        This includes traces that are being made right now.
        """
        with self._guard:
            self._forgotten += 1
            self._traces = OrderedDict(
                (key, known) for key, known in self._traces.items() if key.startswith(_SIGNAL)
            )

    def trace_message(self, message: Message, *, key: str, record: bool, ask: bool) -> Trace:
        """Traces a message and caches the trace under a key."""
        state = self._state()
        trace = self._process(message, record, ask)
        with self._guard:
            self._traces[key] = (state, trace)
            self._traces.move_to_end(key)
            while len(self._traces) > KEPT_TRACES:
                self._traces.popitem(last=False)
        return trace

    def trace_turn(self, key: str, *, record: bool, ask: bool) -> Trace | None:
        """Traces a turn; ``None`` if there is no such turn or it is not dialogue.

        A turn is recorded once: later calls return that trace. One of another person's conversation is not
        recorded, and no gate is asked about it: it says nothing of when the user wants a playbook.
        """
        found = self.find(key)
        if found is None:
            return None
        conversation, ordinal = found
        message = conversation.message(ordinal)
        if message is None:
            return None
        if record and self.is_of_others(conversation.path):
            record = ask = False
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
        """The trace of a turn or signal: the cached one, or a new one made without asking the gate."""
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
        """The conversation and ordinal for a key."""
        name = TurnKey.of(key)
        conversation = self._conversations.read(name.path) if name else None
        if name is None or conversation is None or conversation.turn(name.ordinal) is None:
            return None
        return conversation, name.ordinal

    def asked_at(self, key: str) -> tuple[str, Trace, Before] | None:
        """Text, trace and context of the person's message at a key, or of the one that the agent's turn there
        answers; ``None`` if there is none.
        """
        asked = self._asked(key)
        trace = self.trace_of(str(asked)) if asked is not None else None
        found = self.find(str(asked)) if trace is not None else None
        if trace is None or found is None:
            return None
        return trace.message.text, trace, self.before(*found)

    def asked_before(self, key: str) -> tuple[str, Trace, Before] | None:
        """As ``asked_at``, for the person's previous message; ``None`` if there is none."""
        earlier = self.question_before(key)
        return None if earlier is None else self.asked_at(earlier)

    def question(self, key: str) -> str | None:
        """The key of the person's message at a key, or of the one that the agent's turn there answers."""
        asked = self._asked(key)
        return None if asked is None else str(asked)

    def question_before(self, key: str) -> str | None:
        """As ``question``, for the person's previous message; ``None`` if there is none."""
        asked = self._asked(key)
        return None if asked is None else self.question(str(TurnKey(asked.path, asked.ordinal - 1)))

    def _asked(self, key: str) -> TurnKey | None:
        found = self.find(key)
        ordinal = self._question(*found) if found is not None else None
        return None if found is None or ordinal is None else TurnKey(found[0].path, ordinal)

    def is_of_others(self, path: str) -> bool:
        """Whether a conversation is another person's."""
        return bool(self._conversations.author(path))

    def exchanges(self, path: str, first: int) -> list[Exchange]:
        """The exchanges with new turns in their answers, oldest first; ``first`` is the first new ordinal."""
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
                calls = tuple(tool for turn in answer for tool in turn.tools)
                found.append(Exchange(key, trace, reply, tool_paths(answer), following is not None, calls))
        return found

    def _question(self, conversation: Conversation, ordinal: int) -> int | None:
        """The ordinal of a person's last turn at or before an ordinal."""
        numbers = range(ordinal, conversation.first - 1, -1)
        return next((number for number in numbers if self._is_question(conversation, number)), None)

    @staticmethod
    def _is_question(conversation: Conversation, ordinal: int) -> bool:
        turn = conversation.turn(ordinal)
        return turn is not None and turn.role == "user" and turn.is_dialogue

    def next_message(self, text: str, session_id: str, at: datetime) -> tuple[Message, Before]:
        """A person's next message in a session, and what precedes it.

        The transcript may already have it as its last turn. ``session_id`` is empty for a message outside any
        conversation; ``at`` is UTC.

        Raises:
            NoSession: There is no such session.
        """
        from engine.activation.trace import Message  # noqa: PLC0415 — elsewhere only its type is needed

        if not session_id:
            return Message(text, at=at), Before()
        conversation = self._conversations.of_session(session_id)
        ordinal = conversation.next_ordinal(text)
        return conversation.as_input(text, at, ordinal), self.before(conversation, ordinal)

    def before(self, conversation: Conversation, ordinal: int) -> Before:
        """What precedes a turn."""
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
        """The traces of the agent's turns since a person last spoke, oldest first."""
        answer = conversation.answer_before(ordinal)
        for number, turn in enumerate(answer, ordinal - len(answer)):
            if turn.role == "agent" and turn.is_dialogue:
                trace = self.trace_of(str(TurnKey(conversation.path, number)))
                if trace is not None:
                    yield trace
