"""What an agent still holds after it has compacted its context, or has only announced to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.agents.hooks import Hooks
from engine.engine import Engine
from tests.agents.agent import Agent
from tests.agents.test_hooks import REVIEW, captured, notes
from tests.transcripts.logs import SESSION


@pytest.fixture
def agent(hooks: Hooks, tmp_path: Path) -> Agent:
    return Agent(hooks.answer, tmp_path / "claude")


def test_after_a_compaction_context_is_injected_again_and_lost_turns_are_searchable(
    engine: Engine, hooks: Hooks, agent: Agent
) -> None:
    agent.start()
    agent.prompt(REVIEW)
    agent.prompt("The zebra index of the quay ledger is 77-KLM; remember that for later.", "Noted: 77-KLM.")
    asked = "What is the zebra index of the quay ledger?"
    assert "77-KLM" not in agent.prompt(asked, "77-KLM"), "the agent still has its own conversation"
    agent.fire("PreCompact", trigger="auto")
    assert agent.start("compact").count("Marit Oksanen") == 1
    assert "topic:github-pr-review" in agent.prompt(f"{REVIEW} Please!")
    assert "77-KLM" in agent.prompt("Which zebra index does the quay ledger have?")


def test_injections_after_a_compaction_are_kept_although_their_records_are_written_late(
    engine: Engine, hooks: Hooks, tmp_path: Path
) -> None:
    (rule,) = engine.rules.add("Open pull requests as drafts, never as ready.").rules
    waiting: list[Callable[[], None]] = []
    agent = Agent(Hooks(engine, waiting.append).answer, tmp_path / "claude")
    agent.start()
    agent.prompt(REVIEW)
    waiting.pop()()
    agent.fire("PreCompact", trigger="auto")
    agent.start("compact")
    waiting.pop()()
    assert [moment for moment, _ in notes(hooks)][-2:] == ["session_start", "pre_compact"]
    known = hooks.log.known(SESSION)
    assert rule.id in known.rules and known.sections and known.line > 1
    assert "topic:github-pr-review" in agent.prompt(REVIEW), "lost in the compaction"


def test_what_is_injected_with_a_prompt_stays_in_a_compaction_before_its_answer(
    engine: Engine, hooks: Hooks, agent: Agent
) -> None:
    """As in Claude Code 2.1: it keeps the prompt it has not answered, and summarizes one it is answering."""
    agent.start()
    agent.prompt("hello, are you there?")
    assert "topic:github-pr-review" in agent.prompt(REVIEW, compacts="before")
    assert agent.prompt(REVIEW) == ""
    line = hooks.log.known(SESSION).line
    kept = next(turn for turn in captured(engine).turns if turn.text == REVIEW)
    assert line == kept.line, "the prompt is in the context"
    assert agent.prompt(REVIEW, compacts="within", call=("Bash", {"command": "make"})) == ""
    assert "topic:github-pr-review" in agent.prompt(REVIEW)
    assert agent.prompt(REVIEW) == ""


def test_nothing_is_repeated_after_a_compaction_that_does_not_take_place(hooks: Hooks, agent: Agent) -> None:
    """As in Claude Code 2.1, which announces one although there is too little to summarize."""
    agent.start()
    assert "topic:github-pr-review" in agent.prompt(REVIEW, compacts="never")
    assert agent.prompt(REVIEW) == "" and agent.start("resume") == ""
    agent.fire("PreCompact", trigger="auto")
    assert agent.prompt(REVIEW) == ""
    agent.fire("PreCompact", trigger="manual")
    agent.end()
    assert "Marit Oksanen" in agent.start("resume"), "it was ended before it could tell"
    assert "topic:github-pr-review" in agent.prompt(REVIEW)
    assert agent.prompt(REVIEW) == "" and agent.start("resume") == ""


def test_a_session_that_is_resumed_and_compacted_at_once_gets_its_context_once(
    hooks: Hooks, tmp_path: Path
) -> None:
    """Codex 0.171 announces the compaction before it says that the session is resumed."""
    agent = Agent(hooks.answer, tmp_path / "codex", name="codex")
    agent.start()
    agent.prompt(REVIEW)
    agent.end()
    agent.fire("PreCompact", trigger="auto")
    assert agent.start("resume") == "" and "Marit Oksanen" in agent.start("compact")
    assert hooks.log.known(SESSION).line > 1
    assert "topic:github-pr-review" in agent.prompt(REVIEW) and agent.prompt(REVIEW) == ""
