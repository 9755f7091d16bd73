"""A playbook that may apply is offered to the agent; what it opens is recorded and learned from."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.activation.labelled import LabelledMessages
from engine.agents.audit import Audit
from engine.agents.week import week_of
from engine.context import tokens
from engine.engine import Engine
from tests.agents.agent import Agent
from tests.gateways.test_mcp import call_tool, client_of
from tests.transcripts.logs import SESSION

TOUR = """---
type: topic
description: Visitors want to see the harbour.
activation: gated
priority: medium
similarity_threshold: 0.05
activation_threshold: 0.99
examples:
  - The mayor wants a tour of the harbour
  - a school class visits the harbour on Friday
  - show the guests around the quay
---

# Harbour tour

## Instructions

Hand out helmets at the gate, then walk the quay from north to south.
"""
PATH = "topics/harbour-tour.md"
ASKED = "A school class wants a tour of the harbour, what do we show the guests?"
AGAIN = "Another school class wants a tour of the harbour on Monday."


@pytest.fixture
def sample(sample: Path) -> Path:
    """The sample, with a playbook that is offered and does not fire by itself."""
    (sample / PATH).write_text(TOUR)
    return sample


def opened(engine: Engine) -> list[bool | None]:
    """What the audit says of every offer, oldest first."""
    found = [each.injection for each in Audit(engine).entries() if each.injection]
    return [each.was_useful for one in reversed(found) for each in one.sections if each.is_offer]


def label(engine: Engine) -> tuple[bool | None, str]:
    decision = engine.decision_log.last(1, topic="harbour-tour")[0]
    return decision.useful, decision.labelled_by


def learned(engine: Engine) -> tuple[str, ...]:
    known = LabelledMessages(engine.decision_log, engine.files)()
    return known["harbour-tour"].opened if "harbour-tour" in known else ()


def test_an_offer_is_one_short_line_with_title_situation_and_how_to_open_it(
    engine: Engine, agent: Agent
) -> None:
    folder = str(engine.workspace.root)
    assert folder in agent.start(), "the path of an offer is relative to that"
    injected = agent.prompt(ASKED)
    assert folder not in injected, "it is named once"
    offer = (
        "A playbook may apply: Harbour tour (Visitors want to see the harbour.). "
        f'If so, read {PATH} or call playbook("harbour-tour")'
    )
    assert offer in injected.splitlines() and "helmets" not in injected
    assert tokens.count(offer) <= 60


def test_the_folder_is_named_by_the_first_message_if_the_session_was_told_nothing_at_its_start(
    engine: Engine, agent: Agent
) -> None:
    engine.configuration.change("hooks.session_tokens", "0")
    folder = str(engine.workspace.root)
    assert not agent.start()
    assert f"From memory in {folder}:" in agent.prompt(ASKED)
    engine.library.force("harbour-tour", True)
    second = agent.prompt(AGAIN)
    assert "Hand out helmets" in second and folder not in second


def test_an_offer_is_made_once_in_a_session_and_the_playbook_is_given_in_full_once_it_fires(
    engine: Engine, agent: Agent
) -> None:
    agent.start()
    assert "may apply: Harbour tour" in agent.prompt(ASKED)
    assert "Harbour tour" not in agent.prompt(AGAIN)
    engine.library.force("harbour-tour", True)
    assert "Hand out helmets" in agent.prompt(AGAIN)


PLAYBOOK = "mcp__autopoiesis__playbook"
OPENS = (PLAYBOOK, {"name": "harbour-tour"})


@pytest.mark.parametrize(
    ("call", "fails", "expected"),
    [
        (OPENS, False, True),
        (("Read", {"file_path": f"/srv/memory/{PATH}", "limit": 20}), False, True),
        (("Bash", {"command": f"cat '/srv/memory/{PATH}' | head"}), False, True),
        ((PLAYBOOK, {"name": "release"}), False, False),
        (("mcp__autopoiesis__propose_playbook", {"name": "harbour-tour"}), False, False),
        (("Read", {"file_path": f"/srv/memory/{PATH}.orig"}), False, False),
        (("Read", {"file_path": PATH}), True, False),
    ],
)
def test_an_offer_is_opened_by_a_tool_call_that_succeeds(
    engine: Engine, agent: Agent, call: tuple[str, dict[str, object]], fails: bool, expected: bool
) -> None:
    agent.start()
    agent.prompt(ASKED, call=call, fails=fails)
    assert opened(engine) == [True if expected else None], "it may still open it while its turn runs"
    assert label(engine) == ((True, "agent") if expected else (None, ""))
    agent.prompt("Thanks.")
    assert opened(engine) == [expected]
    assert learned(engine) == ((ASKED,) if expected else ())


def test_naming_the_file_of_an_offer_is_not_opening_it(engine: Engine, agent: Agent) -> None:
    agent.start()
    agent.prompt(ASKED, f"There may be something in {PATH}.")
    agent.prompt("Thanks.")
    assert opened(engine) == [False]


def test_an_opened_offer_is_shown_in_the_trace_of_its_message(engine: Engine, agent: Agent) -> None:
    agent.start()
    agent.prompt(ASKED)
    path = engine.conversations.of_session(SESSION).path
    trace = engine.trace_of(f"{path}#0")
    assert trace is not None and (row := trace.row("harbour-tour")) is not None and row.gate is not None
    assert row.gate.reason == "the agent opens it if it applies"
    agent.prompt(AGAIN, call=OPENS)
    trace = engine.trace_of(f"{path}#0")
    assert trace is not None and (row := trace.row("harbour-tour")) is not None and row.gate is not None
    assert row.gate.reason == "the agent did not open it"


def test_an_offer_that_is_opened_later_counts_for_a_message_that_it_was_likely_for(
    engine: Engine, agent: Agent
) -> None:
    agent.start()
    agent.prompt(ASKED)
    agent.prompt("ok, go on", call=OPENS)
    assert learned(engine) == ()
    agent.prompt(AGAIN, call=OPENS)
    assert learned(engine) == (AGAIN,)


def test_a_persons_judgement_counts_more_than_what_the_agent_opened(engine: Engine, agent: Agent) -> None:
    agent.start()
    agent.prompt(ASKED, call=OPENS)
    audit = Audit(engine)
    assert audit.judge(next(each for each in audit.entries() if each.injection), (), False) == (
        "harbour-tour",
    )
    assert label(engine) == (False, "person") and learned(engine) == ()


def test_a_playbook_that_was_not_offered_teaches_nothing_when_the_agent_opens_it(
    engine: Engine, agent: Agent
) -> None:
    engine.configuration.change("hooks.prompt_tokens", "0")
    agent.start()
    agent.prompt(ASKED, call=OPENS)
    assert label(engine) == (None, "")


def test_another_persons_conversation_labels_nothing(
    engine: Engine, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.conversations, "author", lambda _path: "Odile")
    agent.start()
    agent.prompt(ASKED, call=OPENS)
    assert not engine.decision_log.last(1, topic="harbour-tour") and not learned(engine)


def test_a_week_counts_offers_apart_from_what_was_given(engine: Engine, agent: Agent) -> None:
    agent.start()
    agent.prompt(ASKED, call=OPENS)
    week = week_of(engine, Audit(engine).entries(), "2020-01-01")
    assert (week.offers.told, week.offers.known, week.offers.used) == (1, 1, 1)
    assert "harbour-tour" not in [topic.name for topic in week.topics]


def test_the_audit_shows_the_line_of_an_offer(engine: Engine, agent: Agent) -> None:
    agent.start()
    injected = agent.prompt(ASKED)
    audit = Audit(engine)
    pieces = audit.pieces(next(each for each in audit.entries() if each.injection))
    (piece,) = (each for each in pieces if each.section.is_offer)
    assert piece.topic == "harbour-tour" and piece.text in injected


async def test_the_tool_opens_a_playbook_without_its_header(engine: Engine) -> None:
    async with client_of(engine) as client:
        answer = await call_tool(client, "playbook", name="harbour-tour")
    assert answer["text"].startswith("# Harbour tour") and "Hand out helmets" in answer["text"]
