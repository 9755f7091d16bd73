"""The inputs of a compile (spec 6.1), which fully determine the prompt."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import date
from typing import Any, Literal

from engine.activation.trace import Correction, Trace
from engine.context.budget import Candidate
from engine.search.results import SearchResult
from engine.search.worth import Room
from engine.startup.records import dataclass
from engine.topics.model import Topic
from engine.transcripts.turn import Turn


@dataclass(frozen=True, slots=True)
class Query:
    """A search of the memory for a prompt."""

    text: str
    context: str  # the exchange before it, and keywords of the active topics
    limit: int  # maximum number of results
    room: Room
    exclude: frozenset[str]  # workspace-relative paths to leave out


Part = Literal["whole", "standing", "message", "asked"]
"""The part of a prompt to compile: ``whole`` for a model that gets nothing else; for an agent with its own
prompt and history ``standing``, injected once per session, ``message``, injected beside each message, and
``asked``, requested by the agent, so that it may be less relevant."""

INJECTED_BEFORE = "what was injected before"
"""The label of what was injected before and is not injected again."""

Retrieve = Callable[[Query], list[SearchResult]]
"""Searches; returns the results in the order of budgeting."""


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """The inputs of one compile. Equal inputs over equal files give the same bytes."""

    message: str
    today: date  # for the journals; the only notion of time in a compile
    topics: tuple[Topic, ...] = ()
    trace: Trace | None = None
    """The trace that made them active, for ``Section.why`` and ``Section.score``."""
    offered: tuple[Topic, ...] = ()
    """Topics that may apply: the agent is told of them, and opens them if they do."""
    history: tuple[Turn, ...] = ()  # earlier turns, oldest first, without the message
    results: tuple[SearchResult, ...] | None = None
    """Results, best first; ``None`` to use ``retrieve``."""
    retrieve: Retrieve | None = None
    """Searches if there is room for results; ``None`` for no search."""
    budget: int | None = None
    """Tokens for prompt and reply reserve together; ``None`` for the workspace's setting."""
    session_id: str = ""  # empty for a message tried by hand
    conversation: str = ""  # its transcript, whose earlier turns can be found by search
    project: tuple[str, ...] = ()
    """The slugs that stand for the session's project, the current one first; empty if it is unknown."""
    doubtful: Callable[[], Sequence[str]] | None = None
    """Names other projects that may be the same, for an answer about past work."""
    agent: str = ""  # the agent that gets the prompt, if known
    main_session: bool = True
    """Whether MEMORY.md may be included, by subscriptions and search results too; it is private."""
    corrections: tuple[Correction, ...] = ()  # hints of output watchers (spec 4.3)
    file_notes: tuple[str, ...] = ()  # paths of notes about files used in the conversation
    records: tuple[Candidate, ...] = ()  # of earlier sessions, which answer the message
    tools: tuple[ToolDefinition, ...] | None = None
    """Tools offered to the model; ``None`` for an agent with its own tools."""
    part: Part = "whole"
    injected: frozenset[tuple[str, str]] = frozenset()
    """Paths and lines that were injected before and the agent still has; not injected again."""
    held_from: int | None = None
    """For the part ``message``: the first transcript line that the agent still has; ``None`` for all."""
    flushed: frozenset[int] = frozenset()
    """Numbers, from 1, of the turns in ``history`` that were flushed (spec 6.4)."""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool offered to a model."""

    name: str
    description: str
    input_schema: Mapping[str, Any] = field(default_factory=dict)  # JSON schema of its arguments

    @property
    def schema(self) -> str:
        """Name and arguments as JSON; always the same bytes."""
        tree = {"name": self.name, "parameters": self.input_schema}
        return json.dumps(tree, ensure_ascii=False, sort_keys=True)


def tool_candidates(tools: Sequence[ToolDefinition]) -> list[Candidate]:
    """Schemas and descriptions of tools, if any."""
    if not tools:
        return []
    why = "the model may call them"
    schema = "\n".join(tool.schema for tool in tools)
    descriptions = "\n".join(f"- {tool.name}: {tool.description}" for tool in tools)
    return [
        Candidate(label="functions", layer=2, priority=0, slot="system", text=schema, why=why),
        Candidate(label="tools", layer=3, priority=0, slot="system", text=descriptions, why=why),
    ]
