"""``sync``: two machines on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.sync.machines import Machine, git, pair


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Machine, Machine, Path]]:
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_DATE", "2026-06-12T08:00:00+00:00")
    yield pair(tmp_path / "two")


def test_two_machines_sync_and_resolve_a_conflict(
    apo: Command, machines: tuple[Machine, Machine, Path]
) -> None:
    desk, laptop, bare = machines
    desk.add("knowledge/facts.md", "- Of the desk.\n")
    desk.edit("topics/travel.md", "Two.", "By train \x1b[31m.")
    assert apo("-C", desk.root, "sync", "--dry-run").code == 0
    done = apo("-C", desk.root, "sync")
    assert done.code == 0 and f"1 commit pushed to origin ({bare})" in done.out
    assert "2 files committed first" in done.out
    laptop.edit("topics/travel.md", "Two.", "By ship.")
    laptop.add("knowledge/facts.md", "- Of the laptop.\n")
    held = apo("-C", laptop.root, "sync")
    assert held.code == 1 and "topics/travel.md: both sides changed the same text" in held.out
    assert "\n    in Travel:\n    before | Two.\n" in held.out
    assert "    ours   | By ship." in held.out
    assert "theirs | By train" in held.out and "\x1b" not in held.out
    status = apo("-C", laptop.root, "sync", "status", "--json")
    assert status.code == 1 and status.json["conflicts"][0]["path"] == "topics/travel.md"
    assert (status.json["ahead"], status.json["behind"]) == (1, 1)
    resolved = apo("-C", laptop.root, "sync", "--json", "--take", "theirs", "topics/travel.md")
    assert resolved.code == 0 and resolved.json["outcome"] == "done" and resolved.json["merge"]
    assert "By train" in laptop.text("topics/travel.md") and "Of the desk" in laptop.text(
        "knowledge/facts.md"
    )
    fetched = apo("-C", desk.root, "sync")
    assert "2 commits fetched; 1 file changed here:\n  knowledge/facts.md\n" in fetched.out
    assert "up to date with" in apo("-C", desk.root, "sync").out
    assert "ahead        0 commits" in apo("-C", desk.root, "sync", "status", "--fetch").out
    assert git(bare, "rev-parse", "main") == desk.repository.revision()


def test_refusals_are_one_line(apo: Command, machines: tuple[Machine, Machine, Path]) -> None:
    desk, _, bare = machines
    assert apo("-C", desk.root, "sync", "--take", "ours").code == 2
    assert apo("-C", desk.root, "sync", "--dry-run", "--take", "ours", "a", "b").code == 2
    refused = apo("-C", desk.root, "sync", "--take", "ours", "a.md", "b.md")
    assert (refused.code, refused.err) == (
        1, "autopoiesis: a.md: not in conflict; see: autopoiesis sync status\n",
    )  # fmt: skip
    bare.rename(bare.with_name("gone"))
    gone = apo("-C", desk.root, "sync")
    assert gone.code == 1 and gone.err.count("\n") == 1 and "fetch failed" in gone.err
    assert "last sync" in apo("-C", desk.root, "sync", "status").out
    desk.write("memory-config.yaml", "")
    assert "no remote is set" in apo("-C", desk.root, "sync").err
    assert "no remote is set" in apo("-C", desk.root, "sync", "status").out
