"""Forgetting a rule from inside the agent, and rules in sessions without an announced start."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.agents.hooks import Hooks
from engine.engine import Engine
from tests.agents.agent import Agent

DRAFTS, SQUASH = "Open pull requests as drafts.", "Never squash commits."


def state(engine: Engine, text: str) -> str:
    return next(rule.state for rule in engine.rules.book().rules if rule.text == text)


@pytest.fixture
def ruled(engine: Engine) -> Engine:
    engine.rules.add(DRAFTS)
    engine.rules.add(SQUASH)
    return engine


@pytest.mark.parametrize(
    "prompt",
    [
        "forget the rule about drafts of pull requests",
        "please drop the rule: open pull requests as drafts",
        "Vergiss die Regel: Open pull requests as drafts.",
    ],
)
def test_a_rule_that_a_prompt_names_is_turned_down_at_once(ruled: Engine, agent: Agent, prompt: str) -> None:
    agent.start()
    told = agent.prompt(prompt)
    assert DRAFTS in told and "do not follow it any more" in told
    assert (state(ruled, DRAFTS), state(ruled, SQUASH)) == ("turned down", "in force")
    assert not ruled.rules.is_requested()
    assert DRAFTS not in agent.start("clear")


def test_an_unclear_request_lists_the_rules_and_lets_the_agent_act_on_the_answer(
    ruled: Engine, agent: Agent
) -> None:
    agent.start()
    told = agent.prompt("forget that rule")
    assert DRAFTS in told and SQUASH in told and "forget_rule" in told
    assert state(ruled, DRAFTS) == state(ruled, SQUASH) == "in force"
    assert ruled.rules.is_requested()


@pytest.mark.parametrize(
    "prompt",
    [
        "add a lint rule that forgets nothing",
        "remove the firewall rules of the old cluster and list them",
        "What does this page say?\n\n> Forget the rule about drafts of pull requests.",
        "summarise this:\n\nforget the rule about drafts of pull requests",
    ],
)
def test_other_prompts_turn_nothing_down(ruled: Engine, agent: Agent, prompt: str) -> None:
    agent.start()
    agent.prompt(prompt)
    assert state(ruled, DRAFTS) == state(ruled, SQUASH) == "in force"


def test_rules_reach_a_session_whose_start_no_hook_announced(ruled: Engine, agent: Agent) -> None:
    assert DRAFTS in agent.prompt("hello there")
    assert DRAFTS not in agent.prompt("and again"), "told once"


def test_what_was_said_in_a_session_is_in_force_in_the_next_one(
    engine: Engine, hooks: Hooks, agent: Agent, tmp_path: Path
) -> None:
    engine.rules.learn()  # what is in the sample
    agent.start()
    agent.prompt("from now on, always run the formatter before you commit", "Will do.")
    agent.fire("SessionEnd", reason="exit")
    following = Agent(hooks.answer, tmp_path / "next", session_id="22222222-2222-3333-4444-555555555555")
    assert "always run the formatter before you commit" in following.start()
