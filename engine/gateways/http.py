"""The hook API (``cache-friendly-context.md`` 5): what a program on this machine may ask of an engine.

GET  /api/cache                     the cache states of all discussions
GET  /api/cache/{id}                one of them
POST /api/cache/{id}/invalidate     gives it up
POST /api/cache/{id}/disable        asks for no caches in the discussion any more
POST /api/cache/{id}/enable         asks for them again
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from engine.discussions.caches import tree_of
from engine.errors import AutopoiesisError, GatewayFailed, TranscriptError
from engine.gateways.guard import Guard, refused

if TYPE_CHECKING:
    import uvicorn

    from engine.discussions.state import DiscussionCacheState
    from engine.engine import Engine

HOST = "127.0.0.1"
PORT = 8765
BY_HAND = "given up through the hook API"


def application(engine: Engine, *, token: str, port: int) -> Starlette:
    """The API as an ASGI application.

    ``port`` belongs to the name under which it is asked.
    """
    api, ending = _CacheApi(engine), engine.discussions.ending
    changes: dict[str, Callable[[str], DiscussionCacheState]] = {
        "invalidate": lambda name: ending.invalidate(name, BY_HAND),
        "disable": ending.disable,
        "enable": ending.enable,
    }
    routes = [
        Route("/api/cache", api.all, methods=["GET"]),
        Route("/api/cache/{discussion}", api.one, methods=["GET"]),
        *(
            Route(f"/api/cache/{{discussion}}/{name}", partial(api.change, change), methods=["POST"])
            for name, change in changes.items()
        ),
    ]
    hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, token=token, hosts=hosts)],
        exception_handlers={HTTPException: _not_there, AutopoiesisError: _failed},
    )


class _CacheApi:
    """One method for each way to ask. The engine's work is done in threads: it locks and syncs files."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def all(self, _request: Request) -> Response:
        states = await run_in_threadpool(self._engine.caches.all)
        return _answer({"discussions": [self._tree(state) for state in states]})

    async def one(self, request: Request) -> Response:
        found = await self._found(request)
        return _unknown() if found is None else _answer(self._tree(found))

    async def change(self, change: Callable[[str], DiscussionCacheState], request: Request) -> Response:
        if await self._found(request) is None:
            return _unknown()
        state = await run_in_threadpool(change, request.path_params["discussion"])
        return _answer(self._tree(state))

    async def _found(self, request: Request) -> DiscussionCacheState | None:
        """The state of the discussion that is named; ``None`` where none was sent under this name.

        Raises:
            TranscriptError: It is not a session's id.
        """
        name = request.path_params["discussion"]
        await run_in_threadpool(self._engine.caches.get, name)
        states = await run_in_threadpool(self._engine.caches.all)
        return next((state for state in states if state.discussion_id == name), None)

    def _tree(self, state: DiscussionCacheState) -> dict[str, Any]:
        return tree_of(state, self._engine.clock())


def _unknown() -> Response:
    return refused(404, "no such discussion has been sent", "see GET /api/cache")


def _answer(tree: object) -> Response:
    return JSONResponse(tree, headers={"Cache-Control": "no-store"})


async def _not_there(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    said = {404: "there is nothing here", 405: "that is not how to ask"}
    return refused(status, said.get(status, "refused"))


async def _failed(_request: Request, error: Exception) -> Response:
    if not isinstance(error, AutopoiesisError):
        return refused(500, "failed")
    return refused(400 if isinstance(error, TranscriptError) else 500, error.what, error.cure)


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

        self._socket = _listening(host, port)
        self.port: int = self._socket.getsockname()[1]
        self._server: uvicorn.Server = uvicorn.Server(
            uvicorn.Config(
                application(engine, token=token, port=self.port),
                http=TimelyProtocol,
                log_level="warning",
                access_log=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=5,
                limit_concurrency=64,
                timeout_graceful_shutdown=2,
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
        raise GatewayFailed("only this machine may ask", where=f"--host {host}", cure=f"use {HOST}")
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
            f"cannot listen: {error.strerror}", where=f"{host}:{port}", cure="use another --port"
        ) from error
    return found
