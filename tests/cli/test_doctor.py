"""What ``doctor`` says about git, and that the commands mend what it says they do."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Command


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("index.lock", ("rules", "add", "Always use UTC.")),
        ("HEAD.lock", ("commit",)),
        ("refs/heads/main.lock", ("commit",)),
    ],
)
def test_a_lock_of_a_dead_git_is_named_and_the_next_commit_removes_it(
    apo: Command, tmp_path: Path, name: str, command: tuple[str, ...]
) -> None:
    root = tmp_path / "memory"
    apo("init", root)
    lock = root / ".git" / name
    lock.write_bytes(b"")
    (root / "knowledge/facts.md").write_text("# Facts\n\n- The mast is 12 m high.\n")
    refused = apo("-C", root, "commit")
    assert refused.code == 1 and f".git/{name} is" in refused.err
    os.utime(lock, (time.time() - 3600,) * 2)
    said = apo("-C", root, "doctor").out
    assert said.count(f"git: another git is running or has crashed: .git/{name} is 60 min old") == 1
    assert f"the first commit after 10 min removes .git/{name}" in said
    before = git(root, "rev-parse", "HEAD")
    ran = apo("-C", root, *command)
    assert ran.code == 0, ran.err
    assert git(root, "rev-parse", "HEAD") != before and not lock.exists()
    assert ".lock" not in apo("-C", root, "doctor").out


def test_a_lock_of_a_tag_is_named_too(apo: Command, tmp_path: Path) -> None:
    root = tmp_path / "memory"
    apo("init", root)
    lock = root / ".git/refs/tags/memory/daily/2026-05-01.lock"
    lock.parent.mkdir(parents=True)
    lock.write_bytes(b"")
    os.utime(lock, (time.time() - 3600,) * 2)
    said = apo("-C", root, "doctor").out
    assert "on main, 0 uncommitted" in said and "memory/daily/2026-05-01.lock is 60 min old" in said


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's global git settings, with an identity."""
    place = tmp_path / "gitconfig"
    place.write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(place))
    return place


def test_global_ignores_and_attributes_keep_nothing_out_of_the_memory(
    apo: Command, tmp_path: Path, settings: Path
) -> None:
    (tmp_path / "ignored").write_text("*.md\nlogs\n")
    (tmp_path / "attributes").write_text("*.md filter=lfs\n")
    with settings.open("a") as file:
        file.write(f"[core]\n\texcludesFile = {tmp_path}/ignored\n\tattributesFile = {tmp_path}/attributes\n")
    root = tmp_path / "memory"
    apo("init", root)
    assert "knowledge/identity/SOUL.md" in git(root, "ls-files")
    (root / "knowledge/facts.md").write_text("# Facts\n\n- The mast is 12 m high.\n")
    assert "1 uncommitted file" in apo("-C", root, "doctor").out
    assert apo("-C", root, "commit").out.startswith("committed")
    assert "The mast" in git(root, "show", "HEAD:knowledge/facts.md")


def test_history_works_whatever_a_person_set_for_all_repositories(
    apo: Command, tmp_path: Path, settings: Path
) -> None:
    root = tmp_path / "memory"
    apo("init", root)
    (root / "knowledge/facts.md").write_text("# Facts\n\n- The mast is 12 m high.\n")
    apo("-C", root, "commit")
    questions = (("blame", "knowledge/facts.md"), ("when", "mast"), ("changed",), ("undo",))
    before = [apo("-C", root, "history", *words) for words in questions]
    with settings.open("a") as file:
        file.write(
            "[blame]\n\tignoreRevsFile = .git-blame-ignore-revs\n\tshowEmail = true\n"
            "[diff]\n\torderFile = none\n\tnoPrefix = true\n\tmnemonicPrefix = true\n\trenames = false\n"
            "\tcolorMoved = true\n\twordRegex = .\n\tcontext = 0\n"
            "[log]\n\tshowRoot = false\n\tdate = iso\n\tdecorate = full\n\tfollow = true\n"
            "[core]\n\tabbrev = 4\n[format]\n\tpretty = oneline\n[color]\n\tui = always\n"
            "[column]\n\tui = always\n[status]\n\tshort = true\n\tbranch = true\n\tshowStash = true\n"
        )
    after = [apo("-C", root, "history", *words) for words in questions]
    assert [(each.code, each.err) for each in before[:3]] == [(0, "")] * 3 and before[3].code == 0
    assert after == before
    assert "on main, 0 uncommitted files" in apo("-C", root, "doctor").out


def test_commits_that_are_not_signed_though_the_person_signs_are_said(
    apo: Command, tmp_path: Path, settings: Path
) -> None:
    root = tmp_path / "memory"
    apo("init", root)
    assert "gpgSign" not in apo("-C", root, "doctor").out
    with settings.open("a") as file:
        file.write("[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = false\n")
    said = apo("-C", root, "doctor")
    assert said.code == 0 and said.out.count("commit.gpgSign is on") == 1


def test_a_file_that_is_too_large_is_left_out_and_named_and_all_else_is_committed(
    apo: Command, tmp_path: Path
) -> None:
    root, bare = tmp_path / "memory", tmp_path / "bare.git"
    apo("init", root)
    git(tmp_path, "init", "-q", "--bare", str(bare))
    git(root, "remote", "add", "origin", str(bare))
    apo("-C", root, "config", "set", "git.remote", "origin")
    video, facts = root / "attachments/video.mp4", root / "knowledge/facts.md"
    with video.open("wb") as file:
        file.truncate(64 * 1024**2 + 1)
    why = "attachments/video.mp4 is left out of every commit: it is larger than 64 MiB; move it out"
    assert why in apo("-C", root, "doctor").out
    facts.write_text("# Facts\n\n- The mast is 12 m high.\n")
    ran = apo("-C", root, "commit")
    assert ran.code == 1 and "left out: attachments/video.mp4: it is larger than 64 MiB" in ran.err
    assert "The mast" in git(root, "show", "HEAD:knowledge/facts.md")
    facts.write_text("# Facts\n\n- The quay is 80 m long.\n")
    synced = apo("-C", root, "sync")
    assert synced.code == 0 and "attachments/video.mp4: it is larger than 64 MiB" in synced.err
    assert "The quay" in git(bare, "show", "main:knowledge/facts.md")
    assert video.exists()


def test_conflict_copies_and_names_that_differ_only_in_case_are_named_once(
    apo: Command, tmp_path: Path
) -> None:
    root = tmp_path / "memory"
    apo("init", root)
    soul = (root / "knowledge/identity/SOUL.md").read_text()
    (root / "knowledge/identity/SOUL.sync-conflict-20260612-101010-ABC.md").write_text(soul)
    (root / "topics/deploy.md").write_text("---\ntype: topic\ntriggers:\n  - deploy\n---\n# Deploy\n\nAsk.\n")
    (root / "topics/deploy (Ann's conflicted copy 2026-06-12).md").write_text("---\ntype: topic\n---\n# D\n")
    (root / "knowledge/reference").mkdir(exist_ok=True)
    for name in ("Notes.md", "notes.md"):
        (root / f"knowledge/reference/{name}").write_text("# Notes\n\n- The mast is 12 m high.\n")
    said = apo("-C", root, "doctor").out
    copies = ("SOUL.sync-conflict-20260612-101010-ABC.md", "deploy (Ann's conflicted copy 2026-06-12).md")
    assert [said.count(each) for each in copies] == [1, 1] and "compare the two" in said
    assert said.count("reference/Notes.md and knowledge/reference/notes.md differ only in case") == 1
    assert copies[1] in apo("-C", root, "topics", "check").out
    assert "sync-conflict" not in apo("-C", root, "search", "--json", "SOUL").out
    assert "sync-conflict" not in apo("-C", root, "compile", "hello").out


def test_one_error_is_said_once(apo: Command, tmp_path: Path) -> None:
    root = tmp_path / "memory"
    apo("init", root)
    for path in ("topics/broken.md", "knowledge/reference/broken.md"):
        place = root / path
        place.parent.mkdir(exist_ok=True)
        place.write_text("---\ntype: topic\n broken: [\n---\n# T\n\nGo.\n")
        assert apo("-C", root, "doctor").out.count(f"{path}:3: ") == 1
        git(root, "add", path)
        staged = apo("-C", root, "doctor", "--staged")
        assert staged.code == 1 and f"{staged.out}{staged.err}".count(f"{path}:3: ") == 1
