"""Server-sent events from one bounded buffer that all clients share.

A client that falls behind the buffer's start is notified and disconnected; one that reconnects within the
buffer continues where it was.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
from collections import deque
from collections.abc import AsyncIterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from starlette.responses import StreamingResponse

from engine.events import ErrorReported, PromptCompiled, TurnTraced
from engine.gateways.guard import Refusal
from engine.gateways.plain import plain
from engine.live.feed import entry_of
from engine.redaction.detect import redacted, without_secrets

if TYPE_CHECKING:
    from starlette.requests import Request

    from engine.events import EngineEvent

KEPT = 4_096
"""Events in the buffer."""
MAX_CLIENTS = 16
_TOO_MANY = f"too many clients: {MAX_CLIENTS} are connected"
_KEEPALIVE_S = 15.0
_BATCH = 64
_MAX_TEXT = 2_000
"""Characters of a feed entry's text; the session holds all of it."""


class EventStream:
    """Sends an engine's events to clients. Called on any thread; clients belong to the event loop."""

    def __init__(self) -> None:
        self._run = secrets.token_hex(3)
        self._kept: deque[bytes] = deque(maxlen=KEPT)
        self._next = 0
        self._guard = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._clients: set[asyncio.Event] = set()
        self._is_waking = self._is_closed = False

    @property
    def clients(self) -> int:
        """How many clients are connected."""
        return len(self._clients)

    def __call__(self, event: EngineEvent) -> None:
        """Adds an event of the engine."""
        message = _message(event)
        if message is None:
            return
        data = json.dumps(without_secrets(message[1]), ensure_ascii=True)
        with self._guard:
            self._kept.append(f"id: {self._run}-{self._next}\nevent: {message[0]}\ndata: {data}\n\n".encode())
            self._next += 1
        self._wake()

    def close(self) -> None:
        """Ends every client's stream."""
        self._is_closed = True
        self._wake()

    def answer(self, request: Request) -> StreamingResponse:
        """The stream for a client, from ``Last-Event-ID`` on if that is still in the buffer.

        Raises:
            Refusal: Too many clients.
        """
        if self.clients >= MAX_CLIENTS:
            raise Refusal(503, _TOO_MANY, "disconnect one of them")
        self._loop = asyncio.get_running_loop()
        events = self._events(request.headers.get("last-event-id", ""))
        return StreamingResponse(
            events, media_type="text/event-stream", headers={"Cache-Control": "no-store"}
        )

    async def _events(self, last: str) -> AsyncIterator[bytes]:
        wake = asyncio.Event()
        self._clients.add(wake)
        try:
            if self.clients > MAX_CLIENTS:  # several connected before one of them was counted
                yield _last("dropped", _TOO_MANY)
                return
            position, is_known = self._position(last)
            yield (
                b"retry: 2000\n\n" if is_known else _last("missed", "earlier events are no longer available")
            )
            while not self._is_closed:
                wake.clear()
                found = self._after(position)
                if found is None:
                    yield _last("dropped", f"more than {KEPT:,} events behind; connect again")
                    return
                position += len(found)
                if found:
                    yield b"".join(found)
                    continue
                try:
                    async with asyncio.timeout(_KEEPALIVE_S):
                        await wake.wait()
                except TimeoutError:
                    yield b": keepalive\n\n"
            yield _last("closed", "the server is shutting down")
        finally:
            self._clients.discard(wake)

    def _position(self, last: str) -> tuple[int, bool]:
        """The number of the client's next event, and whether it missed none."""
        run, _, number = last.rpartition("-")
        with self._guard:
            first = self._next - len(self._kept)
            if not last:
                return self._next, True
            if run == self._run and number.isdecimal() and first <= int(number) + 1 <= self._next:
                return int(number) + 1, True
            return first, False

    def _after(self, position: int) -> list[bytes] | None:
        """The next batch of events from a number on; None if they are no longer in the buffer."""
        with self._guard:
            first = self._next - len(self._kept)
            start = position - first
            return None if start < 0 else list(islice(self._kept, start, start + _BATCH))

    def _wake(self) -> None:
        loop = self._loop
        if loop is not None and self._clients and not self._is_waking:
            self._is_waking = True
            try:
                loop.call_soon_threadsafe(self._woken)
            except RuntimeError:  # the server has stopped
                self._is_waking = False

    def _woken(self) -> None:
        self._is_waking = False
        for each in self._clients:
            each.set()


def _last(name: str, reason: str) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'why': reason})}\n\n".encode()


def _message(event: EngineEvent) -> tuple[str, Any] | None:
    """The name and data that clients get for an event; None for events that are not sent."""
    match event:
        case TurnTraced(key=key, trace=trace):
            data = {"key": key, "active": trace.active, "why": trace.why, "corrections": trace.corrections}
            return "decision", plain(data)
        case PromptCompiled(key=key, compiled=compiled):
            return "prompt", {"key": key, "tokens": compiled.tokens, "topics": list(compiled.active_topics)}
        case ErrorReported(at=at, text=text):
            return "error", plain({"at": at, "text": text})
    entry = entry_of(event)
    if entry is None:
        return None
    tree = plain(entry)
    text = redacted(entry.text)  # part of a key is no longer recognized as one
    return "feed", {**tree, "text": text[:_MAX_TEXT], "cut": len(text) > _MAX_TEXT}
