"""The data model of a conversation (spec 2.1): turns and the blocks inside a turn."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from engine.startup.records import dataclass

Role = Literal["user", "agent", "system"]

MEMORY = "memory"
"""The kind of a turn that records memory operations."""

QUOTED = "local"
"""The kind of a turn that only quotes memory, because no model was asked. It is not indexed, or search
results would be found again as quotes of themselves."""

TOOL = "tool"
"""A tool's output, in a record that does not name the tool."""

CORRECTION = "correction"
"""The user rejects or corrects, in words, what the agent did or was about to do."""

ANSWER = "answer"
"""The user answers questions of the agent; the turn contains both questions and answers."""

COMMAND = "command"
"""A slash command as the user typed it, and its expansion."""

PLAN = "plan"
"""The full text of a plan that the agent proposed to the user."""

DIALOGUE = frozenset({"", CORRECTION, ANSWER, COMMAND, PLAN})
"""The kinds of turns in which the user and the agent speak to each other."""


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
    """The word in brackets in the heading, ``""`` without brackets: one of ``DIALOGUE``, or another kind such
    as ``"memory"``, ``"summary"``, ``"error"`` or ``"local"``."""
    line: int = field(default=0, compare=False)
    """1-based line of the heading; 0 if the turn is not from a file."""
    day: str = ""
    """The date in the heading, ``YYYY-MM-DD``, UTC; empty if it follows from the previous turn
    (``engine.transcripts.days``)."""

    @property
    def when(self) -> str:
        """Date and time as in the heading, which may lack the date."""
        return f"{self.day} {self.time}".strip()

    @property
    def is_dialogue(self) -> bool:
        """Whether the user or the agent speaks or acts in it, as opposed to a mere record."""
        return self.kind in DIALOGUE

    @property
    def text(self) -> str:
        """The turn's Markdown without tool calls, attachments and memory operations."""
        return "\n\n".join(block.text for block in self.blocks if isinstance(block, Text))

    @property
    def tools(self) -> tuple[ToolCall, ...]:
        """The turn's tool calls, in order."""
        return tuple(block for block in self.blocks if isinstance(block, ToolCall))


@dataclass(frozen=True, slots=True)
class Transcript:
    """A parsed conversation file."""

    path: str  # workspace-relative; empty if the transcript is not from a file
    session_id: str  # empty if the header has none
    started: str  # ISO 8601 UTC time from the header; empty if absent
    ended: str  # the same for the end; empty while the session runs
    title: str  # the first ``#`` heading
    header: dict[str, object]  # all fields as written: strings, lists, mappings
    turns: tuple[Turn, ...]
