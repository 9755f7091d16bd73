"""What other programs leave beside a person's files: which names are leftovers, which files are copies."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from engine.store.conflict_copies import copy_problem, is_used, original_of
from engine.store.git import Git
from engine.store.leftovers import is_leftover

LEFT = (
    "x.md~", ".x.md.swp", ".x.md.swo", "#x.md#", ".#x.md", "x.orig", "x.md.rej", "x.md.bak", ".DS_Store",
    "Thumbs.db", "~$x.md", ".~lock.x.odt#", "x.md.tmp", ".syncthing.x.md.tmp", ".fuse_hidden0001", ".nfs0001",
    "._x.md", ".tmp-x", "x.md.tmp.4711.1780000000", "x.md.sb-1a2b3c4d-Ab12Cd", ".goutputstream-ABC123",
    "x.pdf.crdownload", ".x.md.icloud",
)  # fmt: skip
KEPT = ("x.md", "#x.md", "x~.md", "tmp.md", "bak.md", "swp", "original.md", "$x.md", "lock.md")
NOTE = "---\ntype: reference\n---\n# Deploy\n\n- Ask Ada first.\n- Tag the release.\n- Tell the team.\n"


def test_leftovers_are_known_by_name() -> None:
    assert [name for name in LEFT if not is_leftover(name)] == []
    assert [name for name in KEPT if is_leftover(name)] == []


def test_git_ignores_the_same_files_but_no_folder_that_may_be_a_persons_own(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for name in (*LEFT, *KEPT):
        (tmp_path / name).write_text("x")
    (tmp_path / "site.bak").mkdir()
    (tmp_path / "site.bak" / "x.md").write_text("x")
    for path in ("vault/.obsidian/workspace-mobile.json", "vault/.obsidian/app.json", "vault/.trash/x.md"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("{}")
    (tmp_path / ".git").rename(tmp_path / ".git.nosync")
    (tmp_path / ".git").symlink_to(".git.nosync")
    listed = Git(tmp_path).run("status", "--porcelain", "-z", "--untracked-files=all").text.split("\0")
    assert {line[3:] for line in listed if line} == {*KEPT, "site.bak/x.md", "vault/.obsidian/app.json"}


@pytest.mark.parametrize(
    "name",
    [
        "deploy.sync-conflict-20260612-101010-ABCDEFG.md",
        "deploy (Ann's conflicted copy 2026-06-12).md",
        "deploy (conflicted copy 2026-06-12 101010).md",
        "deploy (Conflicted copy laptop 202606121010).md",
        "deploy (Case Conflict).md",
        "deploy (SFConflict ann@example.org 2026-06-12-10-10-10).md",
        "deploy_conflict-20260612-101010.md",
    ],
)
def test_a_name_that_only_sync_programs_use_is_a_copy_wherever_its_original_is(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text("Other text.\n")
    assert original_of(name) == "deploy.md"
    problem = copy_problem(str(tmp_path), name, f"topics/{name}")
    assert problem is not None
    assert problem.hint == "if you need it, rename it to deploy.md; otherwise delete it"
    (tmp_path / "deploy.md").write_text(NOTE)
    problem = copy_problem(str(tmp_path), name, f"topics/{name}")
    assert problem is not None and "compare the two" in problem.hint


@pytest.mark.parametrize(
    "name", ["2.md", "deploy 2.md", "deploy copy.md", "deploy-PROD.md", "conflict.md", "2026-06-12.md"]
)
def test_ordinary_names_are_no_copies(name: str) -> None:
    assert is_used(name)
