"""What may be asked of the gateway: one table, from which routes and their description are made.

Each way to ask is a small function over what the engine has. The engine's work is done in threads: it locks
and syncs files.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from engine import __version__
from engine.conversations.sessions import end_session, new_session_id
from engine.discussions.caches import tree_of
from engine.errors import NoSession
from engine.gateways import bodies
from engine.gateways.stream import Stream
from engine.gateways.webhooks import delivery_of, event_of, message_of
from engine.gateways.writing import Writing
from engine.transcripts.capture import Said
from engine.transcripts.places import list_transcripts

if TYPE_CHECKING:
    from engine.discussions.state import DiscussionCacheState
    from engine.engine import Engine

_AT_WORK = 4
"""Requests that the engine works on at once; messages are written beside them."""
BY_HAND = "given up through the hook API"


class Api:
    """What answers rest on."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.events = Stream()
        self.writing = Writing(engine.files, engine.capture)
        self._at_work = asyncio.Semaphore(_AT_WORK)
        engine.pace = self.writing.pace

    async def run(self, work: Callable[[], Any]) -> Any:
        """Does the engine's work in a thread."""
        async with self._at_work:
            return await run_in_threadpool(work)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that was checked."""

    name: str  # what its path names; empty where it names nothing
    sent: Any  # its body or query
    request: Request


@dataclass(frozen=True, slots=True)
class Way:
    """A way to ask."""

    method: str
    path: str
    call: Callable[[Api, Asked], Awaitable[object]]
    gives: type[BaseModel] | str
    """The answer's form, or its media type where it is no JSON."""
    takes: type[BaseModel] | None = None  # the form of a POST's body, or of a GET's query
    status: int = 200
    does: str = ""  # in place of the function's own words


async def health(api: Api, _asked: Asked) -> object:
    """Whether the gateway answers, and who runs the schedule."""
    held = await api.run(lambda: api.engine.schedule.held_by())
    return {
        "status": "ok", "version": __version__, "read_only": api.engine.files.read_only, "schedule": held,
        "subscribers": api.events.clients,
    }  # fmt: skip


async def message(api: Api, asked: Asked) -> object:
    """Write a message of a session down. It is on disk before this is answered, and traced at once after."""
    return await _say(api, asked.sent.session_id, [asked.sent])


async def turns(api: Api, asked: Asked) -> object:
    """Write several messages and tool calls of a session down, all of them or none."""
    return await _say(api, asked.name, asked.sent.turns)


async def _say(api: Api, session: str, sent: list[bodies.TurnBody]) -> object:
    said = [
        Said(each.role, each.text, each.kind, each.at, each.key, each.attachments, each.tool, each.result)
        for each in sent
    ]
    return {"session_id": session, "written": await api.writing.say(session, said)}


async def trace(api: Api, asked: Asked) -> object:
    """Which topics a message activates, and why."""
    sent = asked.sent
    return await api.run(lambda: api.engine.trace(sent.text, sent.direction, paths=sent.paths))


async def compiled(api: Api, asked: Asked) -> object:
    """The prompt for a message, of a session or on its own."""
    sent = asked.sent
    return await api.run(
        lambda: api.engine.compile(
            sent.text, budget=sent.budget, session_id=sent.session_id or "", record=sent.record
        )
    )


async def search(api: Api, asked: Asked) -> object:
    """What was said and written about something."""
    sent = asked.sent
    found = await api.run(lambda: api.engine.search(sent.q, category=sent.category, limit=sent.limit))
    return {"results": found}


async def sessions(api: Api, asked: Asked) -> object:
    """The last sessions."""
    every = await api.run(lambda: list_transcripts(api.engine.workspace))
    return {"sessions": every[: asked.sent.limit], "of": len(every)}


async def start(api: Api, asked: Asked) -> object:
    """Begin a session; one that exists is left as it is."""
    sent = asked.sent
    name = sent.session_id or new_session_id()
    begin = partial(api.engine.capture.start, model=sent.model, channel=sent.channel, title=sent.title)
    return {"session_id": name, "path": await api.run(lambda: begin(name))}


async def session(api: Api, asked: Asked) -> object:
    """The last turns of a session."""
    found = await api.run(lambda: api.engine.conversations.of_session(asked.name))
    told = [
        {"role": turn.role, "at": at, "kind": turn.kind, "text": turn.text, "tools": turn.tools}
        for turn, at in zip(found.turns, found.times, strict=True)
    ]
    return {
        "session_id": asked.name, "path": found.path, "turns": told[-asked.sent.limit :], "of": found.end
    }  # fmt: skip


async def end(api: Api, asked: Asked) -> object:
    """End a session and commit its transcript."""
    engine, used = api.engine, asked.sent.model_dump()

    def work() -> object:
        wanted = engine.config.git.auto_commit
        ended = end_session(engine.capture, engine.repository, asked.name, commit=wanted, **used)
        engine.extraction.session_ended(ended.path)
        return {"session_id": asked.name, "path": ended.path, "revision": ended.revision, "why": ended.why}

    return await api.run(work)


async def events(api: Api, asked: Asked) -> object:
    """What happens, as it happens: `feed`, `decision`, `prompt` and `error`, as server-sent events."""
    return api.events.answer(asked.request)


async def take(api: Api, asked: Asked) -> object:
    """Take the oldest schedule or webhook that waits for an agent; nobody else gets it meanwhile."""
    sent = asked.sent
    handed = await api.run(lambda: api.engine.signals.take(sent.by, timedelta(seconds=sent.lease_s)))
    return {"event": handed and handed.arrival, "prompt": handed and handed.prompt.text}


async def done(api: Api, asked: Asked) -> object:
    """Say that an event that was taken is dealt with."""
    sent = asked.sent
    return await api.run(lambda: api.engine.signals.log.end(asked.name, failed=sent.failed, said=sent.said))


async def hook(api: Api, asked: Asked) -> object:
    """Take a webhook in. Its delivery is remembered, so that a repeat does nothing twice."""
    source, event = event_of(asked.request, asked.sent.root)
    text = message_of(source, event, asked.sent.root)
    delivery = delivery_of(asked.request)
    arrival = await api.run(lambda: api.engine.signals.arrive(source, event, text, delivery))
    return {"id": arrival and arrival.id, "known": arrival is None}


async def caches(api: Api, _asked: Asked) -> object:
    """The cache states of all discussions."""
    states = await api.run(api.engine.caches.all)
    return {"discussions": [tree_of(state, api.engine.clock()) for state in states]}


async def cache(api: Api, asked: Asked, change: str = "") -> object:
    """One of them."""
    engine, name = api.engine, asked.name
    ending = engine.discussions.ending
    changes: dict[str, Callable[[], DiscussionCacheState]] = {
        "invalidate": lambda: ending.invalidate(name, BY_HAND),
        "disable": lambda: ending.disable(name),
        "enable": lambda: ending.enable(name),
    }

    def work() -> object:
        engine.caches.get(name)  # refuses what is no session's id
        found = next((state for state in engine.caches.all() if state.discussion_id == name), None)
        if found is None:
            raise NoSession("no such discussion has been sent", hint="see GET /api/cache")
        return tree_of(changes[change]() if change else found, engine.clock())

    return await api.run(work)


_CHANGES = {
    "invalidate": "Give it up.",
    "disable": "Ask for no caches in the discussion any more.",
    "enable": "Ask for them again.",
}

WAYS: tuple[Way, ...] = (
    Way("GET", "/api/health", health, bodies.Health),
    Way("POST", "/api/messages", message, bodies.Written, bodies.MessageBody, 201),
    Way("POST", "/api/trace", trace, bodies.Traced, bodies.TraceBody),
    Way("POST", "/api/compile", compiled, bodies.Prompt, bodies.CompileBody),
    Way("GET", "/api/search", search, bodies.Found, bodies.SearchQuery),
    Way("GET", "/api/sessions", sessions, bodies.Sessions, bodies.LastQuery),
    Way("POST", "/api/sessions", start, bodies.Session, bodies.SessionBody, 201),
    Way("GET", "/api/sessions/{session}", session, bodies.SessionTurns, bodies.LastQuery),
    Way("POST", "/api/sessions/{session}/turns", turns, bodies.Written, bodies.TurnsBody, 201),
    Way("POST", "/api/sessions/{session}/end", end, bodies.Session, bodies.EndBody),
    Way("GET", "/api/events", events, "text/event-stream"),
    Way("POST", "/api/events/next", take, bodies.Taken, bodies.TakeBody),
    Way("POST", "/api/events/{id}/end", done, bodies.Event, bodies.DoneBody),
    Way("POST", "/hooks/{source}/{event}", hook, bodies.Arrived, bodies.Payload, 202),
    Way("GET", "/api/cache", caches, bodies.CacheStates),
    Way("GET", "/api/cache/{discussion}", cache, bodies.CacheState),
    *(
        Way(
            "POST",
            f"/api/cache/{{discussion}}/{name}",
            partial(cache, change=name),
            bodies.CacheState,
            does=does,
        )
        for name, does in _CHANGES.items()
    ),
)
