"""Entries are archived and restored byte for byte, with consent, even after interruptions."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.errors import AutopoiesisError, EntryError, ReadOnly
from engine.store.faults import fail, trip
from tests.knowledge.entry_support import EntrySpace

ROOT = Path(__file__).parents[2]
OLD, COLD = "knowledge/incidents", "knowledge/archive/incidents"


@pytest.fixture
def space(tmp_path: Path) -> EntrySpace:
    space = EntrySpace(tmp_path / "memory")
    space.entry(OLD, "- a/KNOWLEDGE.md\nSee ../other/KNOWLEDGE.md\r\n")
    space.entry(f"{OLD}/a")
    space.write(f"{OLD}/notes/raw.bin", b"\x00\xff\r\n<<<<")
    space.write(f"{OLD}/.keep", b"")
    space.entry("knowledge/other", "See ../incidents/a/KNOWLEDGE.md\n")
    space.write(
        "topics/t.md", "---\ntype: topic\nsubscriptions:\n  - knowledge/incidents/KNOWLEDGE.md\n---\n"
    )
    space.commit()
    return space


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def records(space: EntrySpace) -> list[dict[str, Any]]:
    path = space.root / "logs/cleanup.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def dirty(space: EntrySpace) -> list[str]:
    """Returns the changes git sees, except for the log and the lock."""
    listed = subprocess.run(
        ["git", "status", "--porcelain", "--untracked-files=all"],
        cwd=space.root,
        capture_output=True,
        text=True,
        check=True,
    )
    return [line for line in listed.stdout.splitlines() if "logs/" not in line and "scratch/" not in line]


def test_a_dry_run_lists_moves_and_broken_links_and_changes_nothing(space: EntrySpace) -> None:
    before = contents(space.root)
    report = space.desk.archive(["incidents"])
    assert contents(space.root) == before and not report.applied
    [move] = report.moves
    assert (move.source, move.target, move.entries, move.files) == (OLD, COLD, 2, 4)
    assert [(link.source, link.line) for link in move.incoming] == [
        ("topics/t.md", 4),
        ("knowledge/other/KNOWLEDGE.md", 5),
    ]
    assert [link.reference.target for link in move.outgoing] == ["../other/KNOWLEDGE.md"]


def test_nothing_is_applied_without_consent(space: EntrySpace) -> None:
    with pytest.raises(EntryError, match="consent"):
        space.desk.archive(["incidents"], apply=True)
    assert (space.root / OLD).exists() and records(space) == []


def test_an_archived_entry_is_byte_identical_committed_and_recorded(space: EntrySpace) -> None:
    before = contents(space.root / OLD)
    (space.root / "knowledge/other/draft.md").write_text("not part of it")
    report = space.desk.archive(["incidents"], apply=True, consent=True)
    assert report.applied and report.commit == space.repository.revision()
    assert contents(space.root / COLD) == before and not (space.root / OLD).exists()
    assert set(space.repository.files("HEAD", "knowledge")) == {
        *(f"{COLD}/{name}" for name in before),
        "knowledge/other/KNOWLEDGE.md",
    }
    assert dirty(space) == ["?? knowledge/other/draft.md"]
    [record] = records(space)
    assert record["human_approved"] is True and record["dry_run"] is False and record["candidates"] == 2
    assert record["bytes"] == sum(map(len, before.values())) and record["tool"] == "knowledge"
    assert [entry.name for entry in space.scan().entries] == ["other"]
    assert space.desk.archived() == [COLD]


@pytest.mark.parametrize("name", ["incidents", OLD, COLD, "Incidents", f"{COLD}/KNOWLEDGE.md"])
def test_restoring_puts_everything_back_in_place(space: EntrySpace, name: str) -> None:
    before, tree = contents(space.root / "knowledge"), space.repository.files("HEAD")
    space.desk.archive(["incidents"], apply=True, consent=True)
    report = space.desk.restore(name)
    assert report.applied and contents(space.root / "knowledge") == before
    assert space.repository.files("HEAD") == tree and dirty(space) == []
    assert [record["action"] for record in records(space)] == ["archived", "restored"]
    assert not (space.root / "knowledge/archive").exists()


def test_a_nested_entry_keeps_its_place_and_does_not_block_its_index(space: EntrySpace) -> None:
    space.desk.archive(["a"], apply=True, consent=True)
    assert (space.root / COLD / "a/KNOWLEDGE.md").exists() and (space.root / OLD / "KNOWLEDGE.md").exists()
    with pytest.raises(EntryError, match="knowledge/archive/incidents: already exists"):
        space.desk.archive(["incidents"])
    space.desk.restore("a")
    assert space.desk.archive(["incidents", "a"], apply=True, consent=True).moves[0].entries == 2


def test_repeating_an_archive_or_restore_changes_nothing(space: EntrySpace) -> None:
    space.desk.archive(["incidents"], apply=True, consent=True)
    revision = space.repository.revision()
    again = space.desk.archive(["incidents"], apply=True, consent=True)
    assert (again.moves, again.already, again.finished) == ((), ("incidents",), ())
    space.desk.restore("incidents")
    assert space.desk.restore("incidents").already == ("incidents",)
    assert len(records(space)) == 2 and revision != space.repository.revision()


def test_an_existing_target_is_left_alone(space: EntrySpace) -> None:
    space.desk.archive(["incidents"], apply=True, consent=True)
    space.entry(OLD, "New.\n")
    message = "already exists; rename it or move it away first"
    with pytest.raises(EntryError, match=message):
        space.desk.restore(COLD)
    with pytest.raises(EntryError, match=message):
        space.desk.archive([OLD], apply=True, consent=True)
    assert "New." in (space.root / OLD / "KNOWLEDGE.md").read_text()
    assert (space.root / COLD / "notes/raw.bin").exists()


def test_entries_that_cannot_be_moved_as_a_whole_are_refused(space: EntrySpace, tmp_path: Path) -> None:
    space.entry(".library/custom/skill")
    space.write("knowledge/people/KNOWLEDGE.md", "---\nname: people\ndescription: d\n---\n")
    space.write("knowledge/projects/web/KNOWLEDGE.md", "---\nname: web\ndescription: d\n---\n")
    space.entry("knowledge/linked")
    (space.root / "knowledge/linked/out").symlink_to(tmp_path)
    space.entry("knowledge/nested-repository")
    (space.root / "knowledge/nested-repository/.git").mkdir()
    for name, message in {
        "skill": "is a skill; only knowledge entries can be archived",
        "people": "contains more than this entry; move it to its own folder",
        "web": "contains more than this entry",
        "linked": "knowledge/linked/out: is not a regular file",
        "nested-repository": "knowledge/nested-repository/.git: is not a regular file",
        "../../etc": "no such entry",
        "nothing": "no such entry: nothing",
    }.items():
        with pytest.raises(EntryError, match=message):
            space.desk.archive(["incidents", name], apply=True, consent=True)
    with pytest.raises(EntryError, match="no such archived entry: nothing; nothing is archived"):
        space.desk.restore("nothing")
    assert (space.root / OLD).exists() and records(space) == []


def test_a_read_only_workspace_plans_and_refuses(space: EntrySpace) -> None:
    reading = EntrySpace(space.root, read_only=True)
    assert len(reading.desk.archive(["incidents"]).moves) == 1
    with pytest.raises(ReadOnly):
        reading.desk.archive(["incidents"], apply=True, consent=True)


def test_entries_are_moved_without_a_repository(tmp_path: Path) -> None:
    space = EntrySpace(tmp_path / "plain")
    space.entry("knowledge/a")
    report = space.desk.archive(["a"], apply=True, consent=True)
    assert report.applied and not report.commit and "not a git repository" in report.why
    assert space.desk.problems() == () and space.desk.restore("a").applied


def test_without_auto_commit_nothing_is_reported_as_unfinished(space: EntrySpace) -> None:
    space.committing = False
    report = space.desk.archive(["incidents"], apply=True, consent=True)
    assert report.why == "git.auto_commit is off" and not any(
        "not committed" in str(p) for p in space.desk.problems()
    )


def test_a_move_that_fails_leaves_the_others_committed(space: EntrySpace) -> None:
    hits = []

    def second() -> None:
        hits.append(1)
        if len(hits) == 2:
            fail(5)()

    with trip("move:rename", second), pytest.raises(AutopoiesisError, match="was not written"):
        space.desk.archive(["incidents", "other"], apply=True, consent=True)
    assert (space.root / COLD).exists() and (space.root / "knowledge/other").exists()
    assert dirty(space) == [] and len(records(space)) == 1


POINTS = [
    "lock:acquire", "folder:create", "folder:fsync", "move:rename", "move:folder-fsync", "create:link",
    "temp:write", "commit:blobs", "commit:tree", "commit:object", "commit:index", "commit:reference",
    "commit:folder-fsync",
]  # fmt: skip
SOME_POINTS = ("lock:acquire", "move:rename", "create:link", "commit:index", "commit:reference")


@pytest.mark.parametrize(
    "point",
    [pytest.param(each, marks=() if each in SOME_POINTS else pytest.mark.thorough) for each in POINTS],
)
@pytest.mark.parametrize("way", ["archive", "restore"])
def test_after_a_kill_at_any_step_the_next_run_finishes(space: EntrySpace, point: str, way: str) -> None:
    if way == "restore":
        space.desk.archive(["incidents"], apply=True, consent=True)
    source, target = (OLD, COLD) if way == "archive" else (COLD, OLD)
    before = contents(space.root / source)
    call = f'archive(["{OLD}"], apply=True, consent=True)' if way == "archive" else 'restore("incidents")'
    script = (
        "import sys; from pathlib import Path; from tests.knowledge.entry_support import EntrySpace\n"
        f"EntrySpace(Path(sys.argv[1])).desk.{call}\n"
    )
    if way == "restore":
        # The log exists now and is appended to.
        point = {
            "create:link": "append:write",
            "temp:write": "append:fsync",
            "folder:create": "append:open",
        }.get(point, point)
        point = "move:rename" if point in ("folder:fsync", "lock:acquire") else point
    done = subprocess.run(
        [sys.executable, "-c", script, str(space.root)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "AUTOPOIESIS_FAULT": f"{point}:kill"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    has_moved = (space.root / target / "KNOWLEDGE.md").exists()
    assert has_moved != (space.root / source / "KNOWLEDGE.md").exists()
    left = [problem for problem in space.desk.problems() if "not committed" in problem.what]
    assert len(left) == has_moved

    if way == "archive":
        space.desk.archive(["incidents"], apply=True, consent=True)
    else:
        space.desk.restore("incidents")
    assert contents(space.root / target) == before and not (space.root / source).exists()
    assert dirty(space) == [] and f"{target}/KNOWLEDGE.md" in space.repository.files("HEAD")
    actions = [record["action"] for record in records(space) if record["path"] == target]
    assert actions == ["archived" if way == "archive" else "restored"]
    assert not any("not committed" in problem.what for problem in space.desk.problems())


def test_a_name_that_looks_like_a_secret_is_not_recorded_and_recorded_once(space: EntrySpace) -> None:
    name = "gh" + "p_Q7wE4rT9yU2iO5pA8sD1fG6hJ3kL0zX4cV7b"
    space.entry(f"knowledge/{name}")
    space.commit()
    with trip("commit:object", fail(5)):
        assert not space.desk.archive([name], apply=True, consent=True).commit
    assert space.desk.archive([name], apply=True, consent=True).finished
    (record,) = records(space)
    assert record["path"] == "knowledge/archive/[secret]" and name not in json.dumps(record)


def test_hostile_file_names_and_files_ignored_by_git_are_moved(space: EntrySpace) -> None:
    space.write(".gitignore", "*.tmp\n")
    for name in ("-rf", ":(exclude)a", "a\nb.md", "$(touch x)", "…"):
        space.write(f"{OLD}/files/{name}", name)
    space.commit()
    space.write(f"{OLD}/cache.tmp", "x")
    before = contents(space.root / OLD)
    space.desk.archive(["incidents"], apply=True, consent=True)
    assert contents(space.root / COLD) == before and dirty(space) == []
    space.desk.restore("incidents")
    assert contents(space.root / OLD) == before and dirty(space) == []
