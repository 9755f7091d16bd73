"""A playbook is made from a few words, its ways to ask by a model or a person, and written as a topic."""

from __future__ import annotations

import subprocess

import pytest

from engine.engine import Engine
from engine.errors import AutopoiesisError, TopicError
from engine.playbooks.draft import Draft, drafted, examples_in, read_draft, text_of
from engine.playbooks.playbooks import MAX_PROPOSED
from tests.cases import each_case
from tests.engine.flush_support import Provider

WAYS = (
    "load the new tables",
    "tables for 2027 are here",
    "import the almanac",
    "new constants?",
    "tide tables!",
)
TIDES = drafted("Tide tables", "New tide tables are loaded.", "1. Compare.\n2. Load.", WAYS)


def test_a_made_playbook_is_a_topic_with_its_ways_to_ask_and_is_committed(engine: Engine) -> None:
    made = engine.playbooks.create(TIDES)
    topic = engine.topic("tide-tables")
    assert (topic.title, topic.description, topic.examples) == (TIDES.title, TIDES.when, WAYS)
    assert topic.instructions == "1. Compare.\n2. Load." and not engine.library.problems
    shown = subprocess.run(
        ["git", "show", "--stat", "--format=%s", made.commit.revision],
        cwd=engine.workspace.root, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert shown.startswith("memory: new playbook tide-tables") and made.path in shown


def test_a_new_playbook_never_replaces_a_topic_or_a_file(engine: Engine) -> None:
    before = (engine.workspace.root / "topics/release.md").read_bytes()
    with pytest.raises(TopicError, match="topic of this name"):
        engine.playbooks.create(drafted("Release", "A release."))
    assert (engine.workspace.root / "topics/release.md").read_bytes() == before
    (engine.workspace.root / "topics/tide-tables.md").write_text("no topic, but mine")
    with pytest.raises(TopicError, match="such a file"):
        engine.playbooks.create(TIDES)
    assert (engine.workspace.root / "topics/tide-tables.md").read_text() == "no topic, but mine"


def test_everything_written_in_the_instructions_is_told_whatever_its_headings(engine: Engine) -> None:
    body = "# Top\n\nA\n\n## Instructions\n\nB\n\n```\n# no heading\n```\n\n## Context Notes\n\nC"
    engine.playbooks.create(drafted("Headed", "It is headed.", body))
    told = engine.topic("headed").instructions
    assert told == body.replace("## ", "#### ").replace("# Top", "### Top")
    assert engine.topic("headed").context_notes == "" and "\n# no heading\n" in told


@each_case(
    "title,when",
    [("", "It rains."), ("???", "It rains."), ("Rain", " "), ("Rain", "…"), ("x" * 81, "It rains.")],
)
def test_a_playbook_without_a_title_or_a_situation_is_refused(title: str, when: str) -> None:
    with pytest.raises(TopicError):
        drafted(title, when)


def test_ways_to_ask_lose_list_marks_numbers_and_quotes_and_stand_once() -> None:
    lines = [
        "1. Cut it",
        '- "Ship  it"',
        "* ship it",
        "“Tag it”",
        "",
        "---",
        "(3) `go`",
        "2.0 is out",
        "\x1b[2J",
    ]
    assert examples_in(lines) == ("Cut it", "Ship it", "Tag it", "go", "2.0 is out")


def test_a_form_filled_in_by_hand_is_read_back_as_it_was_written() -> None:
    odd = Draft(
        "A: b", "It's #1: here", "Do.", ("- dash", "'quoted' \"both\"", "a: b # c"), ("**/*.ts",), "manual"
    )
    read = read_draft(text_of(odd))
    assert (read.title, read.when, read.globs, read.activation) == (odd.title, odd.when, odd.globs, "manual")
    assert read.examples == ("dash", "'quoted' \"both\"", "a: b # c")
    assert read_draft(text_of(drafted("Empty", "It is empty."))).instructions == ""
    with pytest.raises(TopicError, match="not a topic"):
        read_draft(b"")


def with_model(engine: Engine, *answers: str | Exception, cut: bool = False) -> Provider:
    provider = Provider(*answers, cut=cut)
    engine.playbooks.models = lambda _config: [None, provider]
    return provider


def test_a_model_is_asked_once_and_its_cost_is_said_before_and_recorded(engine: Engine) -> None:
    provider = with_model(engine, "\n".join(f"{at}. {way}" for at, way in enumerate(WAYS)))
    provider.model = "claude-haiku-4-5"
    quote = engine.playbooks.quote(TIDES)
    assert quote is not None and quote.usd is not None and 0 < quote.usd < 0.05 and not provider.prompts
    written = engine.playbooks.utterances(TIDES)
    assert written.examples == WAYS and len(provider.prompts) == 1
    assert "Tide tables" in provider.prompts[0] and TIDES.when in provider.prompts[0]
    (record,) = engine.costs.log.records()
    assert record.operation == "playbook" and record.cost_usd


@each_case(
    "answer",
    ["", "Here are some:", "one\ntwo\nthree\nfour", AutopoiesisError("the service is down")],
)
def test_an_unusable_reply_is_an_error_and_nothing_is_written(
    engine: Engine, answer: str | Exception
) -> None:
    with_model(engine, answer)
    with pytest.raises(AutopoiesisError):
        engine.playbooks.utterances(TIDES)
    with_model(engine, "\n".join(WAYS), cut=True)
    with pytest.raises(AutopoiesisError, match="cut off"):
        engine.playbooks.utterances(TIDES)


def test_without_a_configured_model_none_is_asked(engine: Engine) -> None:
    assert engine.playbooks.quote(TIDES) is None
    with pytest.raises(AutopoiesisError, match="no model is configured"):
        engine.playbooks.utterances(TIDES)


def test_what_an_agent_proposes_waits_hidden_and_is_taken_or_turned_down(engine: Engine) -> None:
    engine.playbooks.propose(TIDES, "agent-x")
    assert engine.library.get("tide-tables") is None and not engine.library.problems
    engine.reload_topics()
    assert engine.library.get("tide-tables") is None
    assert engine.playbooks.proposal("tide-tables") == TIDES
    engine.playbooks.reject("tide-tables")
    assert engine.playbooks.proposed() == []
    engine.playbooks.propose(TIDES, "agent-x")
    engine.playbooks.accept("tide-tables")
    assert engine.topic("tide-tables").examples == WAYS and engine.playbooks.proposed() == []
    with pytest.raises(TopicError, match="no proposed playbook"):
        engine.playbooks.accept("../../outside")


def test_a_loop_of_proposals_stops(engine: Engine) -> None:
    for number in range(MAX_PROPOSED):
        engine.playbooks.propose(drafted(f"Number {number}", "It loops."), "agent-x")
    engine.playbooks.propose(drafted("Number 3", "It loops, reworded."), "agent-x")
    with pytest.raises(TopicError, match="already wait"):
        engine.playbooks.propose(drafted("One more", "It loops."), "agent-x")
