"""Access control of the HTTP gateway (robustness H1): holders of a token, in JSON.

A web page can make a browser send requests to this machine. Three checks stop that: the ``Host`` header must
name this server (against DNS rebinding), the ``Origin`` must be this server, and the token is not a cookie,
which a browser would add automatically.

What the owner's programs ask is not recorded. What other people ask is limited in rate, and recorded before
it is answered.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.errors import AutopoiesisError
from engine.gateways.people import MEANING, OWNER, Allowance, Person, Right
from engine.redaction.detect import redacted

MAX_BYTES = 8 * 1024 * 1024
"""Of a request's body: a turn with the output of its tools may have some megabytes."""
MAX_HOOK_BYTES = 1024 * 1024
"""Of a webhook's body: GitHub sends whole descriptions, and every commit of a push."""
HOOKS = "/hooks/"

MCP = "/mcp"
_LONGEST_NAME, _LONGEST_PATH = 60, 200
"""Characters of a tool's name and of a path that are recorded."""

IsSigned = Callable[[bytes, str], bool]
"""True if a body matches a signature."""
Identify = Callable[[str], Person | None]
"""Whose token it is."""
Record = Callable[[str, str], None]
"""Records who asked for what; raises ``AutopoiesisError`` if it cannot."""


class Refusal(Exception):
    """A refused request, with the arguments of ``error_response``."""

    def __init__(self, status: int, what: str, hint: str = "") -> None:
        super().__init__(status, what, hint)
        self.status, self.what, self.hint = status, what, hint


def not_permitted(person: Person, right: Right | None) -> Refusal:
    """The refusal of what a person has no right to."""
    if right is None:
        return Refusal(403, f"only the owner may do this, not {person.name}")
    hint = f"its owner may allow it: autopoiesis access grant {person.name} --may {right}"
    return Refusal(403, f"{person.name} may not {MEANING[right]}", hint)


def error_response(status: int, what: str, hint: str = "") -> JSONResponse:
    headers = {"Cache-Control": "no-store"}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status == 429:
        headers["Retry-After"] = "1"
    return JSONResponse({"error": redacted(what), "hint": hint}, status_code=status, headers=headers)


class Guard:
    """ASGI middleware that lets only permitted requests through, and adds who sent them: ``person_of``.

    Args:
        hosts: Allowed ``Host`` headers.
        origins: Allowed ``Origin`` headers.
        is_signed: Checks the signature of a GitHub webhook, which replaces the token there.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        identify: Identify,
        record: Record,
        hosts: Collection[str],
        origins: Collection[str],
        is_signed: IsSigned,
    ) -> None:
        self._app = app
        self._identify = identify
        self._record = record
        self._hosts = frozenset(hosts)
        self._origins = frozenset(origins)
        self._is_signed = is_signed
        self._allowance = Allowance()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        request = Request(scope)
        person = OWNER if _signature(request) is not None else self._sender(request)
        error = self._refusal(request, person)
        if error is not None or person is None:
            await (error or _no_token())(scope, receive, send)
            return
        body = await _body(receive, _max_bytes(request))
        if body is None:
            await _too_large(request)(scope, receive, send)
            return
        signature = _signature(request)
        if signature is not None and not self._is_signed(body, signature):
            what, hint = "missing or wrong signature", "set the same secret here and at GitHub"
            await error_response(401, what, hint)(scope, receive, send)
            return
        if not person.is_owner:
            try:
                await run_in_threadpool(self._record, person.name, _what(request, body))
            except (AutopoiesisError, OSError) as failed:
                what = f"the request could not be recorded: {failed}"
                await error_response(503, what)(scope, receive, send)
                return
        scope.setdefault("state", {})["person"] = person
        await self._app(scope, _replay(body, receive), send)

    def _refusal(self, request: Request, person: Person | None) -> JSONResponse | None:
        host = request.headers.get("host", "")
        if host.lower() not in self._hosts:
            return error_response(403, "the Host header names another server", f"use {min(self._hosts)}")
        origin = request.headers.get("origin")
        if origin is not None and origin.lower() not in self._origins:
            return error_response(403, "requests from another origin are not allowed")
        if person is None:
            return _no_token()
        if not person.is_owner and not self._allowance.take(person.name):
            return error_response(429, "too many requests", "wait a second")
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > _max_bytes(request):
            return _too_large(request)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if (length != "0" or "transfer-encoding" in request.headers) and kind != "application/json":
            return error_response(415, "the body must be JSON", "send Content-Type: application/json")
        return None

    def _sender(self, request: Request) -> Person | None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        return self._identify(token.strip()) if scheme.lower() == "bearer" else None


def person_of(request: Request) -> Person:
    """Who sent a request that the guard let through."""
    found: Person = request.state.person
    return found


def _no_token() -> JSONResponse:
    hint = "send Authorization: Bearer TOKEN; see: autopoiesis serve --help"
    return error_response(401, "missing or wrong token", hint)


def _what(request: Request, body: bytes) -> str:
    """What a request asks for: its method and path; of MCP its method, and the tool called."""
    if request.scope["path"] != MCP:
        return f"{request.method} {request.scope['path'][:_LONGEST_PATH]}"
    try:
        call = json.loads(body)
    except (ValueError, RecursionError):
        call = None
    names = [call.get("method")] if isinstance(call, dict) else []
    if names == ["tools/call"] and isinstance(call.get("params"), dict):
        names = [call["params"].get("name")]
    return " ".join(["mcp", *(name[:_LONGEST_NAME] for name in names if isinstance(name, str))])


def _signature(request: Request) -> str | None:
    """The signature of a GitHub webhook; None for requests that need the token."""
    is_hook = request.scope["path"].lower().startswith(f"{HOOKS}github/")
    return request.headers.get("x-hub-signature-256") if is_hook else None


def _max_bytes(request: Request) -> int:
    return MAX_HOOK_BYTES if request.scope["path"].startswith(HOOKS) else MAX_BYTES


def _too_large(request: Request) -> JSONResponse:
    return error_response(413, f"the body is larger than {_max_bytes(request):,} bytes")


async def _body(receive: Receive, limit: int) -> bytes | None:
    """The whole body; None if it is larger than ``limit``, whatever its header says."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b""  # the client has disconnected
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            return None
        if not message.get("more_body", False):
            return b"".join(parts)


def _replay(body: bytes, then: Receive) -> Receive:
    """Delivers a body that was already read, then reads on."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return pending.pop() if pending else await then()

    return receive
