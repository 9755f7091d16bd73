"""Knowledge entries are archived and restored as a whole, byte for byte, even after interruptions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.errors import AutopoiesisError, ChangeRefused
from engine.knowledge.entries import scan_entries
from engine.knowledge.links import Links
from engine.lifecycle.proposals import apply
from engine.store.faults import fail, trip
from tests.lifecycle.upkeep_support import Desk

HEAD = "---\nname: {}\ndescription: What it holds.\n---\n"
OLD, COLD = "knowledge/incidents", "archive/incidents"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    desk.put(
        {
            f"{OLD}/KNOWLEDGE.md": f"{HEAD.format('incidents')}- a/KNOWLEDGE.md\nSee ../other/KNOWLEDGE.md\n",
            f"{OLD}/a/KNOWLEDGE.md": HEAD.format("a"),
            f"{OLD}/notes/a\nb.txt": "-rf",
            f"{OLD}/.keep": "",
            "knowledge/other/KNOWLEDGE.md": f"{HEAD.format('other')}See ../incidents/a/KNOWLEDGE.md\n",
        }
    )
    raw = desk.root / OLD / "notes/raw.bin"
    raw.write_bytes(b"\x00\xff\r\n<<<<")
    desk.repository.commit([f"{OLD}/notes/raw.bin"], "put there")
    return desk


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def archive(desk: Desk, *paths: str) -> str:
    """Archives files; returns the commit."""
    proposal, moves = desk.retention.archive(paths)
    assert not proposal.refused, proposal.refused
    (done,) = apply(desk.knowledge, [proposal])
    desk.retention.note_entries(moves)
    return done.commit


def restore(desk: Desk, *paths: str) -> str:
    proposal, moves = desk.retention.restore(paths)
    assert not proposal.refused, proposal.refused
    (done,) = apply(desk.knowledge, [proposal])
    desk.retention.note_entries(moves)
    return done.commit


def records(desk: Desk) -> list[dict[str, Any]]:
    return [json.loads(line) for line in desk.read("logs/cleanup.jsonl").splitlines()]


def test_an_archived_entry_is_byte_identical_committed_recorded_and_in_no_catalog(desk: Desk) -> None:
    before = contents(desk.root / OLD)
    assert archive(desk, OLD) == desk.repository.revision()
    assert contents(desk.root / COLD) == before and not (desk.root / OLD).exists() and desk.dirty() == ""
    assert [entry.name for entry in scan_entries(desk.files).entries] == ["other"]
    (record,) = records(desk)
    assert (record["action"], record["path"], record["human_approved"]) == ("archived", COLD, True)
    assert record["candidates"] == 2 and record["bytes"] == sum(map(len, before.values()))
    assert "See ../incidents/a/KNOWLEDGE.md" in desk.read("knowledge/other/KNOWLEDGE.md"), "as it was"


@pytest.mark.parametrize("name", [COLD, OLD, f"{COLD}/"])
def test_restoring_puts_everything_back_in_place(desk: Desk, name: str) -> None:
    before = contents(desk.root / "knowledge")
    archive(desk, OLD)
    restore(desk, name)
    assert contents(desk.root / "knowledge") == before and desk.dirty() == ""
    assert not (desk.root / COLD).exists()
    assert [record["action"] for record in records(desk)] == ["archived", "restored"]


def test_a_nested_entry_is_archived_without_its_index(desk: Desk) -> None:
    archive(desk, f"{OLD}/a")
    assert (desk.root / COLD / "a/KNOWLEDGE.md").exists() and (desk.root / OLD / "KNOWLEDGE.md").exists()
    restore(desk, f"{COLD}/a")
    assert records(desk)[0]["candidates"] == 1
    archive(desk, OLD)
    assert (desk.root / COLD / "a/KNOWLEDGE.md").exists()


def test_a_reference_by_name_is_told_to_be_archived(desk: Desk) -> None:
    desk.put({"knowledge/other/KNOWLEDGE.md": f"{HEAD.format('other')}See [[incidents]].\n"})
    archive(desk, OLD)
    desk.put({"knowledge/other/KNOWLEDGE.md": f"{HEAD.format('other')}See ../incidents/KNOWLEDGE.md.\n"})
    (problem,) = Links(desk.files, scan_entries(desk.files)).problems
    assert "is archived" in problem.what and "archive restore archive/incidents" in problem.hint


def test_an_existing_target_is_left_alone(desk: Desk) -> None:
    archive(desk, OLD)
    desk.put({f"{OLD}/KNOWLEDGE.md": f"{HEAD.format('incidents')}New.\n"})
    with pytest.raises(ChangeRefused, match="already exists"):
        restore(desk, COLD)
    with pytest.raises(ChangeRefused, match="already exists"):
        archive(desk, OLD)
    assert "New." in desk.read(f"{OLD}/KNOWLEDGE.md") and (desk.root / COLD / "notes/raw.bin").exists()


def test_entries_that_cannot_be_moved_as_a_whole_are_refused(desk: Desk, tmp_path: Path) -> None:
    for name in ("people", "projects/web", "linked", "nested", "topics"):
        desk.put({f"knowledge/{name}/KNOWLEDGE.md": HEAD.format(name.rpartition("/")[2])})
    (desk.root / "knowledge/linked/out").symlink_to(tmp_path)
    (desk.root / "knowledge/nested/.git").mkdir()
    for path, message in {
        "knowledge/people": "its folder contains more than this entry",
        "knowledge/projects/web": "its folder contains more than this entry",
        "knowledge/linked": "knowledge/linked/out is not a regular file",
        "knowledge/nested": "knowledge/nested/.git is not a regular file",
        "knowledge/topics": "files in its folder are never moved",
        f"{OLD}/KNOWLEDGE.md": "belongs to a knowledge entry, which is archived as a whole",
        f"{OLD}/notes": "belongs to a knowledge entry, which is archived as a whole",
        "knowledge/nothing": "no such file",
    }.items():
        with pytest.raises(ChangeRefused, match=message):
            archive(desk, path)
    assert (desk.root / OLD).exists() and not (desk.root / "logs/cleanup.jsonl").exists()


@pytest.mark.parametrize("point", ["move:rename", "commit:reference"])
@pytest.mark.parametrize("way", ["archive", "restore"])
def test_after_an_interruption_the_next_run_finishes(desk: Desk, point: str, way: str) -> None:
    before = contents(desk.root / OLD)
    if way == "restore":
        archive(desk, OLD)
    hits: list[int] = []

    def second() -> None:
        hits.append(1)
        if len(hits) == (2 if point == "move:rename" else 1):
            fail(5)()

    proposal, _ = desk.retention.archive([OLD]) if way == "archive" else desk.retention.restore([COLD])
    with trip(point, second):
        try:
            apply(desk.knowledge, [proposal])
        except AutopoiesisError:
            assert point == "move:rename"
    assert hits
    desk.knowledge.changes.recover()
    source, target = (OLD, COLD) if way == "archive" else (COLD, OLD)
    assert contents(desk.root / target) == before and not (desk.root / source).exists()
    assert desk.dirty() == ""
