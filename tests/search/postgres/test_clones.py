"""Clones of a memory share an index: nothing is done twice, lost, or seen by whoever must not."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from engine.search.index import SearchIndex
from engine.settings.model import SearchSettings
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.search.conftest import Open
from tests.search.postgres.servers import Database, started
from tests.search.samples import FILES, TRANSCRIPT, BagOfWords, put

if TYPE_CHECKING:
    pass

LOG = "raw/conversations/2026/02/16/1845-ses_a1b2c3d4-storage-talk.md"
FACTS = "knowledge/facts.md"
NEW = "knowledge/reference/new.md"
Clone = Callable[[str], Workspace]


def paths(index: SearchIndex, query: str) -> set[str]:
    """The files found by the index itself."""
    found = index.search(query, 50)
    assert {each.source for each in found} <= {"index"}
    return {each.path for each in found}


def test_what_one_clone_captured_is_found_by_another(
    workspace: Workspace, clone: Clone, open_index: Open
) -> None:
    there, here = open_index(workspace, BagOfWords()), open_index(clone("other"), BagOfWords())
    here.refresh()
    put(workspace, LOG, TRANSCRIPT)
    there.refresh(paths=[LOG])
    assert paths(here, "SQLite plain files") == {LOG}


def test_private_files_and_secrets_stay_on_the_machine(
    workspace: Workspace, open_index: Open, database: Database
) -> None:
    key = "sk-proj-" + "a1B2c3D4e5" * 4
    put(workspace, NEW, f"# Keys\n\nThe harbour service uses {key} for now.\n")
    put(workspace, "knowledge/private/diary.md", "# Diary\n\nThe harbour was cold.\n")
    here = open_index(workspace, BagOfWords())
    here.refresh()
    assert paths(here, "harbour") == {NEW}
    (dump,) = database.rows("SELECT string_agg(text || heading || path, ' ') FROM chunks, files")
    assert "service uses" in dump[0] and key not in dump[0] and "diary" not in dump[0].lower()


def test_a_path_too_long_for_the_server_is_left_out_and_said(filled: Workspace, open_index: Open) -> None:
    folders = "/".join(letter * 250 for letter in "abcdefgh")
    put(filled, f"knowledge/reference/{folders}/deep.md", "# Deep\n\nA zeppelin landed.\n")
    report = open_index(filled).refresh()
    assert report.added == len(FILES)
    (skipped,) = report.skipped
    assert skipped.path.endswith("deep.md")
    assert skipped.why == "its path is longer than 2,000 bytes, too long for a shared index"


def test_a_file_that_a_clone_has_indexed_is_not_split_or_embedded_again(
    filled: Workspace, clone: Clone, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = BagOfWords()
    open_index(filled, BagOfWords()).refresh()
    here = open_index(clone("other"), model)
    monkeypatch.setattr("engine.search.chunks.split", None)
    report = here.refresh()
    assert (report.added, report.embedded, model.texts) == (len(FILES), 0, 0)
    assert here.verify(repair=False).sound


def test_two_clones_that_index_at_once_store_everything_once(
    filled: Workspace, clone: Clone, open_index: Open, database: Database
) -> None:
    barrier = threading.Barrier(2)

    def together(done: int, total: int) -> None:
        if not done:
            barrier.wait(60)

    both = [open_index(each) for each in (filled, clone("other"))]
    threads = [threading.Thread(target=index.refresh, args=(together,)) for index in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert database.count("files") == len(FILES)
    assert database.count("holdings") == 2 * len(FILES)
    for index in both:
        assert index.verify(repair=False).sound
        assert index.refresh().unchanged == len(FILES)
    assert len({tuple(map(str, index.search("files bread heron", 20))) for index in both}) == 1


def test_a_clone_that_lacks_a_file_does_not_delete_it(
    filled: Workspace, clone: Clone, open_index: Open
) -> None:
    there, here = open_index(filled), open_index(clone("other"))
    put(filled, NEW, "# New\n\nA zeppelin landed.\n")
    there.refresh()
    here.refresh()
    assert paths(here, "zeppelin") == paths(there, "zeppelin") == {NEW}


def test_a_file_deleted_here_is_not_found_here_and_gone_with_its_last_holder(
    filled: Workspace, clone: Clone, open_index: Open, database: Database
) -> None:
    other = clone("other")
    there, here = open_index(filled), open_index(other)
    there.refresh()
    here.refresh()
    (other.root / FACTS).unlink()
    assert here.refresh().removed == 1
    assert (paths(here, "server room"), paths(there, "server room")) == (set(), {FACTS})
    (filled.root / FACTS).unlink()
    there.refresh()
    assert paths(there, "server room") == set()
    assert database.count("files") == len(FILES) - 1
    here.refresh(paths=[FACTS])
    assert here.verify(repair=False).sound


def test_each_clone_sees_its_own_version_and_one_without_any_the_newest(
    filled: Workspace, clone: Clone, open_index: Open
) -> None:
    other, third = clone("other"), clone("third")
    (third.root / FACTS).unlink()
    indexes = [open_index(each, BagOfWords()) for each in (filled, other, third)]
    for index in indexes:
        index.refresh()
    put(filled, FACTS, "# Facts\n\n- The server room is on the fourth floor\n")
    put(other, FACTS, "# Facts\n\n- The server room is on the fifth floor\n")
    for index in indexes[:2]:
        index.refresh()
    seen = [
        [each.text for each in index.search("server room floor") if each.path == FACTS] for index in indexes
    ]
    assert [text.split()[-2] for (text,) in seen] == ["fourth", "fifth", "fifth"]
    put(other, FACTS, "# Facts\n\n- The server room is on the fourth floor\n")
    assert indexes[1].refresh().embedded == 0
    for index in indexes:
        assert "fourth" in index.search("server room floor")[0].text
        assert index.verify(repair=False).sound


def test_a_growing_transcript_is_changed_in_place_until_another_clone_holds_it(
    filled: Workspace, clone: Clone, open_index: Open, database: Database
) -> None:
    model = BagOfWords()
    there = open_index(filled, model)
    there.refresh()
    chunks = "SELECT id FROM chunks ORDER BY id"
    before = database.rows(chunks)
    put(filled, LOG, TRANSCRIPT + "\n## 19:30 — user\nLet us use the walrus.\n")
    assert there.refresh().embedded == 1
    assert set(database.rows(chunks)) > set(before)
    here = open_index(clone("other"), BagOfWords())
    here.refresh()
    before = database.rows(chunks)
    put(filled, LOG, TRANSCRIPT + "\n## 19:30 — user\nLet us use the penguin.\n")
    assert there.refresh().embedded == 1
    assert set(database.rows(chunks)) > set(before)
    assert paths(here, "walrus") == paths(there, "penguin") == {LOG}
    assert "walrus" not in " ".join(each.text for each in there.search("walrus", 20))
    assert there.verify(repair=False).sound


def test_the_sessions_of_another_clone_are_found_but_told_to_no_one(
    workspace: Workspace, clone: Clone, open_index: Open
) -> None:
    other = clone("other")
    put(workspace, LOG, TRANSCRIPT)
    there, here = open_index(workspace), open_index(other)
    there.refresh()
    here.refresh()
    assert [each.path for each in there.past().sessions] == [LOG]
    assert here.past().sessions == () and paths(here, "SQLite") == {LOG}
    put(other, LOG, TRANSCRIPT)
    here.refresh()
    (session,) = here.past().sessions
    assert [each[2] for each in here.turns(session.file)] == [each[2] for each in there.turns(session.file)]


def test_a_clone_not_seen_for_long_is_dropped_with_what_only_it_held(
    filled: Workspace, clone: Clone, open_index: Open, database: Database
) -> None:
    other = clone("other")
    put(other, NEW, "# New\n\nA zeppelin landed.\n")
    gone, here = open_index(other), open_index(filled)
    gone.refresh()
    here.refresh()
    assert paths(here, "zeppelin")
    with database.connect() as connection:
        connection.execute("UPDATE holders SET seen = now() - interval '91 days' WHERE id = 1")
        connection.execute("UPDATE holders SET seen = now() - interval '2 hours' WHERE id = 2")
    here.refresh()
    assert not paths(here, "zeppelin")
    assert database.count("files") == len(FILES)
    assert gone.refresh().added == len(FILES) + 1
    assert paths(here, "zeppelin") and here.verify(repair=False).sound


def test_models_of_two_clones_do_not_displace_each_other(
    filled: Workspace, clone: Clone, open_index: Open
) -> None:
    there, here = open_index(filled, BagOfWords(64)), open_index(clone("other"), BagOfWords(128, "larger"))
    assert there.refresh().embedded == here.refresh().embedded > 0
    assert there.refresh().embedded == here.refresh().embedded == 0
    for index in (there, here):
        assert index.search("rye bread")[0].vector_rank == 1
        assert index.verify(repair=False).sound


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("UPDATE chunks SET text = 'x' WHERE text LIKE '%caraway%'", "differ from what was written"),
        ("UPDATE chunks SET terms = terms[2:] WHERE text LIKE '%caraway%'", "differ from what was written"),
        ("UPDATE terms SET chunks = chunks + 1", "the counts of its words"),
        ("UPDATE totals SET length = 1", "its totals"),
        ("UPDATE vectors SET sum = 1", "its vectors"),
    ],
)
def test_altered_rows_are_found_and_repaired(
    damage: str, problem: str, filled: Workspace, open_index: Open, database: Database
) -> None:
    index = open_index(filled, BagOfWords())
    index.refresh()
    database.rows(f"WITH done AS ({damage} RETURNING 1) SELECT count(*) FROM done")
    found = index.verify(repair=False)
    assert any(problem in each for each in found.problems)
    assert index.verify().rebuilt and index.verify().sound
    assert paths(index, "caraway")


# Many at once.

_WORDS = ("heron", "trout", "rye", "bread", "files", "entry", "tulips", "\n\n## H\n", "\n\n")

_CLONE = """
import random, sys, time
from pathlib import Path
from engine.errors import AutopoiesisError
from engine.search.index import SearchIndex
from engine.settings.model import SearchSettings
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.search.postgres.test_clones import _WORDS
from tests.search.samples import BagOfWords, put

root, url, seconds, seed, does = sys.argv[1:]
seconds, writes = float(seconds), does == "w"
rng, workspace = random.Random(int(seed)), Workspace.open(root)
index = SearchIndex(workspace, Files(workspace), SearchSettings(), BagOfWords(64), url=url)
print("ready", flush=True)
done = failed = 0
until = time.monotonic() + seconds
while time.monotonic() < until:
    if writes:
        for _ in range(rng.choice([1, 1, 3])):
            place = f"knowledge/reference/{rng.randrange(40)}.md"
            if rng.random() < .2:
                (workspace.root / place).unlink(missing_ok=True)
            else:
                put(workspace, place, " ".join(rng.choices(_WORDS, k=rng.randrange(40))) + "\\n")
        try:
            index.refresh()
            done += 1
        except AutopoiesisError:
            failed += 1
    else:
        assert index.search(rng.choice(["heron trout", "bread files", "server room"]), 10), "no answer"
        done += 1
index.close()
print(done, failed)
"""


def _processes(workspaces: Sequence[tuple[Workspace, str]], url: str, seconds: float) -> list[Any]:
    running = [
        subprocess.Popen(
            [sys.executable, "-c", _CLONE, str(each.root), url, str(seconds), str(number), does],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number, (each, does) in enumerate(workspaces)
    ]
    for process in running:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return running


def _complete(indexes: Sequence[SearchIndex], workspaces: Sequence[Workspace]) -> None:
    """Each clone catches up, and finds exactly what its files say."""
    for index in indexes:
        index.refresh()
    for index, workspace in zip(indexes, workspaces, strict=True):
        assert index.verify(repair=False).problems == ()
        assert index.status().state == "ready"
        ours = {
            path.relative_to(workspace.root).as_posix()
            for path in workspace.root.glob("knowledge/reference/*.md")
            if "heron" in path.read_text().split()
        }
        found = {each.path: each.text for each in index.search("heron", 500, "reference")}
        assert ours <= found.keys()


@pytest.mark.parametrize(
    ("writers", "readers", "seconds", "restarts"),
    [(8, 4, 4.0, 0), pytest.param(8, 4, 120.0, 2, marks=pytest.mark.thorough, id="two minutes, restarts")],
)
def test_writers_and_readers_at_once_leave_a_complete_index(
    writers: int, readers: int, seconds: float, restarts: int, filled: Workspace, clone: Clone
) -> None:
    with started() as postgres:
        url = postgres.url()
        every = [filled, *(clone(f"clone-{number}") for number in range(1, writers))]
        indexes = [
            SearchIndex(each, Files(each), SearchSettings(), BagOfWords(64), url=url) for each in every
        ]
        try:
            indexes[0].refresh()
            work = [*((each, "w") for each in every), *((filled, "r") for _ in range(readers))]
            running = _processes(work, url, seconds)
            for _ in range(restarts):
                time.sleep(seconds / (restarts + 1))
                postgres.kill()
                time.sleep(1)
                postgres.restart()
            ends = [process.communicate()[0].split() for process in running]
            assert [process.returncode for process in running] == [0] * len(running)
            assert all(int(done) for done, _ in ends)
            assert restarts or all(failed == "0" for _, failed in ends)
            _complete(indexes, every)
        finally:
            for index in indexes:
                index.close()


def test_a_writer_killed_at_any_moment_is_caught_up(
    filled: Workspace, clone: Clone, open_index: Open, url: str
) -> None:
    rng, other = random.Random(5), clone("other")
    here = open_index(filled, BagOfWords(64))
    here.refresh()
    for _ in range(4):
        (process,) = _processes([(other, "w")], url, 60)
        time.sleep(rng.uniform(0.05, 0.6))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert here.verify(repair=False).sound
    _complete([here, open_index(other, BagOfWords(64))], [filled, other])


def test_a_server_killed_and_restarted_loses_nothing(filled: Workspace) -> None:
    with (
        started() as postgres,
        closing(
            SearchIndex(filled, Files(filled), SearchSettings(), BagOfWords(64), url=postgres.url())
        ) as index,
    ):
        index.refresh()
        answers, stopped = [], threading.Event()

        def ask() -> None:
            while not stopped.is_set():
                answers.append([each.source for each in index.search("rye bread")])

        thread = threading.Thread(target=ask)
        thread.start()
        for number in range(3):
            put(filled, f"knowledge/reference/{number}.md", f"# Walrus\n\nWalrus {number}\n")
            postgres.kill()
            with pytest.raises(Exception, match=r"index\.url"):
                index.refresh()
            postgres.restart()
            put(filled, f"knowledge/reference/{number}-again.md", f"# Walrus\n\nWalrus {number} again\n")
        stopped.set()
        thread.join()
        assert all(answers), "a query without an answer"
        assert {source for each in answers for source in each} - {"index"}
        _complete([index], [filled])
        assert len([each for each in paths(index, "walrus") if "reference" in each]) == 6
