"""Snapshots are tags that last; exploration branches expire after a week."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import ReadOnly, RepositoryError
from engine.history.history import History
from tests.conftest import set_zone
from tests.history.conftest import NOW, Revision, write
from tests.store.history import commit, git


def test_a_snapshot_is_a_tag_of_its_kind_and_created_once(
    history: History, root: Path, revision: Revision
) -> None:
    head = git(root, "rev-parse", "HEAD")
    assert history.snapshot("one-year") == "memory/milestone/one-year" == history.snapshot("one-year")
    assert history.snapshot("Größe_2", "before", "2026-06-02") == "memory/before/Größe_2"
    assert history.snapshot("v1.2", "extract") == "memory/extract/v1.2"
    git(root, "tag", "-a", "-m", "by hand", "memory/other/x/y", "HEAD~1")
    git(root, "tag", "unrelated")
    assert {each.tag: (each.kind, each.name, each.subject) for each in history.snapshots()} == {
        "memory/milestone/one-year": ("milestone", "one-year", "maintenance: archived"),
        "memory/extract/v1.2": ("extract", "v1.2", "maintenance: archived"),
        "memory/other/x/y": ("other", "x/y", "merged"),
        "memory/before/Größe_2": ("before", "Größe_2", "memory: what was learned"),
    }
    assert [each.revision for each in history.snapshots()][:2] == [head, head]
    assert history.recall("memory/before/Größe_2", "knowledge/facts.md")[0].revision == revision(
        "what was learned"
    )
    with pytest.raises(RepositoryError, match="exists"):
        history.snapshot("one-year", revision="HEAD~1")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "-rf",
        "a b",
        "a/b",
        "../x",
        "a..b",
        "a.lock",
        "a.",
        ".a",
        "a~1",
        "a^",
        "a:b",
        "@{u}",
        "a\n",
        "x" * 101,
    ],
)
def test_an_invalid_name_is_refused(history: History, root: Path, name: str) -> None:
    with pytest.raises(RepositoryError, match="is not a valid name"):
        history.snapshot(name)
    assert git(root, "tag") == ""


def test_days_and_weeks_with_commits_are_tagged(history: History, root: Path, revision: Revision) -> None:
    def tags() -> dict[str, str]:
        return {each.tag: each.subject for each in history.snapshots()}

    assert (
        history.tag_daily(date(2026, 6, 2))
        == "memory/daily/2026-06-02"
        == history.tag_daily(date(2026, 6, 2))
    )
    assert history.tag_daily(date(2026, 6, 6)) == "" == history.tag_daily(date(1, 1, 1))
    # Commits of a side branch count on the day of their merge.
    assert history.tag_daily(date(2026, 6, 4)) == "memory/daily/2026-06-04"
    assert history.tag_weekly(date(2026, 6, 3)) == "memory/weekly/2026-W23"
    assert tags() == {
        "memory/daily/2026-06-02": "memory: what was learned",
        "memory/daily/2026-06-04": "topics: mail",
        "memory/weekly/2026-W23": "merged",
    }
    history.tag_daily(date(2026, 6, 12))
    write(root, "knowledge/a.md", "a")
    commit(root, "early", "2026-06-12T08:00:00Z")
    assert history.tag_daily(date(2026, 6, 12)) and tags()["memory/daily/2026-06-12"] == "early"
    write(root, "knowledge/a.md", "b")
    commit(root, "late", "2026-06-12T09:00:00Z")
    assert history.tag_daily(date(2026, 6, 12)) and tags()["memory/daily/2026-06-12"] == "late"


def test_days_follow_the_time_zone_of_the_workspace(root: Path) -> None:
    write(root, "memory-config.yaml", "days:\n  time_zone: Pacific/Honolulu\n")
    set_zone("Asia/Tokyo")
    with Engine.open(root, clock=lambda: NOW) as engine:
        # 08:00 UTC on June 1st is 22:00 on May 31st in Honolulu.
        assert engine.history.tag_daily(date(2026, 5, 31)) == "memory/daily/2026-05-31"
        assert [each.subject for each in engine.history.timeline(since="2026-06-09").entries] == [
            "maintenance: archived"
        ]
        since = engine.history.changed("2026-06-11").since
        assert since is not None and since.subject == "maintenance: archived"


def test_branches_list_their_changes_and_old_ones_are_pruned(history: History, root: Path) -> None:
    git(root, "checkout", "-q", "-b", "explore/tone")
    write(root, "knowledge/tone.md", "other\n")
    commit(root, "explore: another tone", "2026-06-11T00:00:00Z")
    git(root, "checkout", "-q", "main")
    git(root, "branch", "extract/v2")
    git(root, "branch", "explore/new", "HEAD~1")
    git(root, "branch", "unrelated")
    found = {each.name: each for each in history.branches()}
    assert set(found) == {"explore/tone", "extract/v2", "explore/new"}
    tone = found["explore/tone"]
    assert (tone.ahead, [(each.letter, each.path) for each in tone.files]) == (
        1,
        [("A", "knowledge/tone.md")],
    )
    assert not any(each.due for each in found.values())

    (root / ".git/logs/refs/heads/explore/tone").unlink()
    (root / ".git/logs/refs/heads/explore/new").unlink()
    git(root, "branch", "explore/used", "HEAD~2")
    git(root, "worktree", "add", "-q", str(root.parent / "linked"), "explore/used")
    (root / ".git/logs/refs/heads/explore/used").unlink()
    (used,) = (each for each in history.branches() if each.in_use)
    assert (used.name, used.due) == ("explore/used", False)
    assert [each.name for each in history.branches() if each.due] == []
    engine_later = History(
        history.files,
        history.repository,
        history.knowledge,
        history.zone,
        lambda: NOW.replace(month=7),
        print,
    )
    assert sorted(each.name for each in engine_later.prune()) == ["explore/new", "explore/tone"]
    assert {each.name for each in history.branches()} == {"extract/v2", "explore/used"}


def test_a_read_only_workspace_refuses_changes(root: Path) -> None:
    with Engine.open(root, read_only=True, clock=lambda: NOW) as engine:
        plan = engine.history.undo_plan()
        assert plan.can_apply
        for write_action in (
            lambda: engine.history.undo(plan),
            lambda: engine.history.snapshot("a"),
            engine.history.prune,
        ):
            with pytest.raises(ReadOnly):
                write_action()
