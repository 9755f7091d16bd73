"""The typed events a face can receive. They carry the engine's values; a face only renders them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from engine.startup.records import dataclass

if TYPE_CHECKING:
    from datetime import datetime

    from engine.activation.trace import Trace
    from engine.context.compiled import Compiled
    from engine.context.flush_record import FlushRecord
    from engine.errors import Problem
    from engine.transcripts.turn import Turn

ChangeKind = Literal["added", "changed", "removed"]


@dataclass(frozen=True, slots=True)
class TurnArrived:
    """A transcript grew by a turn. ``key`` is stable: ``{path}#{ordinal of the turn in the file}``.

    ``past`` is one of a conversation that was restored or imported: it was spoken long before, and nothing is
    activated for it.
    """

    at: datetime
    key: str
    path: str
    session_id: str
    turn: Turn
    past: bool = False


@dataclass(frozen=True, slots=True)
class TurnTraced:
    """Activation is done with a turn that arrived. ``key`` as in ``TurnArrived``."""

    key: str
    trace: Trace


@dataclass(frozen=True, slots=True)
class Signal:
    """A schedule came due or a webhook arrived; its trace follows as a ``TurnTraced`` with the same key. That
    is empty, and none follows, where another program fired it.
    """

    at: datetime
    key: str
    source: str
    event: str


@dataclass(frozen=True, slots=True)
class AgentTold:
    """An agent's hook ran: what it was told, why it was told nothing, or what was captured of its session."""

    at: datetime  # when it began, as in the log of hooks
    agent: str
    moment: str  # as in ``engine.agents.contracts.Moment``
    session_id: str
    tokens: int  # that it was told
    labels: tuple[str, ...]  # of the sections that it was told
    said: str  # one clause; empty where it was told something


@dataclass(frozen=True, slots=True)
class PromptCompiled:
    """A prompt was compiled for a turn (``key``) or for a message tried by hand (``key`` empty)."""

    key: str
    compiled: Compiled


@dataclass(frozen=True, slots=True)
class FlushDue:
    """Turns of a conversation are about to leave the window; notes of them are taken now (spec 6.4).

    Attributes:
        first, last: Numbers of the first and the last turn of a part that is flushed at once, from 1.
    """

    at: datetime
    path: str
    session_id: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Flushed:
    """What became of a part of ``FlushDue``."""

    at: datetime
    record: FlushRecord


@dataclass(frozen=True, slots=True)
class FileChanged:
    """A file of the workspace changed on disk, by us or by another program."""

    at: datetime
    path: str
    change: ChangeKind


@dataclass(frozen=True, slots=True)
class TopicsReloaded:
    """The topic library was read again."""

    at: datetime
    changed: tuple[str, ...]
    topics: int
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit was made in the workspace's repository, by us or by another program."""

    at: datetime
    revision: str
    subject: str


@dataclass(frozen=True, slots=True)
class GateAsked:
    """The gate wants a person's answer (``gate.provider: ask``); answer with ``Engine.answer``."""

    at: datetime
    question_id: str
    topic: str
    message: str
    description: str
    deadline_s: float


@dataclass(frozen=True, slots=True)
class GateClosed:
    """A question of ``GateAsked`` is settled, by an answer or by its deadline."""

    question_id: str
    answer: Literal["yes", "no", "failed"]


@dataclass(frozen=True, slots=True)
class WatchState:
    """How changes are noticed: ``live`` native events, ``polling``, or ``off``; ``why`` when not live."""

    mode: Literal["live", "polling", "off"]
    why: str = ""


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """Long indexing: ``done`` of ``total`` files."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Indexed:
    """Search finds other things than before: so many files were indexed anew, or are gone from the index."""

    files: int


@dataclass(frozen=True, slots=True)
class CacheGivenUp:
    """The cache of a discussion's stable prefix does not count any more; ``why`` is one clause."""

    at: datetime
    discussion_id: str
    why: str


@dataclass(frozen=True, slots=True)
class JobStarted:
    """A job began, here or in another program; ``by`` is the kind of program."""

    at: datetime
    job: str
    by: str


@dataclass(frozen=True, slots=True)
class JobEnded:
    """A job ended; ``said`` is what came of it. That it failed follows as an ``ErrorReported``."""

    at: datetime
    job: str
    result: Literal["done", "failed", "refused", "interrupted"]
    said: str


@dataclass(frozen=True, slots=True)
class ErrorReported:
    """Something failed that the person should know of; the engine goes on."""

    at: datetime
    text: str


EngineEvent = (
    TurnArrived
    | TurnTraced
    | Signal
    | PromptCompiled
    | FlushDue
    | Flushed
    | FileChanged
    | TopicsReloaded
    | Committed
    | GateAsked
    | GateClosed
    | WatchState
    | IndexProgress
    | Indexed
    | CacheGivenUp
    | JobStarted
    | JobEnded
    | AgentTold
    | ErrorReported
)
