"""What a compile is asked (spec 6.1): everything that decides about the prompt, and no clock behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from engine.activation.trace import Correction, Trace
from engine.context.tools import ToolDefinition
from engine.search.results import SearchResult
from engine.search.worth import Room
from engine.topics.model import Topic
from engine.transcripts.turn import Turn


@dataclass(frozen=True, slots=True)
class Query:
    """What a prompt asks of the memory.

    Attributes:
        text: The message.
        context: What it is said in: the exchange before it, and the words that the active topics watch for.
        limit: Results looked at.
        room: What they may fill.
        exclude: Workspace-relative paths of files left out.
    """

    text: str
    context: str
    limit: int
    room: Room
    exclude: frozenset[str]


Retrieve = Callable[[Query], list[SearchResult]]
"""Searches; gives the results in the order in which they are worth the room."""


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """The inputs of one compile. Equal inputs over equal files give the same bytes.

    Attributes:
        message: The message to answer.
        today: The day it is, for the journals; the only notion of time in a compile.
        topics: The active topics, in any order.
        trace: The trace that made them active; only explains them (``Section.why``, ``Section.score``).
        history: The session's earlier turns, oldest first, without the message itself.
        results: Search results already fetched, best first; ``None`` to use ``retrieve``.
        retrieve: Searches when there is room for results; ``None`` for no retrieved part.
        budget: Tokens for prompt and reply reserve together; ``None`` for the workspace's setting.
        session_id: The conversation; empty for a message tried by hand.
        conversation: Its transcript, workspace-relative: what it says further up can be found again.
        main_session: Whether MEMORY.md may be seen. It is private: in other sessions neither a subscription
            nor a search result brings it in.
        corrections: What output watchers want the agent to correct (spec 4.3).
        file_notes: Files of notes about the files that the conversation works on, by path.
        tools: What the model is offered beside the prompt; ``None`` where an agent reads it that has tools of
            its own.
        flushed: Numbers of the turns in ``history``, from 1, of which notes were taken (spec 6.4).
    """

    message: str
    today: date
    topics: tuple[Topic, ...] = ()
    trace: Trace | None = None
    history: tuple[Turn, ...] = ()
    results: tuple[SearchResult, ...] | None = None
    retrieve: Retrieve | None = None
    budget: int | None = None
    session_id: str = ""
    conversation: str = ""
    main_session: bool = True
    corrections: tuple[Correction, ...] = ()
    file_notes: tuple[str, ...] = ()
    tools: tuple[ToolDefinition, ...] | None = None
    flushed: frozenset[int] = frozenset()
