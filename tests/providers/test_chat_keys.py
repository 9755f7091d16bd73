"""Keys of chats come from the environment, are sent only to their service, and are never shown (N2)."""

from __future__ import annotations

import contextlib
import logging
import subprocess
import sys
from collections.abc import Callable

import pytest
from werkzeug import Request, Response

from engine.errors import SendFailed
from engine.providers.keys import CHAT, PURPOSE_KEY_VARIABLES, key_for
from tests.providers.chat_service import ChatService, ask
from tests.providers.conftest import KEY, PROVIDERS, json_response
from tests.providers.responses_service import ResponsesService
from tests.providers.test_keys import everything_shown


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.providers.attempts._FIRST_PAUSE_S", 0.01)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 429, 500])
async def test_no_error_shows_the_key(
    chat: ChatService, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    chat.respond_with(json_response(chat.error(f"Incorrect API key provided: {KEY}."), status))
    provider = chat.chat()
    with pytest.raises(SendFailed) as caught:
        await ask(provider)
    assert KEY in str(chat.headers), "the test would prove nothing if the key had not been sent"
    shown = everything_shown(caught.value, caplog)
    assert KEY not in shown and KEY[:16] not in shown
    assert KEY not in repr(provider) and KEY not in str(vars(provider))
    assert caught.value.__cause__ is None and caught.value.__context__ is None


@pytest.mark.parametrize("error", ["drip", "nonsense", "torn", "gone", "error", "late-error", "listener"])
async def test_no_failure_shows_the_key(
    chat: ChatService, error: str, nowhere: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    fault = chat.error_event("invalid_request_error", 400, f"the key {KEY} is bad")
    text = [*chat.head(), chat.piece("Ann")]
    torn = Response(
        iter([b"".join(text)]), headers={"Content-Length": "99999"}, content_type="text/event-stream"
    )
    responses: dict[str, Response | Callable[[Request], Response]] = {
        "drip": chat.drip("Ann"),
        "nonsense": json_response([KEY]),
        "torn": torn,
        "error": chat.stream_events([*chat.head(), fault]),
        "late-error": chat.stream_events([*text, fault]),
    }
    chat.respond_with(responses.get(error, chat.stream_reply("Ann")))

    def listen(_: str) -> None:
        if error == "listener":
            raise ValueError("a bug")

    with pytest.raises((SendFailed, ValueError)) as caught:
        await ask(
            chat.chat(address=nowhere if error == "gone" else ""),
            timeout=0.5 if error == "drip" else 20,
            on_text=listen,
        )
    assert KEY not in everything_shown(caught.value, caplog)
    assert caught.value.__cause__ is None and caught.value.__context__ is None


async def test_a_wrong_key_is_reported_by_its_variable(chat: ChatService) -> None:
    chat.respond_with(json_response(chat.error("invalid x-api-key"), 401))
    with pytest.raises(SendFailed, match="the key was refused \\(401\\)") as caught:
        await ask(chat.chat())
    variable = "OPENAI_API_KEY" if isinstance(chat, ResponsesService) else "AUTOPOIESIS_CHAT_API_KEY"
    assert caught.value.hint == f"set {variable} to a key that is valid there"
    assert len(chat.bodies) == 1


@pytest.mark.parametrize("name", list(PROVIDERS))
async def test_a_missing_key_is_reported_with_a_hint(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variable = PROVIDERS[name].key_variable
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(
        SendFailed,
        match=f"{variable}: no key found; set {variable}, or chat.provider: local, which needs no key",
    ):
        await ask(PROVIDERS[name](purpose=CHAT))


def test_a_custom_server_gets_the_key_for_chats(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (*PURPOSE_KEY_VARIABLES, "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("AUTOPOIESIS_GATE_API_KEY", "of-the-gate")

    def sent_to(address: str) -> str:
        return key_for("OPENAI_API_KEY", address, "OPENAI_BASE_URL", CHAT)

    assert sent_to("https://elsewhere.example/v1") == "none"
    assert sent_to("http://localhost:11434/v1") == "none"
    monkeypatch.setenv("AUTOPOIESIS_CHAT_API_KEY", "of-chats")
    assert sent_to("https://elsewhere.example/v1") == "of-chats"
    with pytest.raises(SendFailed, match="is not a server address") as caught:
        sent_to("nonsense")
    assert caught.value.where == "chat.base_url"


async def test_a_redirect_does_not_forward_the_key(chat: ChatService) -> None:
    seen: list[dict[str, str]] = []

    def elsewhere(request: Request) -> Response:
        seen.append({name.lower(): value for name, value in request.headers.items()})
        return chat.stream_reply("tea")

    # Another host name for the same port is another origin.
    chat.server.expect_request("/elsewhere").respond_with_handler(elsewhere)
    target = chat.server.url_for("/elsewhere").replace("localhost", "127.0.0.1")
    chat.respond_with(json_response({}, 307, {"Location": target}))
    with contextlib.suppress(SendFailed):
        await ask(chat.chat())
    assert KEY in str(chat.headers)
    assert KEY not in str(seen)


def test_nothing_is_imported_or_read_before_the_first_chat(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in PROVIDERS.values():
        monkeypatch.delenv(kind.key_variable, raising=False)
    code = (
        "import sys\n"
        "from engine.settings.model import ChatSettings\n"
        "from engine.providers.select import chat_provider_for\n"
        "for name in ('anthropic', 'openai', 'gemini', 'claude-code', 'local'):\n"
        "    chat_provider_for(ChatSettings(provider=name))\n"
        "sys.exit(bool({'openai', 'anthropic', 'httpx2'} & set(sys.modules)))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
