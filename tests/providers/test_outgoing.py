"""No request of any kind to any service contains a key that the user has typed."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

import engine
from engine.activation.gate import excerpt
from engine.providers.anthropic import Anthropic
from engine.providers.asking import complete
from engine.providers.chat import ChatRequest
from engine.providers.claude_code import run
from engine.providers.embeddings import OpenAIEmbedder
from engine.providers.gemini import Gemini
from engine.providers.keys import CHAT, GATE
from engine.providers.openai import OpenAI
from engine.providers.outgoing import sendable
from engine.redaction.detect import PLACEHOLDER
from tests.cases import each_case

TYPED = "gh" + "p_" + "Q7wE4rT9yU2iO5pA8sD1fG6hJ3kL0zX4cV7b"
SAID = f'for "ä" use the token {TYPED} and say hello'


@pytest.fixture
def bodies(server: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The bodies sent to the server, which rejects every request."""
    sent: list[str] = []

    def take(request: Request) -> Response:
        assert int(request.headers["Content-Length"]) == len(request.get_data())
        sent.append(request.url + request.get_data().decode())
        return Response('{"error": {"message": "no"}}', status=400, content_type="application/json")

    server.expect_request("").respond_with_handler(take)
    for path in _PATHS:
        server.expect_request(path).respond_with_handler(take)
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "test-key-of-no-service")
    return sent


_PATHS = (
    *("/v1/messages", "/v1/messages/count_tokens", "/v1/chat/completions", "/v1/embeddings"),
    *(f"/v1beta/models/m:{method}" for method in ("generateContent", "streamGenerateContent", "countTokens")),
    "/v1beta/cachedContents",
)


def is_clean(bodies: list[str]) -> bool:
    """Whether something was sent, without a key in it."""
    return bool(bodies) and all(TYPED not in body and PLACEHOLDER in body for body in bodies)


@pytest.mark.parametrize("service", [Anthropic, OpenAI, Gemini])
async def test_no_completion_contains_a_key(
    service: type[Anthropic] | type[OpenAI] | type[Gemini], server: HTTPServer, bodies: list[str]
) -> None:
    root = server.url_for("").rstrip("/")
    provider = service("m", f"{root}/v1" if service is OpenAI else root, purpose=GATE)
    with pytest.raises(Exception, match="no"):
        await complete(provider, SAID, SAID, max_tokens=1, timeout=10)
    await provider.aclose()
    assert is_clean(bodies) and "hello" in bodies[0]


@pytest.mark.parametrize("service", [Anthropic, OpenAI, Gemini])
async def test_no_chat_and_no_cache_contains_a_key(
    service: type[Anthropic] | type[OpenAI] | type[Gemini],
    server: HTTPServer,
    bodies: list[str],
) -> None:
    root = server.url_for("").rstrip("/")
    provider = service("m", f"{root}/v1" if service is OpenAI else root, purpose=CHAT)
    request = ChatRequest((f"{SAID}\n",), SAID, 10)
    with pytest.raises(Exception, match="no"):
        await provider.chat(request, timeout=10)
    if isinstance(provider, Gemini):
        with pytest.raises(Exception, match="no"):
            await provider.create_cache(ChatRequest((SAID,), "x", 9), 300, timeout=10)
    await provider.aclose()
    assert is_clean(bodies)


def test_no_embedding_request_contains_a_key(server: HTTPServer, bodies: list[str]) -> None:
    embedder = OpenAIEmbedder("m", 8, server.url_for("/v1"), deadline_s=10)
    asked: list[Callable[[], object]] = [lambda: embedder.embed([SAID]), lambda: embedder.embed_query(SAID)]
    for ask in asked:
        with pytest.raises(Exception, match="no"):
            ask()
    embedder.close()
    assert is_clean(bodies)


async def test_the_claude_command_gets_no_key(tmp_path: Path) -> None:
    script = tmp_path / "tell"
    script.write_text('#!/bin/sh\necho "$1"; cat; cat prefix.txt\n')
    script.chmod(0o755)
    stdin: list[bytes] = []
    await run([str(script), SAID], SAID, stdin.append, model_setting="m", files={"prefix.txt": SAID})
    sent = b"".join(stdin).decode()
    assert sent.count(PLACEHOLDER) == 3 and TYPED not in sent


def test_a_text_without_secrets_is_sent_unchanged() -> None:
    assert sendable('{"a": "ä \\n b"}') == '{"a": "ä \\n b"}'
    assert sendable("a\ud800b") == "a?b"


def test_every_http_client_redacts() -> None:
    made = redacting = 0
    for path in (Path(engine.__file__).parent).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if not any(name in text for name in ("Client(", "redacting(", "AsyncOpenAI(", "AsyncAnthropic(")):
            continue  # Parsing all files takes a second.
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if node.func.id in ("AsyncClient", "DefaultAsyncHttpxClient", "Client", "DefaultHttpxClient"):
                made += path.name != "gemini.py" or node.func.id != "Client"
            elif node.func.id == "redacting":
                redacting += 1
            elif node.func.id in ("AsyncOpenAI", "AsyncAnthropic"):
                assert any(keyword.arg == "http_client" for keyword in node.keywords), path
    assert made == redacting >= 3


@each_case("before", range(300, 340, 3))
def test_the_gate_never_gets_part_of_a_key(before: int) -> None:
    message = "a" * before + f" {TYPED} " + "b" * 2_000
    shown = excerpt(message)
    assert not any(TYPED[at : at + 6] in shown for at in range(0, len(TYPED) - 6))
