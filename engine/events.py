"""The typed events that the engine publishes to user interfaces."""

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

    ``past`` marks a turn of a restored or imported conversation, for which nothing is activated.
    """

    at: datetime
    key: str
    path: str
    session_id: str
    turn: Turn
    past: bool = False


@dataclass(frozen=True, slots=True)
class TurnTraced:
    """Activation of a new turn is complete. ``key`` as in ``TurnArrived``."""

    key: str
    trace: Trace


@dataclass(frozen=True, slots=True)
class Signal:
    """A schedule came due or a webhook arrived; its trace follows as a ``TurnTraced`` with the same key.

    The key is empty, and no trace follows, if another program fired it.
    """

    at: datetime
    key: str
    source: str
    event: str


@dataclass(frozen=True, slots=True)
class AgentTold:
    """An agent's hook ran: what was injected, why nothing was, or what was captured of the session."""

    at: datetime  # start time, as in the hook log
    agent: str
    moment: str  # as in ``engine.agents.contracts.Moment``
    session_id: str
    tokens: int  # injected
    labels: tuple[str, ...]  # of the injected sections
    said: str  # one clause; empty if something was injected


@dataclass(frozen=True, slots=True)
class PromptCompiled:
    """A prompt was compiled for a turn (``key``) or for a test message (``key`` empty)."""

    key: str
    compiled: Compiled


@dataclass(frozen=True, slots=True)
class FlushDue:
    """Turns are about to leave the window; notes of them are taken now (spec 6.4).

    Attributes:
        first, last: 1-based turn numbers of the part being flushed.
    """

    at: datetime
    path: str
    session_id: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Flushed:
    """Result of flushing a part announced by ``FlushDue``."""

    at: datetime
    record: FlushRecord


@dataclass(frozen=True, slots=True)
class FileChanged:
    """A workspace file changed on disk, by us or by another program."""

    at: datetime
    path: str
    change: ChangeKind


@dataclass(frozen=True, slots=True)
class TopicsReloaded:
    """The topic library was reloaded."""

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
    """A ``GateAsked`` question was answered or timed out."""

    question_id: str
    answer: Literal["yes", "no", "failed"]


@dataclass(frozen=True, slots=True)
class WatchState:
    """How changes are detected: ``live`` native events, ``polling`` or ``off``; ``why`` when not live."""

    mode: Literal["live", "polling", "off"]
    why: str = ""


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """Long indexing: ``done`` of ``total`` files."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Indexed:
    """The index changed: number of files re-indexed or removed."""

    files: int


@dataclass(frozen=True, slots=True)
class CacheGivenUp:
    """A discussion's prompt cache was invalidated; ``why`` is one clause."""

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
    """A job ended; ``said`` is its outcome. A failure is also published as an ``ErrorReported``."""

    at: datetime
    job: str
    result: Literal["done", "failed", "refused", "interrupted"]
    said: str


@dataclass(frozen=True, slots=True)
class ErrorReported:
    """A non-fatal failure that the person should know about."""

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
