"""``search --explain``: the parts of a score and both ranks, as text and as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.engine import Engine
from engine.gateways.memory import Memory
from engine.search.results import SearchResult, Share
from tests.cli.conftest import Command

RESULT = SearchResult(
    "knowledge/decisions.md", 4, 6, "knowledge", "Decisions › Database", "2026-06-10",
    "a pool of its own", "- a pool of its own", 0.61, 3, None, "index", "Contains 1 of 1 word: pool.",
    (Share("words", 0.41), Share("meaning", 0.23), Share("recency", -0.03)),
)  # fmt: skip


@pytest.fixture
def one_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that finds one result with known parts."""
    monkeypatch.setattr(Engine, "search", lambda *_arguments, **_options: [RESULT])


@pytest.mark.usefixtures("one_result")
def test_explain_adds_up_the_parts_and_shows_both_ranks(apo: Command, sample: Path) -> None:
    explained = apo("-C", sample, "search", "pool", "--explain").out
    assert "0.610  Contains 1 of 1 word: pool." in explained
    assert "words .41 + meaning .23 − recency .03 = .61" in explained
    assert "rank 3 by words, – by meaning" in explained
    plain = apo("-C", sample, "search", "pool").out
    assert "words .41" not in plain and "rank" not in plain


def test_recall_answers_as_the_mcp_tool_does(apo: Command, sample: Path) -> None:
    question = "What did Odile ask for?"
    with Engine.open(sample) as engine:
        answer = Memory(engine, folder=str(Path.cwd())).recall(question, budget=900)
    assert (
        answer.sources
        and f"{answer.plain()}\n" == apo("-C", sample, "recall", question, "--budget", "900").out
    )
    shown = apo("-C", sample, "recall", *question.split(), "--budget", "900", "--json").json
    assert shown == answer.model_dump(mode="json")
    assert apo("-C", sample, "recall", "hello").out == "the memory has no answer\n"


@pytest.mark.usefixtures("one_result")
def test_json_contains_parts_and_ranks(apo: Command, sample: Path) -> None:
    (found,) = apo("-C", sample, "search", "pool", "--json").json
    assert found["shares"] == [
        {"name": "words", "value": 0.41},
        {"name": "meaning", "value": 0.23},
        {"name": "recency", "value": -0.03},
    ]
    assert found["lexical_rank"] == 3 and found["vector_rank"] is None


def test_the_parts_of_real_results_add_up_to_their_scores(apo: Command, sample: Path) -> None:
    found = apo("-C", sample, "search", "replication slot WAL", "--json").json
    assert found and all(
        result["lexical_rank"] or result["vector_rank"] or result["shares"] for result in found
    )
    for result in found:
        if result["shares"]:
            assert sum(share["value"] for share in result["shares"]) == pytest.approx(
                result["score"], abs=1e-3
            )
