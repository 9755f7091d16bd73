"""``trace`` and ``compile`` on the sample workspace: what a person sees first."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.context.tokens import count
from tests.cli.conftest import Command

MESSAGE = "Can you review the PR that just came in?"


def test_trace_names_the_topic_the_tiers_and_the_reason(apo: Command, sample: Path) -> None:
    ran = apo("-C", sample, "trace", MESSAGE, "--json")
    assert ran.code == 0
    trace = ran.json
    assert "github-pr-review" in trace["active"]
    row = next(row for row in trace["rows"] if row["topic"] == "github-pr-review")
    assert row["verdict"] == "active"
    assert {hit["matched"].lower() for hit in row["hits"]} >= {"review", "pr"}
    for hit in row["hits"]:
        if hit["start"] >= 0:
            assert MESSAGE[hit["start"] : hit["end"]] == hit["matched"]
    assert row["scores"] and row["rule"] and row["why"]
    assert trace["funnel"]["topics"] == len(trace["rows"])


def test_a_message_about_nothing_here_activates_nothing(apo: Command, sample: Path) -> None:
    trace = apo("-C", sample, "trace", "Thanks, have a nice evening.", "--json").json
    assert trace["active"] == []


def test_the_workspace_may_stand_before_or_after_or_in_the_environment(
    apo: Command, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    after = apo("trace", MESSAGE, "-C", sample, "--json").json["active"]
    monkeypatch.setenv("AUTOPOIESIS_HOME", str(sample))
    assert apo("trace", MESSAGE, "--json").json["active"] == after


def test_trace_for_people_is_a_table_with_a_reason(apo: Command, sample: Path) -> None:
    ran = apo("-C", sample, "trace", MESSAGE)
    assert "● " in ran.out and "github-pr-review" in ran.out and "active" in ran.out


@pytest.mark.parametrize("budget", [2048, 8192, 32768])
def test_the_prompt_stays_within_its_budget(apo: Command, sample: Path, budget: int) -> None:
    compiled = apo("-C", sample, "compile", MESSAGE, "--budget", str(budget), "--json").json
    assert compiled["tokens"] == count(compiled["text"])
    assert compiled["tokens"] <= budget
    assert compiled["text"].rstrip().endswith(MESSAGE)
    layers = [section["layer"] for section in compiled["sections"]]
    assert layers == sorted(layers)
    for section in compiled["sections"]:
        assert section["tokens"] == count(section["text"])
        assert 0 <= section["priority"] <= 4
        assert section["label"] and section["why"]
        if section["source"] and section["layer"] != 11:
            assert (sample / section["source"]).exists()
    assert {section["label"] for section in compiled["sections"]} >= {
        f"identity:{name}.md" for name in ("SOUL", "USER", "AGENTS", "TOOLS")
    }
    assert 0 < compiled["stable_prefix_length"] < len(compiled["text"])
    assert isinstance(compiled["left_out"], list)


def test_a_small_budget_leaves_things_out_and_says_which(apo: Command, sample: Path) -> None:
    compiled = apo("-C", sample, "compile", MESSAGE, "--budget", "2048", "--json").json
    assert compiled["left_out"]
    assert all(left["tokens"] > 0 and left["reason"] for left in compiled["left_out"])


def test_the_same_question_gives_the_same_bytes(apo: Command, sample: Path) -> None:
    first = apo("-C", sample, "compile", MESSAGE, "--json").json
    second = apo("-C", sample, "compile", MESSAGE, "--json").json
    assert first["text"] == second["text"]


def test_another_message_keeps_the_stable_prefix(apo: Command, sample: Path) -> None:
    one = apo("-C", sample, "compile", MESSAGE, "--json").json
    other = apo("-C", sample, "compile", "When was the last backup restored?", "--json").json
    length = one["stable_prefix_length"]
    assert length == other["stable_prefix_length"]
    assert one["text"][:length] == other["text"][:length]


def test_a_budget_that_identity_alone_exceeds_names_the_files(apo: Command, sample: Path) -> None:
    ran = apo("-C", sample, "compile", MESSAGE, "--budget", "256")
    assert ran.code == 1
    assert "SOUL.md" in ran.err and "token_budget" in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_compile_reads_standard_input(apo: Command, sample: Path) -> None:
    ran = apo("-C", sample, "compile", "-", stdin="What broke the ingest queue?")
    assert "What broke the ingest queue?" in ran.out


def test_explain_lists_sections_and_what_was_left_out(apo: Command, sample: Path) -> None:
    ran = apo("-C", sample, "compile", MESSAGE, "--budget", "2048", "--explain")
    assert "knowledge/identity/SOUL.md" in ran.out and "left out" in ran.out
