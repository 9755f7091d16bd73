"""The search screen while answers are late, files change, the index is made, and the engine fails."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace

import pytest

from engine.errors import AutopoiesisError
from engine.events import FileChanged, IndexProgress
from engine.search.reports import IndexStatus
from tests.tui.conftest import Run
from tests.tui.fake_engine import NOW
from tests.tui.search_data import BUILDING, DECISIONS, READY, RESULTS, SESSION, WITHOUT_VECTORS, many
from tests.tui.search_driven import searching
from tui.screens.search.flow import POLL_S
from tui.screens.search.searching import Answer, Search
from tui.screens.search.state import SearchState

QUERY = "connection pool timeout"


async def test_a_late_answer_to_an_older_query_is_dropped(run: Run) -> None:
    still = threading.Event()
    async with searching(run, held={"pool": still}) as driven:
        await driven.send(*"pool")
        await driven.until(lambda: bool(driven.finding.asked("search")))
        await driven.send(*" moorings", "backspace")
        await driven.until(lambda: driven.screen._typing is None)
        assert "found" not in driven.text
        still.set()
        await driven.settle()
        assert driven.state.answer is not None and driven.state.answer.search.query == "pool mooring"
        assert [call[1] for call in driven.finding.asked("search")] == ["pool", "pool mooring"]


def test_an_answer_to_anything_else_than_is_wanted_now_is_not_taken() -> None:
    state = SearchState("pool")
    for other in (Search("poo"), Search("pool", "journal"), Search("pool", limit=500)):
        assert not state.take(other, Answer(other), "")
    assert state.answer is None
    assert state.take(state.wanted, Answer(state.wanted), "")
    state.ask("")
    assert not state.take(state.wanted, Answer(state.wanted), "") and state.phase == "overview"


async def test_a_late_preview_of_another_result_is_dropped(run: Run) -> None:
    still = threading.Event()
    async with searching(run, query=QUERY) as driven:
        driven.finding.gates["read"] = still
        await driven.send("j", "j")
        await driven.until(lambda: driven.finding.asked("read"))
        shown = driven.screen.preview.view.passage
        assert shown is not None and shown.hit.result.path == SESSION
        still.set()
        await driven.settle()
        shown = driven.screen.preview.view.passage
        assert shown is not None and shown.hit == driven.screen.results.selected


async def test_typing_never_waits_for_an_answer(run: Run) -> None:
    still = threading.Event()
    async with searching(run, held={"a": still}) as driven:
        await driven.send("a")
        await driven.until(lambda: bool(driven.finding.asked("search")))
        began = time.monotonic()
        for letter in "connection pool timeout":
            await driven.send(letter)
        await driven.pilot.pause()
        assert driven.screen.prompt.input.value == "aconnection pool timeout"
        assert time.monotonic() - began < 2
        await driven.send("escape")
        await driven.until(lambda: not driven.is_open())
        still.set()


async def test_nothing_is_asked_while_nothing_changes(run: Run) -> None:
    async with searching(run, query=QUERY) as driven:
        before = list(driven.finding.calls)
        await asyncio.sleep(POLL_S + 0.2)
        await driven.settle()
        assert driven.finding.calls == before and not driven.watching()


async def test_a_key_that_changes_nothing_asks_nothing(run: Run) -> None:
    async with searching(run, query=QUERY) as driven:
        searches, reads = len(driven.finding.asked("search")), len(driven.finding.asked("read"))
        await driven.press("g", "k", "slash", "left", "end", "enter", "1")
        assert len(driven.finding.asked("search")) == searches
        assert len(driven.finding.asked("read")) == reads


async def test_an_emptied_line_shows_what_can_be_searched(run: Run) -> None:
    async with searching(run, query=QUERY) as driven:
        await driven.press("slash", "ctrl+u")
        assert driven.state.query == "" and "312 passages" in driven.text and "conversations" in driven.text
        assert "The backfill" not in driven.text


@pytest.mark.parametrize("query", ["   ", "\t"])
async def test_blanks_are_no_query(run: Run, query: str) -> None:
    async with searching(run) as driven:
        driven.screen.prompt.input.value = query
        await driven.settle()
        assert not driven.finding.asked("search") and "312 passages" in driven.text


async def test_files_that_change_are_found_and_the_selection_stays(run: Run) -> None:
    async with searching(run, query=QUERY) as driven:
        await driven.press("j")
        new = replace(RESULTS[0], path="knowledge/facts.md", heading="Facts", score=0.97)
        driven.finding.results = (new, *RESULTS)
        driven.engine.publish(*(FileChanged(NOW, "knowledge/facts.md", "changed") for _each in range(50)))
        await driven.settle()
        assert driven.selected() == f"{DECISIONS}:4" and driven.screen.results.cursor == 2
        assert "9 found" in driven.text
        assert len(driven.finding.asked("search")) == 2


async def test_a_selected_result_that_is_gone_gives_way_to_its_neighbour(run: Run) -> None:
    async with searching(run, query=QUERY) as driven:
        await driven.press("j")
        driven.finding.results = (RESULTS[0], *RESULTS[2:])
        driven.engine.publish(FileChanged(NOW, DECISIONS, "changed"))
        await driven.settle()
        assert driven.screen.results.cursor == 1 and driven.selected().startswith("knowledge/projects")
        shown = driven.screen.preview.view.passage
        assert shown is not None and shown.hit == driven.screen.results.selected


async def test_a_file_that_changed_since_is_shown_as_it_was_found(run: Run) -> None:
    async with searching(run) as driven:
        (driven.engine.root / DECISIONS).write_text("# Other\n" * 9, encoding="utf-8")
        await driven.type(QUERY)
        await driven.press("enter", "j")
        assert "the file has changed since" in driven.text and "No transaction is held" in driven.text


async def test_a_file_that_cannot_be_read_is_shown_as_it_was_indexed(run: Run) -> None:
    refused = AutopoiesisError("is larger than 8 MiB", where=SESSION)
    async with searching(run, query=QUERY, failing={"read": refused}) as driven:
        assert "cannot be read" in driven.text and "The backfill opens a transaction" in driven.text


async def test_an_index_that_is_being_made_is_said_and_asked_again_when_it_is_there(run: Run) -> None:
    async with searching(run, query=QUERY, state=BUILDING) as driven:
        assert "the search index is being made: the files themselves are searched" in driven.text
        assert "found by ripgrep" in driven.text
        driven.finding.state = READY
        await driven.until(lambda: "from the index" in driven.text)
        assert "being made" not in driven.text
        assert not driven.watching()


async def test_the_progress_of_indexing_stands_in_the_header(run: Run) -> None:
    async with searching(run, query=QUERY, state=BUILDING) as driven:
        driven.engine.publish(IndexProgress(25, 110))
        await driven.settle()
        assert "indexing 25/110" in driven.lines[0]


async def test_an_index_that_cannot_be_made_is_explained_and_not_looked_at_for_ever(run: Run) -> None:
    broken = IndexStatus("broken", "the search index cannot be read (malformed)", trouble="the disk is full")
    async with searching(run, query=QUERY, state=broken) as driven:
        assert "malformed" in driven.text and "the disk is full" in driven.text
        assert not driven.watching()


async def test_search_by_words_alone_is_said(run: Run) -> None:
    async with searching(run, state=WITHOUT_VECTORS) as driven:
        assert "by words alone: no embedding model is set up" in driven.text
        assert "What means the same" not in driven.text


async def test_an_error_is_a_line_and_ctrl_r_tries_again(run: Run) -> None:
    broken = AutopoiesisError("the disk cannot be read", where="memory.db", cure="check the disk")
    async with searching(run, query="pool", failing={"search": broken}) as driven:
        assert "memory.db: the disk cannot be read; check the disk" in driven.text
        await driven.press("j", "y", "w", "a", "e", "n")
        assert driven.is_open() and not driven.app.clipboard
        driven.finding.failing.clear()
        await driven.press("ctrl+r")
        assert "8 found" in driven.text
        driven.finding.failing["search"] = broken
        await driven.press("ctrl+r")
        assert "ctrl+r tries again" in driven.text


async def test_no_results_say_what_to_try(run: Run) -> None:
    async with searching(run) as driven:
        await driven.type("zeppelin")
        assert "Nothing is found for zeppelin" in driven.text and "fewer words" in driven.text
        assert "0 found" in driven.text


async def test_no_results_of_a_kind_say_how_many_there_are_in_all(run: Run) -> None:
    async with searching(run, query=QUERY) as driven:
        await driven.press("c")
        assert "8 in all kinds" in driven.text
        driven.finding.results = many(200)
        await driven.press("ctrl+r")
        assert "50 and more in all kinds" in driven.text
        await driven.press("escape")
        assert "first 50" in driven.text


async def test_a_slow_answer_is_said_while_the_last_one_stays(run: Run) -> None:
    still = threading.Event()
    async with searching(run, query="pool", held={"pool timeout": still}) as driven:
        await driven.press("slash")
        await driven.send(*" timeout")
        await driven.until(lambda: "searching …" in driven.text)
        assert "8 found" in driven.text and driven.selected()
        still.set()
        await driven.settle()
        assert "searching …" not in driven.text


async def test_an_empty_workspace_says_how_things_get_here(run: Run) -> None:
    async with searching(run) as driven:
        for path in driven.engine.root.rglob("*.md"):
            path.unlink()
        await driven.press("ctrl+r")
        assert "There is nothing to search yet." in driven.text and "autopoiesis import" in driven.text


async def test_leaving_stops_the_watching(run: Run) -> None:
    async with searching(run, query=QUERY, state=BUILDING) as driven:
        handlers = len(driven.engine.handlers)
        assert driven.watching()
        await driven.press("escape")
        assert len(driven.engine.handlers) == handlers - 1
        calls = len(driven.finding.calls)
        driven.engine.publish(FileChanged(NOW, DECISIONS, "changed"))
        await asyncio.sleep(POLL_S + 0.2)
        await driven.settle()
        assert len(driven.finding.calls) == calls
