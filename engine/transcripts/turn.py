"""The data model of a conversation (spec 2.1): turns and the blocks inside a turn."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from engine.startup.records import dataclass

Role = Literal["user", "agent", "system"]


MEMORY = "memory"
"""The kind of a turn that records memory operations."""

QUOTED = "local"
"""The kind of a turn that only quotes memory, because no model was asked: it is not indexed, or what is found
would be found again as a quote of itself."""


TOOL = "tool"
"""What a tool gave back, in a record that does not say which tool that was."""


CORRECTION = "correction"
"""The person rejected or corrected what the agent did or was about to do, in words."""

ANSWER = "answer"
"""The person answers questions of the agent; both the questions and the answers stand in the turn."""

COMMAND = "command"
"""A slash command as the person typed it, and what it expands to."""

PLAN = "plan"
"""A plan that the agent put to the person, whole."""

DIALOGUE = frozenset({"", CORRECTION, ANSWER, COMMAND, PLAN})
"""The kinds of turns in which the person and the agent speak to each other."""


@dataclass(frozen=True, slots=True)
class Text:
    """A run of Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call on one line: ``> [tool:{name}] {summary} → {result}``.

    ``summary`` and ``result`` are single lines; ``result`` may be empty.
    """

    name: str
    summary: str
    result: str = ""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A reference to binary content: ``> [attachment:{path}]``."""

    path: str


@dataclass(frozen=True, slots=True)
class KnowledgeChange:
    """A memory operation: ``> [knowledge:{action}] {path} — {summary}``."""

    action: str
    path: str
    summary: str = ""


Block = Text | ToolCall | Attachment | KnowledgeChange


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a conversation."""

    role: Role
    time: str  # wall-clock time as written in the heading, ``HH:MM``
    blocks: tuple[Block, ...] = ()
    kind: str = ""
    """The word in brackets in the heading: one of ``DIALOGUE``, ``""`` without brackets, or what else the
    turn is, such as ``"memory"``, ``"summary"``, ``"error"`` or ``"local"``."""
    line: int = field(default=0, compare=False)
    """1-based line of the heading; 0 when the turn is not from a file."""
    day: str = ""
    """The date in the heading, ``YYYY-MM-DD``, UTC; empty where it is that of the turn before
    (``engine.transcripts.days``)."""

    @property
    def when(self) -> str:
        """Date and time as the heading has them; the date only where it stands there."""
        return f"{self.day} {self.time}".strip()

    @property
    def is_dialogue(self) -> bool:
        """Whether the person or the agent speaks or acts in it, as opposed to a mere record."""
        return self.kind in DIALOGUE

    @property
    def text(self) -> str:
        """The Markdown of the turn without tool calls, attachments and memory operations."""
        return "\n\n".join(block.text for block in self.blocks if isinstance(block, Text))

    @property
    def tools(self) -> tuple[ToolCall, ...]:
        """The tool calls of the turn, in order."""
        return tuple(block for block in self.blocks if isinstance(block, ToolCall))


@dataclass(frozen=True, slots=True)
class Transcript:
    """A parsed conversation file."""

    path: str  # workspace-relative; empty when the transcript is not from a file
    session_id: str  # ``""`` when the header has none
    started: str  # ISO 8601 UTC time as the header gives it, ``""`` when absent
    ended: str  # the same for the end; ``""`` while the session runs
    title: str  # the first ``#`` heading
    header: dict[str, object]  # every field as written: strings, lists, mappings
    turns: tuple[Turn, ...]
