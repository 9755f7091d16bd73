"""The cache simulation is reproducible and counts as documented."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.context import tokens
from engine.context.compiled import Compiled, Section, SlotName
from tests.benchmarks import caching
from tests.benchmarks.setting import Setting

AT = datetime(2026, 6, 12, 8, tzinfo=UTC)


def section(label: str, layer: int, priority: int, slot: SlotName, text: str) -> Section:
    return Section(label, layer, priority, slot, "", "", tokens.count(text), None, "why", text)


def sent(after_s: float, *texts: str, stable: int = 1) -> caching.Sent:
    """A prompt whose first lines are its stable prefix."""
    text = "".join(f"{each}\n" for each in texts)
    length = sum(len(each) + 1 for each in texts[:stable])
    compiled = Compiled(text, tokens.count(text), 8192, 0, (), (), (), length, (length,), (), 0)
    return caching.Sent(AT + timedelta(seconds=after_s), compiled, text, text)


@pytest.mark.thorough
def test_two_runs_give_the_same_figures_and_the_products_order_is_better(tmp_path: Path) -> None:
    figures = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        rows = list(caching.run(Setting(tmp_path / name, quick=True)))
        figures.append([row.figures for row in rows])
        assert len(rows) == len(caching.TTLS_S)
    assert figures[0] == figures[1]
    short, long = figures[0]
    assert 0 < short["share_by_priority"] <= short["share"] <= long["share"] < 1
    assert short["share_by_boundaries"] <= short["share"]
    assert long["turns_that_kept_the_prefix"] <= long["warm_turns"] == 7


def test_a_cache_serves_the_prefix_shared_with_any_prompt_within_its_lifetime() -> None:
    tally = caching.Tally(timedelta(seconds=300))
    tally.add(sent(0, "one", "two", "three"))
    assert (tally.ours, tally.warm, tally.kept) == (0, 0, 0)
    tally.add(sent(200, "one", "two", "four"))
    assert (tally.ours, tally.bounded) == (tokens.count("one\ntwo\n"), tokens.count("one\n"))
    assert (tally.warm, tally.kept) == (1, 1)
    before = tally.ours
    tally.add(sent(400, "six", "two", "five"))
    assert (tally.ours, tally.warm, tally.kept) == (before, 2, 1)
    tally.add(sent(701, "six", "two", "five"))
    assert (tally.ours, tally.warm) == (before, 2)


def test_a_shared_prefix_is_cut_back_to_a_line_end() -> None:
    text = "one two\nthree four\n"
    assert caching.served(text, 12) == tokens.count("one two\n")
    assert caching.served(text, len(text)) == tokens.count(text)
    assert caching.served(text, 3) == 0
    assert caching.shared("né\n", iter(["nè\n", "x"])) == 1


def test_the_other_order_is_by_priority_and_slot() -> None:
    soul = section("identity:SOUL.md", 5, 0, "identity", "I am.")
    sections = [
        soul,
        section("projects:_active.md", 6, 1, "projects", "p"),
        section("memory:MEMORY.md", 6, 1, "memory", "m"),
        replace(soul, label="journal:x", layer=8, priority=1, slot="journal"),
        section("history:1", 11, 4, "history", "h"),
        section("topic:t", 9, 2, "topics", "t"),
        section("message", 12, 0, "message", "q"),
    ]
    markers = [line for line in caching.by_priority(sections).splitlines() if line.startswith("<!--")]
    assert markers == [
        "<!-- identity:SOUL.md -->",
        "<!-- memory:MEMORY.md -->",
        "<!-- journal:x -->",
        "<!-- projects:_active.md -->",
        "<!-- topic:t -->",
        "<!-- history:1 -->",
        "<!-- message -->",
    ]
