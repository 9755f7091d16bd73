"""The history of accepted rules: repeated, no longer needed, and how often before and after."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from engine.lifecycle.rules.since import Since

from engine.engine import Engine
from engine.rules.rulebook import PATH, Rule
from tests.rules.conftest import Say


class Clock:
    """A clock that tests can set."""

    day = "2031-02-01"

    def __call__(self) -> datetime:
        return datetime.fromisoformat(f"{self.day}T09:00:00").replace(tzinfo=UTC)


@pytest.fixture(autouse=True)
def _no_other_sessions(sample: Path) -> None:
    shutil.rmtree(sample / "raw/conversations")


@pytest.fixture
def clock() -> Clock:
    return Clock()


def rule_of(engine: Engine, word: str) -> Rule:
    return next(rule for rule in engine.rules.book().rules if word in rule.text)


def test_a_repeated_rule_reports_whether_it_was_in_the_prompts(sample: Path, say: Say, clock: Clock) -> None:
    say("2031-01-05", "please don't amend commits")
    with Engine.open(sample, clock=clock) as engine:
        engine.rules.learn()
        amend = rule_of(engine, "amend")
        engine.rules.accept([amend.id])
        assert engine.kept_rules.since() == {}
        for number, (day, use) in enumerate(
            (("2031-02-03", "without"), ("2031-02-05", "with"), ("2031-02-07", "none")), 2
        ):
            path = say(day, "what is next?")
            rules = (sample / PATH).read_text()
            if use == "without":
                (sample / PATH).write_text(rules.replace("## In force", "## Turned down"))
            if use != "none":
                engine.compile("and now?", session_id=f"ses_{number:08x}", record=True)
            (sample / PATH).write_text(rules)
            turns = "\n## 10:10 — user\n\nand now?\n\n## 10:11 — agent\n\nAmended.\n"
            path.write_text(f"{path.read_text()}{turns}\n## 10:12 — user\n\nnever amend commits!\n")
        again = engine.rules.learn().learned.again
        assert [rule.id for rule in again] == [amend.id]
        assert engine.kept_rules.since() == {amend.id: Since(told=3, stood=1, left_out=1)}
        shown = engine.injections.log.last(1)[0].rules
        assert shown is not None and shown.held == (amend.id,) and shown.tokens > 0


@pytest.mark.parametrize(
    ("since", "words"),
    [
        (Since(0), ""),
        (Since(1, 1), "repeated once since; it was in the prompt"),
        (Since(3, 3), "repeated 3 times since; it was in the prompt each time"),
        (Since(2, 0, 2), "repeated twice since; it was left out each time"),
        (Since(3), "repeated 3 times since; no prompt recorded in these sessions"),
        (
            Since(4, 1, 2),
            "repeated 4 times since; it was in the prompt once, it was left out twice, "
            "no prompt recorded in 1 of these sessions",
        ),
    ],
)
def test_repetitions_are_described_in_words(since: Since, words: str) -> None:
    assert since.words == words


def test_an_unused_rule_rests_until_it_is_repeated(sample: Path, say: Say, clock: Clock) -> None:
    say("2031-01-05", "please don't amend commits", "we always squash before we merge")
    say("2031-01-20", "never push to main without a review")
    with Engine.open(sample, clock=clock) as engine:
        engine.rules.learn()
        engine.rules.accept([rule_of(engine, "squash").id])
        clock.day = "2031-03-12"
        engine.compile("shall we push to main?", record=True)
        fading = engine.kept_rules.fading(45)
        assert [(rule.text, day) for rule, day in fading.rules] == [
            ("please don't amend commits", "2031-01-05")
        ]
        assert fading.prompts == 1
        amend, squash = rule_of(engine, "amend"), rule_of(engine, "squash")
        (sample / PATH).write_text((sample / PATH).read_text() + "- a line of mine\n")
        clock.day = "2031-06-01"
        assert len(engine.kept_rules.fading().rules) == 3  # the date of a hand-written line is unknown
        engine.rules.rest([amend.id, squash.id])
        say("2031-01-02", "please don't amend commits")  # older than the known occurrences
        engine.rules.learn()
        assert {rule.state for rule in (rule_of(engine, "amend"), rule_of(engine, "squash"))} == {"resting"}
        assert "amend" not in engine.compile("hello").text
        say("2031-06-03", "don't amend commits, please", "we always squash before we merge")
        engine.rules.learn()
        assert rule_of(engine, "amend").counts and rule_of(engine, "squash").state == "in force"


def test_worth_is_counted_in_weeks_with_sessions(sample: Path, say: Say, clock: Clock) -> None:
    for day in ("2031-01-05", "2031-01-08", "2031-01-13", "2031-01-27"):
        say(day, "please don't amend commits")
    say("2031-01-28", "let's cut a branch first")
    with Engine.open(sample, clock=clock) as engine:
        engine.rules.learn()
        engine.rules.accept([rule_of(engine, "amend").id, rule_of(engine, "branch").id])
        few = engine.kept_rules.worth()
        assert (
            not any(each.is_comparable for each in few.rules)
            and few.before.a_week is None
            and not few.prompts
        )
        for day in ("2031-02-02", "2031-02-10", "2031-02-11", "2031-04-01"):
            say(day, "what is next?")
        say("2031-04-02", "never amend commits!")
        engine.rules.learn()
        engine.compile("hello", record=True)
        found = engine.kept_rules.worth()
        amend, branch = (
            next(each for each in found.rules if word in each.rule.text) for word in ("amend", "branch")
        )
        assert (amend.before.told, amend.before.weeks) == (3, 3)  # no session in the fourth week
        assert (amend.after.told, amend.after.weeks) == (1, 3)
        assert amend.before.a_week == 1 and not branch.is_comparable
        assert found.before == amend.before and found.after == amend.after
        assert found.prompts == 1 and 0 < found.tokens < found.of
