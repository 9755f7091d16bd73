"""Answers to agents: values with a schema, which can also be rendered as plain text.

Their text cannot steer a terminal or forge a part of a prompt, and is no longer than agents accept at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Annotated, Generic, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from engine.context.delimiters import one_line, outside, visible
from engine.redaction.detect import redacted

MAX_CHARACTERS = 9_500
"""Of an answer's text, and of its rows as JSON; agents truncate longer ones silently."""

_LINE = 240


def inert(text: str) -> str:
    """Text that cannot steer a terminal or forge a part of a prompt."""
    return visible(outside(text))


Line = Annotated[str, AfterValidator(lambda text: inert(one_line(redacted(text), _LINE)))]
Score = Annotated[float, AfterValidator(lambda score: round(score, 2))]


class Row(BaseModel):
    """A line of an answer."""

    model_config = ConfigDict(from_attributes=True)

    def plain(self) -> str:
        """The row as text."""
        present = ((name, value) for name, value in self if value not in ("", None, False))
        return f"- {' · '.join(name if value is True else str(value) for name, value in present)}"


class Answer(BaseModel):
    """A tool's answer."""

    note: str = Field(default="", description="What was cut or needs attention, and how to get more.")

    def plain(self) -> str:
        """The answer as text."""
        head: list[str] = []
        lines: list[str] = []
        for name, value in self:
            if isinstance(value, list):
                lines += [each.plain() if isinstance(each, Row) else f"{name}: {each}" for each in value]
            elif name == "text":
                lines.append(value)
            elif name != "note" and value not in ("", 0):
                head.append(f"{name}: {value}")
        return "\n".join(filter(None, (" · ".join(head), *lines, self.note and f"[{self.note}]")))


_Row = TypeVar("_Row", bound=Row)


class Rows(Answer, Generic[_Row]):
    """As many rows as agents accept at once."""

    rows: list[_Row]

    @classmethod
    def of(cls, rows: Sequence[_Row], more: str, note: str = "") -> Self:
        """The rows that fit; ``more`` says how to get the others."""
        sizes = accumulate(len(row.model_dump_json()) for row in rows)
        kept = sum(size <= MAX_CHARACTERS for size in sizes)
        return cls(rows=list(rows[:kept]), note=note if kept == len(rows) else f"{len(rows) - kept} {more}")


class Hit(Row):
    """A search hit."""

    place: str = Field(description="path:lines, for expand")
    kind: str
    day: Line
    copies: int = Field(default=0, description="Other places with the same text")
    speaker: Line = Field(description="Who said it; outside sessions, the headings above it")
    score: Score = Field(description="0 to 1, relative to the best hit")
    snippet: Line
    whose: str = Field(description="Empty, or a caution because other people wrote it")


class Passage(Answer):
    """Lines of a file."""

    place: str = Field(default="", description="path:lines; empty if there is nothing to show")
    total: int = Field(default=0, description="Lines of the file")
    whose: str = ""
    text: str = ""


class Recalled(Answer):
    """Playbooks that apply, and excerpts."""

    text: str
    tokens: int
    sources: list[str] = Field(description="Places of the excerpts, for expand")


class CatalogEntry(Row):
    """A knowledge entry or a skill."""

    kind: str
    name: Line
    description: Line
    location: str


class StandingRule(Row):
    """A rule in the user's words."""

    id: str
    text: Line
    state: str
    project: Line = Field(description="The only project it applies to; empty for all")


Outcome = Literal["proposed", "waits already", "known already", "turned down before"]


class Remembered(Answer):
    """The outcome of a proposal."""

    outcome: Outcome
    id: str = ""
    why: Line = Field(description="Why it is pending, or where it is already known")
    text: str = Field(description="The text as stored")


class ForgottenRule(Answer):
    """The outcome of a request to forget a rule."""

    outcome: Literal["turned down", "waits for the user", "not found"]
    id: str = ""
    why: Line
    text: str = ""


class ProposedPlaybook(Answer):
    """The outcome of a proposed playbook."""

    name: str
    why: Line
    examples: list[Line] = Field(description="The ways to ask as stored")
