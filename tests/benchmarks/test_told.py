"""The ways to choose what is told, on a made-up past."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.recall.backtest import play
from tests.benchmarks import told
from tests.benchmarks.retrieval import Memory
from tests.benchmarks.told import Baseline, Hooks


@pytest.fixture(scope="module")
def memory() -> Memory:
    return Memory(list(told.made_up()))


@pytest.fixture(scope="module")
def ways(memory: Memory) -> Iterator[dict[str, Baseline | Hooks]]:
    index = memory.engine.index
    past = index.past()
    found = told.ways_to_choose(index, past)
    assert play(index, past, range(30, 60), found) == (60, 60)
    yield {way.name: way for way in found}


def test_only_sessions_before_the_prompt_are_told(ways: dict[str, Baseline | Hooks]) -> None:
    for name, way in ways.items():
        for prompt in way.told:
            assert len(prompt.passages) <= 3
            assert all(each.path < prompt.path for each in prompt.passages), name


def test_the_best_choice_is_better_than_search_and_search_than_chance(
    ways: dict[str, Baseline | Hooks],
) -> None:
    oracle, plain, chance = (ways[name] for name in ("oracle among FTS5's 200", "FTS5 top 3", "random"))
    assert oracle.known > plain.known > chance.known
    assert oracle.lines_used / oracle.lines > plain.lines_used / plain.lines
    hooks = ways["hooks"]
    assert 0 < len(hooks.told) < len(plain.told)
    assert hooks.lines_used / hooks.lines > plain.lines_used / plain.lines


def test_a_floor_tells_fewer_prompts(ways: dict[str, Baseline | Hooks]) -> None:
    plain, low, high = (
        len(ways[name].told)
        for name in ("FTS5 top 3", "FTS5 top 3, bm25 from 15", "FTS5 top 3, bm25 from 25")
    )
    assert plain == 60 >= low > high


def test_the_most_recent_session_is_the_one_before(memory: Memory, ways: dict[str, Baseline | Hooks]) -> None:
    paths = [session.path for session in memory.engine.index.past().sessions]
    for prompt in ways["most recent session"].told:
        before = paths[paths.index(prompt.path) - 1]
        assert {each.path for each in prompt.passages} == {before}


def test_one_table_has_a_row_for_each_way() -> None:
    outcome = told.run(None, quick=True)
    head, columns, *rows = outcome.lines
    assert head.startswith("60 sessions, the last 4 played: ")
    assert columns.split() == [name for name in told.HEADS if name]
    assert len(rows) == 7 and rows[0].startswith("hooks ")
    assert {len(row) for row in rows} == {len(columns)}
