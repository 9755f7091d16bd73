"""A remote that moves, disappears, wants a password or is hostile: nothing is lost, forced, run or leaked."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from engine.errors import AutopoiesisError, RepositoryError
from engine.settings import trust
from engine.store import faults
from engine.store.git import Git
from engine.sync import sync
from tests.sync.machines import Machine, git

Pair = tuple[Machine, Machine, Path]
HOOKS = (
    "pre-push", "pre-commit", "post-merge", "reference-transaction", "pre-receive", "update", "post-receive",
    "post-update", "post-checkout", "pre-merge-commit", "proc-receive",
)  # fmt: skip


def error_of(act: Callable[[], object]) -> str:
    with pytest.raises(AutopoiesisError) as found:
        act()
    return str(found.value)


def commit(machine: Machine, path: str, text: str) -> None:
    machine.add(path, text)
    machine.repository.commit([path], "memory: by hand")


def test_a_rejected_push_is_merged_and_retried(machines: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    desk, laptop, bare = machines
    commit(desk, "knowledge/facts.md", "- Of the desk.\n")
    numbers = iter(range(2))

    def push_from_laptop() -> None:
        if (number := next(numbers, None)) is not None:
            commit(laptop, "knowledge/facts.md", f"- Of the laptop, {number}.\n")
            git(laptop.root, "pull", "-q", "--rebase")
            git(laptop.root, "push", "-q")

    with faults.trip("sync:push", push_from_laptop):
        report = desk.sync()
    assert report.outcome == "done" and report.fetched == 2
    text = desk.text("knowledge/facts.md")
    assert all(line in text for line in ("Of the desk", "Of the laptop, 0", "Of the laptop, 1"))
    assert git(bare, "rev-parse", "main") == desk.repository.revision()
    commit(desk, "knowledge/facts.md", "- Once more.\n")
    head = desk.repository.revision()

    def push_once_more() -> None:
        git(laptop.root, "pull", "-q", "--rebase")
        commit(laptop, "topics/other.md", "more\n")
        git(laptop.root, "push", "-q")

    monkeypatch.setattr(sync, "_ATTEMPTS", 2)
    with faults.trip("sync:push", push_once_more):
        assert "kept moving" in error_of(desk.sync)
    assert head is not None and head in git(desk.root, "rev-list", "HEAD"), "the commits are kept"
    assert desk.status() == ""


def test_a_commit_or_save_during_a_sync_is_not_lost(machines: Pair) -> None:
    desk, laptop, _ = machines
    commit(desk, "knowledge/facts.md", "- Of the desk.\n")
    desk.sync()
    hand = iter(range(1))

    def commit_by_hand() -> None:
        for _ in hand:
            laptop.add("knowledge/facts.md", "- By hand.\n")
            git(laptop.root, "commit", "-qam", "by hand")

    with faults.trip("sync:plan", commit_by_hand):
        assert laptop.sync().outcome == "done"
    assert "By hand" in laptop.text("knowledge/facts.md") and "Of the desk" in laptop.text(
        "knowledge/facts.md"
    )
    desk.edit("topics/travel.md", "One.", "One of the desk.")
    desk.sync()
    with faults.trip("sync:apply", lambda: laptop.add("topics/travel.md", "\nSaved meanwhile.\n")):
        assert "was saved during the merge" in error_of(laptop.sync)
    assert laptop.sync().outcome == "done"
    assert "One of the desk." in laptop.text("topics/travel.md")
    assert "Saved meanwhile." in laptop.text("topics/travel.md")
    assert laptop.status() == ""


def test_a_rewound_remote_is_reported_and_not_followed(machines: Pair) -> None:
    desk, laptop, bare = machines
    commit(desk, "knowledge/facts.md", "- One.\n")
    desk.sync()
    laptop.sync()
    git(bare, "update-ref", "refs/heads/main", "main~1")
    before = laptop.files()
    message = error_of(laptop.sync)
    assert "1 commit up to" in message and "--rewound" in message
    git(laptop.root, "fetch", "-q")
    assert "was rewound" in error_of(laptop.sync), "also after git itself has fetched it"
    assert laptop.files() == before
    assert laptop.sync(rewound=True).sent == 1
    assert git(bare, "rev-parse", "main") == laptop.repository.revision()
    git(bare, "update-ref", "-d", "refs/heads/main")
    assert "no longer has branch main" in error_of(laptop.sync)
    assert laptop.sync(rewound=True).outcome == "done" and git(bare, "rev-parse", "main")


def test_an_unrelated_history_is_refused(machines: Pair, tmp_path: Path) -> None:
    desk, laptop, bare = machines
    other = tmp_path / "other.git"
    git(tmp_path, "init", "-q", "--bare", "--template=", "--initial-branch=main", str(other))
    shutil.rmtree(laptop.root / ".git")
    git(laptop.root, "init", "-q", "--template=", "--initial-branch=main")
    git(laptop.root, "remote", "add", "origin", str(bare))
    commit(laptop, "topics/travel.md", "new\n")
    laptop.engine.drop("repository", "sync")
    assert "shares no history with this memory" in error_of(laptop.sync)
    git(desk.root, "remote", "set-url", "origin", str(other))
    assert "no longer has branch main" in error_of(desk.sync), (
        "the remote has another address under the same name"
    )


def test_a_busy_repository_is_left_alone(machines: Pair) -> None:
    desk, _, _ = machines
    git(desk.root, "switch", "-q", "--detach")
    assert "HEAD is detached" in error_of(desk.sync)
    assert desk.engine.sync.status().why == "HEAD is detached"
    git(desk.root, "switch", "-q", "main")
    (desk.root / ".git/MERGE_HEAD").write_text(f"{desk.repository.revision()}\n")
    assert "a merge is in progress" in error_of(desk.sync)


def test_a_missing_remote_or_an_unsafe_address_is_refused(machines: Pair, tmp_path: Path) -> None:
    desk, _, bare = machines
    commit(desk, "knowledge/facts.md", "- One.\n")
    head, mark = desk.repository.revision(), tmp_path / "ran"
    inside = desk.root / "scratch/evil.git"
    for address, why in {
        str(tmp_path / "none.git"): "fetch failed",
        f"ext::sh -c touch% {mark}": "is not allowed",
        "git://127.0.0.1/x": "is not allowed",
        "-u./x": "is not allowed",
        str(inside): "is inside the workspace",
        "http://me:hunter2@127.0.0.1:1/x.git": "remote origin (http://127.0.0.1:1/x.git)",
    }.items():
        git(desk.root, "config", "remote.origin.url", address)
        message = error_of(desk.sync)
        assert why in message and "hunter2" not in message, (address, message)
    git(desk.root, "remote", "remove", "origin")
    assert "no remote origin" in error_of(desk.sync)
    assert desk.repository.revision() == head and not mark.exists() and bare.is_dir()


@pytest.fixture
def server() -> Iterator[tuple[str, list[str], threading.Event]]:
    """A server that asks for a password, and stops responding once ``silent`` is set."""
    credentials: list[str] = []
    silent, done = threading.Event(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            credentials.append(self.headers.get("Authorization", ""))
            if silent.is_set():
                done.wait(60)
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="memory"')
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Suppresses request logging."""

    found = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=found.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{found.server_port}/memory.git", credentials, silent
    done.set()
    found.shutdown()
    found.server_close()


def test_a_password_comes_from_the_persons_credential_helper_never_a_terminal(
    machines: Pair,
    server: tuple[str, list[str], threading.Event],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk, _, _ = machines
    address, credentials, silent = server
    git(desk.root, "remote", "set-url", "origin", address)
    git(desk.root, "config", "credential.helper", "!echo username=evil; echo password=evil; :")
    message = error_of(desk.sync)
    assert "fetch failed" in message and "this repository's credential.helper is ignored" in message
    assert credentials == [""], "the repository's own helper was not run"
    home = tmp_path / "gitconfig"
    home.write_text('[credential]\n\thelper = "!f() { echo username=me; echo password=mine; }; f"\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home))
    error_of(desk.sync)
    assert credentials[-1] == "Basic bWU6bWluZQ=="
    silent.set()
    desk.engine.sync.total_s = 0.5
    # An answer, which the server gives after a minute, would be another error.
    assert "timed out after" in error_of(desk.sync)


def test_a_hanging_git_is_killed_with_its_child_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = tmp_path / "pid"
    ssh = tmp_path / "ssh"
    communicate = subprocess.Popen.communicate

    def once_it_hangs(process: subprocess.Popen[bytes], *given: Any, **more: Any) -> tuple[bytes, bytes]:
        wait_until(lambda: pid.exists() and pid.read_text().endswith("\n"))
        return communicate(process, *given, **more)

    ssh.write_text(f"#!/bin/sh\nsleep 60 &\necho $! > {pid}\nwait\n")
    ssh.chmod(0o755)
    git(tmp_path, "init", "-q", "--bare", "--template=", "r")
    monkeypatch.setattr(subprocess.Popen, "communicate", once_it_hangs)
    with pytest.raises(RepositoryError, match="timed out after"):
        Git(tmp_path / "r").network(
            "ls-remote", "ssh://example.invalid/x", deadline_s=0.5,
            environment={"GIT_SSH_COMMAND": str(ssh), "GIT_DIR": str(tmp_path / "r")},
        )  # fmt: skip
    number = int(pid.read_text())
    wait_until(lambda: has_ended(number))


def has_ended(number: int) -> bool:
    """Whether a process has ended; its parent may not have asked for its exit code yet."""
    try:
        os.kill(number, 0)
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except ProcessLookupError:
        return True
    except FileNotFoundError:  # it has just ended, or the system has no such files
        return Path("/proc/self/stat").exists()


def wait_until(met: Callable[[], bool]) -> None:
    """Wait for a condition; fail after a minute."""
    end = time.monotonic() + 60
    while not met():
        assert time.monotonic() < end, "condition never became true"
        time.sleep(0.02)


def test_the_repositorys_configuration_neither_runs_programs_nor_redirects(
    machines: Pair, tmp_path: Path
) -> None:
    desk, laptop, bare = machines
    mark, program = tmp_path / "ran", tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> "{mark}"\nexit 1\n')
    program.chmod(0o755)
    included = tmp_path / "included"
    included.write_text(f"[core]\n\tsshCommand = {program}\n")
    with (laptop.root / ".git/config").open("a") as config:
        config.write(
            f"""
[core]
	sshCommand = {program}
	gitProxy = {program}
	askPass = {program}
	fsmonitor = {program}
	hooksPath = {tmp_path}/hooks
	alternateRefsCommand = {program}
	attributesFile = {tmp_path}/attributes
[include]
	path = {included}
[credential]
	helper = {program}
[url "{tmp_path}/elsewhere"]
	insteadOf = {bare.parent}
	pushInsteadOf = {bare.parent}
[remote "origin"]
	uploadpack = {program}
	receivepack = {program}
	vcs = evil
	mirror = true
	fetch = +refs/heads/*:refs/heads/*
	pushurl = {bare}
[merge "evil"]
	driver = {program}
	name = {program}
[merge]
	default = evil
[diff "evil"]
	textconv = {program}
	command = {program}
[filter "evil"]
	clean = {program}
	smudge = {program}
	required = true
[uploadpack]
	packObjectsHook = {program}
[push]
	gpgSign = true
	recurseSubmodules = check
[gpg]
	program = {program}
[fetch]
	recurseSubmodules = true
"""
        )
    (tmp_path / "attributes").write_text("* filter=evil diff=evil merge=evil\n")
    (tmp_path / "hooks").mkdir()
    for folder in (laptop.root / ".git/hooks", tmp_path / "hooks", bare / "hooks"):
        folder.mkdir(exist_ok=True)
        for hook in HOOKS:
            shutil.copy(program, folder / hook)
    desk.write(".gitattributes", "*.md filter=evil diff=evil merge=evil\n")
    desk.edit("topics/travel.md", "One.", "One of the desk.")
    desk.sync()
    laptop.edit("topics/travel.md", "Three.", "Three of the laptop.")
    assert laptop.sync().outcome == "done"
    assert "One of the desk." in laptop.text("topics/travel.md")
    assert git(bare, "rev-parse", "main") == laptop.repository.revision()
    assert not mark.exists(), mark.read_text()


def test_symlinks_and_machine_local_files_are_not_accepted_from_the_remote(machines: Pair) -> None:
    desk, laptop, _ = machines
    before = laptop.files()
    for path, why in (
        ("topics/link.md", "is a symlink"),
        ("scratch/sync.json", "belongs to one machine only"),
    ):
        (desk.root / path).unlink(missing_ok=True)
        if "link" in path:
            (desk.root / path).symlink_to("/etc/passwd")
        else:
            git(desk.root, "rm", "-q", "topics/link.md")
            desk.write(path, "{}")
        git(desk.root, "add", "-f", path)
        git(desk.root, "commit", "-qm", "odd")
        git(desk.root, "push", "-q", "origin", "main")
        assert f"it {why}" in error_of(laptop.sync)
    assert laptop.files() == before


def test_a_secret_committed_by_hand_is_not_pushed(machines: Pair) -> None:
    desk, _, bare = machines
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    before = git(bare, "rev-parse", "main")
    desk.add("topics/travel.md", f"The key is {key}.\n")
    git(desk.root, "commit", "-qam", "oops")
    desk.edit("topics/travel.md", f"The key is {key}.\n", "")
    git(desk.root, "commit", "-qam", "taken out again")
    message = error_of(desk.sync)
    assert "nothing was sent: topics/travel.md" in message and "line " in message and key not in message
    assert git(bare, "rev-parse", "main") == before
    git(desk.root, "push", "-q", "origin", "main")
    desk.add("knowledge/facts.md", "- New.\n")
    assert desk.sync().sent == 1, "a person may push what they want"


def test_an_untrusted_workspace_neither_fetches_nor_pushes(
    machines: Pair, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    desk, laptop, bare = machines
    commit(desk, "knowledge/facts.md", "- New.\n")
    desk.sync()
    monkeypatch.delenv(trust.VARIABLE)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    commit(laptop, "topics/travel.md", "new\n")
    before = git(bare, "rev-parse", "main"), git(laptop.root, "for-each-ref")
    for act in (laptop.sync, laptop.engine.sync.push, lambda: laptop.engine.sync.run("origin")):
        assert "the workspace is not trusted" in error_of(act)
    assert "not trusted" in laptop.engine.sync.status().why
    assert (git(bare, "rev-parse", "main"), git(laptop.root, "for-each-ref")) == before
    trust.trust(
        laptop.root, replace(laptop.engine.config, git=replace(laptop.engine.config.git, remote="origin"))
    )
    assert laptop.sync().outcome == "done"
    laptop.write("memory-config.yaml", "")
    assert "no remote is set" in error_of(lambda: laptop.engine.sync.run("origin"))


def test_a_shallow_clone_is_refused(machines: Pair, tmp_path: Path) -> None:
    desk, _, bare = machines
    commit(desk, "knowledge/facts.md", "- New.\n")
    desk.sync()
    done = subprocess.run(
        ["git", "clone", "-q", "--depth=1", f"file://{bare}", tmp_path / "shallow"], check=True
    )
    assert done.returncode == 0
    assert "the clone is shallow" in error_of(Machine(tmp_path / "shallow", desk.clock).sync)
