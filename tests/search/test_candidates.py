"""An index names candidates, by words and by vectors, without reading the whole index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy
import pytest

from engine.search import answer, state, vectors
from engine.search.state import EVERYWHERE, Scope, State, Word
from engine.search.terms import Terms
from engine.store.paths import Workspace
from tests.search.conftest import Open
from tests.search.samples import BagOfWords, put

if TYPE_CHECKING:
    from engine.meaning.vectors import Floats

pytestmark = pytest.mark.both

DIMENSIONS = 64
FILES, SECTIONS = 30, 8


@pytest.fixture
def many(workspace: Workspace) -> Workspace:
    """240 sections: each has the word common, every tenth heron, and one walrus."""
    for number in range(FILES):
        text = "".join(
            f"## Part {part}\n\ncommon entry{number} part{part} {'heron' * ((number + part) % 10 == 0)}"
            f" {'walrus' * (number == 20 and part == 4)}\n\n"
            for part in range(SECTIONS)
        )
        put(workspace, f"knowledge/{'reference' if number % 2 else 'people'}/{number:02}.md", text)
    return workspace


@pytest.fixture
def opened(many: Workspace, open_index: Open) -> Iterator[State]:
    """A state of an index of ``many``."""
    index = open_index(many, BagOfWords(DIMENSIONS))
    index.refresh()
    with index._storage.read() as read:
        read.dimensions = DIMENSIONS
        yield read


def found(engine: State, chunks: list[int]) -> list[str]:
    texts = engine.texts(chunks)
    return [texts[chunk].text for chunk in chunks]


def word(text: str, held: int) -> Word:
    (number,) = Terms().of_query(text)
    return Word(text, held, number)


def vector_of(text: str) -> Floats:
    found: Floats = BagOfWords(DIMENSIONS).embed([text])[0]
    return found


def test_statistics_are_those_of_the_whole_index(opened: State) -> None:
    numbers = [Terms().of_query(word)[0] for word in ("common", "heron", "walrus", "absent")]
    corpus = opened.corpus(numbers, with_sample=True)
    assert (corpus.chunks, corpus.files) == (FILES * SECTIONS, FILES)
    assert [corpus.holders(number) for number in numbers] == [240, 24, 1, 0]
    assert corpus.length == sum(opened.table(opened.all(), [], [], EVERYWHERE).lengths)
    assert corpus.sample.shape == (240, DIMENSIONS)
    assert numpy.linalg.norm(corpus.sample, axis=1) == pytest.approx(1.0)


def test_the_rarest_words_decide(opened: State, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [word("common", 240), word("heron", 24), word("walrus", 1)]
    assert len(opened.by_words(words, 500, EVERYWHERE)) == 240
    monkeypatch.setattr(state, "MOST_MATCHES", 100)
    few = found(opened, opened.by_words(words, 500, EVERYWHERE))
    assert len(few) == 25
    assert "walrus" in few[0]
    assert len(opened.by_words(words, 5, EVERYWHERE)) == 5
    assert opened.by_words([], 5, EVERYWHERE) == []


def test_of_common_words_alone_the_latest_chunks_are_found(
    opened: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "MOST_MATCHES", 60)
    assert sorted(opened.by_words([word("common", 240)], 500, EVERYWHERE)) == opened.all()[-60:]


@pytest.mark.parametrize("count", [1, 20, 100, 240])
def test_the_nearest_by_signs_are_found(opened: State, count: int) -> None:
    vector = vector_of("common heron entry3 part7")
    chunks = opened.table(opened.all(), [], [], EVERYWHERE)
    differ = vectors.signs_of(chunks.vectors) ^ vectors.signs_of(vector[None, :])
    apart = numpy.bitwise_count(differ).sum(axis=1, dtype=int)
    near = opened.by_vector(vector, count, EVERYWHERE)
    assert count // 2 <= len(near) <= count
    there = apart[numpy.isin(chunks.chunks, near)]
    assert there.max() <= numpy.sort(apart)[count - 1]


def test_the_more_signs_two_vectors_share_the_smaller_is_the_angle_between_them() -> None:
    rng = numpy.random.default_rng(1)
    many = rng.standard_normal((2_000, 192)).astype(numpy.float32)
    many += 2 * many[rng.integers(0, 40, 2_000)]  # near to one another in groups
    many /= numpy.linalg.norm(many, axis=1, keepdims=True)
    signs = vectors.signs_of(many)
    assert signs.shape == (2_000, vectors.PLANES // 8)
    found = []
    for number in range(0, 100, 4):
        apart = numpy.bitwise_count(signs ^ signs[number]).sum(axis=1, dtype=int)
        nearest = numpy.argsort(-(many @ many[number]))[:100]
        found.append(numpy.isin(nearest, numpy.argsort(apart)[:300]).mean())
    assert numpy.mean(found) > 0.8


def test_candidates_are_in_scope(opened: State) -> None:
    vector, words = vector_of("common heron"), [word("common", 240)]
    excluded = frozenset(f"knowledge/people/{number:02}.md" for number in range(0, 20, 2))
    for scope, size in (
        (Scope("person"), 120),
        (Scope("person", excluded), 40),
        (Scope(None, excluded), 160),
    ):
        for chunks in (opened.by_words(words, 300, scope), opened.by_vector(vector, 300, scope)):
            inside = opened.table(chunks, [], [], scope)
            assert len(inside) == size
            assert not excluded.intersection(file.path for file in inside.files) or not scope.exclude
    nearest = opened.by_vector(vector, 10, Scope(None, excluded))
    assert len(opened.table(nearest, [], [], Scope(None, excluded))) >= 5


def test_leaders_bring_their_neighbours_in_the_same_file(opened: State) -> None:
    chunks = opened.table(opened.all(), [], [], EVERYWHERE)
    at = 2 * SECTIONS + 1
    around = opened.table([int(chunks.chunks[at])], [int(chunks.chunks[at])], [], EVERYWHERE)
    assert around.positions.tolist() == [0, 1, 2, 3, 4]
    assert len(around.files) == 1
    alone = opened.table([int(chunks.chunks[at])], [], [], EVERYWHERE)
    assert alone.positions.tolist() == [1]


@pytest.mark.parametrize("query", ["walrus", "heron entry3", "common walrus part4", "entry7 part7"])
def test_few_candidates_answer_as_all_chunks_do(
    query: str, many: Workspace, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = open_index(many, BagOfWords(DIMENSIONS))
    index.refresh()
    whole = [(each.path, each.start_line) for each in index.search(query, 3)]
    for name, number in (("BY_WORDS", 60), ("BY_MEANING", 40), ("LEADERS", 20)):
        monkeypatch.setattr(answer, name, number)
    monkeypatch.setattr(state, "MOST_MATCHES", 100)
    assert [(each.path, each.start_line) for each in index.search(query, 3)] == whole
