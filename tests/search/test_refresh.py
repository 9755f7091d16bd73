"""Refreshing the index: only changed files are read, and removed files are dropped."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy
import pytest

from engine.errors import IndexFailed, ReadOnly
from engine.search import sources, writer
from engine.search.reports import Progress
from engine.search.results import SearchResult
from engine.search.sqlite_writer import SqliteWriter
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.search.conftest import Open
from tests.search.samples import FILES, TRANSCRIPT, BagOfWords, put

if TYPE_CHECKING:
    from engine.meaning.vectors import Floats

pytestmark = pytest.mark.both

FACTS = "knowledge/facts.md"
LONG_AGO = 1_700_000_000


def age(workspace: Workspace, path: str, seconds: int = LONG_AGO) -> None:
    """Set a file's modification time to the past."""
    os.utime(workspace.root / path, (seconds, seconds))


def age_all(workspace: Workspace) -> None:
    for path in FILES:
        age(workspace, path)


def paths(results: Sequence[SearchResult]) -> list[str]:
    return [one.path for one in results]


def test_every_searched_folder_is_indexed_and_found(filled: Workspace, open_index: Open) -> None:
    put(filled, "knowledge/digest.md", "digest zeppelin")
    put(filled, "knowledge/ledger.json", "zeppelin")
    put(filled, "logs/decisions.md", "zeppelin")
    put(filled, "knowledge/reference/other.jsonl", '{"text": "zeppelin"}')
    put(filled, "knowledge/.hidden.md", "zeppelin")
    put(filled, "knowledge/people/.tmp-x.md", "zeppelin")
    index = open_index(filled, BagOfWords())
    report = index.refresh()
    assert (report.added, report.changed, report.removed, report.skipped) == (len(FILES), 0, 0, ())
    assert report.embedded == report.chunks > len(FILES)
    assert index.search("zeppelin", use_vectors=False) == []
    for query, path, category in [
        ("plain files git", "raw/conversations/2026/02/16/1845-ses_a1b2c3d4-storage-talk.md", "conversation"),
        ("webhooks", "knowledge/memory/MEMORY.md", "memory"),
        ("caraway", "knowledge/journal/2026-02-16.md", "journal"),
        ("beekeeper", "knowledge/people/ada.md", "person"),
        ("publish wheel", "knowledge/procedures/release.md", "procedure"),
        ("server room", FACTS, "knowledge"),
        ("inbox urgency", "topics/email-triage.md", "topic"),
        ("heron", "conversations/walk.txt", "conversation"),
        ("tulips", "archive/journal/2025-01-02.md", "archive"),
    ]:
        best = index.search(query)[0]
        assert (best.path, best.category, best.source) == (path, category, "index")


@pytest.mark.both(False)
def test_unchanged_files_are_not_read(filled: Workspace, open_index: Open) -> None:
    age_all(filled)
    embedder = BagOfWords()
    index = open_index(filled, embedder)
    index.refresh()
    read: list[str] = []

    class Watched(Files):
        def read(self, relative: str, *, limit: int | None = None) -> bytes:
            read.append(relative)
            return super().read(relative, limit=limit)

    index._storage._files = Watched(filled)
    before = embedder.texts, filled.database.read_bytes()
    report = index.refresh()
    assert (report.added, report.changed, report.unchanged) == (0, 0, len(FILES))
    assert read == []
    assert (embedder.texts, filled.database.read_bytes()) == before


def test_a_change_with_the_same_size_and_time_is_detected(filled: Workspace, open_index: Open) -> None:
    index = open_index(filled)
    index.refresh()
    found = (filled.root / FACTS).stat()
    put(filled, FACTS, FILES[FACTS].replace("third", "fifth"))
    os.utime(filled.root / FACTS, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert index.refresh().changed == 1
    assert paths(index.search("fifth floor"))[0] == FACTS
    assert "third" not in index.search("floor")[0].text


def test_a_change_long_after_with_the_same_size_and_time_is_detected(
    filled: Workspace, open_index: Open
) -> None:
    age_all(filled)
    index = open_index(filled)
    index.refresh()
    put(filled, FACTS, FILES[FACTS].replace("third", "fifth"))
    age(filled, FACTS, LONG_AGO)
    assert index.refresh().changed == 1
    assert paths(index.search("fifth floor"))[0] == FACTS


def test_a_touched_file_is_compared_but_not_rewritten(filled: Workspace, open_index: Open) -> None:
    age_all(filled)
    index = open_index(filled)
    index.refresh()
    age(filled, FACTS, LONG_AGO + 100)
    report = index.refresh()
    assert (report.changed, report.unchanged) == (0, len(FILES))


def test_changed_added_and_removed_files_are_counted(filled: Workspace, open_index: Open) -> None:
    index = open_index(filled, BagOfWords())
    index.refresh()
    put(filled, FACTS, "# Facts\n\n- The observatory opens at nine\n")
    put(filled, "knowledge/people/bob.md", "# Bob\n\nPlays the cello.\n")
    (filled.root / "conversations/walk.txt").unlink()
    report = index.refresh()
    assert (report.added, report.changed, report.removed) == (1, 1, 1)
    assert paths(index.search("observatory"))[0] == FACTS
    assert paths(index.search("cello"))[0] == "knowledge/people/bob.md"
    assert index.search("heron", use_vectors=False) == []
    assert "conversations/walk.txt" not in paths(index.search("heron"))
    assert index.verify(repair=False).sound


def test_a_path_given_repeatedly_is_indexed_once(filled: Workspace, open_index: Open) -> None:
    index = open_index(filled, BagOfWords())
    index.refresh()
    before = index.status()
    for _ in range(3):
        index.refresh(paths=[FACTS, FACTS, f"./{FACTS}", f"knowledge//{FACTS.split('/')[1]}"])
    put(filled, FACTS, FILES[FACTS] + "\n")
    index.refresh(paths=[FACTS, FACTS])
    after = index.status()
    assert (after.files, after.chunks, after.vectors) == (before.files, before.chunks, before.vectors)
    assert paths(index.search("server room", use_vectors=False)).count(FACTS) == 1
    assert index.verify(repair=False).sound


def test_only_the_given_paths_are_refreshed(filled: Workspace, open_index: Open) -> None:
    index = open_index(filled)
    index.refresh()
    put(filled, FACTS, "# Facts\n\nobservatory\n")
    put(filled, "knowledge/people/ada.md", "# Ada\n\ncello\n")
    (filled.root / "archive/journal/2025-01-02.md").unlink()
    report = index.refresh(paths=[FACTS])
    assert (report.changed, report.removed) == (1, 0)
    assert index.search("cello") == []
    assert index.search("tulips") != []
    report = index.refresh(paths=["archive", "knowledge/people"])
    assert (report.changed, report.removed) == (1, 1)
    assert index.search("tulips") == []
    assert index.search("cello") != []


@pytest.mark.parametrize(
    "path",
    [
        "../outside.md",
        "/etc/passwd",
        "",
        ".",
        "scratch/x.md",
        "no/such/file.md",
        "a\0b",
        "\udc80.md",
        "x" * 5000,
    ],
)
def test_paths_outside_the_searched_folders_are_ignored(
    path: str, filled: Workspace, open_index: Open
) -> None:
    put(filled, "scratch/x.md", "zeppelin")
    index = open_index(filled)
    index.refresh()
    report = index.refresh(paths=[path])
    assert (report.added, report.changed, report.removed) == (0, 0, 0)
    assert index.search("zeppelin") == []


def test_a_growing_transcript_keeps_its_chunks(filled: Workspace, open_index: Open) -> None:
    embedder = BagOfWords()
    index = open_index(filled, embedder)
    index.refresh()
    path = "raw/conversations/2026/02/16/1845-ses_a1b2c3d4-storage-talk.md"
    put(filled, path, TRANSCRIPT + "\n## 19:30 — user\nLet us use the walrus.\n")
    before = embedder.texts
    report = index.refresh(paths=[path])
    assert (report.changed, report.embedded) == (1, 1)
    assert embedder.texts == before + 1
    assert index.search("walrus")[0].heading == "19:30 — user"
    assert index.verify(repair=False).sound


def test_chunks_that_moved_are_found_at_their_new_lines(filled: Workspace, open_index: Open) -> None:
    embedder = BagOfWords()
    index = open_index(filled, embedder)
    index.refresh()
    path = "knowledge/memory/MEMORY.md"
    put(filled, path, FILES[path].replace("# Core Memory\n", "# Core Memory\n\n\n\n"))
    before = embedder.texts
    index.refresh()
    assert embedder.texts == before
    found = index.search("bakery launch")[0]
    lines = (filled.root / path).read_text().split("\n")
    assert lines[found.start_line - 1 : found.end_line] == found.text.split("\n")
    assert index.verify(repair=False).sound


def test_a_refreshed_index_equals_a_fresh_one(filled: Workspace, open_index: Open) -> None:
    index = open_index(filled, BagOfWords())
    put(filled, "knowledge/people/zed.md", "# Zed\n\nbread bread bread\n")
    index.refresh()
    (filled.root / "knowledge/people/zed.md").unlink()
    put(filled, FACTS, "# Facts\n\n- bread is baked on Monday\n- files are plain\n")
    put(filled, "knowledge/reference/copy.md", FILES["knowledge/procedures/release.md"])
    index.refresh()
    queries = ["bread", "plain files", "tag the commit", "Monday", "who prefers short answers"]
    updated = [index.search(query, 20) for query in queries]
    index.rebuild()
    assert [index.search(query, 20) for query in queries] == updated


def test_files_that_cannot_be_indexed_are_skipped_with_a_reason(
    filled: Workspace, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.search.writer.MAX_BYTES", 10_000)
    put(filled, "knowledge/reference/big.md", "zeppelin " * 2000)
    put(filled, "knowledge/reference/binary.md", b"zeppelin \0\1\2")
    put(filled, "knowledge/reference/latin1.md", b"caf\xe9 zeppelin \xff\n")
    os.mkfifo(filled.root / "knowledge/reference/pipe.md")
    index = open_index(filled)
    report = index.refresh()
    assert {(one.path, one.why) for one in report.skipped} == {
        ("knowledge/reference/big.md", "is larger than 0 MB"),
        ("knowledge/reference/binary.md", "is binary"),
    }
    (found,) = index.search("zeppelin")
    assert (found.path, found.text) == ("knowledge/reference/latin1.md", "caf\ufffd zeppelin \ufffd")
    assert index.status().skipped == report.skipped
    put(filled, "knowledge/reference/binary.md", b"now a text with zeppelin\n")
    assert [one.path for one in index.refresh().skipped] == ["knowledge/reference/big.md"]
    assert len(index.search("zeppelin")) == 2


def test_symlinks_are_not_followed(filled: Workspace, open_index: Open) -> None:
    outside = filled.root.parent / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("zeppelin")
    (filled.root / "knowledge/reference").mkdir()
    (filled.root / "knowledge/reference/link.md").symlink_to(outside / "secret.md")
    (filled.root / "knowledge/reference/folder").symlink_to(outside)
    (filled.root / "knowledge/reference/loop").symlink_to(filled.root / "knowledge")
    (filled.root / "knowledge/reference/again.md").symlink_to(filled.root / FACTS)
    index = open_index(filled)
    assert index.refresh().added == len(FILES)
    index.refresh(
        paths=["knowledge/reference/link.md", "knowledge/reference/folder", "knowledge/reference/loop"]
    )
    assert index.search("zeppelin") == []
    assert paths(index.search("server room")) == [FACTS]


def test_a_file_name_that_is_not_text_is_reported(filled: Workspace, open_index: Open) -> None:
    folder = os.fsencode(filled.root / "knowledge/people")
    with open(folder + b"/caf\xe9.md", "wb") as file:
        file.write(b"zeppelin")
    report = open_index(filled).refresh()
    assert [one.why for one in report.skipped] == ["its name is not UTF-8"]
    assert report.added == len(FILES)


def test_progress_reaches_the_total(filled: Workspace, open_index: Open) -> None:
    steps: list[tuple[int, int]] = []
    index = open_index(filled)
    index.refresh(lambda done, total: steps.append((done, total)))
    assert steps[0] == (0, len(FILES))
    assert steps[-1] == (len(FILES), len(FILES))
    assert steps == sorted(steps)


def test_an_interrupted_refresh_is_resumed(
    filled: Workspace, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "BATCH_FILES", 2)
    index = open_index(filled, BagOfWords())
    report = index.refresh(lambda done, total: index._closing.set() if done >= 4 else None)
    assert report.stopped
    assert index.status().state == "building"
    index = open_index(filled, BagOfWords())
    report = index.refresh()
    assert report.added == len(FILES) - 4
    assert index.status().state == "ready"
    assert index.verify(repair=False).sound


def test_a_refresh_that_ends_at_any_step_keeps_the_batches_written_before(
    filled: Workspace, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "BATCH_FILES", 2)
    index = open_index(filled, BagOfWords())
    steps: list[int] = []

    def until(end: int) -> Progress:
        def progress(done: int, total: int) -> None:
            steps.append(done if total == len(FILES) else len(FILES))  # the vectors follow the files
            if len(steps) == end:
                raise KeyError

        return progress

    index.refresh(until(0))
    ends = range(1, len(steps) + 1)
    for end in ends:
        steps.clear()
        with pytest.raises(KeyError):
            index.refresh(until(end), rebuild="from the start")
        assert index.refresh().added == len(FILES) - steps[-1]
        assert index.verify(repair=False).sound
    assert len(ends) > len(FILES)


def test_a_model_may_be_added_later(filled: Workspace, open_index: Open) -> None:
    index = open_index(filled)
    report = index.refresh()
    assert (report.embedded, report.vectors) == (0, "no embedding model is set up")
    assert index.status().without_vectors == "no embedding model is set up"
    index = open_index(filled, BagOfWords())
    report = index.refresh()
    assert (report.changed, report.embedded) == (0, report.chunks)
    assert index.status().vectors == report.chunks
    assert index.search("rye bread")[0].vector_rank == 1


def test_another_model_recomputes_the_vectors(filled: Workspace, open_index: Open) -> None:
    open_index(filled, BagOfWords()).refresh()
    index = open_index(filled, BagOfWords(32, "other"))
    assert index.search("rye bread")[0].vector_rank is None
    report = index.refresh()
    assert report.embedded == report.chunks
    assert index.status().embedder == "other"
    assert index.search("rye bread")[0].vector_rank is not None
    assert index.verify(repair=False).sound


class Failing(BagOfWords):
    """A model that fails after a number of texts."""

    def __init__(self, answers: int) -> None:
        super().__init__()
        self.answers = answers

    def embed(self, texts: Sequence[str]) -> Floats:
        if self.texts + len(texts) > self.answers:
            raise IndexFailed("quota exceeded")
        return super().embed(texts)


def test_with_a_failing_model_search_uses_words(filled: Workspace, open_index: Open) -> None:
    index = open_index(filled, Failing(0))
    report = index.refresh()
    assert (report.embedded, report.added) == (0, len(FILES))
    assert report.vectors == "the embedding model failed (quota exceeded)"
    assert index.search("rye bread")[0].lexical_rank == 1
    assert index.status().without_vectors == (
        f"0 of {report.chunks} chunks have vectors: the embedding model failed (quota exceeded)"
    )
    index = open_index(filled, BagOfWords())
    assert index.refresh().embedded == report.chunks


def test_vectors_of_the_wrong_size_are_rejected(filled: Workspace, open_index: Open) -> None:
    class Wrong(BagOfWords):
        def embed(self, texts: Sequence[str]) -> Floats:
            return numpy.ones((len(texts), 3), dtype=numpy.float32)

    report = open_index(filled, Wrong()).refresh()
    assert report.vectors == "the embedding model's vectors do not have the declared size"
    assert report.embedded == 0


def test_texts_without_a_vector_are_not_embedded_again(workspace: Workspace, open_index: Open) -> None:
    put(workspace, FACTS, "…!?\n")
    embedder = BagOfWords()
    index = open_index(workspace, embedder)
    assert index.refresh().embedded == 0
    before = embedder.texts
    index.refresh()
    assert embedder.texts == before
    assert index.verify(repair=False).sound


def test_a_read_only_index_writes_nothing(filled: Workspace, open_index: Open) -> None:
    index = open_index(filled, read_only=True)
    for change in (index.refresh, index.rebuild, index.verify):
        with pytest.raises(ReadOnly, match="read-only"):
            change()
    assert index.search("rye bread")[0].source == "scan"
    assert index.settle(5)
    assert not filled.database.exists()


@pytest.mark.both(False)
def test_a_full_disk_is_reported_and_the_index_stays_intact(
    filled: Workspace, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = open_index(filled)
    index.refresh()
    put(
        filled,
        "knowledge/reference/long.md",
        "\n\n".join(f"paragraph {n} " + "word " * 200 for n in range(400)),
    )
    run = SqliteWriter.run

    def write_with_a_full_disk(self: SqliteWriter, paths: Sequence[str] | None = None) -> None:
        pages = self._connection.pragma("page_count")
        self._connection.pragma("max_page_count", int(str(pages)) + 2)
        run(self, paths)

    with monkeypatch.context() as patch:
        patch.setattr(SqliteWriter, "run", write_with_a_full_disk)
        with pytest.raises(IndexFailed, match="the disk is full; free some disk space"):
            index.refresh()
    assert index.search("rye bread")[0].source == "index"
    assert index.refresh().added == 1
    assert index.verify(repair=False).sound


def test_very_many_small_lines_are_indexed(workspace: Workspace, open_index: Open) -> None:
    put(workspace, "knowledge/reference/lines.md", "row\n" * 300_000 + "zeppelin\n")
    index = open_index(workspace)
    assert index.refresh().skipped == ()
    assert index.search("zeppelin")[0].end_line == 300_001


def test_sources_list_every_file_once(filled: Workspace) -> None:
    found = [source.path for source in sources.all_sources(filled)]
    assert sorted(found) == sorted(FILES)
