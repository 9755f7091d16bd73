"""Batched requests are matched by key, sent once and without secrets; errors say what to do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from pytest_httpserver import HTTPServer

from engine.errors import AutopoiesisError
from engine.providers.asking import complete
from engine.providers.batches import CANCELED, EXPIRED, BatchService
from engine.providers.chat import ChatReply, ChatRequest
from engine.providers.gemini import Gemini
from engine.providers.keys import EXTRACTION
from engine.providers.pricing import current
from engine.redaction.detect import PLACEHOLDER
from tests.providers import batch_service
from tests.providers.conftest import KEY, PROVIDERS, prepare
from tests.providers.test_outgoing import TYPED

FATES = {"a": "done", "b": "done", "c": "errored", "d": "expired", "e": "canceled"}
REQUESTS = {
    key: ChatRequest(("You judge.",), f'prompt {key} "ä\n{{}} {TYPED}', 100, at_once=True) for key in FATES
}
MODELS = {"anthropic": "claude-haiku-5-5", "openai": "gpt-6-luna"}


@pytest.fixture(params=list(MODELS))
def fake(
    request: pytest.FixtureRequest, server: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[batch_service.BatchService]:
    service = batch_service.start_service(
        request.param,
        server,
        says=lambda prompt: f"to {prompt[7]}",
        fate=lambda prompt: FATES.get(prompt[7], "done"),
    )
    prepare(monkeypatch, service.key_variable, service.address)
    yield service


def client_of(fake: batch_service.BatchService) -> BatchService[object, object]:  # type: ignore[type-var]
    """The provider's client, directed to the fake service by the environment."""
    provider = PROVIDERS[fake.name](MODELS[fake.name], "", purpose=EXTRACTION)
    assert isinstance(provider, BatchService)
    return provider  # type: ignore[return-value]


async def test_a_batch_gives_the_same_replies_as_single_requests_at_half_the_price(
    fake: batch_service.BatchService,
) -> None:
    provider = client_of(fake)
    fake.looks = 2
    alone = await complete(provider, "You judge.", "prompt a", max_tokens=100, timeout=20)
    name = await provider.submit(REQUESTS, "label")
    standing = await provider.progress(name)
    assert (standing.total, standing.ended, standing.refused) == (5, False, "")
    assert (await provider.progress(name)).ended
    found = await provider.outcomes(name)
    first = found["a"]
    assert isinstance(first, ChatReply) and first.text == "to a" and found["b"].text == "to b"  # type: ignore[union-attr]
    assert first.usage == alone.usage and alone.cost_usd == current().cost(MODELS[fake.name], alone.usage)
    assert first.cost_usd == pytest.approx((alone.cost_usd or 0) / 2) and first.cost_usd
    assert str(found["c"]).startswith("refused (") and (found["d"], found["e"]) == (EXPIRED, CANCELED)
    (batch,) = fake.taken
    sent = batch.requests["a"]
    assert set(sent) >= {"model", "messages"} and fake.texts(sent)[0] == "You judge."
    assert fake.texts(sent)[1] == REQUESTS["a"].rest.replace(TYPED, PLACEHOLDER)
    assert TYPED not in fake.sent[-1] and KEY not in fake.sent[-1]
    await provider.aclose()


async def test_a_batch_that_may_have_been_accepted_is_found_and_not_resubmitted(
    fake: batch_service.BatchService,
) -> None:
    provider, since = client_of(fake), datetime.now(UTC) - timedelta(minutes=1)
    assert await provider.find("label", since, 5, ()) == ""
    fake.fails_after_taking = [500]
    with pytest.raises(AutopoiesisError, match="service failed"):
        await provider.submit(REQUESTS, "label")
    assert len(fake.taken) == 1
    assert await provider.find("label", since, 5, ()) == "b0"
    assert await provider.find("label", since, 5, ("b0",)) == ""
    if fake.name == "openai":
        assert await provider.find("other", since, 5, ()) == ""
    else:
        assert await provider.find("label", since, 4, ()) == ""
        assert await provider.find("label", since + timedelta(hours=1), 5, ()) == ""
    await provider.aclose()


async def test_errors_name_the_setting_to_change(
    fake: batch_service.BatchService, server: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = client_of(fake)
    with pytest.raises(AutopoiesisError, match=r"batch b9 no longer exists \(404\); start over with --anew"):
        await provider.progress("b9")
    if fake.name == "openai":
        fake.refused = "enqueued token limit reached"
        await provider.submit(REQUESTS, "label")
        assert (await provider.progress("b0")).refused == "enqueued token limit reached"
    await provider.aclose()
    server.clear()
    for status, message in (
        (404, r"does not support batches \(404\)"),
        (401, f"set {fake.key_variable}"),
        (400, "extraction.model"),
    ):
        server.expect_request("/v1/files").respond_with_json({"id": "f", "object": "file"})
        path = "/v1/messages/batches" if fake.name == "anthropic" else "/v1/batches"
        server.expect_request(path).respond_with_data(json.dumps(fake.error(f"no {KEY}")), status=status,
                                                      content_type="application/json")  # fmt: skip
        provider = client_of(fake)
        with pytest.raises(AutopoiesisError, match=message) as caught:
            await provider.submit(REQUESTS, "label")
        assert KEY not in str(caught.value)
        await provider.aclose()
        server.clear()
    monkeypatch.delenv(fake.key_variable)
    with pytest.raises(AutopoiesisError, match=r"no key found.*extraction\.provider: none"):
        await client_of(fake).submit(REQUESTS, "label")


@pytest.mark.parametrize(
    "text",
    ["", "nonsense\n", '{"custom_id": "a"}\n', '{"custom_id": "a", "result": {"type": "succeeded"}}\n'],
)
async def test_malformed_results_are_not_replies(
    server: HTTPServer, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    for name in MODELS:
        server.clear()
        fake = batch_service.BatchService(name, server, release=None)  # type: ignore[arg-type]
        prepare(monkeypatch, fake.key_variable, fake.address)
        monkeypatch.setattr(fake, "_lines", lambda _batch: [text])
        fake.install()
        provider = client_of(fake)
        batch = await provider.submit(REQUESTS, "label")
        try:
            assert not any(isinstance(each, ChatReply) for each in (await provider.outcomes(batch)).values())
        except AutopoiesisError as error:
            assert "could not be read" in str(error)
        await provider.aclose()


def test_gemini_has_no_batches() -> None:
    assert not isinstance(Gemini("m", purpose=EXTRACTION), BatchService)
