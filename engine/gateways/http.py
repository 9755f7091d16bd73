"""The HTTP gateway: the API, whose endpoints ``routes`` lists, and MCP.

It listens on this machine only, for holders of a token (robustness H1). Other machines reach it through a
proxy on this one that terminates TLS.
"""

from __future__ import annotations

import contextlib
import hmac
import inspect
import re
import socket
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import ValidationError
from pydantic.json_schema import models_json_schema
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from engine import __version__
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
from engine.gateways.bodies import Refused
from engine.gateways.guard import MCP, Guard, Refusal, error_response, not_permitted, person_of
from engine.gateways.people import OWNER, AccessLog, People, Person
from engine.gateways.plain import plain
from engine.gateways.routes import ENDPOINTS, Api, ApiRequest, Endpoint
from engine.gateways.webhooks import is_signed, secret_of
from engine.redaction.detect import without_secrets

if TYPE_CHECKING:
    import uvicorn
    from pydantic import BaseModel

    from engine.engine import Engine
    from engine.gateways.memory import Sessions

HOST = "127.0.0.1"
PORT = 8765
_GRACE_S = 10
"""Seconds that requests in progress may take when the server shuts down."""
_STATUS: tuple[tuple[type[AutopoiesisError], int], ...] = (
    (NoSession, 404), (JobError, 404), (TranscriptError, 400), (BudgetError, 400), (ReadOnly, 403),
    (WriteFailed, 503),
)  # fmt: skip

_REFERENCE = "#/components/schemas/{model}"


def application(
    engine: Engine, *, token: str, port: int, public: str = "", sessions: Sessions | None = None
) -> Starlette:
    """The gateway as an ASGI application.

    Args:
        token: The owner's.
        port: Part of the allowed ``Host`` headers.
        public, sessions: As for ``HookServer``.
    """
    from engine.gateways.mcp import McpApp  # noqa: PLC0415 — takes most of a second

    api = Api(engine)
    mcp = McpApp(engine, sessions)
    people, log = People(engine.workspace.root), AccessLog(engine.files, engine.clock)

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with mcp.running():
            yield

    async def openapi(_api: object, _request: ApiRequest) -> object:
        """This document."""
        return _openapi_document(endpoints)

    async def respond(endpoint: Endpoint, request: Request) -> Response:
        person = person_of(request)
        if not person.can(endpoint.needs):
            raise not_permitted(person, endpoint.needs)
        sent = _validated(endpoint, request, await request.body())
        name = next(iter(request.path_params.values()), "")
        found = await endpoint.call(api, ApiRequest(name, sent, request))
        return found if isinstance(found, Response) else _answer(plain(found), endpoint.status)

    endpoints = (*ENDPOINTS, Endpoint("GET", "/openapi.json", openapi, "application/json", needs="capture"))

    def signed(body: bytes, signature: str) -> bool:
        return is_signed(secret_of(engine.config.events.github_secret), body, signature)

    def identify(sent: str) -> Person | None:
        return OWNER if hmac.compare_digest(sent.encode(), token.encode()) else people.of_token(sent)

    hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
    origins = {f"http://{name}" for name in hosts}
    if public:
        hosts.add(urlsplit(public).netloc)
        origins.add(public)
    guard = Middleware(
        Guard, identify=identify, record=log.append, hosts=hosts, origins=origins, is_signed=signed
    )
    return Starlette(
        routes=[
            *(Route(each.path, partial(respond, each), methods=[each.method]) for each in endpoints),
            Route(MCP, mcp, methods=["POST"]),
        ],
        middleware=[guard],
        exception_handlers={
            HTTPException: http_error, AutopoiesisError: _failed, Refusal: _refused, Exception: _failed,
        },
        lifespan=lifespan,
    )  # fmt: skip


def public_origin(url: str) -> str:
    """An address as an origin: ``https://memory.example.org``, with a port unless it is 443.

    Raises:
        GatewayFailed: It is not the address of a server with TLS.
    """
    try:
        found = urlsplit(url.strip().lower())
        port = f":{found.port}" if found.port not in (None, 443) else ""
    except ValueError:
        found, port = urlsplit(""), ""
    if found.scheme != "https" or not found.hostname or found.username or found.path not in ("", "/"):
        raise GatewayFailed(
            "not the address of a server with TLS", where=url, hint="such as https://memory.example.org"
        )
    name = f"[{found.hostname}]" if ":" in found.hostname else found.hostname
    return f"https://{name}{port}"


def _validated(endpoint: Endpoint, request: Request, body: bytes) -> Any:
    if endpoint.takes is None:
        return None
    try:
        if endpoint.method == "GET":
            return endpoint.takes.model_validate(dict(request.query_params))
        return endpoint.takes.model_validate_json(body or b"{}")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise Refusal(
            422, f"{where}: {first['msg']}" if where else first["msg"], "see GET /openapi.json"
        ) from error


def _answer(tree: object, status: int = 200) -> Response:
    return JSONResponse(without_secrets(tree), status_code=status, headers={"Cache-Control": "no-store"})


async def http_error(_request: Request, error: Exception) -> Response:
    """The response to an unknown path or method."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    messages = {404: "not found", 405: "method not allowed"}
    return error_response(status, messages.get(status, "refused"))


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return error_response(error.status, error.what, error.hint)


async def _failed(_request: Request, error: Exception) -> Response:
    if not isinstance(error, AutopoiesisError):
        return error_response(500, "internal error", "see the server's output")
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    return error_response(status, error.what, error.hint)


class HookServer:
    """Serves the API until it is stopped.

    Args:
        token: The owner's.
        host: A loopback address or name.
        port: 0 for any free port.
        public: The address under which a proxy on this machine makes the server reachable for others, as
            ``public_origin`` returns it; empty if there is none.
        sessions: The sessions of the owner's agents, if they are known.

    Raises:
        GatewayFailed: The port is in use, or the host is not this machine.
    """

    def __init__(
        self,
        engine: Engine,
        token: str,
        *,
        host: str = HOST,
        port: int = PORT,
        public: str = "",
        sessions: Sessions | None = None,
    ) -> None:
        import uvicorn  # noqa: PLC0415 — 100 ms

        class Server(uvicorn.Server):
            """Leaves signals to the rest of the program."""

            def handle_exit(self, sig: int, frame: object) -> None:
                self.force_exit = self.should_exit
                self.should_exit = True

        self._socket = _listen(host, port)
        self._host = "[::1]" if host == "::1" else HOST
        self.port: int = self._socket.getsockname()[1]
        app = application(engine, token=token, port=self.port, public=public, sessions=sessions)
        self._server: uvicorn.Server = Server(
            uvicorn.Config(
                app,
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
        """The server's base URL."""
        return f"http://{self._host}:{self.port}"

    def serve(self) -> None:
        """Serves until the program is interrupted or ``stop`` is called."""
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """Stops the server, from any thread."""
        self._server.should_exit = True


def _listen(host: str, port: int) -> socket.socket:
    if host not in ("127.0.0.1", "localhost", "::1"):
        raise GatewayFailed("not an address of this machine", where=f"--host {host}", hint=f"use {HOST}")
    family = socket.AF_INET6 if host == "::1" else socket.AF_INET
    # asyncio sets TCP_NODELAY only if the protocol is given; without it, small responses take 40 ms longer.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise GatewayFailed(
            f"cannot listen: {error.strerror}", where=f"{host}:{port}", hint="use another --port"
        ) from error
    return listener


def _openapi_document(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The document for a table of endpoints."""
    models: set[type[BaseModel]] = {
        each for endpoint in endpoints for each in (endpoint.takes, endpoint.gives) if isinstance(each, type)
    }
    models.add(Refused)
    ordered = sorted(models, key=lambda model: model.__name__)
    _, tree = models_json_schema([(model, "validation") for model in ordered], ref_template=_REFERENCE)
    schemas, paths = tree["$defs"], dict[str, dict[str, Any]]()
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Autopoiesis", "version": __version__},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: Endpoint, schemas: dict[str, Any]) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in re.findall(r"\{(\w+)\}", endpoint.path)
    ]
    operation: dict[str, Any] = {
        "summary": endpoint.does or " ".join((inspect.getdoc(endpoint.call) or "").split())
    }
    if endpoint.takes is not None and endpoint.method == "GET":
        query = schemas[endpoint.takes.__name__]
        parameters += [
            {"name": name, "in": "query", "required": name in query.get("required", ()), "schema": schema}
            for name, schema in query["properties"].items()
        ]
    elif endpoint.takes is not None:
        operation["requestBody"] = {"required": True, "content": _json(endpoint.takes)}
    content = {endpoint.gives: {"schema": {}}} if isinstance(endpoint.gives, str) else _json(endpoint.gives)
    refusal = {"description": "refused", "content": _json(Refused)}
    return {
        **operation,
        "parameters": parameters,
        "responses": {
            str(endpoint.status): {"description": "done", "content": content}, "4XX": refusal, "503": refusal,
        },
    }  # fmt: skip


def _json(model: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REFERENCE.format(model=model.__name__)}}}
