"""Who may talk to the hook API (robustness H1): the holder of the token, on this machine, in JSON.

A web page that a person looks at can make a browser send requests to this machine. What stops it: the name
the browser was told must be one of ours (``Host``, against rebinding of names), the page must come from
nowhere else (``Origin``), and the token is in no cookie that a browser would add by itself.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Collection

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 64 * 1024
"""Of a request's body."""
MOST_HOOK_BYTES = 1024 * 1024
"""Of a webhook's: GitHub sends whole descriptions, and every commit of a push."""
HOOKS = "/hooks/"

IsSigned = Callable[[bytes, str], bool]
"""Whether a body has a signature."""


class Refusal(Exception):
    """A request that is not carried out; as the arguments of ``refused``."""

    def __init__(self, status: int, what: str, hint: str = "") -> None:
        super().__init__(status, what, hint)
        self.status, self.what, self.hint = status, what, hint


def refused(status: int, what: str, hint: str = "") -> JSONResponse:
    """The answer to a request that is not carried out."""
    headers = {"Cache-Control": "no-store"}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse({"error": what, "hint": hint}, status_code=status, headers=headers)


class Guard:
    """Lets requests through that may be answered.

    Args:
        token: What ``Authorization: Bearer`` has to name.
        hosts: The names, with port, under which the server may be asked.
        is_signed: Whether a body has a signature of GitHub's, which stands for the token there.
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
        body = await _body(receive, _most(request))
        if body is None:
            await _too_long(request)(scope, receive, send)
            return
        signature = _signature(request)
        if signature is not None and not self._is_signed(body, signature):
            what, hint = "the signature is missing or wrong", "set the same secret here and at GitHub"
            await refused(401, what, hint)(scope, receive, send)
            return
        await self._app(scope, _once(body, receive), send)

    def _refusal(self, request: Request) -> JSONResponse | None:
        host = request.headers.get("host", "")
        if host.lower() not in self._hosts:
            return refused(403, "the Host header names another server", f"ask {min(self._hosts)}")
        origin = request.headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{name}" for name in self._hosts}:
            return refused(403, "a page of another origin may not ask")
        if _signature(request) is None and not self._has_token(request):
            return refused(
                401, "the token is missing or wrong", "send Authorization: Bearer TOKEN; see serve"
            )
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > _most(request):
            return _too_long(request)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if (length != "0" or "transfer-encoding" in request.headers) and kind != "application/json":
            return refused(415, "a body has to be JSON", "send Content-Type: application/json")
        return None

    def _has_token(self, request: Request) -> bool:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self._token)


def _signature(request: Request) -> str | None:
    """The signature of a webhook of GitHub's; ``None`` where the token counts."""
    is_hook = request.scope["path"].lower().startswith(f"{HOOKS}github/")
    return request.headers.get("x-hub-signature-256") if is_hook else None


def _most(request: Request) -> int:
    return MOST_HOOK_BYTES if request.scope["path"].startswith(HOOKS) else MOST_BYTES


def _too_long(request: Request) -> JSONResponse:
    return refused(413, f"a body may have {_most(request):,} bytes")


async def _body(receive: Receive, most: int) -> bytes | None:
    """The whole body; ``None`` where it is longer than it may be, whatever its header says."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b""  # the client has gone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            return None
        if not message.get("more_body", False):
            return b"".join(parts)


def _once(body: bytes, after: Receive) -> Receive:
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return waiting.pop() if waiting else await after()

    return receive
