"""The keys of the search screen: each does what help and footer say, or says why it cannot."""

from __future__ import annotations

import threading

import pytest

from engine.errors import AutopoiesisError
from engine.events import GateAsked
from tests.tui.conftest import SIZES, Run
from tests.tui.fake_engine import NOW
from tests.tui.screen_driven import SearchDriven, open_search
from tests.tui.search_data import DECISIONS, JOURNAL, RESULTS, SESSION, many_results

QUERY = "connection pool timeout"


async def test_s_opens_the_screen_with_the_last_query_and_esc_closes_it(run: Run) -> None:
    async with run() as driven:
        search = SearchDriven(driven.app, driven.pilot, driven.engine)
        await search.press("s")
        assert search.is_open() and search.focused_panel() == "query"
        await search.press("escape")
        assert not search.is_open() and driven.bench.panel_in_use == "feed"
        # keys typed right after s go into the line
        await search.send("s")
        await search.until(search.is_open)
        await search.send(*"pool")
        await search.settle()
        assert search.state.query == "pool" and "8 found" in search.text
        # the query is remembered, and typing replaces it
        await search.press("escape", "escape", "s")
        assert search.state.query == "pool" and "8 found" in search.text
        assert search.focused_panel() == "query"
        await search.type("queue")
        assert search.state.query == "queue"


async def test_results_update_while_typing_and_enter_goes_to_them(run: Run) -> None:
    async with open_search(run) as driven:
        await driven.type("q")
        assert driven.state.query == "q" and driven.is_open(), "q is a letter in the line"
        await driven.press("ctrl+u")
        driven.fake_search.calls.clear()
        await driven.type("connection pool")
        assert driven.focused_panel() == "query" and "8 found" in driven.text
        assert driven.fake_search.calls_of("search") == [("search", "connection pool", None, 51)]
        await driven.type(" timeout")
        await driven.press("enter")
        assert driven.focused_panel() == "results" and driven.selected() == f"{SESSION}:19"
        await driven.press("slash")
        assert driven.focused_panel() == "query"
        await driven.type("s")
        assert driven.state.query == f"{QUERY}s"
        # enter does not wait for a pause in typing
        await driven.press("ctrl+u")
        driven.fake_search.calls.clear()
        await driven.send(*"pool")
        await driven.until(lambda: driven.state.query == "pool")
        await driven.send("enter")
        await driven.until(
            lambda: driven.focused_panel() == "results" and bool(driven.fake_search.calls_of("search"))
        )
        await driven.settle()
        assert driven.selected()
        assert [call[1] for call in driven.fake_search.calls_of("search")] == ["pool"]
        # keys right after enter act on the results
        await driven.press("slash", "ctrl+u")
        await driven.type("poo")
        await driven.send("l", "enter", "j", "j", "y")
        await driven.settle()
        assert driven.state.query == "pool" and driven.screen.prompt.input.value == "pool"
        assert driven.focused_panel() == "results" and driven.screen.results.row_count == 8
        # up recalls earlier queries
        await driven.press("slash", "ctrl+u")
        await driven.type("queue")
        await driven.press("enter", "slash", "ctrl+u")
        await driven.type("timeout")
        await driven.press("enter", "slash", "up", "up")
        assert driven.state.query == "queue" and driven.selected() == f"{SESSION}:12"
        await driven.press("tab", "q")
        assert not driven.is_open() and driven.app.is_running


MOVES = [
    (["j", "down", "k"], 1),
    (["G"], 7),
    (["end", "g"], 0),
    (["G", "home", "j", "up"], 0),
    (["ctrl+d"], 5),
    (["pagedown", "ctrl+u"], 0),
    (["G", "pageup"], 2),
    (["n", "n", "N"], 1),
]


async def test_the_selection_moves_and_enter_reads_it(run: Run) -> None:
    async with open_search(run, query=QUERY) as driven:
        for keys, at in MOVES:
            await driven.press("g", *keys)
            assert driven.screen.results.cursor == at, keys
            hit = driven.screen.results.selected
            assert hit is not None and hit.rank == at + 1, keys
            assert f"{at + 1} of 8" in driven.text, keys
            assert driven.screen.preview.passage is not None, keys
            assert driven.screen.preview.passage.hit == hit and driven.screen.why.hit == hit, keys
        await driven.press("g", "enter")
        assert driven.focused_panel() == "preview"
        await driven.press("n")
        assert driven.focused_panel() == "preview" and driven.selected() == f"{DECISIONS}:4"
        assert "A cache" not in driven.text and "No transaction is held" in driven.text
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


async def test_w_shows_and_hides_why(run: Run) -> None:
    async with open_search(run, query=QUERY) as driven:
        assert driven.shows("why")
        await driven.press("w")
        assert not driven.shows("why") and driven.shows("preview")
        await driven.press("w", "3", "w")
        assert not driven.shows("why") and driven.focused_panel() == "results"


async def test_on_a_small_screen_the_why_panel_replaces_the_preview(run: Run) -> None:
    async with open_search(run, (80, 24), query=QUERY) as driven:
        assert driven.shows("preview") and not driven.shows("why")
        await driven.press("w")
        assert driven.shows("why") and not driven.shows("preview")
        assert "meaning" in driven.text and ".24" in driven.line("meaning")
        await driven.press("2")
        assert driven.focused_panel() == "preview" and not driven.shows("why")
        # it scrolls and shows the context
        preview = driven.screen.preview
        start = preview.scroll_offset.y
        assert start > 0 and " 19 ▎" in driven.line("The backfill opens")
        await driven.press("j", "j")
        assert preview.scroll_offset.y == start + 2
        await driven.press("g")
        assert "session_id: ses_7c41d0aa" in driven.text
        await driven.press("G")
        assert "p95 is back at 140 ms" in driven.text
        await driven.press("3")
        assert driven.focused_panel() == "why" and not driven.shows("preview")


async def test_on_the_smallest_screen_one_panel_is_visible(run: Run) -> None:
    async with open_search(run, (60, 16), query=QUERY) as driven:
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


async def test_c_cycles_through_the_available_kinds_and_esc_backs_out(run: Run) -> None:
    async with open_search(run, query="pool") as driven:
        await driven.press("c", "c")
        assert driven.state.only == "memory" and "only memory" in driven.text
        await driven.press("c")
        assert driven.state.only == "journal" and "2 found · only journal" in driven.text
        assert driven.fake_search.calls_of("search")[-1] == ("search", "pool", "journal", 51)
        assert driven.selected() == f"{JOURNAL}:4" and driven.screen.results.cursor == 0
        await driven.press("C", "C", "C", "j", "j", "c")
        assert driven.screen.results.cursor <= 0
        await driven.press("C")
        assert driven.state.only == "" and "8 found" in driven.text
        await driven.press("C")
        assert driven.state.only == "knowledge"
        # kinds without files are skipped
        for path in (driven.engine.root / "knowledge" / "identity").iterdir():
            path.unlink()
        await driven.press("escape", "ctrl+r", "c")
        assert driven.state.only == "memory"
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
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited: list[tuple[str, int]] = []
    monkeypatch.setenv("VISUAL", "true")
    async with open_search(run, query=QUERY) as driven:
        await driven.press("y")
        assert driven.app.clipboard == f"{SESSION}:19" and f"copied {SESSION}:19" in driven.toasts
        await driven.press("Y")
        assert driven.app.clipboard == RESULTS[0].text
        await driven.press("2", "Y")
        assert "session_id: ses_7c41d0aa" in driven.app.clipboard
        await driven.press("3", "Y")
        assert "by words 1" in driven.app.clipboard and "neighbours" in driven.app.clipboard
        await driven.press("e")
        assert "cannot run an editor" in driven.toasts
        searches = len(driven.fake_search.calls_of("search"))
        monkeypatch.setattr(driven.screen, "edit_file", lambda path, line=0: edited.append((path, line)))
        await driven.press("n", "e")
        assert edited == [(DECISIONS, 4)]
        assert len(driven.fake_search.calls_of("search")) == searches + 1, (
            "results are searched again after editing"
        )
        # a deleted file is not opened but still listed
        (driven.engine.root / DECISIONS).unlink()
        await driven.press("N", "n")
        assert "the file no longer exists" in driven.text
        await driven.press("e")
        assert "the file no longer exists" in driven.toasts and len(edited) == 1


async def test_a_adds_the_lines_to_a_preset(run: Run) -> None:
    async with open_search(run, query=QUERY) as driven:
        # nothing is added without a name or after esc
        await driven.press("a", "enter", "a")
        await driven.type("pools")
        await driven.press("escape")
        await driven.press("a", "tab")
        assert not driven.fake_search.calls_of("add")
        assert driven.focused_panel() == "results" and driven.screen.prompt.input.value == QUERY
        assert driven.state.query == QUERY
        await driven.press("j", "a")
        assert driven.focused_panel() == "preset" and f"add to preset {DECISIONS}:4-6" in driven.text
        await driven.type("pools")
        await driven.press("enter")
        assert driven.fake_search.calls_of("add") == [("add", "pools", DECISIONS, "4-6", "")]
        assert "decisions.md:4-6 to preset pools" in driven.toasts and "a81f2c0" in driven.toasts
        assert "preset use pools" in driven.toasts
        assert driven.focused_panel() == "results" and driven.screen.prompt.input.value == QUERY
        await driven.press("a", "up")
        assert driven.screen.prompt.input.value == "pools"
        # a preset that cannot be written says why
        refused = AutopoiesisError("'../x' is not a valid preset name", hint="use letters")
        driven.fake_search.failing["add"] = refused
        await driven.press("ctrl+u")
        await driven.type("../x")
        await driven.press("enter")
        assert "'../x' is not a valid preset name" in driven.toasts and "use letters" in driven.toasts
        # requested additions are still made after leaving the screen
        driven.fake_search.failing.clear()
        driven.fake_search.calls.clear()
        release = driven.fake_search.blocked["add"] = threading.Event()
        for name in ("one", "two"):
            await driven.send("a", *name, "enter")
            await driven.until(lambda: driven.focused_panel() == "results")
        await driven.send("escape")
        await driven.until(lambda: not driven.is_open() and driven.fake_search.calls_of("add"))
        assert len(driven.fake_search.calls_of("add")) == 1, "the second one waits"
        release.set()
        await driven.until(lambda: [call[1] for call in driven.fake_search.calls_of("add")] == ["one", "two"])


async def test_m_and_moving_past_the_end_load_more(run: Run) -> None:
    async with open_search(run, query="pool", results=many_results(120)) as driven:
        assert "first 50" in driven.text and driven.screen.results.row_count == 50
        await driven.press("m")
        assert driven.screen.results.row_count == 120 and "120 found" in driven.text
        await driven.press("m")
        assert "no more results" in driven.toasts
        await driven.press("slash")
        await driven.type("s")  # another query starts with 50 again
        await driven.press("enter", "G")
        assert driven.screen.results.row_count == 50
        await driven.press("j")
        assert driven.screen.results.row_count == 120 and driven.screen.results.cursor == 49


async def test_five_hundred_results_scroll_and_only_visible_ones_are_drawn(run: Run) -> None:
    async with open_search(run, query="pool", results=many_results(700)) as driven:
        driven.watch()
        await driven.press("m")
        results = driven.screen.results
        assert results.row_count == 500 and "first 500" in driven.text
        for size in SIZES.values():
            await driven.resize(*size)
            await driven.press("g")
            assert "Pools › number 0" in driven.text
            results.drawn = 0
            await driven.press("G")
            assert "Pools › number 499" in driven.text and "500 of 500" in driven.text
            assert 0 < results.drawn <= results.size.height
            await driven.press("ctrl+u", "ctrl+u", "k")
            assert results.drawn <= 5 * results.size.height
        await driven.press("G", "j")
        assert "limited to 500 results" in driven.toasts
        # the selected result is always fully visible
        await driven.resize(80, 24)
        await driven.press("g")
        for key in ("j", "k"):
            for _press in range(29):
                await driven.press(key)
                hit = driven.screen.results.selected
                assert hit is not None
                assert f"{hit.title} " in driven.text and hit.snippet in driven.text


async def test_common_commands_work_on_this_screen(run: Run) -> None:
    async with open_search(run, query=QUERY) as driven:
        driven.engine.publish(GateAsked(NOW, "q1", "deploy", "ship it", "about deploying", 30.0))
        await driven.settle()
        assert "does deploy apply to" in driven.text
        await driven.press("ctrl+y")
        assert driven.engine.calls_of("answer") == [("answer", "q1", True)]
        assert not driven.app.clipboard
        await driven.press("T")
        assert driven.app.theme == "light"
        await driven.press("exclamation_mark")
        assert "there are no problems" in driven.toasts
