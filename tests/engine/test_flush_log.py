"""The flush log survives damage to its file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

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
