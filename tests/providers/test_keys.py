"""Keys come from the environment, are sent only to their service, and are never shown (N2)."""

from __future__ import annotations

import contextlib
import logging
import traceback

import pytest
from werkzeug import Request, Response

from engine.errors import GateError
from engine.providers.anthropic import Anthropic
from engine.providers.gemini import Gemini
from engine.providers.keys import GATE, OWN_KEY_VARIABLES, key_for
from engine.providers.openai import OpenAI
from tests.providers.conftest import KEY, PROVIDERS, Service, complete, json_response


def everything_shown(error: BaseException, caplog: pytest.LogCaptureFixture) -> str:
    """Everything that a log, a traceback with variables, or a crash report could show of an error.

    Frames of the tests themselves, which contain the key, are excluded.
    """
    report = traceback.TracebackException.from_exception(error, capture_locals=True)
    parts: list[traceback.TracebackException | None] = [report, report.__cause__, report.__context__]
    for part in parts:
        if part is not None:
            part.stack[:] = [frame for frame in part.stack if "/tests/" not in frame.filename]
    lines = report.format()
    messages = [f"{record.getMessage()} {record.exc_text or ''}" for record in caplog.records]
    return "\n".join([str(error), repr(error), *lines, *messages])


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
async def test_no_error_shows_the_key(
    service: Service, status: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.providers.attempts._FIRST_PAUSE_S", 0.01)
    caplog.set_level(logging.DEBUG)
    service.respond_with(json_response(service.error(f"Incorrect API key provided: {KEY}."), status))
    provider = service.provider()
    with pytest.raises(GateError) as caught:
        await complete(provider)
    assert KEY in str(service.headers), "the test would prove nothing if the key had not been sent"
    shown = everything_shown(caught.value, caplog)
    assert KEY not in shown and KEY[:16] not in shown
    assert KEY not in repr(provider) and KEY not in str(vars(provider))
    assert caught.value.__cause__ is None and caught.value.__context__ is None


@pytest.mark.parametrize("error", ["drip", "nonsense", "gone"])
async def test_no_failure_shows_the_key(
    service: Service,
    error: str,
    nowhere: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engine.providers.attempts._FIRST_PAUSE_S", 0.01)
    caplog.set_level(logging.DEBUG)
    service.respond_with(service.drip_forever if error == "drip" else json_response([KEY]))
    provider = service.provider(address=nowhere if error == "gone" else "")
    with pytest.raises(GateError) as caught:
        await complete(provider, timeout=0.5 if error == "drip" else 20)
    assert KEY not in everything_shown(caught.value, caplog)


async def test_a_wrong_key_is_reported_by_its_variable(service: Service) -> None:
    service.respond_with(json_response(service.error("invalid x-api-key"), 401))
    with pytest.raises(GateError, match="the key was refused \\(401\\)") as caught:
        await complete(service.provider())
    assert caught.value.hint == "set AUTOPOIESIS_GATE_API_KEY to a key that is valid there"
    assert len(service.bodies) == 1


@pytest.mark.parametrize("kind", PROVIDERS.values(), ids=list(PROVIDERS))
async def test_a_missing_key_is_reported_with_a_hint(
    kind: type[Anthropic] | type[OpenAI] | type[Gemini], monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = kind.key_variable
    assert variable in OWN_KEY_VARIABLES
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(GateError, match=f"{variable}: no key found; set {variable}, or gate.provider: local"):
        await complete(kind(purpose=GATE))


@pytest.mark.parametrize("service", ["gemini"], indirect=True)
async def test_a_wrong_key_reported_as_a_bad_request_is_recognised(service: Service) -> None:
    body = service.error("API key not valid. Please pass a valid API key.")
    body["error"]["details"] = [{"reason": "API_KEY_INVALID"}]
    service.respond_with(json_response(body, 400))
    with pytest.raises(GateError, match="the key was refused \\(401\\); set AUTOPOIESIS_GATE_API_KEY"):
        await complete(service.provider())
    assert len(service.bodies) == 1


@pytest.mark.parametrize("broken", [f"{KEY}\nX-Evil: 1", f"{KEY}…", f"{KEY} {KEY}", f"{KEY}\x7f"])
async def test_a_malformed_key_is_not_shown(
    service: Service, broken: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    service.respond_with(json_response(service.reply("YES")))
    monkeypatch.setenv(service.key_variable, broken)
    with pytest.raises(GateError, match="the key contains invalid characters") as caught:
        await complete(service.provider())
    assert KEY not in everything_shown(caught.value, caplog)
    assert not service.bodies


async def test_whitespace_around_a_key_is_ignored(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.respond_with(json_response(service.reply("YES")))
    monkeypatch.setenv(service.key_variable, f" {KEY}\n")
    assert await complete(service.provider()) == "YES"


async def test_a_custom_server_needs_no_key(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    service.respond_with(json_response(service.reply("YES")))
    monkeypatch.delenv(service.key_variable)
    assert await complete(service.provider()) == "YES"


def test_a_workspace_cannot_redirect_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("AUTOPOIESIS_GATE_API_KEY", raising=False)

    def sent_to(address: str) -> str:
        return key_for("OPENAI_API_KEY", address, "OPENAI_BASE_URL", GATE)

    assert sent_to("") == KEY
    for here in ("http://localhost:11434/v1", "http://127.0.0.1:8000", "http://[::1]:8000/v1"):
        assert sent_to(here) == "none", "another program may be listening there"
    for foreign in (
        "https://evil.example/v1",
        "https://api.openai.com.evil.example/v1",
        "http://10.0.0.7/v1",
    ):
        assert sent_to(foreign) == "none"
    monkeypatch.setenv("OPENAI_BASE_URL", "https://gateway.example/v1")
    assert sent_to("https://gateway.example/v1/") == KEY
    assert sent_to("http://gateway.example/v1/") == "none", (
        "the key was sent over plain HTTP although the environment has https"
    )
    monkeypatch.setenv("AUTOPOIESIS_GATE_API_KEY", "gate-key")
    assert sent_to("https://evil.example/v1") == "gate-key"
    assert sent_to("") == KEY


async def test_a_redirect_does_not_forward_the_key(service: Service) -> None:
    seen: list[dict[str, str]] = []

    def elsewhere(request: Request) -> Response:
        seen.append({name.lower(): value for name, value in request.headers.items()})
        return json_response(service.reply("YES"))

    # Another host name for the same port is another origin.
    service.server.expect_request("/elsewhere").respond_with_handler(elsewhere)
    target = service.server.url_for("/elsewhere").replace("localhost", "127.0.0.1")
    service.respond_with(json_response({}, 307, {"Location": target}))
    with contextlib.suppress(GateError):
        await complete(service.provider())
    assert KEY in str(service.headers)
    assert KEY not in str(seen)
