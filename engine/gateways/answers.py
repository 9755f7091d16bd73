"""What an agent is answered: values with a schema, which say the same in plain lines.

Whatever text they are made of, what they hold is without secrets, steers no terminal, forges no part of a
prompt, and is no longer than agents take at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Annotated, Generic, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from engine.context.delimiters import one_line, outside
from engine.knowledge.category_files import HIDDEN
from engine.redaction.detect import redacted

MOST = 9_500
"""Characters of an answer's text, and of its rows; agents cut longer ones and say so nowhere."""

_LINE = 240


def inert(text: str) -> str:
    """Text that steers no terminal and forges no part of a prompt."""
    return HIDDEN.sub("\ufffd", outside(text))


Line = Annotated[str, AfterValidator(lambda text: inert(one_line(redacted(text), _LINE)))]
Whole = Annotated[str, AfterValidator(redacted)]
Score = Annotated[float, AfterValidator(lambda score: round(score, 2))]


class Row(BaseModel):
    """A line of an answer."""

    model_config = ConfigDict(from_attributes=True)

    def plain(self) -> str:
        """The row for somebody who reads text."""
        there = ((name, value) for name, value in self if value not in ("", None, False))
        return f"- {' · '.join(name if value is True else str(value) for name, value in there)}"


class Answer(BaseModel):
    """What a tool answers."""

    note: str = Field(
        default="", description="What was cut or is to be minded, and the call that brings more."
    )

    def plain(self) -> str:
        """The answer for somebody who reads text."""
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
    """As many rows as agents take at once."""

    rows: list[_Row]

    @classmethod
    def of(cls, rows: Sequence[_Row], more: str, note: str = "") -> Self:
        """The first rows; ``more`` says how to get those for which there is no room."""
        sizes = accumulate(len(row.model_dump_json()) for row in rows)
        kept = sum(size <= MOST for size in sizes)
        return cls(rows=list(rows[:kept]), note=note if kept == len(rows) else f"{len(rows) - kept} {more}")


class Hit(Row):
    """A place that was found."""

    place: str = Field(description="path:lines, as expand takes it")
    kind: str
    day: Line
    speaker: Line = Field(description="Who says it; outside sessions the headings above it")
    score: Score = Field(description="0 to 1, as a share of the best one's")
    snippet: Line
    whose: str = Field(description="Empty, or what to mind because others have written it")


class Passage(Answer):
    """Lines of a file."""

    place: str = Field(default="", description="path:lines; empty where there is nothing to show")
    total: int = Field(default=0, description="Lines of the file")
    whose: str = ""
    text: Whole = ""


class Recalled(Answer):
    """Playbooks that apply, and excerpts."""

    text: Whole
    tokens: int
    sources: list[str] = Field(description="Where the excerpts stand, as expand takes it")


class CatalogEntry(Row):
    """A knowledge entry or a skill."""

    kind: str
    name: Line
    description: Line
    location: str


class StandingRule(Row):
    """A rule in the person's words."""

    text: Line
    state: str
    project: Line = Field(description="The one project in which it holds; empty for everywhere")


Outcome = Literal["proposed", "waits already", "known already", "turned down before"]


class Remembered(Answer):
    """What became of a proposal."""

    outcome: Outcome
    id: str = ""
    why: Line = Field(description="Why it waits, or where it stands")
    text: Whole = Field(description="As it was taken")


class TopicRow(Row):
    """A topic, and whether it fires."""

    topic: str
    active: bool
    score: Score | None
    why: Line


class Traced(Rows[TopicRow]):
    """Topics that fire, then the nearest that do not."""

    summary: Line


class Prompt(Answer):
    """The prompt for a message, or its outline."""

    tokens: int
    budget: int
    text: Whole


class Status(Answer):
    """How the memory stands."""

    files: int
    index: Line
    topics: int
    rules: int
    proposals: int = Field(description="That wait for the person")
    branch: Line
    uncommitted: int
    read_only: bool
    problems: list[Line]
