"""Extraction over a real HTTP connection (N1)."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from engine.knowledge.harvest.extract import Extractor
from engine.knowledge.item import Item
from engine.providers.keys import HARVEST
from tests.knowledge.extract_support import Limits, reply, source_of, talk
from tests.providers.conftest import (
    KEY,
    Service,
    json_response,
    one_server,
    server,
    service,
)

__all__ = ["one_server", "server", "service"]

# The provider tests cover what each service sends and refuses.
pytestmark = pytest.mark.parametrize("service", ["gemini"], indirect=True)

STATEMENT = "The rollup starts at 01:00 UTC."


def test_items_are_extracted_at_the_second_attempt(service: Service, tmp_path: Path) -> None:
    service.respond_with(
        json_response(service.reply("Sure, here it is:")),
        json_response(service.reply(reply(facts=STATEMENT))),
    )
    source = source_of(tmp_path, talk(("user", f"Note: {STATEMENT}")))
    done = Extractor(Limits(deadline_s=30), service.provider()).extract(source)
    assert (done.entry.status, done.items) == ("harvested", (Item("facts", STATEMENT, voice="person"),))
    assert (done.entry.input_tokens, done.entry.output_tokens) == (400, 2)
    assert done.entry.cost_usd is None, "a custom server has no known price"
    first, second = (service.texts(body)[1] for body in service.bodies)
    assert STATEMENT in first and "Your last reply could not be used" in second
    assert service.limit(service.bodies[0]) == 8192


def test_a_refused_key_causes_one_request_and_is_not_quoted(service: Service, tmp_path: Path) -> None:
    service.respond_with(json_response(service.error(f"invalid key {KEY}"), 401))
    done = Extractor(Limits(deadline_s=30), service.provider()).extract(
        source_of(tmp_path, talk(("user", STATEMENT)))
    )
    assert done.entry.status == "harvest-failed" and done.entry.error and KEY not in done.entry.error
    assert len(service.bodies) == 1


def test_a_body_that_never_ends_is_abandoned_at_the_deadline(service: Service, tmp_path: Path) -> None:
    service.respond_with(service.drip_forever)
    done = Extractor(Limits(deadline_s=1.0), service.provider(purpose=HARVEST)).extract(
        source_of(tmp_path, talk(("user", STATEMENT)))
    )
    assert done.entry.status == "harvest-failed"
    assert "no answer within 1 s; raise harvest.deadline_s" in done.entry.error


def test_an_extraction_can_be_stopped_while_a_service_is_silent(service: Service, tmp_path: Path) -> None:
    asked = threading.Event()

    def silent(request):  # type: ignore[no-untyped-def]
        asked.set()
        return service.hang(request)

    service.respond_with(silent)
    extractor = Extractor(Limits(deadline_s=60), service.provider())
    source = source_of(tmp_path, talk(("user", STATEMENT)))
    errors: list[str] = []
    thread = threading.Thread(target=lambda: errors.append(extractor.extract(source).entry.error))
    thread.start()
    assert asked.wait(60)
    extractor.stop()
    thread.join(60)
    assert errors == ["stopped before it finished"]
