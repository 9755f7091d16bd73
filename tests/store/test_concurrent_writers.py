from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from engine.errors import WriteFailed
from engine.store.files import Files
from engine.store.paths import Workspace

APPEND = """
import sys
from engine.store.files import Files
from engine.store.paths import Workspace
files = Files(Workspace.open(sys.argv[1]))
sys.stdin.readline()
for count in range(500):
    files.append("knowledge/facts.md", f"{sys.argv[2]} {count}\\n".encode())
"""
COUNT = """
import sys
from engine.store.files import Files
from engine.store.paths import Workspace
files = Files(Workspace.open(sys.argv[1]))
sys.stdin.readline()
for _ in range(150):
    files.update("count", lambda old: str(int(old or b"0") + 1).encode())
"""


def run_twice_at_once(program: str, workspace: Workspace) -> None:
    """Run a program in two processes that start at the same time."""
    children = [
        subprocess.Popen([sys.executable, "-c", program, str(workspace.root), name], stdin=subprocess.PIPE)
        for name in ("a", "b")
    ]
    for child in children:
        assert child.stdin is not None
        child.stdin.write(b"go\n")
        child.stdin.close()
    assert [child.wait(110) for child in children] == [0, 0]


def test_two_processes_append_without_loss(files: Files) -> None:
    run_twice_at_once(APPEND, files.workspace)
    lines = files.read("knowledge/facts.md").decode().splitlines()
    assert sorted(lines) == sorted(f"{name} {count}" for name in "ab" for count in range(500))
    for name in "ab":
        own_files = [line for line in lines if line.startswith(name)]
        assert own_files == [f"{name} {count}" for count in range(500)]


def test_two_processes_update_without_loss(files: Files) -> None:
    run_twice_at_once(COUNT, files.workspace)
    assert files.read("count") == b"300"


def in_threads(work: Callable[[], None], threads: int) -> None:
    running = [threading.Thread(target=work) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(60)
        assert not thread.is_alive()


def test_threads_update_without_loss(workspace: Workspace) -> None:
    def work() -> None:
        own_files = Files(workspace)
        for _ in range(40):
            own_files.update("count", lambda old: str(int(old or b"0") + 1).encode())

    in_threads(work, 4)
    assert Files(workspace).read("count") == b"160"


def test_only_one_of_many_threads_creates_a_file(workspace: Workspace) -> None:
    made: list[bool] = []
    in_threads(lambda: made.append(Files(workspace).create("a.md", b"x")), 6)
    assert sorted(made) == [False] * 5 + [True]


def test_the_lock_is_reentrant_within_a_thread(workspace: Workspace) -> None:
    first, second = Files(workspace), Files(workspace)
    with first.lock(), second.lock(), first.lock():
        second.append("a.md", b"x\n")
    assert first.read("a.md") == b"x\n"


def test_a_lock_held_by_another_thread_times_out_with_an_error(workspace: Workspace) -> None:
    taken, release = threading.Event(), threading.Event()

    def hold() -> None:
        with Files(workspace).lock():
            taken.set()
            release.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert taken.wait(30)
        with pytest.raises(WriteFailed) as caught, Files(workspace).lock(timeout=0.05):
            pass
        assert "lock" in caught.value.what
        assert caught.value.hint
    finally:
        release.set()
        holder.join(30)
    Files(workspace).append("a.md", b"x\n")


def test_a_killed_process_releases_its_lock(workspace: Workspace) -> None:
    program = (
        "import os, signal, sys\n"
        "from engine.store.files import Files\n"
        "from engine.store.paths import Workspace\n"
        "with Files(Workspace.open(sys.argv[1])).lock():\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    child = subprocess.run([sys.executable, "-c", program, str(workspace.root)], check=False)
    assert child.returncode == -9
    with Files(workspace).lock(timeout=5):
        pass
