"""The timeline, the changes of a commit, and diffs of bounded size."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from engine.engine import Engine
from engine.errors import RepositoryError
from engine.history.history import History
from tests.history.conftest import HOSTILE, SESSION, Revision, write
from tests.store.history import commit, git


def subjects(history: History, **filter_: Any) -> list[str]:
    return [each.subject for each in history.timeline(**filter_).entries]


def test_the_timeline_gives_time_type_session_and_files(history: History) -> None:
    page = history.timeline()
    assert [(each.kind, each.title, each.files) for each in page.entries] == [
        ("maintenance", "archived", 2),
        ("other", "merged", 1),
        ("other", "topics: mail", 1),
        ("memory", "Odile", 1),
        ("other", "[red]\x1b[2J made by hand", 1),
        ("memory", "what was learned", 1),
        ("conversation", "port", 1),
        ("maintenance", "a new memory", 3),
    ]
    learned = page.entries[5]
    assert (learned.at, learned.sessions) == (datetime(2026, 6, 2, 10, tzinfo=UTC), (SESSION,))
    assert page.next == ""


def test_paging_is_stable_while_commits_are_added(history: History, root: Path) -> None:
    whole = {each.revision for each in history.timeline().entries}
    filters: tuple[dict[str, Any], ...] = (
        {"kind": "memory"},
        {"kind": "other"},
        {"path": "knowledge"},
        {"path": "archive/odile.md"},
    )
    for filter_ in ({}, *filters):
        page = history.timeline(**filter_)
        expected = [each.subject for each in page.entries if each.revision in whole]
        found: list[str] = []
        page = history.timeline(1, **filter_)
        while True:
            found += [each.subject for each in page.entries]
            if not page.next:
                break
            page = history.timeline(1, before=page.next, **filter_)
            write(root, "knowledge/new.md", f"{len(found)} {filter_}")
            commit(root, "memory: meanwhile", "2026-06-11T00:00:00Z")
        assert [each for each in found if each != "memory: meanwhile"] == expected, filter_


def test_filters_limit_the_timeline(history: History) -> None:
    assert subjects(history, kind="memory") == ["memory: Odile", "memory: what was learned"]
    assert subjects(history, path="archive/odile.md") == ["maintenance: archived", "memory: Odile"]
    assert subjects(history, path=HOSTILE) == ["[red]\x1b[2J made by hand"]
    assert subjects(history, since="2026-06-05") == ["maintenance: archived", "merged"]
    assert subjects(history, since="2026-06-10 10:01") == []
    invalid_filters: tuple[dict[str, Any], ...] = (
        {"kind": "nonsense"},
        {"before": "HEAD"},
        {"since": "soon"},
    )
    for invalid in invalid_filters:
        with pytest.raises(RepositoryError):
            history.timeline(**invalid)


def test_a_commit_lists_its_changed_files_and_diffs(history: History, revision: Revision) -> None:
    changed = history.changes("HEAD")
    assert [(each.letter, each.earlier, each.path) for each in changed.files] == [
        ("R", "knowledge/people/odile.md", "archive/odile.md"),
        ("M", "", "knowledge/facts.md"),
    ]
    renamed, facts = (history.diff("HEAD", each) for each in changed.files)
    assert (renamed.text, renamed.earlier) == ("", "knowledge/people/odile.md")
    assert (facts.added, facts.removed, facts.cut) == (1, 1, False)
    assert "-- Kvalnes has a modem.\n+- Kvalnes has no modem.\n" in facts.text
    first = history.diff(revision("a new memory"), "knowledge/facts.md")
    assert (first.added, first.removed) == (3, 0)
    odd = history.changes(revision("made by hand"))
    assert [each.path for each in odd.files] == [HOSTILE]
    assert history.diff(revision("made by hand"), odd.files[0]).added == 1


def test_a_long_diff_is_truncated_and_a_binary_file_has_none(history: History, root: Path) -> None:
    write(root, "knowledge/long.md", "+++ diff --git a/x b/x\n" * 1000)
    (root / "knowledge/picture.png").write_bytes(b"\0\1\2")
    (root / "knowledge/to.md").symlink_to("facts.md")
    commit(root, "big", "2026-06-11T00:00:00Z")
    long = history.diff("HEAD", "knowledge/long.md", limit=2000)
    assert (long.added, long.cut, long.text.endswith("\n")) == (1000, True, True)
    assert 1900 < len(long.text) <= 2000
    picture = history.diff("HEAD", "knowledge/picture.png")
    assert (picture.binary, picture.text) == (True, "")
    assert [each.odd for each in history.changes().files] == [False, False, True]


def test_a_missing_or_shallow_history_is_handled(tmp_path: Path, root: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "memory-config.yaml").write_text("")
    with Engine.open(empty) as engine:
        with pytest.raises(RepositoryError, match="not a git repository"):
            engine.history.timeline()
        git(empty, "init", "-q")
        with pytest.raises(RepositoryError, match="nothing is committed yet"):
            engine.history.timeline()
        with pytest.raises(RepositoryError, match="nothing is committed yet"):
            engine.history.undo_plan()
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{root}", str(shallow))
    with Engine.open(shallow) as engine:
        (only,) = engine.history.timeline().entries
        assert (only.subject, only.files) == ("maintenance: archived", 7)
