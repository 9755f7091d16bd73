"""Every step of every write fails once: with a full disk, a broken disk, and a killed process."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import AutopoiesisError, RepositoryError, WriteFailed
from engine.store.faults import FAULT_POINTS, VARIABLE, arm_from, fail, reach, trip
from engine.store.files import Files, sweep_temps
from engine.store.paths import Workspace
from engine.store.repository import Repository
from tests.store.write_steps import LINE, NEW, OLD, OPERATIONS, contents, prepare, strays

TEMPORARY = ("temp:create", "temp:write", "temp:fsync")
REPLACING = (*TEMPORARY, "replace:rename", "replace:folder-fsync")
CREATING = (*TEMPORARY, "create:link", "create:folder-fsync")
STEPS = {
    "replace": ("lock:acquire", *REPLACING),
    "replace new": ("folder:create", "folder:fsync", *REPLACING),
    "create": ("folder:create", "folder:fsync", *CREATING),
    "append": ("append:open", "append:write", "append:fsync"),
    "append new": ("folder:create", "folder:fsync", *CREATING),
    "update": REPLACING,
    "move": ("folder:create", "folder:fsync", "move:rename", "move:folder-fsync"),
    "remove": ("remove:unlink", "remove:folder-fsync"),
    "commit": (
        "lock:acquire",
        "commit:blobs",
        "commit:tree",
        "commit:object",
        "commit:index",
        "commit:reference",
        "commit:folder-fsync",
    ),
}
CASES = [(name, point) for name, points in STEPS.items() for point in points]


def committed(root: Path) -> dict[str, bytes]:
    repository = Repository(Workspace.open(root))
    revision = repository.revision()
    return {path: repository.show(revision, path) for path in repository.files(revision)} if revision else {}


def check_whole(root: Path, name: str) -> None:
    """Check that the files have either the old or the new content."""
    operation = OPERATIONS[name]
    assert contents(root, name) in (operation.before, operation.after)
    if name == "commit":
        assert committed(root) in ({}, operation.after)
        broken = subprocess.run(
            ["git", "fsck", "--strict"], cwd=root, capture_output=True, text=True, check=False
        )
        assert broken.returncode == 0, broken.stderr


def check_done(root: Path, name: str) -> None:
    assert contents(root, name) == OPERATIONS[name].after
    if name == "commit":
        assert committed(root) == OPERATIONS[name].after
        status = subprocess.run(
            ["git", "status", "--short", "-uno"], cwd=root, capture_output=True, check=True
        )
        assert status.stdout == b""


def test_every_fault_point_is_reached_by_the_cases_here(tmp_path: Path, git_home: Path) -> None:
    reached: dict[str, set[str]] = {name: set() for name in OPERATIONS}
    for index, (name, operation) in enumerate(OPERATIONS.items()):
        files = prepare(tmp_path / str(index), name)
        with contextlib.ExitStack() as stack:
            for point in FAULT_POINTS:
                stack.enter_context(trip(point, functools.partial(reached[name].add, point)))
            operation.run(files)
    for name, points in STEPS.items():
        assert set(points) <= reached[name]
    # Fault points of a sync, a batch or a tag do not belong to a single file write; tests.sync and
    # tests.lifecycle reach them.
    disk = {point for point in FAULT_POINTS if not point.startswith(("sync:", "tag:"))}
    assert set().union(*STEPS.values()) == disk
    assert set().union(*reached.values()) == disk


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO], ids=["full", "broken"])
@pytest.mark.parametrize(("name", "point"), CASES)
def test_a_failing_step_leaves_the_old_or_the_new_content(
    tmp_path: Path, git_home: Path, name: str, point: str, code: int
) -> None:
    files = prepare(tmp_path / "w", name)
    with trip(point, fail(code)), pytest.raises((WriteFailed, RepositoryError)) as caught:
        OPERATIONS[name].run(files)
    assert os.strerror(code) in str(caught.value)
    assert caught.value.where
    assert caught.value.hint
    check_whole(files.workspace.root, name)
    assert strays(files.workspace.root) == []
    OPERATIONS[name].run(files)
    check_done(files.workspace.root, name)
    assert strays(files.workspace.root) == []


@pytest.mark.parametrize(
    ("name", "point"),
    [
        pytest.param(*case, marks=pytest.mark.thorough if number % 3 else ())
        for number, case in enumerate(CASES)
    ],
)
def test_a_killed_process_leaves_the_old_or_the_new_content(
    tmp_path: Path, git_home: Path, name: str, point: str
) -> None:
    files = prepare(tmp_path / "w", name)
    root = files.workspace.root
    child = subprocess.run(
        [sys.executable, "-m", "tests.store.write_steps", str(root), name],
        env={**os.environ, VARIABLE: f"{point}:kill"},
        capture_output=True,
        check=False,
    )
    assert child.returncode == -9, child.stderr
    check_whole(root, name)
    OPERATIONS[name].run(files)
    check_done(root, name)
    for path in root.rglob("*"):
        os.utime(path, (time.time() - 7200,) * 2, follow_symlinks=False)
    sweep_temps(files.workspace)
    Repository(files.workspace).recover()
    assert strays(root) == []


def test_a_failed_fsync_is_not_retried(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    files.replace("a.md", OLD)
    synced: list[int] = []

    def fsync(descriptor: int) -> None:
        synced.append(descriptor)
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("os.fsync", fsync)
    attempts: list[Callable[[], None]] = [
        lambda: files.replace("a.md", NEW),
        lambda: files.append("a.md", LINE),
    ]
    for attempt in attempts:
        synced.clear()
        with pytest.raises(WriteFailed):
            attempt()
        assert len(synced) == 1
        assert files.read("a.md") == OLD
    assert strays(files.workspace.root) == []


def test_a_partial_write_is_undone(files: Files) -> None:
    """With a limit on file sizes, the kernel writes as much as fits and then fails."""
    files.replace("a.md", OLD)
    program = f"""
import resource
from engine.errors import WriteFailed
from engine.store.files import Files
from engine.store.paths import Workspace
files = Files(Workspace.open({str(files.workspace.root)!r}))
files.replace("b.md", b"")
resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
failures = 0
for attempt in (
    lambda: files.append("a.md", b"x" * 5000),
    lambda: files.append("new.md", b"x" * 5000),
    lambda: files.replace("a.md", b"x" * 5000),
    lambda: files.create("other.md", b"x" * 5000),
):
    try:
        attempt()
    except WriteFailed as error:
        assert "ulimit" in error.hint, error
        failures += 1
assert failures == 4, failures
files.append("a.md", b"fits\\n")
"""
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stderr
    assert files.read("a.md") == OLD + b"fits\n"
    names = sorted(path.name for path in files.workspace.root.iterdir())
    assert names == ["a.md", "b.md", "memory-config.yaml", "scratch"]


def test_a_full_disk_leaves_the_old_content(tmp_path: Path) -> None:
    """On a file system of 64 KB that is mounted only for a child process."""
    program = """
import os, sys
from pathlib import Path
from engine.errors import WriteFailed
from engine.store.files import Files
from engine.store.paths import Workspace
root = Path(sys.argv[1])
(root / "memory-config.yaml").write_bytes(b"")
files = Files(Workspace.open(root))
files.replace("a.md", b"old\\n" * 2000)
failures = 0
for attempt in (
    lambda: files.replace("a.md", b"x" * 200_000),
    lambda: files.append("a.md", b"x" * 200_000),
    lambda: files.create("b.md", b"x" * 200_000),
):
    try:
        attempt()
    except WriteFailed as error:
        assert "disk space" in error.hint, error
        failures += 1
assert failures == 3, failures
assert files.read("a.md") == b"old\\n" * 2000
assert sorted(os.listdir(root)) == ["a.md", "memory-config.yaml", "scratch"], os.listdir(root)
"""
    inside = (
        f'mount -t tmpfs -o size=64k none "{tmp_path}" && exec "{sys.executable}" -c "$PROGRAM" "{tmp_path}"'
    )
    try:
        can = subprocess.run(
            ["unshare", "-Urm", "mount", "-t", "tmpfs", "none", str(tmp_path)],
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        pytest.skip("unshare is not installed")
    if can.returncode:
        pytest.skip("this system does not allow a process to mount its own file system")
    child = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", inside],
        env={**os.environ, "PROGRAM": program, "PYTHONPATH": os.getcwd()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr


def test_a_fault_in_the_environment_can_be_set_to_a_later_hit() -> None:
    program = (
        "from engine.store.faults import reach\n"
        "for count in range(3):\n"
        "    try:\n"
        "        reach('append:write')\n"
        "    except OSError as error:\n"
        "        print(count, error.errno)\n"
    )
    child = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, VARIABLE: "append:write:ENOSPC:2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert child.stdout == f"1 {errno.ENOSPC}\n"


def test_unknown_fault_points_are_rejected() -> None:
    with pytest.raises(AssertionError):
        reach("append:wirte")
    with pytest.raises(AssertionError):
        trip("nothing", lambda: None).__enter__()
    for setting in ("append:wirte:kill", "append:write:ENOPE", "kill"):
        with pytest.raises(AssertionError):
            arm_from(setting)


def test_error_messages_are_readable(files: Files) -> None:
    with trip("temp:write", fail(errno.ENOSPC)), pytest.raises(AutopoiesisError) as caught:
        files.replace("knowledge/facts.md", b"x")
    assert str(caught.value) == (
        "knowledge/facts.md: was not written (No space left on device); free some disk space and try again"
    )
