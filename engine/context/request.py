"""What a compile is asked (spec 6.1): everything that decides about the prompt, and no clock behind it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Literal

from engine.activation.trace import Correction, Trace
from engine.context.tools import ToolDefinition
from engine.records import dataclass
from engine.search.results import SearchResult
from engine.search.worth import Room
from engine.topics.model import Topic
from engine.transcripts.turn import Turn


@dataclass(frozen=True, slots=True)
class Query:
    """What a prompt asks of the memory."""

    text: str
    context: str  # the exchange before it, and the words that the active topics watch for
    limit: int  # results looked at
    room: Room
    exclude: frozenset[str]  # workspace-relative paths of files left out


Part = Literal["whole", "standing", "message", "asked"]
"""What a prompt is for: ``whole`` for a model that is sent nothing else; for an agent with a prompt and a
history of its own ``standing``, said once a session, ``message``, said beside each message, and ``asked``,
the same where the agent asks for it: then it need not be as sure to be of use."""

TOLD_BEFORE = "what was told before"
"""The label of what an agent was told already, where it keeps the same from being told again."""

Retrieve = Callable[[Query], list[SearchResult]]
"""Searches; gives the results in the order in which they are worth the room."""


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """The inputs of one compile. Equal inputs over equal files give the same bytes."""

    message: str
    today: date  # for the journals; the only notion of time in a compile
    topics: tuple[Topic, ...] = ()
    trace: Trace | None = None
    """The trace that made them active; only explains them (``Section.why``, ``Section.score``)."""
    history: tuple[Turn, ...] = ()  # earlier turns, oldest first, without the message itself
    results: tuple[SearchResult, ...] | None = None
    """Already fetched, best first; ``None`` to use ``retrieve``."""
    retrieve: Retrieve | None = None
    """Searches when there is room for results; ``None`` for no retrieved part."""
    budget: int | None = None
    """Tokens for prompt and reply reserve together; ``None`` for the workspace's setting."""
    session_id: str = ""  # empty for a message tried by hand
    conversation: str = ""  # its transcript: what it says further up can be found again
    project: str = ""  # slug of the project that the session belongs to; empty where it is not known
    agent: str = ""  # the agent that is told; empty where it is not known
    main_session: bool = True
    """Whether MEMORY.md may be seen. It is private: in other sessions neither a subscription nor a search
    result brings it in."""
    corrections: tuple[Correction, ...] = ()  # what output watchers want the agent to correct (spec 4.3)
    file_notes: tuple[str, ...] = ()  # paths of notes about the files that the conversation works on
    tools: tuple[ToolDefinition, ...] | None = None
    """What the model is offered beside the prompt; ``None`` where an agent reads it that has tools of its
    own."""
    part: Part = "whole"
    told: frozenset[tuple[str, str]] = frozenset()
    """Path and lines of what the agent was told before and still knows; not brought again."""
    held_from: int | None = None
    """Of the part ``message``: the first line of the transcript that the agent still holds; ``None`` for all
    of it."""
    flushed: frozenset[int] = frozenset()
    """Numbers of the turns in ``history``, from 1, of which notes were taken (spec 6.4)."""
