"""Whatever a service does, there is an answer or a clear error within the deadline (N1)."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from werkzeug import Response

from engine.errors import GateError
from engine.providers import asking, attempts
from tests.providers.conftest import Service, complete, json_response
from tests.providers.deadlines import LATER, passed_once


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "_FIRST_PAUSE_S", 0.01)


async def test_a_failing_service_is_tried_three_times(service: Service) -> None:
    service.respond_with(json_response(service.error("boom"), 500))
    with pytest.raises(GateError, match="the service failed \\(500\\), 3 times") as caught:
        await complete(service.provider())
    assert len(service.bodies) == 3
    assert caught.value.hint == "try again later"


async def test_a_service_that_recovers_is_no_error(service: Service) -> None:
    service.respond_with(
        json_response(service.error("boom"), 502),
        json_response(service.error("overloaded"), 529),
        json_response(service.reply("YES")),
    )
    assert await complete(service.provider()) == "YES"


async def test_retry_after_within_the_deadline_is_respected(service: Service) -> None:
    service.respond_with(
        json_response(service.error("slow down"), 429, {"Retry-After": "0.05"}),
        json_response(service.reply("NO")),
    )
    assert await complete(service.provider()) == "NO"
    assert len(service.bodies) == 2


@pytest.mark.parametrize("service", ["gemini"], indirect=True)
async def test_a_retry_delay_in_the_body_is_respected(service: Service) -> None:
    body = service.error("quota")
    body["error"]["details"] = ["nonsense", {"retryDelay": 7}, {"retryDelay": "57.5s"}]
    service.respond_with(json_response(body, 429))
    with pytest.raises(GateError, match=r"too many requests \(429\); retry after 57\.5 s"):
        await complete(service.provider())
    assert len(service.bodies) == 1


@pytest.mark.parametrize("wait", ["120", "Fri, 31 Dec 2100 23:59:59 GMT"])
async def test_retry_after_beyond_the_deadline_fails_at_once(service: Service, wait: str) -> None:
    service.respond_with(json_response(service.error("slow down"), 429, {"Retry-After": wait}))
    with pytest.raises(GateError, match="too many requests \\(429\\); retry after"):
        await complete(service.provider())
    assert len(service.bodies) == 1


async def test_a_missing_response_ends_at_the_deadline(service: Service) -> None:
    service.respond_with(service.hang)
    with pytest.raises(GateError, match=r"no answer within 0\.3 s"):
        await complete(service.provider(), timeout=0.3)
    assert not service.release.is_set()


async def test_a_dripping_response_ends_at_the_deadline(service: Service) -> None:
    service.respond_with(service.drip_forever)
    with pytest.raises(GateError, match=r"no answer within 0\.5 s"):
        await complete(service.provider(), timeout=0.5)


async def test_retries_share_the_deadline(service: Service) -> None:
    service.respond_with(json_response(service.error("boom"), 500), service.hang)
    with (
        passed_once(lambda: len(service.bodies) == 2),
        pytest.raises(GateError, match="no answer within 600 s"),
    ):
        await complete(service.provider(), timeout=LATER)
    assert len(service.bodies) == 2


async def test_cancelling_ends_the_request(service: Service) -> None:
    service.respond_with(service.hang)
    provider = service.provider()
    task = asyncio.ensure_future(complete(provider, timeout=600))
    while not service.bodies:
        await asyncio.sleep(0.01)
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=60.0)
    assert done and task.cancelled()


async def test_an_invalid_reply_is_an_error(service: Service) -> None:
    bodies = (
        b'{"id": "m1", "content": [{"type": "te',
        b"<html>It works!</html>",
        b"[]",
        b"null",
        b'"YES"',
        b'{"content": 7, "choices": "x", "usage": null}',
        b'{"content": null, "choices": [], "usage": {}}',
        b"[" * 100_000,
        b'{"content": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"candidates": [{"content": {"parts": [{"text": 7}]}}], "usageMetadata": []}',
        b'{"candidates": "x", "content": "x", "choices": [{"message": 7}]}',
    )
    kinds = ("application/json", "text/html")
    service.respond_with(*(Response(body, content_type=kind) for body in bodies for kind in kinds))
    provider = service.provider()
    for body in bodies:
        for kind in kinds:
            with pytest.raises(GateError) as caught:
                await asking.complete(provider, "", "Yes or no?", max_tokens=1, timeout=20)
            assert "the reply could not be read" in caught.value.what, (body[:60], kind)
    await provider.aclose()
    assert len(service.bodies) == len(bodies) * len(kinds)


async def test_a_connection_broken_within_the_reply_is_retried(service: Service) -> None:
    whole = json.dumps(service.reply("YES")).encode()
    broken = Response(
        iter([whole[:40]]), headers={"Content-Length": str(len(whole))}, content_type="application/json"
    )
    service.respond_with(broken, json_response(service.reply("NO")))
    assert await complete(service.provider()) == "NO"
    assert len(service.bodies) == 2


async def test_a_huge_reply_is_read(service: Service) -> None:
    service.respond_with(json_response(service.reply("x" * 17_000_000)))
    assert len(await complete(service.provider())) == 17_000_000


async def test_an_unreachable_server_is_an_error(service: Service, nowhere: str) -> None:
    with pytest.raises(GateError, match="cannot be reached, 3 times") as caught:
        await complete(service.provider(address=nowhere))
    assert "gate.base_url" in caught.value.hint


async def test_an_unknown_model_is_an_error(service: Service) -> None:
    service.respond_with(json_response(service.error("no such model"), 404))
    with pytest.raises(GateError, match="some-model was not found \\(404\\): no such model") as caught:
        await complete(service.provider())
    assert caught.value.hint == "set gate.model to a model that it offers"


async def test_an_invalid_address_is_an_error(service: Service) -> None:
    for address in ("ftp://host", "nonsense", "http://", "http://h:99999999/"):
        with pytest.raises(GateError, match="is not a server address") as caught:
            await complete(service.provider(address=address))
        assert caught.value.where == "gate.base_url"


def test_the_retry_delay_is_read_from_the_response() -> None:
    wait = attempts.retry_delay
    assert wait({"retry-after": "2"}) == 2
    assert wait({"retry-after-ms": "1500", "retry-after": "9"}) == 1.5
    soon = wait({"retry-after": format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)})
    assert soon is not None and 3500 < soon <= 3600
    for nonsense in ("", "soon", "-3", "nan", "Mon, 99 Foo"):
        assert wait({"retry-after": nonsense}) is None
    assert wait({}) is None
