"""Many threads and processes may use one index at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from engine.errors import IndexBusy, IndexFailed
from engine.search import database
from engine.store.paths import Workspace
from tests.search.conftest import Open
from tests.search.samples import FILES, BagOfWords, put

ROOT = Path(__file__).parents[2]

COMMON = """
import os, signal, sys, time
from engine.settings.model import SearchSettings
from engine.search import writer
from engine.search.index import SearchIndex
from engine.store.files import Files
from engine.store.paths import Workspace
workspace = Workspace.open(sys.argv[1])
index = SearchIndex(workspace, Files(workspace), SearchSettings())
"""

HOLDING = """
held = index._storage.exclusive()
held.__enter__()
print("held", flush=True)
sys.stdin.readline()
"""

LOCKING = """
import apsw
connection = apsw.Connection(str(workspace.database))
connection.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.readline()
"""

HALF_DONE = """
import apsw
connection = apsw.Connection(str(workspace.database))
connection.pragma("cache_size", 1)
connection.execute("BEGIN IMMEDIATE; UPDATE chunks SET text = text || hex(randomblob(100000))")
print("half done", flush=True)
sys.stdin.readline()
"""


def start(program: str, workspace: Workspace) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", COMMON + program, str(workspace.root)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_a_writer_killed_at_any_batch_leaves_a_usable_index(filled: Workspace, open_index: Open) -> None:
    kill = """
writer.BATCH_FILES = 2
index.refresh(lambda done, total: os.kill(os.getpid(), signal.SIGKILL) if done >= {done} else None)
"""
    for path in FILES:
        os.utime(filled.root / path, (1_700_000_000, 1_700_000_000))
    for done in (2, 2, 4):
        process = start(kill.format(done=done), filled)
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
    index = open_index(filled, BagOfWords())
    assert index.search("rye bread") != []
    assert index.settle(60)
    index.refresh()
    assert index.status().files == len(FILES)
    assert index.verify(repair=False).sound


def test_readers_answer_while_another_process_writes(filled: Workspace, open_index: Open) -> None:
    index = open_index(filled)
    index.refresh()
    write_repeatedly = """
for number in range(60):
    with open(f"{workspace.root}/knowledge/facts.md", "w") as file:
        file.write(f"# Facts\\n\\n- The server room is on floor {number}\\n" + "filler words\\n\\n" * number)
    index.refresh(paths=["knowledge/facts.md"])
index.close()
"""
    process = start(write_repeatedly, filled)
    sources: set[str] = set()
    while not sources or process.poll() is None:
        (found,) = index.search("server room floor", 1, "knowledge")
        sources.add(found.source)
    assert process.communicate()[1] == ""
    assert process.returncode == 0
    assert sources == {"index"}
    assert "floor 59" in index.search("server room floor", 1)[0].text
    assert index.verify(repair=False).sound


def test_several_processes_indexing_at_once_build_one_index(filled: Workspace, open_index: Open) -> None:
    for number in range(60):
        put(filled, f"knowledge/reference/{number}.md", f"# Entry\n\nentry {number}\n")
    program = "sys.stdin.readline()\nprint(index.refresh().chunks)\nindex.close()"
    processes = [start(program, filled) for _ in range(3)]
    results = [process.communicate("\n", timeout=60) for process in processes]
    assert [error for _, error in results] == ["", "", ""]
    index = open_index(filled)
    status = index.status()
    assert status.files == len(FILES) + 60
    assert {int(out) for out, _ in results} == {status.chunks}
    assert index.verify(repair=False).sound


def test_a_refresh_waits_for_another_process_until_the_timeout(filled: Workspace, open_index: Open) -> None:
    process = start(HOLDING, filled)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with pytest.raises(IndexFailed, match=r"memory\.db: another program is indexing; try again"):
        open_index(filled, lock_timeout_s=0.1).refresh()
    process.communicate("\n", timeout=60)
    assert open_index(filled).refresh().added == len(FILES)


@pytest.mark.parametrize("program", [HOLDING, LOCKING])
def test_a_refresh_that_may_not_wait_leaves_the_index_to_its_writer(
    program: str, filled: Workspace, open_index: Open
) -> None:
    index = open_index(filled)
    index.refresh()
    put(filled, "knowledge/reference/added.md", "# Added\n\nA marmalade of quinces.\n")
    process = start(program, filled)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with pytest.raises(IndexBusy):
        index.refresh(wait_s=0)
    assert index.why_not_ready() == "" and index.search("rye bread")[0].source == "index"
    process.communicate("\n", timeout=60)
    assert index.refresh().added == 1


def test_a_thread_does_not_wait_for_another_that_indexes(filled: Workspace, open_index: Open) -> None:
    index = open_index(filled)
    refused: list[str] = []

    def progress(_done: int, _of: int) -> None:
        def refresh() -> None:
            with pytest.raises(IndexBusy) as error:
                index.refresh(wait_s=0)
            refused.append(error.value.what)

        thread = threading.Thread(target=refresh)
        thread.start()
        thread.join(60)

    index.refresh(progress)
    assert set(refused) == {"this program is still indexing"}


def test_reading_opens_no_connection_that_writes(filled: Workspace, open_index: Open) -> None:
    open_index(filled).refresh()
    connection = database.open_reader(filled.database)
    assert connection.readonly("main")
    connection.close()


def test_what_a_killed_writer_left_half_done_is_taken_back_by_a_writer_alone(
    filled: Workspace, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "is_shared", lambda folder: True)  # with a rollback journal
    index = open_index(filled)
    index.refresh()
    process = start(HALF_DONE, filled)
    assert process.stdout is not None
    assert process.stdout.readline() == "half done\n"
    process.kill()
    process.communicate()
    assert index.why_not_ready() == "a change in the search index was left half done"
    assert index.search("rye bread")[0].source == "scan"
    assert index.settle(60) and index.search("rye bread")[0].source == "index"


def test_a_killed_process_releases_the_lock(filled: Workspace, open_index: Open) -> None:
    process = start(HOLDING, filled)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    process.kill()
    process.communicate()
    assert open_index(filled, lock_timeout_s=60).refresh().added == len(FILES)


def test_threads_search_while_others_write(filled: Workspace, open_index: Open) -> None:
    index = open_index(filled, BagOfWords())
    index.refresh()
    done = threading.Event()

    def search_repeatedly() -> int:
        count = 0
        while not count or not done.is_set():
            assert index.search("rye bread caraway")[0].source == "index"
            count += 1
        return count

    def write_repeatedly(name: str) -> None:
        for number in range(12):
            put(filled, f"knowledge/reference/{name}.md", f"# {name}\n\nnote {number}\n")
            index.refresh(paths=[f"knowledge/reference/{name}.md"])

    with ThreadPoolExecutor(6) as pool:
        readers = [pool.submit(search_repeatedly) for _ in range(4)]
        writers = [pool.submit(write_repeatedly, name) for name in ("one", "two")]
        wait(writers)
        done.set()
    assert all(reader.result() for reader in readers)
    assert [writer.result() for writer in writers] == [None, None]
    assert index.verify(repair=False).sound


def test_closing_cancels_a_waiting_repair(filled: Workspace, open_index: Open) -> None:
    process = start(HOLDING, filled)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    index = open_index(filled, lock_timeout_s=60)
    assert index.search("rye bread") != []
    assert not index.settle(0.05)
    index.close()
    assert index.settle(0)
    process.kill()
    process.communicate()


def test_the_status_says_what_stopped_a_repair(
    filled: Workspace, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = start(HOLDING, filled)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    index = open_index(filled, lock_timeout_s=0.05)
    index.search("rye bread")
    assert index.settle(60)
    status = index.status()
    assert (status.state, status.error) == (
        "missing",
        "memory.db: another program is indexing; try again when it has finished",
    )
    process.kill()
    process.communicate()
