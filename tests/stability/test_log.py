"""The prefix log: what it records and what can be reported from it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from engine.context.stability import Prefix, compare
from engine.engine import Engine
from engine.stability.log import PrefixLog
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.stability.conftest import DIGEST, MEMORY, SOUL, START, Desk


def test_a_prefix_is_recorded_without_its_text(desk: Desk) -> None:
    desk.turn()
    data = (desk.root / "logs/prefixes-2026-06.jsonl").read_text()
    (record,) = map(json.loads, data.splitlines())
    assert record.keys() == {
        *("at", "discussion", "sha256", "characters", "bytes", "tokens", "boundaries", "sections"),
    }
    assert [section["source"] for section in record["sections"]] == [SOUL, MEMORY, "", DIGEST]
    assert "I am" not in data and "a fact" not in data


def test_records_are_read_back_completely(desk: Desk) -> None:
    desk.turn("ses_a")
    desk.turn("ses_b")
    prefix = replace(Prefix.of(desk.compile()), text=None)
    first, second = desk.log.last()
    assert first.prefix == second.prefix == prefix
    assert (first.discussion, second.discussion) == ("ses_a", "ses_b")
    assert (second.at - first.at).total_seconds() == 60
    assert [use.discussion for use in desk.log.last(1)] == ["ses_b"]
    assert [use.discussion for use in desk.log.last(5, "ses_a")] == ["ses_a"]
    assert desk.log.last(5, "ses_c") == ()


def test_the_changed_file_is_named(desk: Desk) -> None:
    desk.turn()
    desk.write(MEMORY, "# Memory\n- another fact\n")
    desk.turn()
    before, after = desk.log.last()
    found = compare(before.prefix, after.prefix)
    assert found is not None and not found.exact
    assert (found.what, found.source) == ("changed", MEMORY)
    assert found.usable == before.prefix.boundaries[0].tokens


def test_unreadable_lines_are_skipped(desk: Desk) -> None:
    desk.turn("ses_a")
    log = desk.root / "logs/prefixes-2026-06.jsonl"
    record = json.loads(log.read_text())
    odd = [
        {**record, "tokens": "many"},
        {**record, "at": "some day"},
        {**record, "at": 5},
        {**record, "sections": {}},
        {**record, "sections": [{**record["sections"][0], "layer": 12}]},
        {**record, "sections": ["x"]},
        {**record, "boundaries": [[1]]},
        {"sha256": "x"},
    ]
    with log.open("a") as file:
        file.write("".join(json.dumps(each) + "\n" for each in odd) + "not json\n[1]\n")
    desk.turn("ses_b")
    assert [use.discussion for use in desk.log.last()] == ["ses_a", "ses_b"]


def test_only_two_months_are_read(desk: Desk) -> None:
    for month in (3, 4, 5, 6):
        desk.now = datetime(2026, month, 10, tzinfo=UTC)
        desk.turn(f"ses_{month}")
    assert [use.discussion for use in desk.log.last()] == ["ses_5", "ses_6"]
    assert desk.log.misses(300).turns == 2


def test_an_unwritable_workspace_is_reported_without_failing(desk: Desk) -> None:
    problems: list[str] = []
    files = Files(Workspace.open(desk.root), read_only=True)
    log = PrefixLog(files, lambda: START, problems.append)
    assert log.note(desk.compile(), "ses_a") is None
    assert len(problems) == 1 and problems[0].startswith("the stable prefix was not recorded: ")
    assert log.last() == ()


def test_the_time_of_use_can_be_given(desk: Desk) -> None:
    at = datetime(2026, 6, 11, tzinfo=UTC)
    prefix = desk.log.note(desk.compile(), "ses_a", at)
    (use,) = desk.log.last()
    assert prefix is not None and use.at == at and use.prefix == replace(prefix, text=None)


def test_recording_a_prompt_records_its_prefix(sample: Path) -> None:
    with Engine.open(sample) as engine:
        engine.compile("Hello", ask=False)
        assert engine.prefixes.last() == ()
        compiled = engine.compile("Hello", ask=False, record=True)
        (use,) = engine.prefixes.last()
        assert use.prefix.sha256 == Prefix.of(compiled).sha256
