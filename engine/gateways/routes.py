"""The gateway's endpoints: one table, from which routes and the OpenAPI document are built.

Each endpoint is a small function over the engine. The engine's work runs in threads, because it locks and
syncs files. The functions' docstrings become the summaries in the OpenAPI document.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
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
from engine.errors import AutopoiesisError, NoSession
from engine.gateways import bodies
from engine.gateways.guard import Refusal, person_of
from engine.gateways.people import Person, Right
from engine.gateways.webhooks import delivery_of, event_of, message_of
from engine.transcripts.capture import NewMessage
from engine.transcripts.places import list_transcripts

if TYPE_CHECKING:
    from engine.discussions.caches import DiscussionCacheState
    from engine.engine import Engine
    from engine.store.files import Files
    from engine.transcripts.capture import ConversationCapture

_CONCURRENCY = 4
"""Requests that the engine works on at once, apart from writing messages."""
BY_HAND = "invalidated through the hook API"

_BUSY_RATE = 100
"""Messages per second above which background work is slowed down."""
_WINDOW_S = 0.5
_MAX_PAUSE_S = 0.1

_Request = tuple["Sequence[NewMessage]", "asyncio.Future[list[bool]]"]


class Api:
    """State shared by all requests."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.writer = _MessageWriter(engine.files, engine.capture)
        self._slots = asyncio.Semaphore(_CONCURRENCY)
        engine.pace = self.writer.pace

    async def run(self, work: Callable[[], Any]) -> Any:
        """Runs the engine's work in a thread."""
        async with self._slots:
            return await run_in_threadpool(work)


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A validated request."""

    name: str  # the parameter in its path, if any
    sent: Any  # its body or query
    request: Request

    @property
    def person(self) -> Person:
        """Who sent it."""
        return person_of(self.request)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A row of the table."""

    method: str
    path: str
    call: Callable[[Api, ApiRequest], Awaitable[object]]
    gives: type[BaseModel] | str  # model of the response, or its media type if it is not JSON
    takes: type[BaseModel] | None = None  # model of a POST's body, or of a GET's query
    status: int = 200
    does: str = ""  # the summary, if not the function's docstring
    needs: Right | None = None  # of people other than the owner; ``None``: the owner only


async def health(api: Api, _request: ApiRequest) -> object:
    """Check that the gateway responds, and who runs the schedule."""
    held = await api.run(lambda: api.engine.schedule.held_by())
    return {
        "status": "ok", "version": __version__, "read_only": api.engine.files.read_only, "schedule": held,
    }  # fmt: skip


async def message(api: Api, request: ApiRequest) -> object:
    """Record a message. It is on disk when the response is sent, and traced right after."""
    return await _write(api, request, request.sent.session_id, [request.sent])


async def turns(api: Api, request: ApiRequest) -> object:
    """Record several messages and tool calls of a session, all or none of them."""
    return await _write(api, request, request.name, request.sent.turns)


async def _write(api: Api, request: ApiRequest, session: str, sent: list[bodies.TurnBody]) -> object:
    await api.run(partial(_require_own, api, request.person, session))
    turns = [
        NewMessage(
            each.role,
            each.text,
            each.kind,
            each.at,
            each.key,
            each.attachments,
            each.tool,
            each.result,
            each.action,
        )
        for each in sent
    ]
    return {"session_id": session, "written": await api.writer.write(session, turns)}


async def trace(api: Api, request: ApiRequest) -> object:
    """Show which topics a message activates, and why."""
    sent = request.sent
    return await api.run(lambda: api.engine.trace(sent.text, sent.direction, paths=sent.paths))


async def compiled(api: Api, request: ApiRequest) -> object:
    """Compile the prompt for a message, with or without a session."""
    sent = request.sent
    return await api.run(
        lambda: api.engine.compile(
            sent.text, budget=sent.budget, session_id=sent.session_id or "", record=sent.record
        )
    )


async def search(api: Api, request: ApiRequest) -> object:
    """Search everything that was said and written."""
    sent = request.sent
    found = await api.run(lambda: api.engine.search(sent.q, category=sent.category, limit=sent.limit))
    return {"results": found}


async def sessions(api: Api, request: ApiRequest) -> object:
    """List the latest sessions."""
    every = await api.run(lambda: list_transcripts(api.engine.workspace))
    return {"sessions": every[: request.sent.limit], "of": len(every)}


async def start(api: Api, request: ApiRequest) -> object:
    """Start a session; an existing one is not changed."""
    sent = request.sent
    name = sent.session_id or new_session_id()

    def work() -> str:
        _require_own(api, request.person, name)
        about = {"model": sent.model, "channel": sent.channel, "title": sent.title}
        return api.engine.capture.start(name, author=request.person.name, **about)

    return {"session_id": name, "path": await api.run(work)}


def _require_own(api: Api, person: Person, session: str) -> None:
    """Refuse a session that exists and is not a person's own; the owner may write to all."""
    if not person.is_owner:
        found = api.engine.capture.find(session)
        if found is not None and api.engine.conversations.author(found) != person.name:
            raise Refusal(403, f"the session is not one of {person.name}", "start one: POST /api/sessions")


async def session(api: Api, request: ApiRequest) -> object:
    """Show the last turns of a session."""
    found = await api.run(lambda: api.engine.conversations.of_session(request.name))
    turns = [
        {"role": turn.role, "at": at, "kind": turn.kind, "text": turn.text, "tools": turn.tools}
        for turn, at in zip(found.turns, found.times, strict=True)
    ]
    return {
        "session_id": request.name, "path": found.path, "turns": turns[-request.sent.limit :], "of": found.end
    }  # fmt: skip


async def end(api: Api, request: ApiRequest) -> object:
    """End a session and commit its transcript."""
    engine, used = api.engine, request.sent.model_dump()

    def work() -> object:
        _require_own(api, request.person, request.name)
        commit = engine.config.git.auto_commit
        ended = end_session(engine.capture, engine.repository, request.name, commit=commit, **used)
        if request.person.is_owner:
            engine.extraction.session_ended(ended.path)
        return {"session_id": request.name, "path": ended.path, "revision": ended.revision, "why": ended.why}

    return await api.run(work)


async def take(api: Api, request: ApiRequest) -> object:
    """Take the oldest waiting schedule or webhook; it is reserved for the length of the lease."""
    sent = request.sent
    handed = await api.run(lambda: api.engine.signals.take(sent.by, timedelta(seconds=sent.lease_s)))
    return {"event": handed and handed.arrival, "prompt": handed and handed.prompt.text}


async def done(api: Api, request: ApiRequest) -> object:
    """Mark an event as done."""
    sent = request.sent
    return await api.run(lambda: api.engine.signals.log.end(request.name, failed=sent.failed, said=sent.said))


async def hook(api: Api, request: ApiRequest) -> object:
    """Receive a webhook. Repeated deliveries are recognised and ignored."""
    source, event = event_of(request.request, request.sent.root)
    text = message_of(source, event, request.sent.root)
    delivery = delivery_of(request.request)
    arrival = await api.run(lambda: api.engine.signals.arrive(source, event, text, delivery))
    return {"id": arrival and arrival.id, "known": arrival is None}


async def caches(api: Api, _request: ApiRequest) -> object:
    """Show the caches of all discussions."""
    states = await api.run(api.engine.caches.all)
    return {"discussions": [tree_of(state, api.engine.clock()) for state in states]}


async def cache(api: Api, request: ApiRequest, change: str = "") -> object:
    """Show the cache of a discussion."""
    engine, name = api.engine, request.name
    ending = engine.discussions.ending
    changes: dict[str, Callable[[], DiscussionCacheState]] = {
        "invalidate": lambda: ending.invalidate(name, BY_HAND),
        "disable": lambda: ending.disable(name),
        "enable": lambda: ending.enable(name),
    }

    def work() -> object:
        engine.caches.get(name)  # raises for an invalid session id
        found = next((state for state in engine.caches.all() if state.discussion_id == name), None)
        if found is None:
            raise NoSession("no such discussion", hint="see GET /api/cache")
        return tree_of(changes[change]() if change else found, engine.clock())

    return await api.run(work)


_CHANGES = {
    "invalidate": "Invalidate the cache of a discussion.",
    "disable": "Turn caching off for a discussion.",
    "enable": "Turn caching on again for a discussion.",
}

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", "/api/health", health, bodies.Health, needs="capture"),
    Endpoint("POST", "/api/messages", message, bodies.Written, bodies.MessageBody, 201, needs="capture"),
    Endpoint("POST", "/api/trace", trace, bodies.Traced, bodies.TraceBody),
    Endpoint("POST", "/api/compile", compiled, bodies.Prompt, bodies.CompileBody),
    Endpoint("GET", "/api/search", search, bodies.Found, bodies.SearchQuery),
    Endpoint("GET", "/api/sessions", sessions, bodies.Sessions, bodies.LastQuery),
    Endpoint("POST", "/api/sessions", start, bodies.Session, bodies.SessionBody, 201, needs="capture"),
    Endpoint("GET", "/api/sessions/{session}", session, bodies.SessionTurns, bodies.LastQuery),
    Endpoint(
        "POST", "/api/sessions/{session}/turns", turns, bodies.Written, bodies.TurnsBody, 201, needs="capture"
    ),
    Endpoint("POST", "/api/sessions/{session}/end", end, bodies.Session, bodies.EndBody, needs="capture"),
    Endpoint("POST", "/api/events/next", take, bodies.Taken, bodies.TakeBody),
    Endpoint("POST", "/api/events/{id}/end", done, bodies.Event, bodies.DoneBody),
    Endpoint("POST", "/hooks/{source}/{event}", hook, bodies.Arrived, bodies.Payload, 202),
    Endpoint("GET", "/api/cache", caches, bodies.CacheStates),
    Endpoint("GET", "/api/cache/{discussion}", cache, bodies.CacheState),
    *(
        Endpoint(
            "POST",
            f"/api/cache/{{discussion}}/{name}",
            partial(cache, change=name),
            bodies.CacheState,
            does=does,
        )
        for name, does in _CHANGES.items()
    ),
)


class _MessageWriter:
    """Writes messages in batches: those that arrive during a write are written together afterwards.

    A message that cannot be written does not affect the others.
    """

    def __init__(self, files: Files, capture: ConversationCapture) -> None:
        self._files = files
        self._capture = capture
        self._pending: dict[str, list[_Request]] = {}
        self._since, self._count, self._rate = time.monotonic(), 0, 0.0
        self._task: asyncio.Task[None] | None = None

    async def write(self, session_id: str, messages: Sequence[NewMessage]) -> list[bool]:
        """Whether each message was written, once they are on disk; raises like ``capture.say``."""
        self._count_messages(len(messages))
        future: asyncio.Future[list[bool]] = asyncio.get_running_loop().create_future()
        self._pending.setdefault(session_id, []).append((messages, future))
        if self._task is None:
            self._task = asyncio.create_task(self._write())
        return await future

    def pace(self, worked_s: float) -> None:
        """Slows background work down while many messages arrive, so that tracing does not delay them."""
        if self._rate > _BUSY_RATE and time.monotonic() - self._since < 2 * _WINDOW_S:
            time.sleep(min(2 * worked_s, _MAX_PAUSE_S))

    def _count_messages(self, messages: int) -> None:
        self._count += messages
        elapsed = time.monotonic() - self._since
        if elapsed >= _WINDOW_S:
            self._since, self._count, self._rate = time.monotonic(), 0, self._count / elapsed

    async def _write(self) -> None:
        batch: dict[str, list[_Request]] = {}
        try:
            while self._pending:
                batch, self._pending = self._pending, {}
                done = await run_in_threadpool(self._write_batch, batch)
                for future, result in (pair for pairs in done for pair in pairs):
                    if future.done():  # the client has disconnected
                        continue
                    if isinstance(result, Exception):
                        future.set_exception(result)
                    else:
                        future.set_result(result)
        finally:
            self._task = None
            for _, future in (request for requests in batch.values() for request in requests):
                future.cancel()  # so that no client waits forever

    def _write_batch(self, batch: dict[str, list[_Request]]) -> list[list[tuple[Any, Any]]]:
        try:
            with self._files.lock():  # locking per session would be a third of the work
                return [self._write_session(*each) for each in batch.items()]
        except AutopoiesisError as error:
            return [[(future, error) for _, future in requests] for requests in batch.values()]

    def _write_session(self, session_id: str, requests: list[_Request]) -> list[tuple[Any, Any]]:
        """The future and result, or error, of each request of a session."""
        try:
            every = [message for messages, _ in requests for message in messages]
            written = iter(self._capture.append(session_id, every))
            return [(future, [next(written) for _ in messages]) for messages, future in requests]
        except (AutopoiesisError, OSError, ValueError) as error:
            if len(requests) == 1:
                return [(requests[0][1], error)]
            # One request caused the error: write them one by one.
            return [pair for each in requests for pair in self._write_session(session_id, [each])]
