"""The scope and author of a rule, derived from its text, the sessions and the git history."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.engine import Engine
from engine.rules.agent_files import with_place
from engine.rules.rulebook import PATH, Rule, paths_in
from tests.cases import each_case
from tests.rules.conftest import Say
from tests.store.history import commit


@each_case(
    ("rule", "paths"),
    [
        ("In `*_test.go` files, never use Contains", "*_test.go"),
        ("in tests/, no mocks", "tests/"),
        ("please don't edit anything in generated/ or vendor/", "generated/,vendor/"),
        ("don't touch `db/migrations/` without asking me", "db/migrations/"),
        ("no mocks in `tests/` please", "tests/"),
        ("use tabs in .go and .mod files", "*.go,*.mod"),
        ("no default exports in **/*.tsx", "*.tsx"),
        ("run the tests in tests/ before you push", ""),
        ("put the tests in tests/", ""),
        ("use mocks only in tests/", ""),
        ("In tests/ only, use mocks", ""),
        ("never touch files outside src/", ""),
        ("never use the helpers in tests/old/", ""),
        ("never commit to main / no mocks in tests/", ""),
        ("in *.{ts,tsx} files use hooks", ""),
        ("in src/main.go use tabs", ""),
        ("never commit *secrets* and/or keys", ""),
    ],
)
def test_paths_are_derived_from_the_text_only_if_certain(rule: str, paths: str) -> None:
    assert paths_in(rule) == paths


def test_a_rule_narrowed_by_its_text_stays_in_prompts_and_is_repeated_when_relevant(
    sample: Path, say: Say
) -> None:
    say("2031-07-05", "never touch migrations/", "never answer in German")
    with Engine.open(sample) as engine:
        engine.rules.learn()
        (rule,) = (each for each in engine.rules.book().rules if "migrations" in each.text)
        assert rule.where == "gauges migrations/" and "path=" not in (sample / PATH).read_text()
        other = engine.compile("add a column")
        assert "touch migrations" in other.text[: other.stable_prefix_length]
        near = engine.compile("look at db/migrations/0007_gauge.sql")
        assert "touch migrations" in near.text[near.stable_prefix_length :]
        assert engine.rules.narrow(rule.id, path="db/").rules[0].where == "gauges db/"
        assert "touch migrations" not in engine.compile("add a column").text


def test_in_a_shared_memory_each_occurrence_has_its_author(
    sample: Path, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kept_by(name: str) -> None:
        monkeypatch.setenv("GIT_AUTHOR_NAME", name)
        commit(sample, f"conv: of {name}", "2031-01-08T10:00:00Z")

    def authors(engine: Engine) -> tuple[str, ...]:
        engine.rules.learn()
        (rule,) = (each for each in engine.rules.book().rules if "amend" in each.text)
        return engine.rules.authors_of(engine.rules.occurrences(rule))

    first = say("2031-01-05", "please never amend commits")
    with Engine.open(sample) as engine:
        engine.rules.learn()
        brought = engine.history.authors("raw/conversations")
        assert len(set(brought.values())) <= 1 and authors(engine) == ("",)
        kept_by("Ana")
        say("2031-01-07", "never amend commits!")
        kept_by("Bo")
        first.rename(first.with_name("1000-renamed.md"))
        kept_by("Cy")  # moving it does not change the author
        say("2031-01-09", "please never amend commits")  # not committed yet
        assert authors(engine) == ("Ana", "Bo", "")


def test_an_export_states_the_scope_of_a_rule() -> None:
    rule = Rule("0000001", "use testify", "in force", path="*_test.go")
    assert with_place(rule) == "In `*_test.go`: use testify"
    assert with_place(Rule("0000002", "be brief", "in force", agent="codex", tool="Bash", path="a/,b/")) == (
        "For codex, in `a/`, `b/` or when using `Bash`: be brief"
    )
    said = "no mocks in tests/"
    assert with_place(Rule("0000003", said, "in force")) == said
    assert with_place(Rule("0000003", said, "in force", path="tests/")) == said
