"""The sample's month with hooks: what the pipeline decided for each message, what a person said of it, and
what an agent was told and proposed on the last days.

The package holds only the person's answers and the agent's proposals: the rest is made by the same code as in
any other workspace, with the clock at the time of each message.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from importlib import resources
from typing import TYPE_CHECKING

from engine.agents.hooks import Hooks
from engine.commits.kinds import LOGS
from engine.engine import Engine
from engine.gateways.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from engine.conversations.conversations import Conversation

_HOOKED_SESSIONS = 3
"""The last sessions, whose agent had hooks. Earlier ones would have been told what was not yet known."""
_AGENT = "claude-code"
_SHORTLY_AFTER = timedelta(minutes=2)
_COMMIT = "what was decided and told in the month"


class _Clock:
    """A clock that is set; it ticks, because logs are ordered by time."""

    def __init__(self) -> None:
        self._now = datetime.now(UTC)

    def __call__(self) -> datetime:
        self._now += timedelta(milliseconds=1)
        return self._now

    def set(self, now: datetime) -> None:
        self._now = now


def live_through(root: Path) -> int:
    """Play the sessions of a new sample workspace to its pipeline; returns the number of messages.

    Raises:
        WriteFailed: A log could not be written.
    """
    clock = _Clock()
    days = json.loads(resources.files("engine").joinpath("sample", "days.json").read_bytes())
    messages = 0
    with Engine.open(root, clock=clock) as engine:
        sessions = _sessions(engine)
        for session in sessions:
            messages += _decide(engine, session, clock, days["answers"])
        engine.labels.learn()
        engine.refresh_index()
        hooks = Hooks(engine)
        for session in sessions[-_HOOKED_SESSIONS:]:
            _tell(hooks, session, clock)
            engine.injections.learn_from_use(session.path, 0)
            _propose(engine, session, clock, days["proposals"])
        engine.commits.commit([LOGS], _COMMIT)
    return messages


def _sessions(engine: Engine) -> list[Conversation]:
    """The captured sessions, oldest first."""
    read = map(engine.conversations.read, engine.conversations.sizes())
    captured = [each for each in read if each is not None and each.session_id]
    return sorted(captured, key=lambda session: session.started)


def _decide(
    engine: Engine, session: Conversation, clock: _Clock, answers: Mapping[str, Sequence[str]]
) -> int:
    """Trace what was said to the agent and apply the person's answers; returns the number of messages."""
    count = 0
    for ordinal, turn in enumerate(session.turns, session.first):
        if turn.role != "user":
            continue
        clock.set(session.times[ordinal - session.first])
        count += engine.trace_turn(f"{session.path}#{ordinal}", record=True, ask=False) is not None
    engine.labels.learn_from_use(session.path, 0)
    for place, topic, word in _done_in(session, clock, answers):
        engine.labels.label(f"{session.path}#{place}", topic, word == "yes", learn=False)
    return count


def _done_in(
    session: Conversation, clock: _Clock, done: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, str, str]]:
    """What was done in a session, by its name: the turn's number and two more words; sets the clock."""
    name = next((each for each in done if session.path.endswith(f"-{each}.md")), None)
    for line in done[name] if name else ():
        place, first, second = line.split(maxsplit=2)
        clock.set(session.times[int(place) - session.first] + _SHORTLY_AFTER)
        yield place, first, second


def _tell(hooks: Hooks, session: Conversation, clock: _Clock) -> None:
    """Send what a session's agent would have sent to its hooks."""
    clock.set(session.started)
    _send(hooks, session, "SessionStart", source="startup")
    for turn, at in zip(session.turns, session.times, strict=True):
        if turn.role == "user" and turn.is_dialogue:
            clock.set(at)
            _send(hooks, session, "UserPromptSubmit", prompt=turn.text)


def _propose(
    engine: Engine, session: Conversation, clock: _Clock, proposals: Mapping[str, Sequence[str]]
) -> None:
    """Propose what the session's agent would have asked to remember; it waits for the person."""
    memory = Memory(engine)
    for _, kind, text in _done_in(session, clock, proposals):
        memory.remember(text, kind, agent=_AGENT)  # type: ignore[arg-type]


def _send(hooks: Hooks, session: Conversation, event: str, **more: str) -> None:
    payload = {"session_id": session.session_id, "hook_event_name": event, **more}
    hooks.answer(_AGENT, json.dumps(payload).encode())
