"""The flush log survives damage to its file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.context.flush_record import FlushRecord, HeldNote, WrittenNote, record_in
from engine.flush.log import FlushLog
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.engine.flush_support import AT

RECORD = FlushRecord(
    id="0123456789ab",
    at="2026-06-12T18:45:00+00:00",
    session="ses_1",
    path="raw/conversations/a.md",
    first=1,
    last=3,
    turns={1: "aaaaaaaaaaaa", 3: "bbbbbbbbbbbb"},
    status="flushed",
    items=(WrittenNote("c" * 12, "knowledge/journal/2026-06-12.md", 9, "- 2026-06-12: so"),),
    held=(HeldNote("memory", "Always so.", "looks like an instruction to a model"),),
    in_part=(3,),
    provider="anthropic",
    model="m",
    input_tokens=1200,
    output_tokens=80,
    cost_usd=0.0042,
    error="",
)


def log_at(root: Path) -> FlushLog:
    (root / "memory-config.yaml").touch()
    return FlushLog(Files(Workspace.open(root)), lambda: AT)


def test_written_records_are_read_back(tmp_path: Path) -> None:
    log_at(tmp_path).append(RECORD)
    assert log_at(tmp_path).records(RECORD.path) == (RECORD,)
    assert log_at(tmp_path).records("another.md") == ()


def test_a_reader_sees_records_added_by_another_process(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    assert log.records(RECORD.path) == ()
    log_at(tmp_path).append(RECORD)
    assert len(log.records(RECORD.path)) == 1


def test_records_of_several_months_are_one_history(tmp_path: Path) -> None:
    log = log_at(tmp_path)
    log.append(RECORD)
    data = (tmp_path / "logs/flushes-2026-06.jsonl").read_bytes()
    (tmp_path / "logs/flushes-2026-05.jsonl").write_bytes(data.replace(b'"flushed"', b'"failed"'))
    (tmp_path / "logs/flushes-2026-06.jsonl.bak").write_bytes(data)
    assert [record.status for record in log.records(RECORD.path)] == ["failed", "flushed"]


@given(st.integers(0, 2000), st.binary(max_size=40))
def test_truncated_and_invalid_lines_are_skipped(
    tmp_path_factory: pytest.TempPathFactory, cut: int, odd: bytes
) -> None:
    root = tmp_path_factory.mktemp("w")
    log_at(root).append(RECORD)
    file = root / "logs/flushes-2026-06.jsonl"
    line = file.read_bytes()
    file.write_bytes(line + line[: min(cut, len(line) - 2)] + b"\n" + odd.replace(b"\n", b" ") + b"\n" + line)
    assert log_at(root).records(RECORD.path) == (RECORD, RECORD)


WRONG: list[dict[str, Any]] = [
    {"status": "done"},
    {"status": None},
    {"turns": ["a"]},
    {"turns": {"one": "a"}},
    {"turns": {"1": 5}},
    {"first": "1"},
    {"first": True},
    {"last": None},
    {"path": 7},
    {"items": [{"id": "x"}]},
    {"items": "x"},
    {"items": 5},
    {"held": [["a", "b", "c"]]},
    {"in_part": ["1"]},
    {"cost_usd": "free"},
    {"cost_usd": -1},
    {"cost_usd": float("inf")},
    {"cost_usd": float("nan")},
    {"input_tokens": 1.5},
    {"error": None},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_malformed_record_is_skipped(tmp_path: Path, wrong: dict[str, Any]) -> None:
    log_at(tmp_path).append(RECORD)
    file = tmp_path / "logs/flushes-2026-06.jsonl"
    tree = json.loads(file.read_bytes())
    assert record_in(tree) == RECORD
    assert record_in({**tree, **wrong}) is None
    file.write_text(json.dumps({**tree, **wrong}) + "\n")
    assert log_at(tmp_path).records(RECORD.path) == ()


def test_a_record_without_newer_fields_is_read() -> None:
    tree = {
        "id": "a", "at": "b", "session": "", "path": "c", "first": 1, "last": 2, "turns": {},
        "status": "nothing",
    }  # fmt: skip
    assert record_in(tree) == FlushRecord("a", "b", "", "c", 1, 2, {}, "nothing")
