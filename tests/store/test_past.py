"""Creating a history in one step, with times, branches, tags and odd names, without running any program."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.errors import PathRefused, RepositoryError
from engine.store.past import PastCommit
from engine.store.paths import Workspace
from engine.store.repository import Repository
from tests.store.history import git

ODD = 'a "b"\\c\n\x1b[31mü.md'


def at(hour: int) -> datetime:
    return datetime(2026, 5, 1, hour, tzinfo=UTC)


PAST = [
    PastCommit(
        at(8), "memory: one\n\nSession: raw/x.md", {"a.md": b"1\n", ODD: b"o\r\n", "b.bin": b"\0\xff"}
    ),
    PastCommit(at(9), "explore: beside", {"a.md": b"other\n"}, branch="explore/x"),
    PastCommit(at(10), "memory: two", {"a.md": b"2\n", "b.bin": None}, tags=("memory/daily/2026-05-01",)),
]


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_a_created_history_has_its_times_tags_and_branches(
    workspace: Workspace, git_home: Path, form: str
) -> None:
    root = workspace.root
    git(root, "init", "-q", f"--object-format={form}", "--initial-branch=main")
    for name, text in (("a.md", "2\n"), (ODD, "o\r\n")):
        (root / name).write_bytes(text.encode())
    (root / "memory-config.yaml").unlink()
    (root / ".git/info/exclude").write_text("scratch/\n")
    repository = Repository(workspace)
    newest = repository.begin(PAST)
    assert newest == repository.revision() == git(root, "rev-parse", "memory/daily/2026-05-01")
    assert git(root, "log", "--format=%aI %cI %an %ce %s") == "\n".join(
        f"2026-05-01T{hour}:00:00+00:00 2026-05-01T{hour}:00:00+00:00 Ada ada@example.org memory: {what}"
        for hour, what in (("10", "two"), ("08", "one"))
    )
    assert repository.log()[1].body == "Session: raw/x.md"
    assert sorted(repository.files("HEAD")) == sorted(["a.md", ODD])
    assert [repository.show(name, "a.md") for name in ("HEAD~1", "explore/x", "HEAD")] == [
        b"1\n",
        b"other\n",
        b"2\n",
    ]
    assert repository.show("HEAD", ODD) == b"o\r\n" and repository.show("HEAD~1", "b.bin") == b"\0\xff"
    assert git(root, "rev-parse", "explore/x~1") == git(root, "rev-parse", "HEAD~1")
    assert git(root, "status", "--porcelain") == "" == git(root, "fsck", "--no-dangling")
    assert len(git(root, "for-each-ref").splitlines()) == 3
    assert "memory: two" in git(root, "reflog")
    with pytest.raises(RepositoryError, match="already has commits"):
        repository.begin(PAST)


def test_the_same_history_has_the_same_commit_ids(tmp_path: Path, git_home: Path) -> None:
    made = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "memory-config.yaml").write_bytes(b"")
        repository = Repository(Workspace.open(tmp_path / name))
        repository.init()
        made.append(repository.begin(PAST))
    assert made[0] == made[1]


def test_no_program_named_by_the_repository_runs(
    workspace: Workspace, git_home: Path, tmp_path: Path
) -> None:
    root, canary = workspace.root, tmp_path / "canary"
    git(root, "init", "-q", "--initial-branch=main")
    (root / ".git/hooks").mkdir(exist_ok=True)
    for hook in ("reference-transaction", "pre-commit", "post-commit", "post-index-change"):
        place = root / ".git/hooks" / hook
        place.write_text(f'#!/bin/sh\necho {hook} >> "{canary}"\n')
        place.chmod(0o755)
    with (root / ".git/config").open("a") as config:
        config.write(f'[filter "evil"]\n\tclean = "echo filter >> {canary}; cat"\n\trequired = true\n')
        config.write(f"[core]\n\tfsmonitor = echo monitor >> {canary}\n")
    (root / ".gitattributes").write_text("*.md filter=evil\n")
    (root / "a.md").write_bytes(b"2\n")
    assert Repository(workspace).begin(PAST)
    assert not canary.exists()


@pytest.mark.parametrize(
    ("odd", "why"),
    [
        (PastCommit(at(8), "memory: one", {"a.md": b"x"}, tags=("a..b",)), "fast-import failed"),
        (PastCommit(at(8), "memory: one", {"a/../../b.md": b"x"}), "path within the workspace"),
    ],
)
def test_an_invalid_history_raises_and_leaves_no_commit(
    workspace: Workspace, git_home: Path, odd: PastCommit, why: str
) -> None:
    repository = Repository(workspace)
    repository.init()
    with pytest.raises((RepositoryError, PathRefused), match=why):
        repository.begin([odd])
    assert repository.revision() is None
    assert repository.begin(PAST)
