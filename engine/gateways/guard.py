"""Who may talk to the hook API (robustness H1): the holder of the token, on this machine, in JSON.

A web page that a person looks at can make a browser send requests to this machine. What stops it: the name
the browser was told must be one of ours (``Host``, against rebinding of names), the page must come from
nowhere else (``Origin``), and the token is in no cookie that a browser would add by itself.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Collection

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 64 * 1024
"""Of a request's body."""


def refused(status: int, what: str, cure: str = "") -> JSONResponse:
    """The answer to a request that is not carried out."""
    headers = {"Cache-Control": "no-store"}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse({"error": what, "cure": cure}, status_code=status, headers=headers)


class Guard:
    """Lets requests through that may be answered.

    Args:
        token: What ``Authorization: Bearer`` has to name.
        hosts: The names, with port, under which the server may be asked.
    """

    def __init__(self, app: ASGIApp, *, token: str, hosts: Collection[str]) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        request = Request(scope)
        answer = self._refusal(request)
        if answer is not None:
            await answer(scope, receive, send)
            return
        body = await _body(receive)
        if body is None:
            await refused(413, f"a body may have {MOST_BYTES:,} bytes")(scope, receive, send)
            return
        await self._app(scope, _once(body), send)

    def _refusal(self, request: Request) -> JSONResponse | None:
        host = request.headers.get("host", "")
        if host.lower() not in self._hosts:
            return refused(403, "the Host header names another server", f"ask {min(self._hosts)}")
        origin = request.headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{name}" for name in self._hosts}:
            return refused(403, "a page of another origin may not ask")
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(token.strip().encode(), self._token):
            return refused(
                401, "the token is missing or wrong", "send Authorization: Bearer TOKEN; see serve"
            )
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            return refused(413, f"a body may have {MOST_BYTES:,} bytes")
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if (length != "0" or "transfer-encoding" in request.headers) and kind != "application/json":
            return refused(415, "a body has to be JSON", "send Content-Type: application/json")
        return None


async def _body(receive: Receive) -> bytes | None:
    """The whole body; ``None`` where it is longer than it may be, whatever its header says."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b""  # the client has gone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MOST_BYTES:
            return None
        if not message.get("more_body", False):
            return b"".join(parts)


def _once(body: bytes) -> Callable[[], Awaitable[Message]]:
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return waiting.pop() if waiting else {"type": "http.disconnect"}

    return receive
