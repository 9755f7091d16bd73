"""Access control of the hook API (robustness H1): holders of the token, on this machine, in JSON.

A web page can make a browser send requests to this machine. Three checks stop that: the ``Host`` header must
name this server (against DNS rebinding), the ``Origin`` must be this server, and the token is not a cookie,
which a browser would add automatically.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Collection

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.redaction.detect import redacted

MAX_BYTES = 8 * 1024 * 1024
"""Of a request's body: a turn with the output of its tools may have some megabytes."""
MAX_HOOK_BYTES = 1024 * 1024
"""Of a webhook's body: GitHub sends whole descriptions, and every commit of a push."""
HOOKS = "/hooks/"

IsSigned = Callable[[bytes, str], bool]
"""True if a body matches a signature."""


class Refusal(Exception):
    """A refused request, with the arguments of ``error_response``."""

    def __init__(self, status: int, what: str, hint: str = "") -> None:
        super().__init__(status, what, hint)
        self.status, self.what, self.hint = status, what, hint


def error_response(status: int, what: str, hint: str = "") -> JSONResponse:
    headers = {"Cache-Control": "no-store"}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse({"error": redacted(what), "hint": hint}, status_code=status, headers=headers)


class Guard:
    """ASGI middleware that lets only permitted requests through.

    Args:
        token: The bearer token.
        hosts: Allowed ``Host`` headers, with port.
        is_signed: Checks the signature of a GitHub webhook, which replaces the token there.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str,
        hosts: Collection[str],
        is_signed: IsSigned = lambda _body, _signature: False,
    ) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = frozenset(hosts)
        self._is_signed = is_signed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        request = Request(scope)
        error = self._refusal(request)
        if error is not None:
            await error(scope, receive, send)
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
        await self._app(scope, _replay(body, receive), send)

    def _refusal(self, request: Request) -> JSONResponse | None:
        host = request.headers.get("host", "")
        if host.lower() not in self._hosts:
            return error_response(403, "the Host header names another server", f"use {min(self._hosts)}")
        origin = request.headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{name}" for name in self._hosts}:
            return error_response(403, "requests from another origin are not allowed")
        if _signature(request) is None and not self._has_token(request):
            hint = "send Authorization: Bearer TOKEN; see: autopoiesis serve --help"
            return error_response(401, "missing or wrong token", hint)
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > _max_bytes(request):
            return _too_large(request)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if (length != "0" or "transfer-encoding" in request.headers) and kind != "application/json":
            return error_response(415, "the body must be JSON", "send Content-Type: application/json")
        return None

    def _has_token(self, request: Request) -> bool:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self._token)


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
