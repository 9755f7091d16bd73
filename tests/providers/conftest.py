"""A local HTTP server in place of the model providers, and all providers behind one interface."""

from __future__ import annotations

import functools
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from engine.providers import asking
from engine.providers import chat as chats
from engine.providers.anthropic import Anthropic
from engine.providers.claude_code import WITHIN_VARIABLE
from engine.providers.gemini import Gemini
from engine.providers.keys import GATE, PURPOSE_KEY_VARIABLES, Purpose
from engine.providers.openai import OpenAI

if TYPE_CHECKING:
    from tests.providers.chat_service import ChatService
    from tests.providers.claude_command import Install

KEY = "sk-test-0f9a8b7c6d5e4f3a2b1c"


PROVIDERS: dict[str, type[Anthropic] | type[OpenAI] | type[Gemini]] = {
    "anthropic": Anthropic,
    "openai": OpenAI,
    "gemini": Gemini,
}
_PATHS = {
    "anthropic": "/v1/messages",
    "openai": "/v1/chat/completions",
    "gemini": "/v1beta/models/some-model:generateContent",
}


@dataclass
class Service:
    """A fake of one provider's interface: its requests and responses."""

    name: str
    server: HTTPServer
    release: threading.Event
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def key_variable(self) -> str:
        return PROVIDERS[self.name].key_variable

    @property
    def path(self) -> str:
        """The path of its requests."""
        return _PATHS[self.name]

    @property
    def address(self) -> str:
        root = self.server.url_for("").rstrip("/")
        return f"{root}/v1" if self.name == "openai" else root

    def provider(
        self, model: str = "some-model", address: str = "", purpose: Purpose = GATE
    ) -> Anthropic | OpenAI | Gemini:
        return PROVIDERS[self.name](model, address or self.address, purpose=purpose)

    def reply(self, text: str | None, *, cut: bool = False) -> dict[str, Any]:
        """The JSON of a completion."""
        match self.name:
            case "anthropic":
                return {
                    "id": "m1",
                    "type": "message",
                    "role": "assistant",
                    "model": "some-model",
                    "content": [] if text is None else [{"type": "text", "text": text}],
                    "stop_reason": "max_tokens" if cut else "end_turn",
                    "usage": {"input_tokens": 200, "output_tokens": 1},
                }
            case "openai":
                choice = {
                    "index": 0,
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": "length" if cut else "stop",
                }
                return {
                    "id": "c1",
                    "object": "chat.completion",
                    "created": 1,
                    "model": "some-model",
                    "choices": [choice],
                    "usage": {"prompt_tokens": 200, "completion_tokens": 1, "total_tokens": 201},
                }
            case _:
                content = {"role": "model"} | ({} if text is None else {"parts": [{"text": text}]})
                return {
                    "candidates": [{"content": content, "finishReason": "MAX_TOKENS" if cut else "STOP"}],
                    "usageMetadata": {
                        "promptTokenCount": 200,
                        "candidatesTokenCount": 1,
                        "totalTokenCount": 201,
                    },
                    "modelVersion": "some-model",
                }

    def error(self, message: str) -> dict[str, Any]:
        """The JSON of an error."""
        match self.name:
            case "anthropic":
                return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
            case "openai":
                kind = {"type": "invalid_request_error", "param": None, "code": None}
                return {"error": {"message": message, **kind}}
            case _:
                return {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}

    def limit(self, body: dict[str, Any]) -> object:
        """The token limit in a request."""
        return body["generationConfig"]["maxOutputTokens"] if self.name == "gemini" else body["max_tokens"]

    def temperature(self, body: dict[str, Any]) -> object:
        """The temperature in a request, or ``None``."""
        return (body["generationConfig"] if self.name == "gemini" else body).get("temperature")

    def texts(self, body: dict[str, Any]) -> tuple[str, str]:
        """Instructions and prompt in a request."""
        match self.name:
            case "anthropic":
                (message,) = body["messages"]
                return body["system"], message["content"]
            case "openai":
                system, message = body["messages"]
                return system["content"], message["content"]
            case _:
                (message,) = body["contents"]
                (system,), (prompt,) = body["systemInstruction"]["parts"], message["parts"]
                return system["text"], prompt["text"]

    def respond_with(self, *responses: Response | Callable[[Request], Response]) -> None:
        """Respond to each request with the next response; the last one is repeated."""
        waiting = list(responses)

        def handle(request: Request) -> Response:
            self.bodies.append(request.get_json(force=True))
            self.headers.append({name.lower(): value for name, value in request.headers.items()})
            response = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            return response if isinstance(response, Response) else response(request)

        self.server.expect_request(self.path, method="POST").respond_with_handler(handle)

    def hang(self, _: Request) -> Response:
        """Send no response until the test ends."""
        self.release.wait(30)
        return Response("{}", content_type="application/json")

    def drip_forever(self, _: Request) -> Response:
        """A response whose body never ends, one space at a time."""

        def drip() -> Iterator[bytes]:
            while not self.release.wait(0.02):
                yield b" "

        return Response(drip(), content_type="application/json")


@pytest.fixture(scope="session")
def one_server() -> Iterator[HTTPServer]:
    # The first import takes seconds, which no test's deadline should have to cover.
    import anthropic
    import httpx2
    import openai

    assert anthropic.__version__ and openai.__version__ and httpx2.__version__
    with HTTPServer(threaded=True) as server, pytest.MonkeyPatch.context() as patch:
        # Each client would load the machine's certificates, 30 ms of work; all servers here speak HTTP.
        patch.setattr(ssl, "create_default_context", functools.cache(ssl.create_default_context))
        yield server


@pytest.fixture
def server(one_server: HTTPServer) -> Iterator[HTTPServer]:
    one_server.clear()
    yield one_server
    one_server.clear()


@pytest.fixture
def nowhere() -> Iterator[str]:
    """An address at which no server listens; the socket keeps its port from being given to one."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{silent.getsockname()[1]}"


def prepare(monkeypatch: pytest.MonkeyPatch, key_variable: str, address: str) -> None:
    """Set up an environment with one key and its server, and nothing that redirects requests elsewhere."""
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(variable, raising=False)
    for variable in (*PURPOSE_KEY_VARIABLES, "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(variable, raising=False)
    for provider in PROVIDERS.values():
        monkeypatch.delenv(provider.address_variable, raising=False)
        if provider.key_variable == key_variable:
            monkeypatch.setenv(provider.address_variable, address)
    monkeypatch.setenv(key_variable, KEY)


@pytest.fixture(params=list(PROVIDERS))
def service(
    request: pytest.FixtureRequest, server: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Service]:
    service = Service(request.param, server, threading.Event())
    prepare(monkeypatch, service.key_variable, service.address)
    yield service
    service.release.set()


@pytest.fixture(params=[*PROVIDERS, "responses"])
def chat(
    request: pytest.FixtureRequest, server: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ChatService]:
    from tests.providers.chat_service import ChatService
    from tests.providers.responses_service import ResponsesService

    if request.param == "responses":
        chat: ChatService = ResponsesService("openai", server, threading.Event())
    else:
        chat = ChatService(request.param, server, threading.Event())
    prepare(monkeypatch, chat.key_variable, chat.address)
    yield chat
    chat.release.set()


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    monkeypatch.delenv(WITHIN_VARIABLE, raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    folder, log = tmp_path / "bin", tmp_path / "log"
    folder.mkdir()
    log.mkdir()
    monkeypatch.setenv("LOG", str(log))
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    # A killed command that outlasts its event loop would fail another test when it is collected as garbage.
    monkeypatch.setattr("engine.providers.claude_code._GRACE_S", 60.0)

    def install(script: str, interpreter: str = "/bin/sh") -> Path:
        command = folder / "claude"
        command.write_text(f"#!{interpreter}\n{script}\n")
        command.chmod(0o755)
        return log

    return install


def json_response(body: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON response."""
    return Response(json.dumps(body), status, headers, content_type="application/json")


async def completed(
    provider: chats.ChatProvider, *, timeout: float = 20.0, max_tokens: int = 1
) -> chats.ChatReply:
    """Request a completion and close the connections."""
    try:
        return await asking.complete(
            provider, "Answer.", "Yes or no?", max_tokens=max_tokens, timeout=timeout
        )
    finally:
        await provider.aclose()


async def complete(provider: chats.ChatProvider, *, timeout: float = 20.0, max_tokens: int = 1) -> str:
    """The text of a completion; closes the connections."""
    return (await completed(provider, timeout=timeout, max_tokens=max_tokens)).text
