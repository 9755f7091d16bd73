"""Detecting violations of a rule, and correcting the agent in the next prompt."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import ChangeRefused
from engine.rules.watch import what_breaks
from engine.topics.patterncheck import pattern_findings
from tests.cases import each_case
from tests.rules.conftest import Say


@each_case(
    ("rule", "broken", "kept"),
    [
        ("please don't amend commits", "git -C x commit -q --amend", "git commit -m 'amend the plan'"),
        ("never push to main", "git push origin main", "git push origin topic; git switch main"),
        ("no force-pushes, please", "git push -f", "git push"),
        ("open pull requests as drafts", "gh pr create --fill", "gh pr create --fill --draft"),
        ("open a draft PR", "gh pr create --title x", "gh pr create --title a very lon…"),
        ("don't skip the hooks", "git commit --no-verify -m x", "git commit -m x"),
        (
            "don't use `strings.Contains` in tests, use `require.Equal`",
            "strings.Contains(a",
            "require.Equal(a",
        ),
        ("`a+b(c` isn't allowed", "x a+b(c", "aab(c"),
        ("no emojis", "Done \u2705", "Done."),
        ("prefer `git switch` over `git checkout`", "git  checkout x", "git switch x"),
        ("let's make sure we use US English everywhere", "It was normalised.", "It was normalized."),
    ],
)
def test_only_violations_of_a_rule_are_detected(rule: str, broken: str, kept: str) -> None:
    pattern, sees = what_breaks(rule)
    assert sees and re.search(pattern, broken, re.IGNORECASE) and not re.search(pattern, kept, re.IGNORECASE)
    assert not pattern_findings(pattern, probe=True)


@each_case(
    "rule",
    [
        "keep replies short",
        "don't commit secrets",
        "don't push until I say so",
        "don't forget to push",
        "read README.md first, not CONTRIBUTING.md",
        "use `x` rather than tabs",
        "use pnpm instead of npm",
    ],
)
def test_rules_without_detectable_violations_have_no_pattern(rule: str) -> None:
    assert what_breaks(rule) == ("", ())


def test_a_command_that_breaks_a_rule_is_corrected_in_the_next_prompt(sample: Path, say: Say) -> None:
    said = 'never amend commits, it "breaks" {links} of ours', "always keep replies short"
    say("2031-01-05", *said)
    path = say("2031-01-06", "fix the typo")
    with Engine.open(sample) as engine:
        engine.rules.learn()
        amend, short = (
            next(r for r in engine.rules.book().rules if word in r.text) for word in ("amend", "short")
        )
        assert not engine.rules.watch(amend.id).is_written and not (sample / "topics/rule-x.md").exists()
        done = engine.rules.watch(amend.id, apply=True)
        assert engine.repository.show(done.commit.revision, done.path) == (sample / done.path).read_bytes()
        assert not engine.problems() and not engine.rules.watch(amend.id, apply=True).is_written

        def prompt() -> str:
            return engine.compile("now push it", session_id="ses_00000002").text

        assert "{links} (rule-" not in prompt()
        text = path.read_text()
        path.write_text(text.replace("Done.", "> [tool:Bash] cd a && git commit --amend → 1 file changed"))
        after = prompt()
        corrections = after[after.index("Correct this from now on") :]
        assert f"{amend.text} (rule-{amend.id}: “git commit --amend”)" in corrections
        path.write_text(text.replace("Done.", "> [tool:Bash] git log → git commit --amend, says a message"))
        assert "Correct this" not in prompt()  # tool output is not the agent's own text

        with pytest.raises(ChangeRefused, match="--pattern REGEX"):
            engine.rules.watch(short.id)
        with pytest.raises(ChangeRefused, match="exponential"):
            engine.rules.watch(short.id, "(a+)+$")
        own = engine.rules.watch(short.id, r"\bin summary\b", apply=True)
        path.write_text(text.replace("Done.", "In summary, it is done."))
        assert own.is_written and f"(rule-{short.id}: “In summary”)" in prompt()
        with pytest.raises(ChangeRefused, match="already exists"):
            engine.rules.watch(short.id, r"\bto sum up\b", apply=True)
