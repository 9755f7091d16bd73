"""A remote that moves, goes, asks, lies or belongs to a stranger: nothing is lost, forced, run or leaked."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

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


def refused(act: Callable[[], object]) -> str:
    with pytest.raises(AutopoiesisError) as found:
        act()
    return str(found.value)


def commit(machine: Machine, path: str, text: str) -> None:
    machine.add(path, text)
    machine.repository.commit([path], "memory: by hand")


def test_a_rejected_push_merges_and_is_sent_again(machines: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    desk, laptop, bare = machines
    commit(desk, "knowledge/facts.md", "- Of the desk.\n")
    numbers = iter(range(2))

    def meanwhile() -> None:
        if (number := next(numbers, None)) is not None:
            commit(laptop, "knowledge/facts.md", f"- Of the laptop, {number}.\n")
            git(laptop.root, "pull", "-q", "--rebase")
            git(laptop.root, "push", "-q")

    with faults.trip("sync:push", meanwhile):
        report = desk.sync()
    assert report.outcome == "done" and report.fetched == 2
    text = desk.text("knowledge/facts.md")
    assert all(line in text for line in ("Of the desk", "Of the laptop, 0", "Of the laptop, 1"))
    assert git(bare, "rev-parse", "main") == desk.repository.revision()
    commit(desk, "knowledge/facts.md", "- Once more.\n")
    head = desk.repository.revision()

    def again() -> None:
        git(laptop.root, "pull", "-q", "--rebase")
        commit(laptop, "topics/other.md", "more\n")
        git(laptop.root, "push", "-q")

    monkeypatch.setattr(sync, "_ATTEMPTS", 2)
    with faults.trip("sync:push", again):
        assert "kept moving" in refused(desk.sync)
    assert head is not None and head in git(desk.root, "rev-list", "HEAD"), "what was committed is there"
    assert desk.status() == ""


def test_somebody_who_commits_or_saves_at_the_same_moment_loses_nothing(machines: Pair) -> None:
    desk, laptop, _ = machines
    commit(desk, "knowledge/facts.md", "- Of the desk.\n")
    desk.sync()
    hand = iter(range(1))

    def by_hand() -> None:
        for _ in hand:
            laptop.add("knowledge/facts.md", "- By hand.\n")
            git(laptop.root, "commit", "-qam", "by hand")

    with faults.trip("sync:plan", by_hand):
        assert laptop.sync().outcome == "done"
    assert "By hand" in laptop.text("knowledge/facts.md") and "Of the desk" in laptop.text(
        "knowledge/facts.md"
    )
    desk.edit("topics/travel.md", "One.", "One of the desk.")
    desk.sync()
    with faults.trip("sync:apply", lambda: laptop.add("topics/travel.md", "\nSaved meanwhile.\n")):
        assert "was saved during the merge" in refused(laptop.sync)
    assert laptop.sync().outcome == "done"
    assert "One of the desk." in laptop.text("topics/travel.md")
    assert "Saved meanwhile." in laptop.text("topics/travel.md")
    assert laptop.status() == ""


def test_a_remote_that_was_rewound_is_explained_and_not_followed(machines: Pair) -> None:
    desk, laptop, bare = machines
    commit(desk, "knowledge/facts.md", "- One.\n")
    desk.sync()
    laptop.sync()
    git(bare, "update-ref", "refs/heads/main", "main~1")
    before = laptop.files()
    told = refused(laptop.sync)
    assert "1 commit up to" in told and "--rewound" in told
    git(laptop.root, "fetch", "-q")
    assert "was rewound" in refused(laptop.sync), "also where git itself has been told"
    assert laptop.files() == before
    assert laptop.sync(rewound=True).sent == 1
    assert git(bare, "rev-parse", "main") == laptop.repository.revision()
    git(bare, "update-ref", "-d", "refs/heads/main")
    assert "no longer has branch main" in refused(laptop.sync)
    assert laptop.sync(rewound=True).outcome == "done" and git(bare, "rev-parse", "main")


def test_a_history_that_shares_nothing_is_refused(machines: Pair, tmp_path: Path) -> None:
    desk, laptop, bare = machines
    other = tmp_path / "other.git"
    git(tmp_path, "init", "-q", "--bare", "--template=", "--initial-branch=main", str(other))
    shutil.rmtree(laptop.root / ".git")
    git(laptop.root, "init", "-q", "--template=", "--initial-branch=main")
    git(laptop.root, "remote", "add", "origin", str(bare))
    commit(laptop, "topics/travel.md", "new\n")
    laptop.engine.drop("repository", "sync")
    assert "shares no history with this memory" in refused(laptop.sync)
    git(desk.root, "remote", "set-url", "origin", str(other))
    assert "no longer has branch main" in refused(desk.sync), "another address under the same name"


def test_a_repository_that_is_busy_is_left_alone(machines: Pair) -> None:
    desk, _, _ = machines
    git(desk.root, "switch", "-q", "--detach")
    assert "HEAD is detached" in refused(desk.sync)
    assert desk.engine.sync.status().why == "HEAD is detached"
    git(desk.root, "switch", "-q", "main")
    (desk.root / ".git/MERGE_HEAD").write_text(f"{desk.repository.revision()}\n")
    assert "a merge is in progress" in refused(desk.sync)


def test_a_remote_that_is_gone_or_of_a_kind_that_runs_programs(machines: Pair, tmp_path: Path) -> None:
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
        told = refused(desk.sync)
        assert why in told and "hunter2" not in told, (address, told)
    git(desk.root, "remote", "remove", "origin")
    assert "no remote origin" in refused(desk.sync)
    assert desk.repository.revision() == head and not mark.exists() and bare.is_dir()


@pytest.fixture
def server() -> Iterator[tuple[str, list[str], threading.Event]]:
    """Asks whoever comes for a password; once told to, does not answer at all."""
    heard: list[str] = []
    silent, done = threading.Event(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(self.headers.get("Authorization", ""))
            if silent.is_set():
                done.wait(20)
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="memory"')
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    found = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=found.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{found.server_port}/memory.git", heard, silent
    done.set()
    found.shutdown()
    found.server_close()


def test_a_password_is_asked_of_the_persons_helper_and_never_of_a_terminal(
    machines: Pair,
    server: tuple[str, list[str], threading.Event],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk, _, _ = machines
    address, heard, silent = server
    git(desk.root, "remote", "set-url", "origin", address)
    git(desk.root, "config", "credential.helper", "!echo username=evil; echo password=evil; :")
    told = refused(desk.sync)
    assert "fetch failed" in told and "this repository's credential.helper is ignored" in told
    assert heard == [""], "the repository's own helper was not asked"
    home = tmp_path / "gitconfig"
    home.write_text('[credential]\n\thelper = "!f() { echo username=me; echo password=mine; }; f"\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home))
    refused(desk.sync)
    assert heard[-1] == "Basic bWU6bWluZQ=="
    silent.set()
    desk.engine.sync.total_s = 0.5
    began = time.monotonic()
    assert "timed out after" in refused(desk.sync)
    assert time.monotonic() - began < 10


def test_what_hangs_is_ended_with_everything_that_it_started(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    ssh = tmp_path / "ssh"
    ssh.write_text(f"#!/bin/sh\nsleep 60 &\necho $! > {pid}\nwait\n")
    ssh.chmod(0o755)
    git(tmp_path, "init", "-q", "--bare", "--template=", "r")
    with pytest.raises(RepositoryError, match="timed out after"):
        Git(tmp_path / "r").network(
            "ls-remote", "ssh://example.invalid/x", deadline_s=0.5,
            environment={"GIT_SSH_COMMAND": str(ssh), "GIT_DIR": str(tmp_path / "r")},
        )  # fmt: skip
    number = int(pid.read_text())
    for _ in range(100):
        try:
            os.kill(number, 0)
            state = Path(f"/proc/{number}/stat")
            if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
                break
        except ProcessLookupError:
            break
        time.sleep(0.02)
    else:
        os.kill(number, signal.SIGKILL)
        pytest.fail("what ssh had started lives on")


def test_nothing_of_the_repositorys_configuration_runs_or_leads_elsewhere(
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


def test_a_link_or_a_file_of_one_machine_is_not_taken_from_the_remote(machines: Pair) -> None:
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
        assert f"it {why}" in refused(laptop.sync)
    assert laptop.files() == before


def test_a_secret_that_was_committed_by_hand_is_not_sent(machines: Pair) -> None:
    desk, _, bare = machines
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    before = git(bare, "rev-parse", "main")
    desk.add("topics/travel.md", f"The key is {key}.\n")
    git(desk.root, "commit", "-qam", "oops")
    desk.edit("topics/travel.md", f"The key is {key}.\n", "")
    git(desk.root, "commit", "-qam", "taken out again")
    told = refused(desk.sync)
    assert "nothing was sent: topics/travel.md" in told and "line " in told and key not in told
    assert git(bare, "rev-parse", "main") == before
    git(desk.root, "push", "-q", "origin", "main")
    desk.add("knowledge/facts.md", "- New.\n")
    assert desk.sync().sent == 1, "what the person has pushed is theirs to decide"


def test_a_strangers_workspace_fetches_and_sends_nothing(
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
        assert "the workspace is not trusted" in refused(act)
    assert "not trusted" in laptop.engine.sync.status().why
    assert (git(bare, "rev-parse", "main"), git(laptop.root, "for-each-ref")) == before
    trust.trust(
        laptop.root, replace(laptop.engine.config, git=replace(laptop.engine.config.git, remote="origin"))
    )
    assert laptop.sync().outcome == "done"
    laptop.write("memory-config.yaml", "")
    assert "no remote is set" in refused(lambda: laptop.engine.sync.run("origin"))


def test_a_shallow_clone_is_told_what_it_lacks(machines: Pair, tmp_path: Path) -> None:
    desk, _, bare = machines
    commit(desk, "knowledge/facts.md", "- New.\n")
    desk.sync()
    done = subprocess.run(
        ["git", "clone", "-q", "--depth=1", f"file://{bare}", tmp_path / "shallow"], check=True
    )
    assert done.returncode == 0
    assert "the clone is shallow" in refused(Machine(tmp_path / "shallow", desk.clock).sync)
