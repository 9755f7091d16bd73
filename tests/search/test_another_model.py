"""Slow and changed embedding models: vectors are computed in the background while search keeps working."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy
import pytest
from filelock import FileLock

from engine.errors import EmbeddingFailed
from engine.search import database
from engine.search import index as indexes
from engine.search.embeddings import packed
from engine.search.memory_db import LOCK_NAME
from engine.store.paths import Workspace
from tests.search.conftest import Open
from tests.search.samples import FILES, BagOfWords, put
from tests.waiting import wait_until

if TYPE_CHECKING:
    from engine.meaning.vectors import Floats

pytestmark = pytest.mark.both

FACTS = "knowledge/facts.md"


class SlowBag(BagOfWords):
    """A model that blocks after ``room`` more batches; it never blocks if that is negative."""

    is_slow = True

    def __init__(self, name: str = "slow", *, room: int = -1) -> None:
        super().__init__(512, name)
        self.room = room
        self.sizes: list[int] = []
        self.asked = threading.Event()
        self.go_on = threading.Event()
        self.fails = ""
        self.closed = False
        self.queries = 0

    def embed(self, texts: Sequence[str]) -> Floats:
        self.asked.set()
        while self.room == 0 and not self.closed:
            if self.go_on.wait(0.01):
                self.room = -1
        if self.closed:
            raise EmbeddingFailed("it was ended")
        if self.fails:
            raise EmbeddingFailed(self.fails)
        self.room -= self.room > 0
        self.sizes.append(len(texts))
        return super().embed(texts)

    def embed_query(self, text: str) -> Floats:
        self.queries += 1
        if self.fails:
            raise EmbeddingFailed(self.fails)
        found: Floats = super().embed([text])[0]
        return found

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the waits."""
    monkeypatch.setattr(indexes, "PATIENCE_S", 600.0)  # a refresh that waits for too many vectors hangs


@pytest.fixture
def many(workspace: Workspace) -> Iterator[Workspace]:
    """A workspace with more chunks than a refresh waits for."""
    long_file(workspace, 200)
    yield workspace


def long_file(workspace: Workspace, parts: int) -> None:
    sections = (f"## Part {number}\n\nword{number} heron\n" for number in range(parts))
    put(workspace, "knowledge/reference/long.md", "# Long\n\n" + "\n".join(sections))


def test_a_refresh_waits_for_a_few_vectors(filled: Workspace, open_index: Open) -> None:
    embedder = SlowBag()
    index = open_index(filled, embedder)
    report = index.refresh()
    assert (report.embedded, report.waiting, report.vectors) == (report.chunks, 0, "")
    status = index.status()
    assert (status.vectors, status.without_vectors, status.vectors_coming) == (report.chunks, "", "")
    assert index.search("rye bread")[0].vector_rank == 1
    put(filled, FACTS, FILES[FACTS] + "- A walrus lives there\n")
    assert index.refresh(paths=[FACTS]).embedded == 1
    assert index.search("walrus")[0].vector_rank == 1
    assert index.verify(repair=False).sound


def test_search_by_words_works_before_the_model_has_responded(many: Workspace, open_index: Open) -> None:
    embedder = SlowBag(room=0)
    index = open_index(many, embedder)
    report = index.refresh()
    assert (report.embedded, report.waiting) == (0, report.chunks)
    found = index.search("word7")
    assert (found[0].source, found[0].vector_rank) == ("index", None)
    assert embedder.queries == 0, "the query was embedded although there are no vectors"
    status = index.status()
    assert (status.vectors, status.without_vectors) == (0, f"0 of {report.chunks} chunks have vectors")
    embedder.go_on.set()
    assert index.finish_vectors() == ""
    assert index.status().vectors == report.chunks
    assert index.search("word7")[0].vector_rank == 1
    assert index.verify(repair=False).sound


def test_a_new_model_is_used_as_soon_as_it_has_some_vectors(many: Workspace, open_index: Open) -> None:
    first = open_index(many, BagOfWords())
    chunks = first.refresh().chunks
    first.close()
    embedder = SlowBag("other", room=1)
    index = open_index(many, embedder)
    assert index.status().without_vectors == f"0 of {chunks} chunks have vectors"
    index.refresh()
    wait_until(lambda: index.status().vectors)
    status = index.status()
    assert 0 < status.vectors == sum(embedder.sizes) < chunks
    assert status.vectors_coming == f"{status.vectors} of {chunks} chunks have vectors"
    assert (status.without_vectors, status.embedder) == ("", "other")
    assert index.search("word190")[0].vector_rank == 1, "the latest chunks are in the first batch"
    assert index.search("word3")[0].vector_rank is None, "without a vector it is found by its words"
    assert index.verify(repair=False).sound
    embedder.go_on.set()
    assert index.finish_vectors() == ""
    assert index.search("word3")[0].vector_rank == 1


@pytest.mark.both(False)
def test_old_vectors_are_kept_until_the_new_model_responds(filled: Workspace, open_index: Open) -> None:
    index = open_index(filled, BagOfWords())
    chunks = index.refresh().chunks
    index.close()
    broken = SlowBag("broken")
    broken.fails = "there is no key"
    index = open_index(filled, broken)
    assert index.refresh().vectors == "the embedding model failed (there is no key)"
    status = index.status()
    assert status.vectors == 0
    assert status.without_vectors == (
        f"0 of {chunks} chunks have vectors: the embedding model failed (there is no key)"
    )
    assert index.search("rye bread")[0].lexical_rank == 1
    index.close()
    embedder = BagOfWords()
    index = open_index(filled, embedder)
    assert index.refresh().embedded == embedder.texts == 0
    assert index.status().vectors == chunks


def test_files_may_change_while_vectors_are_computed(many: Workspace, open_index: Open) -> None:
    embedder = SlowBag(room=0)
    index = open_index(many, embedder)
    index.refresh()
    assert embedder.asked.wait(60)
    put(many, FACTS, "# Facts\n\nwalrus\n")
    long = many.root / "knowledge/reference/long.md"
    long.write_text(long.read_text().replace("word3 heron", "otter"))
    report = index.refresh()
    assert (report.added, report.changed) == (1, 1)
    assert index.search("walrus", use_vectors=False)[0].path == FACTS
    embedder.go_on.set()
    assert index.finish_vectors() == ""
    assert index.status().vectors == index.status().chunks
    assert index.search("otter")[0].vector_rank == 1, "the vector is that of the current text"
    assert index.verify(repair=False).sound


@pytest.mark.both(False)
def test_a_chunk_that_reuses_an_id_gets_its_own_vector(workspace: Workspace, open_index: Open) -> None:
    put(workspace, FACTS, "heron\n")
    embedder = SlowBag(room=0)
    index = open_index(workspace, embedder)
    thread = threading.Thread(target=index.refresh)
    thread.start()
    assert embedder.asked.wait(60)
    wait_until(lambda: index.status().state == "ready")
    put(workspace, FACTS, "a walrus instead\n")
    second = open_index(workspace, None)
    assert second.refresh().changed == 1
    embedder.go_on.set()
    thread.join(60)
    assert index.finish_vectors() == ""
    assert embedder.texts == 2
    connection = database.open_reader(workspace.database)
    assert connection.execute("SELECT vector FROM vectors").fetchall() == [
        (packed(BagOfWords().embed(["a walrus instead"]))[0],)
    ]
    connection.close()


def test_interrupted_vectors_are_resumed_by_the_next_index(many: Workspace, open_index: Open) -> None:
    first = SlowBag(room=1)
    index = open_index(many, first)
    chunks = index.refresh().chunks
    wait_until(lambda: index.status().vectors)
    index.close()
    second = SlowBag()
    index = open_index(many, second)
    steps: list[tuple[int, int]] = []
    index.refresh()
    assert index.finish_vectors(lambda done, total: steps.append((done, total))) == ""
    assert index.status().vectors == chunks
    assert second.texts == chunks - sum(first.sizes), "a vector was computed twice"
    assert steps == sorted(steps)
    assert index.verify(repair=False).sound


def test_a_model_that_fails_midway_is_asked_again_by_the_next_refresh(
    many: Workspace, open_index: Open
) -> None:
    embedder = SlowBag(room=1)
    index = open_index(many, embedder)
    chunks = index.refresh().chunks
    wait_until(lambda: index.status().vectors)
    embedder.fails = "quota exceeded"
    embedder.go_on.set()
    wait_until(lambda: "quota" in index.status().vectors_coming)
    assert index.status().without_vectors == ""
    assert index.finish_vectors() == "the embedding model failed (quota exceeded)"
    embedder.fails = ""
    index.refresh()
    assert index.finish_vectors() == ""
    assert index.status().vectors == chunks
    assert index.status().vectors_coming == ""


def test_vectors_of_the_wrong_size_are_rejected(filled: Workspace, open_index: Open) -> None:
    class Wrong(SlowBag):
        def embed(self, texts: Sequence[str]) -> Floats:
            return numpy.ones((len(texts), 3), dtype=numpy.float32)

    index = open_index(filled, Wrong())
    assert "vectors do not have the declared size" in index.refresh().vectors
    assert index.status().vectors == 0


def test_a_query_that_cannot_be_embedded_is_searched_by_words(filled: Workspace, open_index: Open) -> None:
    embedder = SlowBag()
    index = open_index(filled, embedder)
    index.refresh()
    embedder.fails = "no answer within 3 s"
    assert index.search("rye bread")[0].lexical_rank == 1
    assert index.search("rye bread")[0].vector_rank is None
    assert index.status().without_vectors == "the embedding model failed (no answer within 3 s)"
    embedder.fails = ""
    assert index.search("rye bread")[0].vector_rank == 1
    assert index.status().without_vectors == ""


@pytest.mark.both(False)
def test_the_index_is_not_locked_while_vectors_are_computed(many: Workspace, open_index: Open) -> None:
    embedder = SlowBag(room=0)
    index = open_index(many, embedder)
    index.refresh()
    assert embedder.asked.wait(60)
    with FileLock(many.root / LOCK_NAME, timeout=60):
        pass


def test_a_rebuild_while_vectors_are_computed_starts_over(many: Workspace, open_index: Open) -> None:
    embedder = SlowBag(room=0)
    index = open_index(many, embedder)
    index.refresh()
    assert embedder.asked.wait(60)
    report = index.rebuild()
    embedder.go_on.set()
    index.refresh()
    assert index.finish_vectors() == ""
    assert index.status().vectors == report.chunks
    assert index.verify(repair=False).sound


def test_closing_stops_the_vectors_and_closes_the_model(many: Workspace, open_index: Open) -> None:
    embedder = SlowBag(room=0)
    index = open_index(many, embedder)
    index.refresh()
    assert embedder.asked.wait(60)
    index.close()
    assert embedder.closed
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("search index")]


def test_a_read_only_index_computes_no_vectors(filled: Workspace, open_index: Open) -> None:
    open_index(filled, BagOfWords()).refresh()
    embedder = SlowBag("other")
    index = open_index(filled, embedder, read_only=True)
    assert index.search("rye bread")[0].source == "index"
    assert index.finish_vectors() == ""
    assert embedder.sizes == []
    index.close()
    assert embedder.closed
