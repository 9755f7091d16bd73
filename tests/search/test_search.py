"""Search results: the right chunks, in a stable order, each with its reason."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import AutopoiesisError
from engine.search.embeddings import LocalEmbedder
from engine.search.results import CATEGORIES, explain_shares
from engine.settings.model import SearchSettings
from engine.store.paths import Workspace
from tests.search.conftest import Open
from tests.search.samples import BagOfWords, put

pytestmark = pytest.mark.both


def test_a_result_has_location_text_and_reason(filled: Workspace, open_index: Open) -> None:
    index = open_index(filled, BagOfWords())
    index.refresh()
    best, *others = index.search("Where do people keep plain files?")
    assert best.path == "raw/conversations/2026/02/16/1845-ses_a1b2c3d4-storage-talk.md"
    assert (best.start_line, best.end_line) == (13, 15)
    assert (best.category, best.heading, best.date) == ("conversation", "18:47 — agent", "2026-02-16")
    assert best.text.endswith("Plain files: people can read them, and git keeps every version.")
    assert "Plain files: people can read them" in best.snippet
    assert (best.lexical_rank, best.vector_rank, best.source) == (1, 1, "index")
    assert best.why == explain_shares(best.shares)
    assert 0 < best.score <= 1
    scores = [best.score, *(one.score for one in others)]
    assert scores == sorted(scores, reverse=True)


def test_a_score_is_relative_to_the_best_and_the_sum_of_its_shares(
    filled: Workspace, open_index: Open
) -> None:
    index = open_index(filled, BagOfWords())
    index.refresh()
    results = index.search("Where do people keep plain files?", 20)
    assert results[0].score == 1
    assert all(0 < one.score <= 1 for one in results)
    for one in results:
        assert sum(share.value for share in one.shares) == pytest.approx(one.score, abs=0.002)
        assert [share.value for share in one.shares] == sorted(
            (share.value for share in one.shares), reverse=True
        )
    assert results[0].speaker == "agent"
    assert {share.name for share in results[0].shares} >= {"words", "meaning", "neighbours", "session"}


def test_a_short_result_still_has_its_shares(filled: Workspace, open_index: Open) -> None:
    index = open_index(filled, BagOfWords())
    index.refresh()
    full = index.search("plain files", 20)
    short = index.search("plain files", 20, in_full=False)
    assert [(one.path, one.start_line, one.score, one.shares, one.text) for one in short] == [
        (one.path, one.start_line, one.score, one.shares, one.text) for one in full
    ]
    assert {one.snippet for one in short} == {""}
    assert {(one.lexical_rank, one.vector_rank) for one in short} == {(None, None)}
    assert {one.why for one in short} == {""}
    assert explain_shares(short[0].shares).startswith("found by its words +")


def test_words_of_a_heading_or_header_find_the_chunk(filled: Workspace, open_index: Open) -> None:
    index = open_index(filled)
    index.refresh()
    (found,) = index.search("accountant")
    assert found.path == "knowledge/people/ada.md"
    assert (found.lexical_rank, found.why.startswith("found by its words +")) == (1, True)
    assert index.search("February 2026 Monday")[0].date == "2026-02-16"


def test_other_forms_of_a_word_are_found(filled: Workspace, open_index: Open) -> None:
    index = open_index(filled)
    index.refresh()
    assert index.search("baking BREADS")[0].path == "knowledge/journal/2026-02-16.md"


def test_meaning_finds_chunks_without_a_common_word(filled: Workspace, open_index: Open) -> None:
    index = open_index(filled, LocalEmbedder())
    index.refresh()
    found = index.search("a bird by the water", 3)
    heron = next(one for one in found if one.path == "conversations/walk.txt")
    assert heron.lexical_rank is None
    assert heron.vector_rank is not None
    assert heron.why.startswith("found by its meaning +")


def test_every_candidate_has_both_scores(workspace: Workspace, open_index: Open) -> None:
    for number in range(120):
        put(workspace, f"knowledge/reference/{number:03}.md", f"heron {'filler ' * number}\n")
    index = open_index(workspace, BagOfWords())
    index.refresh()
    results = index.search("heron", 120)
    listed = [one for one in results if one.lexical_rank is not None]
    assert len(results) == 120
    assert all(one.vector_rank for one in results)
    scores = {one.path: one.score for one in results}
    assert scores["knowledge/reference/000.md"] == max(scores.values())
    assert len({round(score, 6) for score in scores.values()}) > 100
    assert len(listed) == 120


def test_search_by_words_does_not_use_the_model(filled: Workspace, open_index: Open) -> None:
    embedder = BagOfWords()
    index = open_index(filled, embedder)
    index.refresh()
    before = embedder.texts
    assert index.search("rye bread", use_vectors=False)[0].vector_rank is None
    assert embedder.texts == before
    settings = SearchSettings(vector_weight=0)
    assert open_index(filled, embedder, settings=settings).search("rye bread")[0].vector_rank is None
    assert embedder.texts == before


def test_weights_come_from_the_settings(workspace: Workspace, open_index: Open) -> None:
    put(workspace, "knowledge/reference/said.md", "heron " * 6 + "one two three four five six seven\n")
    put(workspace, "knowledge/reference/meant.md", "heron\n")
    by_words = open_index(workspace, BagOfWords(), settings=SearchSettings(bm25_weight=1, vector_weight=0.01))
    by_words.refresh()
    by_meaning = open_index(
        workspace, BagOfWords(), settings=SearchSettings(bm25_weight=0.01, vector_weight=1)
    )
    assert by_words.search("heron")[0].lexical_rank == 1
    assert by_meaning.search("heron")[0].vector_rank == 1
    assert by_meaning.search("heron")[0].path == "knowledge/reference/meant.md"


def test_the_category_restricts_both_words_and_vectors(filled: Workspace, open_index: Open) -> None:
    index = open_index(filled, BagOfWords())
    index.refresh()
    for category in CATEGORIES:
        found = index.search("the plain bread files of the morning", 50, category)
        assert {one.category for one in found} <= {category}
    assert index.search("files", 50, "person", use_vectors=False) == []


@pytest.mark.both(False)
@pytest.mark.parametrize(
    "category", ["", "Person", "people", "person' OR '1'='1", "x'; DROP TABLE files; --", "\0", "\ud800"]
)
def test_an_unknown_category_is_rejected_by_name(category: str, filled: Workspace, open_index: Open) -> None:
    index = open_index(filled)
    index.refresh()
    with pytest.raises(AutopoiesisError, match="choose one of identity, memory, journal, project, person"):
        index.search("bread", category=category)
    assert index.search("bread") != []


def test_excluded_files_make_room_for_others(workspace: Workspace, open_index: Open) -> None:
    for number in range(150):
        put(workspace, f"knowledge/reference/{number:03}.md", "heron heron heron\n\n# More\n\nheron\n")
    put(workspace, "knowledge/people/other.md", "A heron among many other words about herons\n")
    index = open_index(workspace, BagOfWords())
    index.refresh()
    exclude = [f"knowledge/reference/{number:03}.md" for number in range(150)]
    (found,) = index.search("heron", 5, exclude=exclude)
    assert found.path == "knowledge/people/other.md"
    assert {found.lexical_rank, found.vector_rank} == {1}
    assert len(index.search("heron", 5, exclude=exclude[:-1])) == 3
    assert len(index.search("heron", 5, exclude=["knowledge/people/other.md", "no/such.md", "\udc80"])) == 5


def test_ties_are_ordered_by_path_not_by_insertion(workspace: Workspace, open_index: Open) -> None:
    index = open_index(workspace, BagOfWords())
    for number in reversed(range(130)):
        put(workspace, f"knowledge/reference/{number:03}.md", "same words\n")
        if number % 40 == 0:
            index.refresh()
    names = [one.path for one in index.search("same", 20)]
    assert names == [f"knowledge/reference/{number:03}.md" for number in range(20)]
    assert [one.path for one in index.search("same", 20, use_vectors=False)] == names


@pytest.mark.parametrize("exclude", [(), ("knowledge/reference/003.md", "knowledge/reference/120.md")])
def test_fewer_results_are_the_first_of_more(
    exclude: tuple[str, ...], workspace: Workspace, open_index: Open
) -> None:
    for number in reversed(range(130)):
        words = "heron trout " * (1 + number % 3) + "filler " * (number % 5)
        put(workspace, f"knowledge/reference/{number:03}.md", f"{words}\n")
    index = open_index(workspace)
    index.refresh()
    many = index.search("heron trout", 130, exclude=exclude)
    assert len(many) == 130 - len(exclude)
    scores = [one.score for one in many]  # Ties have the same rank.
    assert [one.lexical_rank for one in many] == [1 + scores.index(score) for score in scores]
    for limit in (1, 7, 25, 51, 100):
        assert index.search("heron trout", limit, exclude=exclude) == many[:limit]


@pytest.mark.both(False)
@pytest.mark.parametrize(("limit", "count"), [(0, 0), (-3, 0), (1, 1), (2, 2), (10**9, 3)])
def test_the_limit_is_clamped(limit: int, count: int, workspace: Workspace, open_index: Open) -> None:
    for number in range(3):
        put(workspace, f"knowledge/reference/{number}.md", "heron\n")
    index = open_index(workspace)
    index.refresh()
    assert len(index.search("heron", limit)) == count


@pytest.mark.both(False)
@pytest.mark.parametrize("query", ["", " ", "?!", "🙂", "\0", "\ud800", '""', "()", "*", "^", "-", ":"])
def test_a_query_without_a_word_finds_nothing(query: str, filled: Workspace, open_index: Open) -> None:
    index = open_index(filled, BagOfWords())
    index.refresh()
    assert index.search(query) == []


@pytest.mark.both(False)
@pytest.mark.parametrize(
    "query",
    ["don't", "c++", "2026-02-16", "plain AND", "NOT files", "NEAR(plain files)", "text:files", "files*",
     "^plain", '"unclosed', "a'b\"c", "{files}", "heading : files", "plain + files", "x" * 100_000],
)  # fmt: skip
def test_a_query_is_never_parsed_as_an_expression(query: str, filled: Workspace, open_index: Open) -> None:
    index = open_index(filled, BagOfWords())
    index.refresh()
    for one in index.search(query):
        assert one.source == "index"


def test_any_text_can_be_searched(filled: Workspace, open_index: Open) -> None:
    index = open_index(filled, BagOfWords())
    index.refresh()

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
    @given(st.text(), st.sampled_from([None, *CATEGORIES]), st.lists(st.text(max_size=5), max_size=3))
    def search_any(query: str, category: str | None, exclude: list[str]) -> None:
        assert all(one.source == "index" for one in index.search(query, 5, category, exclude))

    search_any()


_PARTS = (
    *("rye", "bread", "files", "Ada", "\u0301", "ß", "İ", "日本語", "🙂", "\u200b", "\ud800", "\0"),
    *('"', "'", "(", ")", "*", "^", "-", "+", ":", "~", "\\", "%", "{", "}", "--", ";", "AND", "OR"),
    *("2026-02-16", "30 February", "last week", "999 years ago", "in March", "on \u017funday"),
    *("00000-1-1", "\u0661 days ago", "NEAR(a b, 2)", "' OR 1=1 --", "../..", "NULL", "x" * 300),
    *("\n", "\r", "\t", "\u2028", "\xa0", "\x1b[2J", "<!--", "{/rag-context}"),
)  # fmt: skip


def test_hundreds_of_odd_texts_can_be_searched(filled: Workspace, open_index: Open) -> None:
    index = open_index(filled, BagOfWords())
    index.refresh()
    rng = random.Random(1)
    for _ in range(300):
        query = rng.choice(["", " "]).join(rng.choices(_PARTS, k=rng.randrange(1, 7)))
        results = index.search(query, 3, in_full=rng.random() < 0.5)
        assert all(one.source == "index" and 0 < one.score <= 1 for one in results), query
    assert index.verify(repair=False).sound


@pytest.mark.both(False)
def test_the_search_path_imports_little(filled: Workspace, open_index: Open) -> None:
    open_index(filled, BagOfWords()).refresh()
    program = f"""
import sys
from engine.search.index import SearchIndex
from engine.store.files import Files
from engine.store.paths import Workspace

class Settings:
    bm25_weight, vector_weight, half_life_days = 1.0, 0.8, 30

workspace = Workspace.open({str(filled.root)!r})
index = SearchIndex(workspace, Files(workspace), Settings(), read_only=True)
assert "numpy" not in sys.modules
assert index.search("rye bread")[0].source == "index"
heavy = (
    "numpy", "yaml", "frontmatter", "ruamel", "pydantic", "tokenizers", "safetensors", "wordllama",
    "sqlite_vec", "sqlite3", "filelock", "subprocess", "engine.search.writer", "engine.search.chunks",
    "engine.transcripts.format", "engine.meaning.vectors",
)
print([name for name in heavy if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['numpy']"
