"""The search screen while answers are late, files change, the index is built and the engine fails."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

from engine.errors import AutopoiesisError
from engine.events import FileChanged, IndexProgress
from engine.search.reports import IndexStatus
from tests.tui.conftest import FASTER, Run
from tests.tui.fake_engine import NOW
from tests.tui.screen_driven import open_search
from tests.tui.search_data import BUILDING, DECISIONS, READY, RESULTS, SESSION, WITHOUT_VECTORS, many_results
from tui.screens.search.screen import POLL_S
from tui.screens.search.state import Answer, Search, SearchState

QUERY = "connection pool timeout"


async def test_a_late_answer_to_an_older_query_is_dropped_and_typing_never_waits(run: Run) -> None:
    release, never = threading.Event(), threading.Event()
    async with open_search(run, blocked_queries={"pool": release, "a": never}) as driven:
        await driven.send(*"pool")
        await driven.until(lambda: bool(driven.fake_search.calls_of("search")))
        await driven.send(*" moorings", "backspace")
        await driven.until(lambda: driven.screen._typing is None)
        assert "found" not in driven.text
        release.set()
        await driven.settle()
        assert driven.state.answer is not None and driven.state.answer.search.query == "pool mooring"
        assert [call[1] for call in driven.fake_search.calls_of("search")] == ["pool", "pool mooring"]
        await driven.press("ctrl+u")
        driven.fake_search.calls.clear()
        await driven.send("a")
        await driven.until(lambda: bool(driven.fake_search.calls_of("search")))
        await driven.send(*"connection pool timeout")
        await driven.pilot.pause()
        assert driven.screen.prompt.input.value == "aconnection pool timeout"
        await driven.send("escape")
        await driven.until(lambda: not driven.is_open())
        never.set()


def test_an_answer_to_any_other_search_is_dropped() -> None:
    state = SearchState("pool")
    for other in (Search("poo"), Search("pool", "journal"), Search("pool", limit=500)):
        assert not state.take(other, Answer(other), "")
    assert state.answer is None
    assert state.take(state.wanted, Answer(state.wanted), "")
    state.ask("")
    assert not state.take(state.wanted, Answer(state.wanted), "") and state.phase == "overview"


async def test_no_searches_run_while_nothing_changes(run: Run) -> None:
    release = threading.Event()
    async with open_search(run, query=QUERY) as driven:
        before = list(driven.fake_search.calls)
        await asyncio.sleep(2 * POLL_S / FASTER)
        await driven.settle()
        assert driven.fake_search.calls == before and not driven.watching()
        # keys that change nothing do not search either
        searches, reads = len(driven.fake_search.calls_of("search")), len(driven.fake_search.calls_of("read"))
        await driven.press("g", "k", "slash", "left", "end", "enter", "1")
        assert len(driven.fake_search.calls_of("search")) == searches
        assert len(driven.fake_search.calls_of("read")) == reads
        # a late preview of another result is dropped
        driven.fake_search.blocked["read"] = release
        await driven.send("j", "j")
        await driven.until(lambda: len(driven.fake_search.calls_of("read")) > reads)
        shown = driven.screen.preview.passage
        assert shown is not None and shown.hit.result.path == SESSION
        release.set()
        await driven.settle()
        shown = driven.screen.preview.passage
        assert shown is not None and shown.hit == driven.screen.results.selected
        # an empty line shows what can be searched, and spaces are not a query
        await driven.press("slash", "ctrl+u")
        assert driven.state.query == "" and "312 passages" in driven.text and "conversations" in driven.text
        assert "The backfill" not in driven.text
        for blanks in ("   ", "\t"):
            driven.screen.prompt.input.value = blanks
            await driven.settle()
            assert len(driven.fake_search.calls_of("search")) == searches and "312 passages" in driven.text


async def test_changed_files_are_found_and_the_selection_stays(run: Run) -> None:
    refused = AutopoiesisError("is larger than 8 MiB", where=SESSION)
    async with open_search(run, query=QUERY, failing={"read": refused}) as driven:
        assert "cannot be read" in driven.text and "The backfill opens a transaction" in driven.text
        driven.fake_search.failing.clear()
        # a deleted selected result is replaced by its neighbour
        await driven.press("j")
        driven.fake_search.results = (RESULTS[0], *RESULTS[2:])
        driven.engine.publish(FileChanged(NOW, DECISIONS, "changed"))
        await driven.settle()
        assert driven.screen.results.cursor == 1 and driven.selected().startswith("knowledge/projects")
        shown = driven.screen.preview.passage
        assert shown is not None and shown.hit == driven.screen.results.selected
        driven.fake_search.results = RESULTS
        driven.engine.publish(FileChanged(NOW, DECISIONS, "changed"))
        await driven.settle()
        await driven.press("k")
        searches = len(driven.fake_search.calls_of("search"))
        new = replace(RESULTS[0], path="knowledge/facts.md", heading="Facts", score=0.97)
        driven.fake_search.results = (new, *RESULTS)
        driven.engine.publish(*(FileChanged(NOW, "knowledge/facts.md", "changed") for _each in range(50)))
        await driven.settle()
        assert driven.selected() == f"{DECISIONS}:4" and driven.screen.results.cursor == 2
        assert "9 found" in driven.text
        assert len(driven.fake_search.calls_of("search")) == searches + 1
        # a file that has changed is shown as it was indexed
        (driven.engine.root / DECISIONS).write_text("# Other\n" * 9, encoding="utf-8")
        await driven.press("j", "k")
        assert "the file has changed since" in driven.text and "No transaction is held" in driven.text


async def test_an_index_being_built_is_polled_until_it_is_ready(run: Run) -> None:
    async with open_search(run, query=QUERY, state=BUILDING) as driven:
        assert "the search index is being built: searching files by keyword" in driven.text
        assert "found by ripgrep" in driven.text
        driven.engine.publish(IndexProgress(25, 110))
        await driven.settle()
        assert "indexing 25/110" in driven.lines[0]
        # leaving stops the polling
        handlers = len(driven.engine.handlers)
        assert driven.watching()
        await driven.press("escape")
        assert len(driven.engine.handlers) == handlers - 1
        calls = len(driven.fake_search.calls)
        driven.engine.publish(FileChanged(NOW, DECISIONS, "changed"))
        await asyncio.sleep(2 * POLL_S / FASTER)
        await driven.settle()
        assert len(driven.fake_search.calls) == calls
        await driven.press("s")
        assert driven.watching() and "being built" in driven.text
        driven.fake_search.state = READY
        await driven.until(lambda: "from the index" in driven.text)
        assert "being built" not in driven.text
        assert not driven.watching()


async def test_an_index_that_cannot_be_built_or_lacks_vectors_is_explained(run: Run) -> None:
    broken = IndexStatus("broken", "the search index cannot be read (malformed)", error="the disk is full")
    async with open_search(run, query=QUERY, state=broken) as driven:
        assert "malformed" in driven.text and "the disk is full" in driven.text
        assert not driven.watching(), "it is not polled forever"
        driven.fake_search.state = WITHOUT_VECTORS
        await driven.press("slash", "ctrl+u", "ctrl+r")
        assert "keyword search only: no embedding model is set up" in driven.text
        assert "Every form of a word matches" in driven.text
        assert "What means the same" not in driven.text


async def test_empty_results_and_failed_searches_are_explained(run: Run) -> None:
    broken = AutopoiesisError("the disk cannot be read", where="memory.db", hint="check the disk")
    async with open_search(run, query="pool", failing={"search": broken}) as driven:
        assert "memory.db: the disk cannot be read; check the disk" in driven.text
        await driven.press("j", "y", "w", "a", "e", "n")
        assert driven.is_open() and not driven.app.clipboard
        driven.fake_search.failing.clear()
        await driven.press("ctrl+r")
        assert "8 found" in driven.text
        driven.fake_search.failing["search"] = broken
        await driven.press("ctrl+r")
        assert "ctrl+r tries again" in driven.text
        driven.fake_search.failing.clear()
        # a kind without results: the total is shown
        await driven.press("c")
        assert "8 found" in driven.text
        driven.fake_search.results = many_results(200)
        await driven.press("ctrl+r")
        assert "50+ found" in driven.text
        await driven.press("escape")
        assert "first 50" in driven.text
        driven.fake_search.results = RESULTS
        # no results at all: suggestions are shown
        await driven.press("slash", "ctrl+u")
        await driven.type("zeppelin")
        assert "No results for zeppelin" in driven.text and "fewer or different words" in driven.text
        assert "0 found" in driven.text
        # a slow search is reported while the last results stay
        await driven.press("ctrl+u")
        await driven.type("pool")
        release = driven.fake_search.blocked_queries["pool timeout"] = threading.Event()
        await driven.send(*" timeout")
        await driven.until(lambda: "searching …" in driven.text)
        assert "8 found" in driven.text and driven.selected()
        release.set()
        await driven.settle()
        assert "searching …" not in driven.text
        # nothing to search: how to import is explained
        for path in driven.engine.root.rglob("*.md"):
            path.unlink()
        await driven.press("ctrl+u", "ctrl+r")
        assert "Nothing to search yet." in driven.text and "autopoiesis import" in driven.text
