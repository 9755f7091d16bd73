"""Request and response models of the gateway: validated strictly, described by ``/openapi.json``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, RootModel, create_model

from engine.search.results import Category

_At = Annotated[
    AwareDatetime, Field(ge=datetime(1970, 1, 2, tzinfo=UTC), le=datetime(9990, 1, 1, tzinfo=UTC))
]
_Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,128}$")]
_Count = Annotated[int, Field(ge=0, le=10**12)]
_Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{0,40}$")]
_Line = Annotated[str, Field(max_length=1_000)]
_Text = Annotated[str, Field(max_length=60_000)]
_Long = Annotated[str, Field(max_length=4_000_000)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class TurnBody(_Body):
    """A message, with ``tool`` a tool call, or with ``action`` a memory operation, whose ``text`` is the path
    and ``result`` the summary; repeating one with the same ``key`` adds nothing."""

    role: Literal["user", "agent", "system"]
    text: _Long
    kind: _Word = ""
    at: _At | None = None
    key: _Line = ""
    attachments: Annotated[list[_Line], Field(max_length=50)] = []
    tool: _Line = ""
    result: _Long = ""
    action: _Word = ""


class MessageBody(TurnBody):
    """A turn and its session."""

    session_id: _Id


class TurnsBody(_Body):
    """Several turns, written at once."""

    turns: Annotated[list[TurnBody], Field(min_length=1, max_length=500)]


class SessionBody(_Body):
    """A new session; an id is generated if missing."""

    session_id: _Id | None = None
    title: _Line = ""
    model: _Line = ""
    channel: _Line = "http"


class EndBody(_Body):
    """Token counts and tags of an ended session."""

    tokens_in: _Count = 0
    tokens_out: _Count = 0
    tags: Annotated[list[_Line], Field(max_length=50)] = []


class TraceBody(_Body):
    """A message to trace; nothing is recorded."""

    text: _Text
    direction: Literal["input", "output"] = "input"
    paths: Annotated[list[_Line], Field(max_length=50)] = []


class CompileBody(_Body):
    """A message to compile a prompt for; ``record`` logs the prompt as used."""

    text: _Text
    session_id: _Id | None = None
    budget: Annotated[int, Field(ge=256, le=2_000_000)] | None = None
    record: bool = False


class TakeBody(_Body):
    """Who takes an event, and for how long it is reserved."""

    by: _Line = "http"
    lease_s: Annotated[float, Field(ge=1, le=86_400)] = 900


class DoneBody(_Body):
    """The outcome of an event."""

    failed: bool = False
    said: _Text = ""


class Payload(RootModel[dict[str, Any]]):
    """A webhook's payload."""


class _Query(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SearchQuery(_Query):
    """A search query."""

    q: Annotated[str, Field(min_length=1, max_length=2_000)]
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    category: Category | None = None


class LastQuery(_Query):
    """How many of the newest to return."""

    limit: Annotated[int, Field(ge=1, le=1_000)] = 50


class Answer(BaseModel):
    """A response: it has at least the listed fields."""

    model_config = ConfigDict(extra="allow")


def _answer(name: str, summary: str, **fields: Any) -> type[Answer]:
    required: dict[str, Any] = {field: (kind, ...) for field, kind in fields.items()}
    return create_model(name, __base__=Answer, __doc__=summary, **required)


_Rows = list[dict[str, Any]]

Refused = _answer("Refused", "Why a request failed.", error=str, hint=str)
Health = _answer(
    "Health", "The server's state.", status=str, version=str, read_only=bool, schedule=str | None,
)  # fmt: skip
Written = _answer("Written", "Whether each turn was written.", session_id=str, written=list[bool])
Session = _answer("Session", "A session and its transcript.", session_id=str, path=str)
SessionTurns = _answer("SessionTurns", "A session's turns.", session_id=str, path=str, turns=_Rows, of=int)
Sessions = _answer("Sessions", "Sessions, newest first.", sessions=_Rows, of=int)
Traced = _answer("Traced", "Which topics are active, and why.", active=list[str], why=str, rows=_Rows)
Prompt = _answer("Prompt", "A prompt.", text=str, tokens=int, sections=_Rows, left_out=_Rows)
Found = _answer("Found", "Search results, best first.", results=_Rows)
Event = _answer("Event", "A schedule or a webhook.", id=str, source=str, event=str, state=str)
Taken = _answer("Taken", "An event and its prompt, or null.", event=Event | None, prompt=str | None)
Arrived = _answer("Arrived", "A webhook; known if it was a repeat.", id=str | None, known=bool)
CacheState = _answer("CacheState", "The cache of a discussion.", discussion_id=str, cached=bool)
CacheStates = _answer("CacheStates", "The caches of all discussions.", discussions=_Rows)
