"""Injection records can be read back with reason and outcome, judged, and summarized."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.agents.audit import Audit
from engine.agents.hooks import Hooks
from engine.agents.week import week_of
from engine.engine import Engine
from engine.errors import AutopoiesisError
from engine.injections.log import WHY_CHARACTERS
from engine.providers.pricing import own_file
from tests.agents.agent import Agent
from tests.transcripts.logs import SESSION

REVIEW = "Can you review the PR that just came in?"
TOPIC, PROCEDURE = "github-pr-review", "knowledge/procedures/code-review.md"


@pytest.fixture
def agent(engine: Engine, tmp_path: Path) -> Agent:
    """An agent that got injections at session start and with its first prompt."""
    made = Agent(Hooks(engine).answer, tmp_path / "claude")
    made.start()
    made.prompt(REVIEW, f"Two remarks, by {PROCEDURE}.")
    return made


def test_sections_carry_a_reason_and_old_records_without_one_are_readable(
    engine: Engine, agent: Agent
) -> None:
    audit = Audit(engine)
    (prompt,) = (each for each in audit.entries() if each.injection)
    assert prompt.agent == "claude-code" and prompt.project == "tidemark" and prompt.session_id == SESSION
    pieces = audit.pieces(prompt)
    assert [piece.topic for piece in pieces[:2]] == [TOPIC, ""] and "## Instructions" in pieces[0].text
    whys = [piece.section.why for piece in pieces]
    assert "matched “review”" in whys[0] and whys[1] == f"subscribed by the topic {TOPIC}"
    assert all(0 < len(why) <= WHY_CHARACTERS for why in whys) and "found by" in whys[-1]
    (month,) = (engine.workspace.root / "logs").glob("injections-*.jsonl")
    record, *notes = month.read_text().splitlines()
    old = json.loads(record)
    for section in old["sections"]:
        del section["why"]
    month.write_text("\n".join((json.dumps(old), *notes, "")))
    (prompt,) = (each for each in audit.entries() if each.injection)
    assert [piece.section.why for piece in audit.pieces(prompt)] == [""] * len(pieces)


def test_every_hook_run_is_listed_and_can_be_found_by_id(engine: Engine, agent: Agent) -> None:
    (rule,) = engine.rules.add("Open pull requests as drafts, never as ready.").rules
    agent.start("clear")
    agent.prompt("ok, do it")
    engine.compile("What is Odile Ferrand waiting for?", ask=False, record=True)
    audit = Audit(engine)
    found = list(audit.entries())
    assert [(each.agent, each.moment, each.tokens > 0) for each in found][::-1] == [
        ("claude-code", "session_start", True), ("claude-code", "prompt", True),
        ("claude-code", "stop", False), ("claude-code", "session_start", True),
        ("claude-code", "prompt", False), ("claude-code", "stop", False), ("", "prompt", True),
    ]  # fmt: skip
    assert [each.at for each in found] == sorted((each.at for each in found), reverse=True)
    assert audit.find(found[0].id[:8]) == found[0] and audit.find(SESSION) == found[3]
    assert f"rule: {rule.text}" in audit.extras(found[3])
    standing = {piece.section.path: piece.text for piece in audit.pieces(found[3])}
    assert "Marit Oksanen" in standing["knowledge/identity/USER.md"]
    for name in ("abc", "zzzzzzzz"):
        with pytest.raises(AutopoiesisError, match="list the ids"):
            audit.find(name)


def test_a_judgement_by_the_person_overrides_the_recorded_use(engine: Engine, agent: Agent) -> None:
    audit = Audit(engine)
    prompt = next(each for each in audit.entries() if each.injection)
    assert engine.injections.references() == {PROCEDURE: 1}
    assert audit.judge(prompt, (1, 2), False) == (TOPIC,)
    assert engine.injections.references() == {}
    (decision,) = (each for each in engine.decision_log.last(99, topic=TOPIC) if each.useful is False)
    assert decision.message == REVIEW and decision.labelled_by == "person"

    agent.prompt("Anything else?", "No.")  # closes the previous exchange, so its outcome is recorded
    prompt = audit.find(prompt.id)
    assert prompt.injection is not None and prompt.injection.finished
    states = [(each.was_useful, each.judged) for each in prompt.injection.sections]
    assert states[:3] == [(False, True), (False, True), (False, False)]
    assert engine.injections.references() == {}
    audit.judge(prompt, (), True)
    assert engine.injections.references()[PROCEDURE] == 1
    assert {use.path: use.useful for use in engine.injections.log.by_file()}[PROCEDURE] == 1


def test_judging_an_unknown_section_or_uncaptured_prompt_is_an_error(engine: Engine, agent: Agent) -> None:
    audit = Audit(engine)
    *_, prompt, start = audit.entries()
    for entry, numbers in ((start, ()), (prompt, (99,))):
        with pytest.raises(AutopoiesisError, match="no such section"):
            audit.judge(entry, numbers, True)
    engine.configuration.change("hooks.capture", "false")
    agent.fire("UserPromptSubmit", prompt="Why did we choose SVG for the chart?")
    with pytest.raises(AutopoiesisError, match="not in a transcript yet"):
        audit.judge(next(audit.entries()), (), True)


def test_a_week_is_summarized(
    engine: Engine, agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    agent.prompt("ok, do it", "Done.")
    Hooks(engine).answer("claude-code", b"{")
    own_file().parent.mkdir(parents=True, exist_ok=True)
    own_file().write_text("models:\n  claude-opus-4-5: {input: 5.00, output: 25.00}\n")
    entries = list(Audit(engine).entries())
    week = week_of(engine, entries, "2020-01-01")
    place = next(each for each in week.places if each.project)
    assert (place.agent, place.project, place.prompts, place.told, place.starts) == (
        "claude-code", "tidemark", 2, 1, 1,
    )  # fmt: skip
    assert place.tokens + place.standing == sum(each.tokens for each in entries)
    assert (week.answered, week.took_up, week.sections.used) == (1, 1, 1)
    (topic,) = week.topics
    assert (topic.name, topic.told, topic.known, topic.used) == (TOPIC, 1, 1, 0)
    (cost,) = week.costs
    assert cost.tokens == place.tokens + place.standing and cost.usd == pytest.approx(5e-6 * cost.tokens)
    assert [run.said[:11] for run in week.failed] == ["Claude Code"]
    assert week_of(engine, entries, "2999").places == []
