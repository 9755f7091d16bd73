"""The search screen on the sample and its index: queries, results, previews, reasons and presets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.context.presets import Presets
from engine.engine import Engine
from engine.errors import AutopoiesisError
from engine.events import FileChanged, GateAsked, IndexProgress
from engine.search.index import SearchIndex
from engine.search.reports import IndexStatus, Skipped
from engine.search.results import SearchResult, Share
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.tui.conftest import FASTER, SIZES, Driven, Watch
from tests.tui.every_screen import NOW
from tests.tui.screen_driven import ScreenDriven, WatchingEngine
from tests.tui.test_hostile_text import assert_harmless
from tui.kit.editor import editor_command
from tui.render.draw import FILL, Row
from tui.render.roles import PLAIN
from tui.render.search import (
    Hit,
    Words,
    draw_why,
    hit_of,
    hundredths,
    lines_of,
    place_of,
    plain_ranks,
    plain_shares,
    title_of,
)
from tui.screens.search.draw import (
    KINDS,
    Inventory,
    draw_help,
    draw_nothing,
    draw_overview,
    draw_passage,
    notice,
    read_passage,
)
from tui.screens.search.screen import POLL_S, SearchScreen
from tui.screens.search.state import Answer, Search, SearchState

QUERY = "replication slot retained WAL"
DECISIONS = "knowledge/decisions.md"
SESSION = "raw/conversations/2026/05/22/0204-ses_5a90fe31-wal-disk-full.md"
READY = IndexStatus("ready", files=46, chunks=312, vectors=312, embedder="e", refreshed=NOW, journal="wal")
BUILDING = IndexStatus("building", "the search index is being built")
Picture = Callable[[Driven, str], None]


class SearchDriven(ScreenDriven[SearchScreen]):
    kind, key = SearchScreen, "s"

    def watching(self) -> bool:
        """Whether an index being built is polled."""
        return self.screen._poll is not None

    @property
    def hits(self) -> list[Hit]:
        """The results."""
        return list(self.state.hits)

    @property
    def hit(self) -> Hit:
        """The selected result."""
        found = self.screen.results.selected
        assert found is not None
        return found


class IndexedEngine(WatchingEngine):
    """Updates the index when it starts."""

    def start(self) -> None:
        self.refresh_index()


@pytest.fixture
def root(sample: Path, prepare: object) -> Path:
    """The sample in the home folder."""
    return sample


@asynccontextmanager
async def open_screen(
    root: Path, size: tuple[int, int] = (120, 40), query: str = "", **more: Any
) -> AsyncIterator[SearchDriven]:
    """Opens the screen, on the results of ``query`` if given."""
    async with SearchDriven.on_files(
        root, size, now=NOW, grace_s=0.0, engine=IndexedEngine, **more
    ) as driven:
        if query:
            await driven.type(query)
            await driven.press("enter")
        yield driven


async def test_pictures(root: Path, picture: Picture) -> None:
    async with open_screen(root, SIZES["80x24"]) as driven:
        picture(driven, "search/empty-80x24")
        await driven.type(QUERY)
        await driven.press("enter")
        for size in SIZES:
            await driven.resize(*SIZES[size])
            picture(driven, f"search/results-{size}-dark")
        await driven.resize(60, 16)
        picture(driven, "search/results-60x16")
        await driven.resize(120, 40)
        await driven.press("j", "3")
        picture(driven, "search/why-120x40")
        await driven.resize(80, 24)
        await driven.press("1", "g", "j", "j", "enter")
        picture(driven, "search/preview-80x24")
        await driven.press("1", "g", "a")
        await driven.type("pools")
        picture(driven, "search/preset-80x24")
        await driven.press("escape", "slash")
        await driven.resize(120, 40)
        await driven.press("ctrl+u")
        await driven.type("gauge")
        await driven.press("enter", "G")
        picture(driven, "search/more-120x40")


async def test_s_opens_the_screen_with_the_last_query_and_esc_closes_it(root: Path) -> None:
    async with open_screen(root) as driven:
        assert driven.focused_panel() == "query"
        await driven.press("escape")
        assert not driven.is_open() and driven.bench.panel_in_use == "feed"
        # keys typed right after s go into the line
        await driven.send("s")
        await driven.until(driven.is_open)
        await driven.send(*"wal")
        await driven.settle()
        found = len(driven.hits)
        assert driven.state.query == "wal" and found > 5
        # the query is remembered, and typing replaces it
        await driven.press("escape", "escape", "s")
        assert driven.state.query == "wal" and len(driven.hits) == found and driven.focused_panel() == "query"
        await driven.type("queue")
        assert driven.state.query == "queue"


async def test_results_update_while_typing_and_enter_goes_to_them(root: Path, watch: Watch) -> None:
    searches = watch(Engine, "search")
    async with open_screen(root) as driven:
        await driven.type("q")
        assert driven.state.query == "q" and driven.is_open(), "q is a letter in the line"
        await driven.press("ctrl+u")
        searches.clear()
        await driven.type("retained WAL")
        assert driven.focused_panel() == "query" and driven.hits
        assert searches == [("retained WAL", None, 51)]
        await driven.type(" slot")
        await driven.press("enter")
        assert driven.focused_panel() == "results" and driven.hit == driven.hits[0]
        # the results are the same as on the command line
        expected = driven.engine.search("retained WAL slot", limit=51)[:50]
        assert [hit.key for hit in driven.hits] == [
            (each.path, each.start_line, each.end_line) for each in expected
        ]
        await driven.press("slash")
        assert driven.focused_panel() == "query"
        await driven.type("s")
        assert driven.state.query == "retained WAL slots"
        # enter does not wait for a pause in typing
        await driven.press("ctrl+u")
        searches.clear()
        await driven.send(*"wal")
        await driven.until(lambda: driven.state.query == "wal")
        await driven.send("enter")
        await driven.until(lambda: driven.focused_panel() == "results" and searches)
        await driven.settle()
        assert driven.hit and [query for query, *_ in searches] == ["wal"]
        # keys right after enter act on the results
        found = len(driven.hits)
        await driven.press("slash", "ctrl+u")
        await driven.type("wa")
        await driven.send("l", "enter", "j", "j", "y")
        await driven.settle()
        assert driven.state.query == "wal" and driven.screen.prompt.input.value == "wal"
        assert driven.focused_panel() == "results" and driven.screen.results.row_count == found
        # up recalls earlier queries
        for query in ("slot", "buoy"):
            await driven.press("slash", "ctrl+u")
            await driven.type(query)
            await driven.press("enter")
        await driven.press("slash", "up", "up")
        assert driven.state.query == "slot"
        await driven.press("tab", "q")
        assert not driven.is_open() and driven.app.is_running


async def test_the_selection_moves_and_enter_reads_it(root: Path) -> None:
    async with open_screen(root, query=QUERY) as driven:
        last = driven.screen.results.row_count - 1
        for keys, at in (
            (["j", "down", "k"], 1),
            (["G"], last),
            (["end", "g"], 0),
            (["G", "home", "j", "up"], 0),
            (["ctrl+d"], 5),
            (["pagedown", "ctrl+u"], 0),
            (["n", "n", "N"], 1),
        ):
            await driven.press("g", *keys)
            assert driven.screen.results.cursor == at, keys
            hit, passage = driven.hit, driven.screen.preview.passage
            assert hit.rank == at + 1 and f"{at + 1} of " in driven.text, keys
            assert passage is not None and not passage.note, keys
            assert passage.hit == hit and driven.screen.why.hit == hit, keys
            inside = [line for line in passage.lines if line.inside]
            assert (inside[0].number, inside[-1].number) == (hit.result.start_line, hit.result.end_line)
            whole = (root / hit.result.path).read_text(encoding="utf-8").split("\n")
            assert len(inside[0].text) >= len(whole[hit.result.start_line - 1])
        await driven.press("g", "enter")
        assert driven.focused_panel() == "preview"
        await driven.press("n")
        assert driven.focused_panel() == "preview" and driven.hit.rank == 2
        await driven.press("1", "j", "o")
        assert driven.focused_panel() == "preview"
        await driven.pilot.click("#results", offset=(10, 8))
        await driven.settle()
        assert driven.screen.results.cursor == 2 and driven.focused_panel() == "results"
        # resizing keeps selection and focus
        await driven.press("3")
        await driven.resize(80, 24)
        assert driven.screen.results.cursor == 2
        assert driven.screen.focused is not None and driven.focused_panel() in driven.screen.in_view()
        await driven.resize(50, 10)
        assert "too small: 50×10" in driven.text
        await driven.press("j", "n", "e")  # nobody sees what they would act on
        await driven.resize(120, 40)
        assert driven.screen.results.cursor == 2 and driven.screen.focused is not None


async def test_w_shows_why_beside_the_preview_or_in_its_place(root: Path) -> None:
    async with open_screen(root, query=QUERY) as driven:
        assert driven.shows("why")
        await driven.press("w")
        assert not driven.shows("why") and driven.shows("preview")
        await driven.press("w", "3", "w")
        assert not driven.shows("why") and driven.focused_panel() == "results"
    async with open_screen(root, SIZES["80x24"], QUERY) as driven:
        assert driven.shows("preview") and not driven.shows("why")
        await driven.press("w")
        assert driven.shows("why") and not driven.shows("preview") and "meaning" in driven.text
        await driven.press("2")
        assert driven.focused_panel() == "preview" and not driven.shows("why")
        # it scrolls and shows the context
        while driven.hit.result.path != SESSION or driven.hit.result.start_line < 30:
            await driven.press("n")
        preview, start = driven.screen.preview, driven.screen.preview.scroll_offset.y
        assert start > 0 and f" {driven.hit.result.start_line} ▎" in driven.text
        await driven.press("j", "j")
        assert preview.scroll_offset.y == start + 2
        await driven.press("g")
        assert "session_id: ses_5a90fe31" in driven.text
        await driven.press("G")
        assert f"{len((root / SESSION).read_text().splitlines())}  " in driven.text
        await driven.press("3")
        assert driven.focused_panel() == "why" and not driven.shows("preview")
        # on the smallest screen one panel is visible
        await driven.resize(60, 16)
        await driven.press("1")
        assert not driven.shows("preview")
        await driven.press("enter")
        assert driven.focused_panel() == "preview" and not driven.shows("results")
        await driven.press("w")
        assert driven.focused_panel() == "why" and not driven.shows("preview")
        await driven.press("w")
        assert driven.focused_panel() == "results"
        await driven.press("2", "escape")
        assert driven.focused_panel() == "results" and driven.shows("results")
        await driven.press("escape")
        assert not driven.is_open()


async def test_c_cycles_through_the_available_kinds_and_esc_backs_out(root: Path, watch: Watch) -> None:
    searches = watch(Engine, "search")
    async with open_screen(root, query="gauge") as driven:
        await driven.press("c", "c")
        assert driven.state.only == "memory" and "only memory" in driven.text
        await driven.press("c")
        assert driven.state.only == "journal" and "found · only journal" in driven.text
        assert searches[-1] == ("gauge", "journal", 51)
        assert driven.hit.result.category == "journal" and driven.screen.results.cursor == 0
        await driven.press("C", "C", "j", "j", "c")
        assert driven.screen.results.cursor <= 0
        await driven.press("C", "C")
        assert driven.state.only == "" and "only" not in driven.line("1 results")
        await driven.press("C")
        last = driven.state.only
        # kinds without files are skipped
        for path in (root / "knowledge/identity").iterdir():
            path.unlink()
        await driven.press("escape", "ctrl+r", "c")
        assert driven.state.only == "memory" != last
        # esc leaves the line, the zoomed panel and the kind before the screen
        await driven.press("c", "plus", "slash")
        assert driven.focused_panel() == "query"
        await driven.press("escape")
        assert driven.focused_panel() == "results" and driven.zoomed() == "results"
        await driven.press("escape")
        assert driven.zoomed() is None and driven.state.only == "journal"
        await driven.press("escape")
        assert driven.state.only == "" and driven.is_open()
        await driven.press("escape")
        assert not driven.is_open()


async def test_the_selection_is_copied_and_edited_if_its_file_exists(
    root: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches, answers, edited = watch(Engine, "search"), watch(Engine, "answer"), []
    monkeypatch.setenv("VISUAL", "true")
    async with open_screen(root, query=QUERY) as driven:
        driven.engine.publish(GateAsked(NOW, "q1", "deploy", "ship it", "about deploying", 30.0))
        await driven.settle()
        assert "does deploy apply to" in driven.text
        await driven.press("ctrl+y")
        assert answers == [("q1", True)] and not driven.app.clipboard
        place = f"{driven.hit.result.path}:{driven.hit.result.start_line}"
        await driven.press("y")
        assert driven.app.clipboard == place and f"copied {place}" in driven.toasts
        await driven.press("Y")
        assert driven.app.clipboard == driven.hit.result.text
        await driven.press("2", "Y")
        assert (root / driven.hit.result.path).read_text()[:40] in driven.app.clipboard
        await driven.press("3", "Y")
        assert "by words" in driven.app.clipboard and "by meaning" in driven.app.clipboard
        await driven.press("e")
        assert "cannot run an editor" in driven.toasts
        searches.clear()
        monkeypatch.setattr(driven.screen, "edit_file", lambda path, line=0: edited.append((path, line)))
        await driven.press("n", "e")
        assert edited == [(driven.hit.result.path, driven.hit.result.start_line)]
        assert len(searches) == 1, "results are searched again after editing"
        # a changed file is shown as it was indexed; a deleted one is not opened but still listed
        path = root / driven.hit.result.path
        path.write_text("# Other\n" * 9, encoding="utf-8")
        await driven.press("N", "n")
        assert "the file has changed since" in driven.text
        path.unlink()
        await driven.press("N", "n")
        assert "the file no longer exists" in driven.text
        await driven.press("e")
        assert "the file no longer exists" in driven.toasts and len(edited) == 1


async def test_a_adds_the_lines_to_a_preset(root: Path, watch: Watch) -> None:
    added = watch(Presets, "add")
    async with open_screen(root, query=QUERY) as driven:
        # nothing is added without a name or after esc
        await driven.press("a", "enter", "a")
        await driven.type("pools")
        await driven.press("escape")
        await driven.press("a", "tab")
        assert not added and driven.state.query == QUERY
        assert driven.focused_panel() == "results" and driven.screen.prompt.input.value == QUERY
        await driven.press("j", "a")
        result = driven.hit.result
        assert driven.focused_panel() == "preset" and "add to preset " in driven.text
        await driven.type("pools")
        await driven.press("enter")
        await driven.until(lambda: "to preset pools" in driven.toasts)
        assert result.path in (root / "presets/pools.md").read_text() and "preset use pools" in driven.toasts
        assert added[0][:3] == ("pools", result.path, lines_of(result))
        assert driven.focused_panel() == "results" and driven.screen.prompt.input.value == QUERY
        await driven.press("a", "up")
        assert driven.screen.prompt.input.value == "pools"
        # a preset that cannot be written says why
        await driven.press("ctrl+u")
        await driven.type("../x")
        await driven.press("enter")
        await driven.until(lambda: "is not a valid preset name" in driven.toasts)
        # requested additions are still made after leaving the screen
        added.clear()
        with added.held():
            for name in ("one", "two"):
                await driven.send("a", *name, "enter")
                await driven.until(lambda: driven.focused_panel() == "results")
            await driven.send("escape")
            await driven.until(lambda: not driven.is_open() and added)
            assert len(added) == 1, "the second one waits"
        await driven.until(lambda: (root / "presets/two.md").exists() and (root / "presets/one.md").exists())
    async with open_screen(root, read_only=True, query=QUERY) as driven:
        await driven.press("a")
        assert driven.hits and "the workspace is read-only" in driven.toasts


async def test_m_and_moving_past_the_end_load_more_and_only_visible_ones_are_drawn(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("state", "screen"):
        monkeypatch.setattr(f"tui.screens.search.{module}.MAX_LIMIT", 130)
    async with open_screen(root, query="gauge") as driven:
        driven.watch()
        results = driven.screen.results
        assert "first 50" in driven.text and results.row_count == 50
        await driven.press("G", "j")
        assert results.row_count == 130 and results.cursor == 49 and "first 130" in driven.text
        await driven.press("slash")
        await driven.type("s")  # another query starts with 50 again
        await driven.press("enter", "m")
        assert results.row_count == 130
        for size in SIZES.values():
            await driven.resize(*size)
            await driven.press("g")
            results.drawn = 0
            await driven.press("G")
            assert "130 of 130" in driven.text and 0 < results.drawn <= results.size.height
            await driven.press("ctrl+u", "ctrl+u", "k")
            assert results.drawn <= 5 * results.size.height
        await driven.press("G", "j", "m")
        assert "limited to 130 results" in driven.toasts
        # the selected result is always fully visible
        await driven.resize(80, 24)
        await driven.press("g")
        for key in ("j", "k"):
            for _press in range(29):
                await driven.press(key)
                assert f" {driven.hit.rank} of 130" in driven.text
                assert driven.hit.title[:12] in driven.text
        await driven.press("slash", "ctrl+u")
        await driven.type("change-freeze")
        await driven.press("enter", "c", "c", "c", "m")
        assert "no more results" in driven.toasts


async def test_a_late_answer_to_an_older_query_is_dropped_and_typing_never_waits(
    root: Path, watch: Watch
) -> None:
    searches = watch(Engine, "search")
    async with open_screen(root) as driven:
        with searches.held():
            await driven.send(*"wal")
            await driven.until(lambda: bool(searches))
            await driven.send(*" moorings", "backspace")
            await driven.until(lambda: driven.screen._typing is None)
            assert "found" not in driven.text
        await driven.settle()
        assert driven.state.answer is not None and driven.state.answer.search.query == "wal mooring"
        assert [query for query, *_ in searches] == ["wal", "wal mooring"]
        # a slow search is reported while the last results stay
        await driven.press("ctrl+u")
        await driven.type("wal")
        with searches.held():
            await driven.send(*" slot")
            await driven.until(lambda: "searching …" in driven.text)
            assert driven.hits and driven.state.answer.search.query == "wal"
            await driven.send(*"s retained")
            await driven.pilot.pause()
            assert driven.screen.prompt.input.value == "wal slots retained"
        await driven.settle()
        assert "searching …" not in driven.text
        with searches.held():
            await driven.send("x")
            await driven.run()
            await driven.send("escape", "escape")
            await driven.until(lambda: not driven.is_open())


def test_an_answer_to_any_other_search_is_dropped() -> None:
    state = SearchState("pool")
    for other in (Search("poo"), Search("pool", "journal"), Search("pool", limit=500)):
        assert not state.take(other, Answer(other), "")
    assert state.answer is None
    assert state.take(state.wanted, Answer(state.wanted), "")
    state.ask("")
    assert not state.take(state.wanted, Answer(state.wanted), "") and state.phase == "overview"


async def test_nothing_is_searched_or_read_while_nothing_changes(root: Path, watch: Watch) -> None:
    searches, reads = watch(Engine, "search"), watch(Files, "read")
    async with open_screen(root, query=QUERY) as driven:
        searches.clear()
        reads.clear()
        await asyncio.sleep(2 * POLL_S / FASTER)
        await driven.press("g", "k", "slash", "left", "end", "enter", "1")
        assert not searches and not reads and not driven.watching()
        # a late preview of another result is dropped
        with reads.held():
            await driven.send("j", "j")
            await driven.until(lambda: bool(reads))
            shown = driven.screen.preview.passage
            assert shown is not None and shown.hit.rank == 1
        await driven.settle()
        shown = driven.screen.preview.passage
        assert shown is not None and shown.hit == driven.hit
        reads.error = AutopoiesisError("is larger than 8 MiB", where=SESSION)
        await driven.press("j")
        assert "cannot be read" in driven.text and driven.hit.result.text.split()[0] in driven.text
        reads.error = None
        # an empty line shows what can be searched, and spaces are not a query
        searches.clear()
        await driven.press("slash", "ctrl+u")
        assert driven.state.query == "" and " passages" in driven.text and "conversations" in driven.text
        for blanks in ("   ", "\t"):
            driven.screen.prompt.input.value = blanks
            await driven.settle()
            assert not searches and " passages" in driven.text


async def test_changed_files_are_found_and_the_selection_stays(root: Path, watch: Watch) -> None:
    async with open_screen(root, query=QUERY) as driven:
        await driven.press("j")
        selected = driven.hit.key
        name = "[red]no[_]\x1b[31m.md"
        new = root / "knowledge/procedures" / name
        new.write_text(f"# {QUERY}\n\nThe {QUERY} is gone, said Tomasz.\n")
        driven.engine.refresh_index()
        searches = watch(Engine, "search")
        for _time in range(50):
            driven.engine.publish(FileChanged(NOW, f"knowledge/procedures/{name}", "changed"))
        await driven.settle()
        at = [hit.result.path for hit in driven.hits].index(f"knowledge/procedures/{name}")
        assert len(searches) == 1 and driven.hit.key == selected
        # a deleted selected result is replaced by its neighbour
        await driven.press("g", *["j"] * at)
        following = driven.hits[at + 1].key
        assert_harmless(driven)
        await driven.press("y")
        assert_harmless(driven)
        assert "[red]no[_]" in driven.text and "[red]no[_]" in driven.toasts
        new.unlink()
        driven.engine.refresh_index()
        driven.engine.publish(FileChanged(NOW, f"knowledge/procedures/{name}", "changed"))
        await driven.settle()
        assert driven.screen.results.cursor == at and driven.hit.key == following
        shown = driven.screen.preview.passage
        assert shown is not None and shown.hit == driven.hit


async def test_an_index_being_built_is_polled_until_it_is_ready(
    root: Path, watch: Watch, picture: Picture
) -> None:
    repairs, statuses = watch(SearchIndex, "_run_repair"), watch(SearchIndex, "status")
    for path in root.glob("memory.db*"):
        path.unlink()
    with repairs.held() as release:
        async with SearchDriven.on_files(
            root, SIZES["80x24"], now=NOW, grace_s=0.0, engine=WatchingEngine
        ) as driven:
            await driven.type(QUERY)
            await driven.press("enter")
            picture(driven, "search/index-building-80x24")
            await driven.resize(120, 40)
            assert "searching files by keyword" in driven.text and "no search index" in driven.text
            driven.engine.publish(IndexProgress(25, 110))
            await driven.settle()
            assert "indexing 25/110" in driven.lines[0] and driven.watching()
            await driven.press("escape")  # leaving stops the polling
            before = len(statuses)
            driven.engine.publish(FileChanged(NOW, DECISIONS, "changed"))
            await asyncio.sleep(2 * POLL_S / FASTER)
            await driven.settle()
            assert len(statuses) == before
            await driven.press("s")
            assert driven.watching() and "by keyword" in driven.text
            release()
            await driven.until(lambda: "from the index" in driven.text)
            assert "by keyword" not in driven.text and not driven.watching()


async def test_an_index_that_cannot_be_built_or_lacks_vectors_is_explained(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_screen(root) as driven:
        ready = driven.engine.index.status()
        for status, words in (
            (IndexStatus("broken", "it is malformed", error="the disk is full"), "the disk is full"),
            (replace(ready, vectors=0, without_vectors="no model"), "keyword search only: no model"),
        ):
            monkeypatch.setattr(SearchIndex, "status", lambda _index, status=status: status)
            await driven.press("ctrl+r")
            assert words in driven.text and not driven.watching(), "it is not polled forever"
        assert "Every form of a word matches" in driven.text and "same meaning" not in driven.text


async def test_results_without_any_of_the_words_say_so_and_show_no_score(root: Path) -> None:
    async with open_screen(root, query="zxqwvv") as driven:
        assert driven.hits and "first 50 · none has your words" in driven.text
        assert "nearest in meaning · / other words" in driven.text
        assert " 1.0 " not in "".join(line[:60] for line in driven.lines)
        await driven.press("slash", "ctrl+u")
        await driven.type("zxqwvv gauge")
        assert "none has your words" not in driven.text and " 1.0" in driven.text


async def test_empty_results_and_failed_searches_are_explained(
    root: Path, watch: Watch, picture: Picture
) -> None:
    searches = watch(Engine, "search")
    searches.error = AutopoiesisError("the disk cannot be read", where="memory.db", hint="check the disk")
    async with open_screen(root, query="wal") as driven:
        assert "memory.db: the disk cannot be read; check the disk" in driven.text
        await driven.press("j", "y", "w", "a", "e", "n")
        assert driven.is_open() and not driven.app.clipboard
        searches.error = None
        await driven.press("ctrl+r")
        assert driven.hits
        searches.error = AutopoiesisError("the disk cannot be read")
        await driven.press("ctrl+r")
        assert "ctrl+r tries again" in driven.text
        searches.error = None
        real = Engine.search
        with pytest.MonkeyPatch.context() as patch:  # in a kind, and then everywhere, nothing is found
            patch.setattr(
                Engine, "search", lambda *args, **more: [] if more["category"] else real(*args, **more)
            )
            await driven.press("c")
            assert not driven.hits and "found" in driven.text and driven.state.only
            await driven.press("escape")
            assert driven.hits and "first 50" in driven.text
            patch.setattr(Engine, "search", lambda *_args, **_more: [])
            await driven.press("slash", "ctrl+u")
            await driven.type("zeppelin")
            assert "No results for zeppelin" in driven.text and "fewer or different words" in driven.text
            assert "0 found" in driven.text
            await driven.resize(80, 24)
            picture(driven, "search/nothing-80x24")
            await driven.resize(120, 40)
        for folder in ("knowledge", "topics", "raw", "conversations", "presets", ".library"):
            for path in (root / folder).rglob("*.*"):
                if path.is_file():
                    path.unlink()
        driven.engine.refresh_index()
        await driven.press("ctrl+u", "ctrl+r")
        driven.app.clear_notifications()
        await driven.settle()
        assert "Nothing to search yet." in driven.text and "autopoiesis import" in driven.text
        picture(driven, "search/empty-workspace-120x40")


# What is drawn.


WORDS = Words("connection pool timeout")
TEXT = "The backfill opens a connection.\nWith the timeout of 30 s the pool drains."
SHARES = (Share("words", 0.31), Share("meaning", 0.26), Share("use", 0.06), Share("recency", -0.02))


def result(
    path: str = SESSION, heading: str = "09:31 — agent", start: int = 4, text: str = TEXT, **changes: Any
) -> SearchResult:
    end = start + text.count("\n")
    base = SearchResult(
        path, start, end, "knowledge", heading, "2026-06-10", text, text, 0.61, 3, 1, "index", "", SHARES
    )
    return replace(base, **changes)


NOTE = result(DECISIONS, "Decisions › Database")


def text_of(rows: list[Row]) -> str:
    return "\n".join(row.text.rstrip() for row in rows)


def why(found: SearchResult, width: int = 110, words: Words = WORDS) -> str:
    rows = draw_why(hit_of(1, found, words), width, PLAIN)
    assert all(row.cells <= width for row in rows)
    return text_of(rows)


def test_a_session_is_named_by_its_id_and_subject() -> None:
    assert title_of(result()) == "wal-disk-full › 09:31 — agent" and place_of(result()) == "ses_5a90fe31:4-5"
    assert place_of(NOTE) == f"{DECISIONS}:4-5" and lines_of(replace(NOTE, end_line=4)) == "4"
    assert title_of(replace(NOTE, heading="")) == "decisions"
    other = f"raw/conversations/2026/06/11/0921-0198f2c4-{'0000-' * 3}000000000000-pool-exhausted.md"
    assert title_of(result(other)) == "pool-exhausted › 09:31 — agent"
    assert place_of(result(other)) == "0198f2c4:4-5"


def test_the_reasons_name_words_ranks_and_parts_of_the_score() -> None:
    hit = hit_of(1, NOTE, Words("connections pooling zeppelin timeout"))
    assert hit.matched == ("connections", "pooling", "timeout") and hit.missing == ("zeppelin",)
    bare = why(replace(NOTE, shares=(), lexical_rank=None, vector_rank=9), words=Words("zeppelin"))
    assert FILL not in bare and "by words –" in bare and "by meaning 9" in bare and "✗ zeppelin" in bare
    assert "more" in why(NOTE, 40, Words(" ".join(f"word{at}" for at in range(60)))).split("\n")[-1]
    assert "luck" in why(replace(NOTE, shares=(Share("words", 0.5), Share("luck", 0.3)), score=0.8))  # type: ignore[arg-type]
    assert plain_shares(NOTE) == "words .31 + meaning .26 + use .06 − recency .02 = .61"
    assert plain_shares(replace(NOTE, shares=())) == ""
    assert plain_ranks(NOTE) == "rank 3 by words, 1 by meaning"
    assert plain_ranks(replace(NOTE, lexical_rank=None)) == "rank – by words, 1 by meaning"
    # only a conversation is called a session
    part = Share("session", 0.1)
    session = result(category="conversation", shares=(*SHARES, part))
    note = replace(NOTE, shares=(*SHARES, part))
    assert "the whole session" in why(session) and "session" in plain_shares(session)
    assert "the whole file" in why(note) and "session" not in why(note) + plain_shares(note)
    assert " + file " in plain_shares(note)


@given(st.lists(st.floats(-0.3, 1, allow_nan=False), min_size=1, max_size=8))
def test_shown_parts_always_add_up_to_the_shown_score(parts: list[float]) -> None:
    numbers, total = hundredths(parts, sum(parts))
    assert sum(numbers) == total == round(sum(parts) * 100)
    assert all(abs(number - part * 100) <= 1 for number, part in zip(numbers, parts, strict=True))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """A workspace with one file."""
    (tmp_path / "knowledge").mkdir()
    (tmp_path / DECISIONS).write_text(f"# Decisions\n\n## Database\n{TEXT}\n\nThe end.\n")
    return Files(Workspace(tmp_path))


@pytest.mark.parametrize("width", [30, 56, 116])
def test_the_preview_separates_the_result_from_its_context(files: Files, width: int) -> None:
    passage = read_passage(hit_of(1, NOTE, WORDS), WORDS, files)
    assert [line.number for line in passage.lines] == list(range(1, 8)) and not passage.note
    assert [line.number for line in passage.lines if line.inside] == [4, 5]
    rows, first = draw_passage(passage, width, PLAIN)
    assert all(row.cells <= width for row in rows) and sum("▎" in row.text for row in rows) >= 2
    assert rows[first].text.startswith("4 ▎")
    marked = [text for row in rows for text, style in row.pieces if style.bold and style.underline]
    assert {"connection", "timeout", "pool"} <= set(marked)


@pytest.mark.parametrize(
    ("text", "data", "width", "drawn"),
    [
        ("    deep(\n        deeper)\nend", None, 60, ["4 ▎     deep(", "5 ▎         deeper)", "6 ▎ end"]),
        ("aaaa bbbb pool's own", None, 18, ["4 ▎ aaaa bbbb", "  ▎ pool's own"]),  # a marked word and its rest
        (TEXT, f"\ufeffa\r\nb\r\nc\r\n{TEXT}\r\n".replace("\n", "\r\n").replace("\r\r", "\r"), 60, []),
    ],
)
def test_the_preview_keeps_indents_and_words_and_ignores_line_ends(
    files: Files, text: str, data: str | None, width: int, drawn: list[str]
) -> None:
    (files.workspace.root / DECISIONS).write_bytes((data or f"a\nb\nc\n{text}\n").encode())
    passage = read_passage(hit_of(1, result(DECISIONS, text=text), WORDS), WORDS, files)
    shown = text_of(draw_passage(passage, width, PLAIN)[0])
    assert not passage.note and all(each in shown for each in drawn), shown


def test_a_session_log_shows_its_turn_and_very_long_lines_are_cut(files: Files) -> None:
    log = result("raw/conversations/x.jsonl", start=19)
    passage = read_passage(hit_of(1, log, WORDS), WORDS, files)
    assert passage.note == "from a session log: this turn is on lines 19-20" and passage.lines[0].number == 0
    assert "The backfill opens" in text_of(draw_passage(passage, 60, PLAIN)[0])
    one = read_passage(hit_of(1, replace(log, end_line=19), WORDS), WORDS, files)
    assert one.note == "from a session log: this turn is on line 19"
    (files.workspace.root / DECISIONS).write_text("x" * 9000)
    long = read_passage(hit_of(1, result(DECISIONS, start=1, text="x" * 9000), WORDS), WORDS, files)
    assert long.lines[0].text.endswith("… 5,000 more")


def test_the_overview_has_room_for_every_kind_and_counts_what_is_not_indexed() -> None:
    for width in (20, 56, 116):
        rows = draw_overview(Inventory(READY, {"journal": 10, "conversation": 13}), "", width, PLAIN)
        assert all(row.cells <= max(width, 24) for row in rows)
        assert "23 files" in text_of(rows) and "journal" in text_of(rows) and "identity" not in text_of(rows)
    every = Inventory(READY, {kind: number * 100 for number, kind in enumerate(KINDS, 1)})
    for width, height in ((76, 8), (56, 11), (52, 38)):
        rows = draw_overview(every, "", width, PLAIN, height)
        assert len(rows) <= height and all(row.cells <= width for row in rows)
        assert all(name in text_of(rows) for name in KINDS.values()) and "1,000" in text_of(rows)
    only = text_of(draw_overview(every, "identity", 116, PLAIN))
    assert "only identity" in only and "esc searches all" in only
    skipped = replace(READY, skipped=(Skipped("knowledge/a.md", "is no text"),))
    assert "1 file could not be indexed" in text_of(
        draw_overview(Inventory(skipped, {"journal": 1}), "", 76, PLAIN)
    )
    assert "same meaning" in text_of(draw_help(76, PLAIN, meaning=True))
    assert "at least one letter or digit" in text_of(draw_nothing("?!", "", 0, False, READY, 76, PLAIN))


@pytest.mark.parametrize(
    ("status", "read_only", "words", "urgent"),
    [
        (None, False, "", False),
        (READY, False, "", False),
        (BUILDING, False, "being built: searching files by keyword until it is ready", True),
        (BUILDING, True, "being built: searching files by keyword", True),
        (IndexStatus("broken", "damaged", error="no space"), False, "rebuilding failed: no space", True),
        (replace(READY, without_vectors="no model"), False, "keyword search only: no model", False),
        (replace(READY, vectors_coming="40 of 312"), False, "search is incomplete: 40 of 312", False),
    ],
)  # fmt: skip
def test_the_notice_says_what_affects_the_results(
    status: IndexStatus | None, read_only: bool, words: str, urgent: bool
) -> None:
    text, is_urgent = notice(status, read_only=read_only)
    assert words in text and bool(words) == bool(text) and is_urgent is urgent


@pytest.mark.parametrize(
    ("editor", "words"),
    [
        ("vim -p", ["vim", "-p", "+12", "/w/a.md"]),
        ("/usr/bin/nano", ["/usr/bin/nano", "+12", "/w/a.md"]),
        ("code --wait", ["code", "--wait", "--goto", "/w/a.md:12"]),
        ("hx", ["hx", "/w/a.md:12"]),
        ("myedit", ["myedit", "/w/a.md"]),
    ],
)
def test_each_editor_gets_the_line_in_its_own_syntax(editor: str, words: list[str]) -> None:
    assert editor_command(Path("/w/a.md"), {"EDITOR": editor}, line=12) == words
