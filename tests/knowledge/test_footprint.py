"""The footprint of entries; an audit changes nothing but the log."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.knowledge.entries import scan_entries
from engine.knowledge.footprint import CleanupLog, audit
from tests.knowledge.entry_support import NOON, EntrySpace


@pytest.fixture
def space(tmp_path: Path) -> EntrySpace:
    space = EntrySpace(tmp_path / "memory")
    space.entry("knowledge/big", "See small-one and a/KNOWLEDGE.md\n")
    space.entry("knowledge/big/a")
    space.write("knowledge/big/data.bin", b"x" * 1_000)
    space.write("knowledge/big/.hidden", b"x" * 10)
    space.entry("knowledge/small-one")
    space.write("knowledge/people/jo.md", "x" * 5_000)
    space.entry(".library/custom/skill")
    return space


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_sizes_include_everything_in_the_folders(space: EntrySpace) -> None:
    found = space.desk.footprint()
    assert (found.entries, found.nested, found.files) == (2, 1, 5)
    big, small = found.top
    assert (big.name, big.folder, big.entries, big.files) == ("big", "knowledge/big", 2, 4)
    assert big.size == size_of(space.root / "knowledge/big") and small.size == size_of(
        space.root / "knowledge/small-one"
    )
    assert found.size == big.size + small.size
    assert (big.references, small.references) == (0, 1)


def test_an_audit_is_one_line_in_the_log(space: EntrySpace) -> None:
    found = space.desk.footprint()
    space.desk.footprint()
    first, second = (space.root / "logs/cleanup.jsonl").read_text().splitlines()
    assert first == second and json.loads(first) == {
        "ts": "2026-06-12T12:00:00Z",
        "tool": "knowledge",
        "dry_run": True,
        "candidates": 2,
        "bytes": found.size,
        "human_approved": False,
        "summary": "knowledge footprint audit",
    }
    assert found.recorded and not found.why


def test_an_audit_writes_only_the_log(space: EntrySpace) -> None:
    before = {path: path.stat().st_mtime_ns for path in space.root.rglob("*") if path.is_file()}
    space.desk.footprint()
    after = {path: path.stat().st_mtime_ns for path in space.root.rglob("*") if path.is_file()}
    new = {path.relative_to(space.root).as_posix() for path in after.keys() - before.keys()}
    assert {path: after[path] for path in before} == before
    assert new <= {"logs/cleanup.jsonl", "scratch/.lock"}


def test_an_audit_of_a_read_only_workspace_is_not_recorded(space: EntrySpace) -> None:
    reading = EntrySpace(space.root, read_only=True)
    found = reading.desk.footprint()
    assert found.entries == 2 and not found.recorded and "read-only" in found.why
    assert not (space.root / "logs").exists()


def test_changes_are_dated_by_the_history_rather_than_the_file_system(
    space: EntrySpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = datetime(2026, 1, 2, tzinfo=UTC).timestamp()
    for path in (space.root / "knowledge").rglob("*"):
        os.utime(path, (at, at))
    assert {(row.changed, row.in_history) for row in space.desk.footprint().top} == {
        (datetime(2026, 1, 2, tzinfo=UTC), False)
    }
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-06-01T08:00:00+00:00")
    space.commit()
    assert {(row.changed, row.in_history) for row in space.desk.footprint().top} == {
        (datetime(2026, 6, 1, 8, tzinfo=UTC), True)
    }


def test_only_the_largest_entries_are_listed(space: EntrySpace) -> None:
    for number in range(40):
        space.entry(f"knowledge/entry-{number:02}", "x" * number)
    found = space.desk.footprint()
    assert found.entries == 42 and len(found.top) == 30
    sizes = [row.size for row in found.top]
    assert sizes == sorted(sizes, reverse=True) and found.size > sum(sizes)
    scan = scan_entries(space.files)
    few = audit(scan, space.links(), lambda: space.repository, CleanupLog(space.files, lambda: NOON), top=1)
    assert [row.name for row in few.top] == ["big"]
