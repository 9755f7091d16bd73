"""The gateway by which programs on this machine use the memory; ``routes`` lists what may be asked.

It answers on this machine alone, to the holder of a token (robustness H1).
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from engine.errors import (
    AutopoiesisError,
    BudgetError,
    GatewayFailed,
    JobError,
    NoSession,
    ReadOnly,
    TranscriptError,
    WriteFailed,
)
from engine.gateways.guard import Guard, Refusal, refused
from engine.gateways.openapi import description
from engine.gateways.plain import plain
from engine.gateways.routes import WAYS, Api, Asked, Way
from engine.gateways.webhooks import is_signed, secret_of

if TYPE_CHECKING:
    import uvicorn

    from engine.engine import Engine

HOST = "127.0.0.1"
PORT = 8765
_GRACE_S = 10
"""How long requests under way may take when the server ends, seconds."""
_STATUS: tuple[tuple[type[AutopoiesisError], int], ...] = (
    (NoSession, 404), (JobError, 404), (TranscriptError, 400), (BudgetError, 400), (ReadOnly, 403),
    (WriteFailed, 503),
)  # fmt: skip


def application(engine: Engine, *, token: str, port: int) -> Starlette:
    """The API as an ASGI application; ``port`` belongs to the name under which it is asked.

    Its ``state.events`` are to be closed before it ends.
    """
    api = Api(engine)

    @contextlib.asynccontextmanager
    async def listening(_app: Starlette) -> AsyncIterator[None]:
        unsubscribe = engine.subscribe(api.events)
        try:
            yield
        finally:
            unsubscribe()

    async def described(_api: object, _asked: Asked) -> object:
        """This description."""
        return description(ways)

    async def answer(way: Way, request: Request) -> Response:
        sent = _checked(way, request, await request.body())
        name = next(iter(request.path_params.values()), "")
        found = await way.call(api, Asked(name, sent, request))
        return found if isinstance(found, Response) else _answer(plain(found), way.status)

    ways = (*WAYS, Way("GET", "/openapi.json", described, "application/json"))
    hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}

    def signed(body: bytes, signature: str) -> bool:
        return is_signed(secret_of(engine.config.events.github_secret), body, signature)

    app = Starlette(
        routes=[Route(way.path, partial(answer, way), methods=[way.method]) for way in ways],
        middleware=[Middleware(Guard, token=token, hosts=hosts, is_signed=signed)],
        exception_handlers={
            HTTPException: _not_there, AutopoiesisError: _failed, Refusal: _refused, Exception: _failed,
        },
        lifespan=listening,
    )  # fmt: skip
    app.state.events = api.events
    return app


def _checked(way: Way, request: Request, body: bytes) -> Any:
    """Body or query as it has to be.

    Raises:
        Refusal: It is not.
    """
    if way.takes is None:
        return None
    try:
        if way.method == "GET":
            return way.takes.model_validate(dict(request.query_params))
        return way.takes.model_validate_json(body or b"{}")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise Refusal(
            422, f"{where}: {first['msg']}" if where else first["msg"], "see GET /openapi.json"
        ) from error


def _answer(tree: object, status: int = 200) -> Response:
    return JSONResponse(tree, status_code=status, headers={"Cache-Control": "no-store"})


async def _not_there(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    said = {404: "there is nothing here", 405: "that is not how to ask"}
    return refused(status, said.get(status, "refused"))


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return refused(error.status, error.what, error.hint)


async def _failed(_request: Request, error: Exception) -> Response:
    if not isinstance(error, AutopoiesisError):
        return refused(500, "failed", "see what the server prints")
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    return refused(status, error.what, error.hint)


class HookServer:
    """Serves the API until it is stopped.

    Args:
        host: Only this machine's own names.
        port: 0 for any that is free.

    Raises:
        GatewayFailed: The port is taken, or the host is not this machine.
    """

    def __init__(self, engine: Engine, token: str, *, host: str = HOST, port: int = PORT) -> None:
        import uvicorn  # noqa: PLC0415 — 100 ms

        from engine.gateways.connection import TimelyProtocol  # noqa: PLC0415 — imports uvicorn

        class Server(uvicorn.Server):
            """Ends listening clients first, and leaves the rest of the program its own end."""

            def handle_exit(self, sig: int, frame: object) -> None:
                self.force_exit = self.should_exit
                self.should_exit = True

            async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
                app.state.events.close()
                await super().shutdown(sockets)

        self._socket = _listening(host, port)
        self.port: int = self._socket.getsockname()[1]
        app = application(engine, token=token, port=self.port)
        self._server: uvicorn.Server = Server(
            uvicorn.Config(
                app,
                http=TimelyProtocol,
                log_level="warning",
                access_log=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=5,
                limit_concurrency=64,
                timeout_graceful_shutdown=_GRACE_S,
            )
        )

    @property
    def address(self) -> str:
        """Where it is asked."""
        return f"http://{HOST}:{self.port}"

    def serve(self) -> None:
        """Answers until the program is interrupted or ``stop`` is called."""
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """Ends it, from any thread."""
        self._server.should_exit = True


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens on this machine alone."""
    if host not in ("127.0.0.1", "localhost", "::1"):
        raise GatewayFailed("only this machine may ask", where=f"--host {host}", hint=f"use {HOST}")
    family = socket.AF_INET6 if host == "::1" else socket.AF_INET
    # With the protocol named, small answers are sent at once; else each waits 40 ms for more.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(128)
    except OSError as error:
        found.close()
        raise GatewayFailed(
            f"cannot listen: {error.strerror}", where=f"{host}:{port}", hint="use another --port"
        ) from error
    return found
