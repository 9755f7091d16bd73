"""Without an index the files are searched directly."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from engine.search import fallback
from engine.search.results import SearchResult
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.search.conftest import Open
from tests.search.samples import put
from tests.transcripts.logs import ClaudeCode, dump

Search = Callable[..., list[SearchResult]]


@pytest.fixture
def search(filled: Workspace) -> Search:
    """Searches the files of ``filled``."""

    def search_files(*terms: str, limit: int = 10, **more: object) -> list[SearchResult]:
        return fallback.search(filled, Files(filled), terms, limit=limit, **more)  # type: ignore[arg-type]

    return search_files


def test_chunks_with_the_most_words_come_first(search: Search) -> None:
    best, *others = search("plain", "files", "version", "inbox")
    assert (best.path, best.start_line, best.end_line) == (
        "raw/conversations/2026/02/16/1845-ses_a1b2c3d4-storage-talk.md",
        13,
        15,
    )
    assert best.score == 0.75
    assert best.lexical_rank == 1
    assert best.vector_rank is None
    assert best.why == "contains 3 of 4 words; the files were searched directly"
    assert "topics/email-triage.md" in [one.path for one in others]


def test_ties_are_ordered_by_date(search: Search, filled: Workspace) -> None:
    put(filled, "knowledge/journal/2026-01-01.md", "walrus\n")
    put(filled, "knowledge/journal/2026-03-01.md", "walrus\n")
    put(filled, "knowledge/journal/2026-02-01.md", "walrus\n")
    assert [one.date for one in search("walrus")] == ["2026-03-01", "2026-02-01", "2026-01-01"]


def test_other_forms_and_other_case_are_found(search: Search) -> None:
    assert search("WEBHOOK".lower())[0].path == "knowledge/memory/MEMORY.md"
    assert search("baked")[0].path == "knowledge/journal/2026-02-16.md"


@pytest.mark.parametrize("written", ["café", "CAFÉ", "cafe", "cafe\u0301s", "Cafés"])
@pytest.mark.parametrize("asked", ["café", "cafe", "cafés", "cafe\u0301"])
def test_diacritics_do_not_matter(asked: str, written: str, search: Search, filled: Workspace) -> None:
    put(filled, "knowledge/reference/place.md", f"We met at the {written}, by the river.\n")
    (found,) = search(asked)
    assert found.path == "knowledge/reference/place.md"
    assert found.score == 1


def test_letters_are_distinguished_as_by_the_index(
    search: Search, filled: Workspace, open_index: Open
) -> None:
    put(filled, "knowledge/reference/street.md", "Straße ΕΛΛΆΔΑ Øresund Ὀδυσσεύς tiếng ĐÀ\n")
    index = open_index(filled)
    index.refresh()
    for word, count in {
        "straße": 1, "strasse": 0, "ελλάδα": 1, "ελλαδα": 1, "øresund": 1, "oresund": 0,
        "ὀδυσσεύς": 1, "ὀδυσσεύσ": 1, "tiếng": 1, "tieng": 1, "đà": 1, "đa": 1, "da": 0,
    }.items():  # fmt: skip
        assert (len(search(word)), len(index.search(word))) == (count, count), word


def test_a_word_that_folds_to_nothing_is_not_found(search: Search) -> None:
    assert search("\u0301") == []


def test_category_exclusion_and_limit_are_respected(search: Search) -> None:
    assert {one.category for one in search("the", category="person")} <= {"person"}
    assert [one.path for one in search("caraway", category="person")] == []
    assert search("caraway", exclude=frozenset({"knowledge/journal/2026-02-16.md"})) == []
    assert len(search("the", "files", "in", limit=2)) == 2


@pytest.mark.parametrize("term", ["-e", "--files", ".*", "$(touch x)", "[", "a\\b", "-"])
def test_words_are_literal(term: str, search: Search, filled: Workspace) -> None:
    put(filled, "knowledge/reference/odd.md", f"before {term} after\n")
    search(term)
    assert sorted(path.name for path in filled.root.iterdir()) == sorted(
        ["memory-config.yaml", "raw", "knowledge", "topics", "conversations", "archive"]
    )


def test_logs_are_not_searched(search: Search, filled: Workspace) -> None:
    put(filled, "conversations/log.jsonl", dump(ClaudeCode().user("zeppelin")))
    assert search("zeppelin") == []


def test_binary_and_unreadable_files_are_skipped(search: Search, filled: Workspace) -> None:
    put(filled, "knowledge/reference/binary.md", b"zeppelin\0zeppelin")
    put(filled, "knowledge/reference/latin1.md", b"zeppelin \xff\n")
    os.mkfifo(filled.root / "knowledge/reference/pipe.md")
    assert [one.path for one in search("zeppelin")] == ["knowledge/reference/latin1.md"]


def test_a_scan_stops_at_the_time_limit_and_says_so(
    filled: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])

    class Slow(Files):
        def read(self, relative: str, *, limit: int | None = None) -> bytes:
            now[0] += 0.4
            return super().read(relative, limit=limit)

    for number in range(20):
        put(filled, f"knowledge/reference/{number}.md", "walrus\n")
        os.utime(filled.root / f"knowledge/reference/{number}.md", (4e9 + number, 4e9 + number))
    found = fallback.search(filled, Slow(filled), ("walrus",), limit=10, time_limit_s=3.0)
    assert 1 <= len(found) < 10
    assert found[0].path == "knowledge/reference/19.md"
    assert all(one.why.endswith("and time ran out before all were read") for one in found)


def test_an_empty_workspace_gives_no_results(workspace: Workspace) -> None:
    assert fallback.search(workspace, Files(workspace), ("bread",), limit=5) == []
