"""Private files: plain text on disk, and in commits either encrypted or absent."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import RepositoryError
from engine.settings import trust
from engine.store import programs
from engine.store.crypt import LOCKED, is_encrypted, own_filters
from engine.store.documents import parse
from engine.workspace.sharing_state import sharing_findings
from tests.cases import each_case
from tests.sync.machines import Machine, copied, git

PATH = "knowledge/private/money.md"
TEXT = "# Salary\n\nThe zeppelin budget is 4711.\n"
Machines = tuple[Machine, Machine, Path]


def committed_bytes(machine: Machine, path: str = PATH, revision: str = "HEAD") -> bytes:
    """Returns the content of a file in a commit; empty if the commit lacks it."""
    done = subprocess.run(
        ["git", "cat-file", "blob", f"{revision}:{path}"], cwd=machine.root, capture_output=True
    )
    return done.stdout


def is_in_plain_text(machine: Machine, text: str) -> bool:
    """Returns whether any object of the repository contains a text."""
    command = ["git", "cat-file", "--batch-all-objects", "--batch"]
    return text.encode() in subprocess.run(command, cwd=machine.root, capture_output=True, check=True).stdout


@pytest.fixture
def both(
    _pristine: Path, _start: Path, git_crypt: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machines]:
    """Two machines, of which the desk has a private file, committed encrypted."""
    made = tmp_path_factory.getbasetemp() / "private"
    if not made.exists():
        desk, _, _ = copied(_start, made)
        desk.write(PATH, TEXT)
        desk.engine.private.setup()
    place = _pristine / "own"
    yield copied(made, place)
    shutil.rmtree(place)


@pytest.fixture
def private(both: Machines) -> Machine:
    """The desk."""
    return both[0]


def test_setup_encrypts_and_lists_files_committed_in_plain_text(machines: Machines, git_crypt: Path) -> None:
    desk, _, _ = machines
    desk.write(PATH, TEXT)
    desk.engine.commits.commit()
    assert committed_bytes(desk) == TEXT.encode()
    assert desk.engine.private.state().files == {PATH: "in clear"}
    done = desk.engine.private.setup()
    assert done.made_key and done.encrypted == (PATH,) and done.in_history == (PATH,)
    assert (
        is_encrypted(committed_bytes(desk)) and (desk.root / PATH).read_text() == TEXT and desk.status() == ""
    )
    desk.add(PATH, "The second year brings a windfall.\n")
    desk.write("knowledge/private/new.md", "nothing of it is told\n")
    report = desk.engine.commits.commit()
    assert report.left_out == () and desk.status() == ""
    assert is_encrypted(committed_bytes(desk)) and is_encrypted(
        committed_bytes(desk, "knowledge/private/new.md")
    )
    assert not is_in_plain_text(desk, "windfall") and "told" not in git(desk.root, "log", "-1", "--format=%B")
    assert desk.engine.private.setup().made_key is False and not desk.engine.private.state().problem
    entry, data = desk.engine.history.recall("HEAD", PATH)
    assert b"windfall" in data and entry.revision == git(desk.root, "rev-parse", "HEAD")
    plan = desk.engine.history.undo_plan("HEAD")
    assert {each.path: each.why for each in plan.blocked}[PATH] == "is encrypted"


def _without_program(_machine: Machine) -> None:
    """Does nothing; the test itself hides the program."""


def _without_key(machine: Machine) -> None:
    (machine.root / ".git/git-crypt/keys/default").unlink()


def _without_filter(machine: Machine) -> None:
    git(machine.root, "config", "--remove-section", "filter.git-crypt")


def _another_filter(machine: Machine) -> None:
    program = machine.root.parent / "evil-git-crypt"
    program.write_text(f"#!/bin/sh\ntouch {machine.root.parent}/canary\ncat\n")
    program.chmod(0o755)
    git(machine.root, "config", "filter.git-crypt.clean", f"{program} clean")


def _without_attributes(machine: Machine) -> None:
    machine.write(".gitattributes", "*.md -text\n")


def _without_setting(machine: Machine) -> None:
    machine.engine.configuration.change("git.private", "none")


def _without_both(machine: Machine) -> None:
    _without_attributes(machine)
    _without_setting(machine)


@pytest.mark.parametrize(
    "damage",
    [_without_program, _without_key, _without_filter, _another_filter, _without_attributes, _without_setting,
     _without_both],
)  # fmt: skip
def test_private_files_are_never_committed_in_plain_text(
    private: Machine, damage: Callable[[Machine], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = committed_bytes(private)
    damage(private)
    if damage is _without_program:
        find = programs.find
        monkeypatch.setattr(programs, "find", lambda name: None if name == "git-crypt" else find(name))
    private.add(PATH, "The second year brings a windfall.\n")
    private.add("knowledge/facts.md", "- Of the desk.\n")
    left = {each.path: each.why for each in private.engine.commits.commit().left_out}
    assert list(left) == [PATH] and committed_bytes(private) == before
    assert b"Of the desk." in committed_bytes(private, "knowledge/facts.md")
    private.add("knowledge/tasks.md", "- More.\n")
    report = private.sync()
    assert (
        [each.path for each in report.left] == [PATH] and report.sent and committed_bytes(private) == before
    )
    with pytest.raises(RepositoryError, match="encrypt"):
        private.repository.commit_beside(
            {PATH: b"windfall"}, git(private.root, "rev-parse", "HEAD"), "memory: x"
        )
    assert not is_in_plain_text(private, "windfall") and not (private.root.parent / "canary").exists()


def test_git_crypt_is_not_run_in_an_untrusted_workspace(
    private: Machine, git_crypt: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AUTOPOIESIS_TRUST")
    trust.revoke(private.root)
    canary = private.root.parent / "canary"
    (git_crypt / "git-crypt").unlink()
    (git_crypt / "git-crypt").write_text(f"#!/bin/sh\ntouch {canary}\n")
    (git_crypt / "git-crypt").chmod(0o755)
    private.add(PATH, "windfall\n")
    with Engine.open(private.root) as engine:
        (left,) = engine.commits.commit().left_out
        assert left.path == PATH and "git.private" in left.why
        assert "git.private is ignored" in engine.private.state().problem
    assert not canary.exists()


def test_a_clone_without_the_key_reports_locked_files(both: Machines) -> None:
    private, laptop, _ = both
    private.sync()
    laptop.sync()
    assert is_encrypted((laptop.root / PATH).read_bytes()) and laptop.status() == ""
    with Engine.open(laptop.root) as engine:
        assert engine.private.state().files == {PATH: "locked"}
        index = engine.refresh_index()
        assert index is not None and [(each.path, each.why) for each in index.skipped] == [(PATH, LOCKED)]
        with pytest.raises(RepositoryError, match=LOCKED):
            engine.history.recall("HEAD", PATH)
    document = parse((laptop.root / PATH).read_bytes(), PATH)
    assert document.body == "" and [each.what for each in document.problems] == [LOCKED]
    found = sharing_findings(laptop.engine.files, laptop.repository)
    assert [each.text for each in found] == ["private files: 1 private file is encrypted and locked"]


def test_private_files_are_synced_between_machines(both: Machines) -> None:
    private, laptop, _ = both
    key = str(private.root.parent / "key")
    subprocess.run(["git-crypt", "export-key", key], cwd=private.root, check=True, capture_output=True)
    private.sync()
    git(laptop.root, "pull", "-q")
    subprocess.run(["git-crypt", "unlock", key], cwd=laptop.root, check=True, capture_output=True)
    assert laptop.text(PATH) == TEXT
    with Engine.open(laptop.root) as engine:
        laptop.engine = engine
        private.edit(PATH, "# Salary", "# Salaries")
        laptop.add(PATH, "From the laptop.\n")
        private.sync()
        assert not laptop.sync().conflicts
        merged = TEXT.replace("Salary", "Salaries") + "From the laptop.\n"
        assert laptop.text(PATH) == merged and is_encrypted(committed_bytes(laptop)) and laptop.status() == ""
        assert not is_in_plain_text(laptop, "From the laptop")


@each_case(
    "clean",
    ["git-crypt clean; touch x", "sh -c git-crypt clean", '"git-crypt" clean --key-name=other', "/x/e clean",
     '"git-crypt" smudge', "$(touch x)/git-crypt clean", "git-crypt clean %f", "~/git-crypt clean", ""],
)  # fmt: skip
def test_only_filters_set_up_by_git_crypt_are_accepted(git_crypt: Path, tmp_path: Path, clean: str) -> None:
    (tmp_path / "git-crypt/keys").mkdir(parents=True, exist_ok=True)
    (tmp_path / "git-crypt/keys/default").touch()
    for name in ("filter.git-crypt", "filter.git-crypt-team"):
        assert own_filters({f"{name}.clean": clean, f"{name}.smudge": '"git-crypt" smudge'}, tmp_path) == {}
    known = {
        "filter.git-crypt.clean": "'/usr/bin/git-crypt' clean",
        "filter.git-crypt.smudge": '"git-crypt" smudge',
    }
    assert own_filters(known, tmp_path)["filter.git-crypt.clean"] == f"{git_crypt}/git-crypt clean"
    assert own_filters({**known, "filter.git-crypt.process": "evil"}, tmp_path) == {}
    (tmp_path / "git-crypt/keys/default").unlink()
    assert own_filters(known, tmp_path) == {}
