"""Exploration branches have their work tree outside the workspace and are merged or dropped as a whole."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import ChangeRefused, ReadOnly, RepositoryError
from engine.history.history import History
from engine.history.model import FileDiff
from tests.history.conftest import HOSTILE, NOW, write
from tests.store.history import commit, git

FACTS = "knowledge/facts.md"
LATER = NOW.replace(year=2126)  # later than any date git uses


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def workspace_files(root: Path) -> dict[str, bytes]:
    """Returns the files of the workspace, including git's index and HEAD."""
    git(root, "update-index", "-q", "--refresh")
    found = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    return {
        name: path.read_bytes()
        for name, path in found.items()
        if name in (".git/HEAD", ".git/index") or not name.startswith((".git/", "scratch/", "memory.db"))
    }


def with_clock(history: History, clock: Callable[[], datetime]) -> History:
    """Returns the same history with another clock."""
    return History(history.files, history.repository, history.knowledge, history.zone, clock, print)


def test_an_exploration_is_created_outside_and_leaves_the_workspace_unchanged(
    history: History, root: Path, tmp_path: Path
) -> None:
    marker = tmp_path / "ran"
    hook = root / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {marker}\n")
    hook.chmod(0o755)
    write(root, ".gitattributes", "knowledge/*.md filter=odd\n")
    commit(root, "attributes", "2026-06-11T00:00:00Z")
    git(root, "config", "filter.odd.smudge", f"touch {marker}; cat")
    git(root, "config", "filter.odd.clean", "cat")  # for git itself, which re-reads files now and then
    git(root, "config", "filter.odd.required", "true")
    write(root, FACTS, "# edited, and in no commit\n")
    before = workspace_files(root)
    made = history.explore("tone")
    assert (made.branch, made.made, made.revision) == ("explore/tone", True, history.head())
    assert made.folder.is_relative_to(tmp_path / "data") and not marker.exists()
    assert (made.folder / FACTS).read_text() != "# edited, and in no commit\n"
    assert (made.folder / HOSTILE).is_file() and git(
        made.folder, "branch", "--show-current"
    ) == "explore/tone"
    again = history.explore("explore/tone")
    assert (again.folder, again.made) == (made.folder, False)
    old = history.explore("old", "2026-06-02")
    assert "Port 1883" in (old.folder / FACTS).read_text() and not (old.folder / HOSTILE).exists()
    with pytest.raises(RepositoryError, match="exists, at"):
        history.explore("old", "HEAD")
    for name in ("a/b", "../x", "-d", "", "x\ny"):
        with pytest.raises(RepositoryError, match="is not a valid name"):
            history.explore(name)
    assert workspace_files(root) == before
    with Engine.open(root, read_only=True) as engine, pytest.raises(ReadOnly):
        engine.history.explore("other")


def test_an_exploration_interrupted_by_a_kill_is_completed(history: History, root: Path) -> None:
    head = history.head()
    git(root, "branch", "explore/tone")  # only the branch exists
    made = history.explore("tone")
    assert not made.made and (made.folder / FACTS).is_file()
    unfinished = made.folder.with_name(".tone.new")
    git(root, "worktree", "move", str(made.folder), str(unfinished))
    (unfinished / FACTS).unlink()  # half checked out
    assert history.explore("tone").folder == made.folder and (made.folder / FACTS).is_file()
    assert not unfinished.exists()
    made.folder.rename(unfinished)  # moved without git knowing
    git(root, "worktree", "repair", str(unfinished))
    unfinished.rename(made.folder)
    write(made.folder, FACTS, "mine\n")
    assert history.explore("tone").folder == made.folder and (made.folder / FACTS).read_text() == "mine\n"
    shutil.rmtree(made.folder)  # deleted by hand
    assert history.explore("tone").folder == made.folder and git(made.folder, "rev-parse", "HEAD") == head
    git(root, "worktree", "remove", str(made.folder))
    write(made.folder, "mine.md", "mine\n")
    with pytest.raises(RepositoryError, match="already exists"):
        history.explore("tone")
    assert (made.folder / "mine.md").read_text() == "mine\n"


def test_uncommitted_work_is_never_removed_and_old_explorations_are_pruned(
    engine: Engine, history: History, root: Path, tmp_path: Path
) -> None:
    made = history.explore("tone")
    write(made.folder, "knowledge/new.md", "mine\n")
    write(made.folder, "logs/decisions-2026-06.jsonl", "{}\n")
    later = with_clock(history, lambda: LATER)
    (root / ".git/logs/refs/heads/explore/tone").unlink()
    assert [(each.uncommitted, each.due) for each in later.branches()] == [(1, False)] and not later.prune()
    for refused in (
        lambda: history.drop(history.branch("tone")),
        lambda: engine.reconstruction.merging.apply("explore/tone"),
    ):
        with pytest.raises(RepositoryError, match=r"uncommitted changes in .*new\.md"):
            refused()
    with Engine.open(made.folder, clock=lambda: NOW) as there:
        assert there.commits.commit().commits and git(made.folder, "log", "-1", "--format=%s").startswith(
            "explore: "
        )
        assert there.schedule.run("snapshot", "command").said.startswith("days are not tagged")
    assert not git(root, "tag")
    (found,) = history.branches()
    assert (found.ahead, [each.path for each in found.files]) == (1, ["knowledge/new.md"])
    elsewhere = tmp_path / "by-hand"
    git(root, "worktree", "add", "-q", str(elsewhere), "-b", "explore/hand")
    with pytest.raises(RepositoryError, match="is checked out"):
        history.drop(history.branch("hand"))
    for name in ("tone", "hand"):
        (root / f".git/logs/refs/heads/explore/{name}").unlink(missing_ok=True)
    assert [each.name for each in later.prune()] == ["explore/tone"]
    assert not made.folder.exists() and elsewhere.exists()
    git(root, "branch", "explore/tone", found.revision)
    assert git(root, "show", "explore/tone:knowledge/new.md") == "mine"
    history.drop(history.branch("tone"))
    assert [each.name for each in history.branches()] == ["explore/hand"]


def test_an_exploration_is_merged_as_one_commit_and_conflicts_lose_nothing(
    engine: Engine, root: Path
) -> None:
    made = engine.history.explore("tone")
    text = (root / FACTS).read_text()
    write(made.folder, FACTS, text.replace("The house is red.", "The house is blue."))
    write(made.folder, "topics/mail.md", "# Mail\n\nbriefer\n")
    commit(made.folder, "explore: briefer", "2026-06-11T00:00:00Z")
    write(root, FACTS, text.replace("The house is red.", "The house is green."))
    commit(root, "memory: green", "2026-06-11T01:00:00Z")
    merging, before = engine.reconstruction.merging, workspace_files(root)
    (conflict,) = merging.apply("explore/tone").conflicts
    (piece,) = conflict.pieces
    assert (conflict.path, conflict.ours.what, conflict.theirs.subject) == (
        FACTS, "edited", "explore: briefer",
    )  # fmt: skip
    assert [each.strip() for each in (piece.before, piece.ours, piece.theirs)] == [
        f"- The house is {colour}." for colour in ("red", "green", "blue")
    ]
    assert workspace_files(root) == before and made.folder.exists()

    write(made.folder, FACTS, text)
    commit(made.folder, "explore: red after all", "2026-06-11T02:00:00Z")
    plan = merging.plan("explore/tone")
    assert [each.path for each in plan.diffs] == ["topics/mail.md"] and workspace_files(root) == before
    write(made.folder, "topics/mail.md", "# Mail\n\nlonger\n")
    commit(made.folder, "explore: longer", "2026-06-11T03:00:00Z")
    with pytest.raises(ChangeRefused, match="is not what was shown"):
        merging.apply("explore/tone", plan)
    assert workspace_files(root) == before
    write(made.folder, "topics/mail.md", "# Mail\n\nbriefer\n")
    commit(made.folder, "explore: briefer after all", "2026-06-11T04:00:00Z")
    plan = merging.plan("explore/tone")
    write(root, "topics/post.md", "# Post\n")
    commit(root, "by hand, something else", "2026-06-11T05:00:00Z")
    merged = merging.apply("explore/tone", plan)
    assert (root / "topics/mail.md").read_text() == "# Mail\n\nbriefer\n"
    assert "The house is green." in (root / FACTS).read_text()
    assert git(root, "log", "-1", "--format=%s %P") == f"explore: merge tone {merged.ours} {merged.tip}"
    assert not made.folder.exists() and not engine.history.branches() and git(root, "status", "-s") == ""
    compared: tuple[FileDiff, ...] = engine.reconstruction.compare("HEAD~1", "HEAD").diffs
    assert [each.path for each in compared] == ["topics/mail.md"]


def test_an_exploration_survives_a_moved_workspace(history: History, root: Path) -> None:
    folder = history.explore("tone").folder
    write(folder, "topics/mail.md", "# Mail\n\nother\n")
    moved = root.rename(root.with_name("elsewhere"))
    with Engine.open(moved, clock=lambda: NOW) as engine:
        (branch,) = engine.history.branches()
        assert (branch.in_use, branch.uncommitted) == (str(folder), 1)
    assert git(folder, "status", "--porcelain") == "M topics/mail.md"
