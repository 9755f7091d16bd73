"""What programs send to the gateway and get from it: checked strictly, and described by ``/openapi.json``."""

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
_Line = Annotated[str, Field(max_length=1_000)]
_Text = Annotated[str, Field(max_length=60_000)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class TurnBody(_Body):
    """A message of a session, or with ``tool`` a call of it; with a ``key``, a repeat adds nothing."""

    role: Literal["user", "agent", "system"]
    text: _Text
    kind: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{0,40}$")] = ""
    at: _At | None = None
    key: _Line = ""
    attachments: Annotated[list[_Line], Field(max_length=50)] = []
    tool: _Line = ""
    result: _Text = ""


class MessageBody(TurnBody):
    """The same with the session."""

    session_id: _Id


class TurnsBody(_Body):
    """Several of them, written at once."""

    turns: Annotated[list[TurnBody], Field(min_length=1, max_length=500)]


class SessionBody(_Body):
    """A session that begins; without an id it gets one."""

    session_id: _Id | None = None
    title: _Line = ""
    model: _Line = ""
    channel: _Line = "http"


class EndBody(_Body):
    """What a session used."""

    tokens_in: _Count = 0
    tokens_out: _Count = 0
    tags: Annotated[list[_Line], Field(max_length=50)] = []


class TraceBody(_Body):
    """A message that is only tried: nothing is written down."""

    text: _Text
    direction: Literal["input", "output"] = "input"
    paths: Annotated[list[_Line], Field(max_length=50)] = []


class CompileBody(_Body):
    """A message whose prompt is wanted; with ``record`` that prompt is really used."""

    text: _Text
    session_id: _Id | None = None
    budget: Annotated[int, Field(ge=256, le=2_000_000)] | None = None
    record: bool = False


class TakeBody(_Body):
    """Who takes an event, and for how long it is theirs alone."""

    by: _Line = "http"
    lease_s: Annotated[float, Field(ge=1, le=86_400)] = 900


class DoneBody(_Body):
    """What came of an event."""

    failed: bool = False
    said: _Text = ""


class Payload(RootModel[dict[str, Any]]):
    """What a webhook brings."""


class _Query(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SearchQuery(_Query):
    """What is looked for."""

    q: Annotated[str, Field(min_length=1, max_length=2_000)]
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    category: Category | None = None


class LastQuery(_Query):
    """How many, the newest ones."""

    limit: Annotated[int, Field(ge=1, le=1_000)] = 50


class Answer(BaseModel):
    """An answer: it holds at least what is listed."""

    model_config = ConfigDict(extra="allow")


def _answer(name: str, does: str, **fields: Any) -> type[Answer]:
    listed: dict[str, Any] = {field: (kind, ...) for field, kind in fields.items()}
    return create_model(name, __base__=Answer, __doc__=does, **listed)


_Things = list[dict[str, Any]]

Refused = _answer("Refused", "Why a request was not carried out.", error=str, hint=str)
Health = _answer(
    "Health", "How it does.", status=str, version=str, read_only=bool, schedule=str | None, subscribers=int
)
Written = _answer("Written", "Of each turn whether it was written.", session_id=str, written=list[bool])
Session = _answer("Session", "A session and its transcript.", session_id=str, path=str)
SessionTurns = _answer("SessionTurns", "Its last turns.", session_id=str, path=str, turns=_Things, of=int)
Sessions = _answer("Sessions", "Sessions, newest first.", sessions=_Things, of=int)
Traced = _answer("Traced", "Which topics are active, and why.", active=list[str], why=str, rows=_Things)
Prompt = _answer("Prompt", "A prompt.", text=str, tokens=int, sections=_Things, left_out=_Things)
Found = _answer("Found", "What was said and written, best first.", results=_Things)
Event = _answer("Event", "A schedule or a webhook.", id=str, source=str, event=str, state=str)
Taken = _answer("Taken", "An event and its prompt; null for none.", event=Event | None, prompt=str | None)
Arrived = _answer("Arrived", "A webhook; known where it came before.", id=str | None, known=bool)
CacheState = _answer("CacheState", "The cache of a discussion.", discussion_id=str, cached=bool)
CacheStates = _answer("CacheStates", "Those of all discussions.", discussions=_Things)
