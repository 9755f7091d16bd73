"""The keys of the search screen: each does what help and footer say, and says why where it cannot."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from engine.errors import AutopoiesisError
from engine.events import GateAsked
from tests.tui.conftest import SIZES, Run
from tests.tui.fake_engine import NOW, FakeEngine, status_view
from tests.tui.search_data import DECISIONS, JOURNAL, RESULTS, SESSION, many
from tests.tui.search_driven import Searched, searching
from tui.kit.page import PageScreen

QUERY = "connection pool timeout"


async def test_s_opens_it_and_esc_goes_back(run: Run) -> None:
    async with run() as driven:
        searched = Searched(driven.app, driven.pilot, driven.engine)
        await searched.press("s")
        assert searched.is_open() and searched.in_use() == "query"
        await searched.press("escape")
        assert not searched.is_open() and driven.bench.panel_in_use == "feed"


async def test_what_is_typed_right_after_s_lands_in_the_line(run: Run) -> None:
    async with run() as driven:
        searched = Searched(driven.app, driven.pilot, driven.engine)
        await searched.send("s")
        await searched.until(searched.is_open)
        await searched.send(*"pool")
        await searched.settle()
        assert searched.state.query == "pool" and "8 found" in searched.text


async def test_results_come_while_typing_and_are_asked_for_once(run: Run) -> None:
    async with searching(run) as driven:
        await driven.type("connection pool")
        assert driven.in_use() == "query"
        assert "8 found" in driven.text
        assert driven.finding.asked("search") == [("search", "connection pool", None, 51)]


async def test_enter_goes_to_the_results_and_slash_comes_back(run: Run) -> None:
    async with searching(run) as driven:
        await driven.type(QUERY)
        await driven.press("enter")
        assert driven.in_use() == "results" and driven.selected() == f"{SESSION}:19"
        await driven.press("slash")
        assert driven.in_use() == "query"
        await driven.type("s")
        assert driven.state.query == f"{QUERY}s"


async def test_enter_does_not_wait_for_the_typing_to_rest(run: Run) -> None:
    async with searching(run) as driven:
        await driven.send(*"pool")
        await driven.until(lambda: driven.state.query == "pool")
        await driven.send("enter")
        await driven.pilot.pause()
        assert driven.in_use() == "results" and driven.finding.asked("search")
        await driven.settle()
        assert driven.selected()
        assert [call[1] for call in driven.finding.asked("search")] == ["pool"]


async def test_keys_right_after_enter_act_on_the_results(run: Run) -> None:
    async with searching(run) as driven:
        await driven.type("poo")
        await driven.send("l", "enter", "j", "j", "y")
        await driven.settle()
        assert driven.state.query == "pool" and driven.screen.prompt.input.value == "pool"
        assert driven.in_use() == "results" and driven.screen.results.row_count == 8


async def test_up_brings_earlier_queries_back(run: Run) -> None:
    async with searching(run, query="queue") as driven:
        await driven.press("slash", "ctrl+u")
        await driven.type("timeout")
        await driven.press("enter", "slash", "up", "up")
        assert driven.state.query == "queue" and driven.selected() == f"{SESSION}:12"


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


async def test_the_selection_moves(run: Run) -> None:
    async with searching(run, query=QUERY) as driven:
        for keys, at in MOVES:
            await driven.press("g", *keys)
            assert driven.screen.results.cursor == at, keys
            hit = driven.screen.results.selected
            assert hit is not None and hit.rank == at + 1, keys
            assert f"{at + 1} of 8" in driven.text, keys
            assert driven.screen.preview.view.passage is not None, keys
            assert driven.screen.preview.view.passage.hit == hit and driven.screen.why.hit == hit, keys


async def test_enter_reads_a_result_and_n_goes_on_from_there(run: Run) -> None:
    async with searching(run, query=QUERY) as driven:
        await driven.press("enter")
        assert driven.in_use() == "preview"
        await driven.press("n")
        assert driven.in_use() == "preview" and driven.selected() == f"{DECISIONS}:4"
        assert "A cache" not in driven.text and "No transaction is held" in driven.text
        await driven.press("1", "j", "o")
        assert driven.in_use() == "preview"


async def test_the_preview_scrolls_and_shows_what_stands_around(run: Run) -> None:
    async with searching(run, (80, 24), query=QUERY) as driven:
        await driven.press("2")
        preview = driven.screen.preview
        begins = preview.scroll_offset.y
        assert begins > 0 and " 19 ▎" in driven.line("The backfill opens")
        await driven.press("j", "j")
        assert preview.scroll_offset.y == begins + 2
        await driven.press("g")
        assert "session_id: ses_7c41d0aa" in driven.text
        await driven.press("G")
        assert "p95 is back at 140 ms" in driven.text


async def test_numbers_and_tab_go_round(run: Run) -> None:
    async with searching(run, query=QUERY) as driven:
        for key, name in {"2": "preview", "3": "why", "1": "results"}.items():
            await driven.press(key)
            assert driven.in_use() == name
        seen = []
        for _press in range(4):
            await driven.press("tab")
            seen.append(driven.in_use())
        assert seen == ["preview", "why", "query", "results"]
        await driven.press("shift+tab")
        assert driven.in_use() == "query"
        await driven.press("shift+tab")
        assert driven.in_use() == "why"


async def test_w_shows_and_hides_the_reasons(run: Run) -> None:
    async with searching(run, query=QUERY) as driven:
        assert driven.shows("why")
        await driven.press("w")
        assert not driven.shows("why") and driven.shows("preview")
        await driven.press("w", "3", "w")
        assert not driven.shows("why") and driven.in_use() == "results"


async def test_on_a_small_screen_the_reasons_take_the_place_of_the_preview(run: Run) -> None:
    async with searching(run, (80, 24), query=QUERY) as driven:
        assert driven.shows("preview") and not driven.shows("why")
        await driven.press("w")
        assert driven.shows("why") and not driven.shows("preview")
        assert "meaning" in driven.text and ".24" in driven.line("meaning")
        await driven.press("2")
        assert driven.in_use() == "preview" and not driven.shows("why")
        await driven.press("3")
        assert driven.in_use() == "why" and not driven.shows("preview")


async def test_on_the_smallest_screen_one_panel_is_in_view(run: Run) -> None:
    async with searching(run, (60, 16), query=QUERY) as driven:
        assert not driven.shows("preview")
        await driven.press("enter")
        assert driven.in_use() == "preview" and not driven.shows("results")
        await driven.press("w")
        assert driven.in_use() == "why" and not driven.shows("preview")
        await driven.press("w")
        assert driven.in_use() == "results"
        await driven.press("2", "escape")
        assert driven.in_use() == "results" and driven.shows("results")
        await driven.press("escape")
        assert not driven.is_open()


async def test_plus_enlarges_and_underscore_restores(run: Run) -> None:
    async with searching(run, query=QUERY) as driven:
        for key, name in {"1": "results", "2": "preview", "3": "why"}.items():
            await driven.press(key, "plus")
            assert driven.zoomed() == name
            assert driven.screen.panel_named(name).size.width > 110
            await driven.press("underscore")
            assert driven.zoomed() is None and driven.in_use() == name
        await driven.press("plus", "1")
        assert driven.zoomed() == "results"
        await driven.press("escape")
        assert driven.zoomed() is None and driven.is_open()


async def test_c_goes_through_the_kinds_that_there_are(run: Run) -> None:
    async with searching(run, query="pool") as driven:
        await driven.press("c", "c")
        assert driven.state.only == "memory" and "only memory" in driven.text
        await driven.press("c")
        assert driven.state.only == "journal" and "2 found · only journal" in driven.text
        assert driven.finding.asked("search")[-1] == ("search", "pool", "journal", 51)
        assert driven.selected() == f"{JOURNAL}:4" and driven.screen.results.cursor == 0
        await driven.press("C", "C", "C", "j", "j", "c")
        assert driven.screen.results.cursor <= 0
        await driven.press("C")
        assert driven.state.only == "" and "8 found" in driven.text
        await driven.press("C")
        assert driven.state.only == "knowledge"


async def test_kinds_without_files_are_passed_over(run: Run) -> None:
    async with searching(run, query="pool") as driven:
        for path in (driven.engine.root / "knowledge" / "identity").iterdir():
            path.unlink()
        await driven.press("ctrl+r", "c")
        assert driven.state.only == "memory"


async def test_esc_leaves_line_enlarged_panel_and_kind_before_the_screen(run: Run) -> None:
    async with searching(run, query="pool") as driven:
        await driven.press("c", "c", "c", "plus", "slash")
        assert driven.in_use() == "query"
        await driven.press("escape")
        assert driven.in_use() == "results" and driven.zoomed() == "results"
        await driven.press("escape")
        assert driven.zoomed() is None and driven.state.only == "journal"
        await driven.press("escape")
        assert driven.state.only == "" and driven.is_open()
        await driven.press("escape")
        assert not driven.is_open()


async def test_q_backs_out_but_is_a_letter_in_the_line(run: Run) -> None:
    async with searching(run) as driven:
        await driven.type("q")
        assert driven.state.query == "q" and driven.is_open()
        await driven.press("tab", "q")
        assert not driven.is_open() and driven.app.is_running


async def test_the_query_is_there_again_the_next_time(run: Run) -> None:
    async with searching(run, query="pool") as driven:
        await driven.press("escape", "s")
        assert driven.state.query == "pool" and "8 found" in driven.text and driven.in_use() == "query"
        await driven.type("queue")
        assert driven.state.query == "queue"  # what was there was selected, so typing replaces it


async def test_y_copies_path_and_line_and_capital_y_the_text(run: Run) -> None:
    async with searching(run, query=QUERY) as driven:
        await driven.press("y")
        assert driven.app.clipboard == f"{SESSION}:19" and f"copied {SESSION}:19" in driven.said
        await driven.press("Y")
        assert driven.app.clipboard == RESULTS[0].text
        await driven.press("2", "Y")
        assert "session_id: ses_7c41d0aa" in driven.app.clipboard
        await driven.press("3", "Y")
        assert "by words 1" in driven.app.clipboard and "neighbours" in driven.app.clipboard


async def test_e_opens_the_file_at_the_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []
    async with searching(run, query=QUERY) as driven:
        monkeypatch.setattr(driven.screen, "edit_file", lambda path, line=0: asked.append((path, line)))
        await driven.press("j", "e")
        assert asked == [(DECISIONS, 4)]
        assert len(driven.finding.asked("search")) == 2  # what was edited is searched again


async def test_an_editor_that_cannot_be_handed_the_terminal_is_explained(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    editor = tmp_path / "vim"
    editor.write_text("#!/bin/sh\n", encoding="utf-8")
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("VISUAL", str(editor))
    async with searching(run, query=QUERY) as driven:
        await driven.press("e")
        assert "cannot be handed to an editor" in driven.said


async def test_a_file_that_is_gone_is_neither_edited_nor_hidden(run: Run) -> None:
    async with searching(run, query=QUERY) as driven:
        (driven.engine.root / DECISIONS).unlink()
        await driven.press("j")
        assert "the file is not there any more" in driven.text
        await driven.press("e")
        assert "the file is not there any more" in driven.said


async def test_a_adds_the_lines_to_a_preset(run: Run) -> None:
    async with searching(run, query=QUERY) as driven:
        await driven.press("j", "a")
        assert driven.in_use() == "preset" and f"add to preset {DECISIONS}:4-6" in driven.text
        await driven.type("pools")
        await driven.press("enter")
        assert driven.finding.asked("add") == [("add", "pools", DECISIONS, "4-6", "")]
        assert "decisions.md:4-6 is in the preset pools" in driven.said and "a81f2c0" in driven.said
        assert "preset use pools" in driven.said
        assert driven.in_use() == "results" and driven.screen.prompt.input.value == QUERY
        await driven.press("a", "up")
        assert driven.screen.prompt.input.value == "pools"


async def test_a_preset_is_not_made_without_a_name_nor_after_esc(run: Run) -> None:
    async with searching(run, query=QUERY) as driven:
        await driven.press("a", "enter", "a")
        await driven.type("pools")
        await driven.press("escape")
        await driven.press("a", "tab")
        assert not driven.finding.asked("add")
        assert driven.in_use() == "results" and driven.screen.prompt.input.value == QUERY
        assert driven.state.query == QUERY


async def test_a_preset_that_cannot_be_written_says_why(run: Run) -> None:
    refused = AutopoiesisError("'../x' is not a valid preset name", cure="use letters")
    async with searching(run, query=QUERY, failing={"add": refused}) as driven:
        await driven.press("a")
        await driven.type("../x")
        await driven.press("enter")
        assert "'../x' is not a valid preset name" in driven.said and "use letters" in driven.said


async def test_read_only_refuses_presets_and_nothing_else(run: Run, engine: FakeEngine) -> None:
    engine.status_value = status_view(read_only=True)
    async with searching(run, query=QUERY) as driven:
        await driven.press("a")
        assert driven.in_use() == "results" and "the workspace is read-only" in driven.said
        await driven.press("y", "j", "w")
        assert driven.app.clipboard == f"{SESSION}:19"


async def test_m_and_going_past_the_end_bring_more(run: Run) -> None:
    async with searching(run, query="pool", results=many(120)) as driven:
        assert "first 50" in driven.text and driven.screen.results.row_count == 50
        await driven.press("m")
        assert driven.screen.results.row_count == 120 and "120 found" in driven.text
        await driven.press("m")
        assert "these are all" in driven.said
    async with searching(run, query="pool", results=many(120)) as driven:
        await driven.press("G")
        assert driven.screen.results.row_count == 50
        await driven.press("j")
        assert driven.screen.results.row_count == 120 and driven.screen.results.cursor == 49


@pytest.mark.parametrize("size", SIZES)
async def test_five_hundred_results_scroll_and_only_those_in_view_are_drawn(run: Run, size: str) -> None:
    async with searching(run, SIZES[size], query="pool", results=many(700)) as driven:
        await driven.press("m")
        results = driven.screen.results
        assert results.row_count == 500 and "first 500" in driven.text
        results.drawn = 0
        await driven.press("G")
        assert "Pools › number 499" in driven.text and "500 of 500" in driven.text
        assert results.drawn <= results.size.height
        await driven.press("ctrl+u", "ctrl+u", "k")
        assert results.drawn <= 5 * results.size.height
        await driven.press("G", "j")
        assert "500 results at most" in driven.said
        await driven.press("g")
        assert "Pools › number 0" in driven.text


async def test_the_selected_result_is_whole_wherever_it_stands(run: Run) -> None:
    async with searching(run, (80, 24), query="pool", results=many(30)) as driven:
        for key, times in (("j", 29), ("k", 29)):
            for _press in range(times):
                await driven.press(key)
                hit = driven.screen.results.selected
                assert hit is not None
                assert f"{hit.title} " in driven.text and hit.snippet in driven.text


async def test_question_mark_opens_help_for_the_panel(run: Run) -> None:
    async with searching(run, query=QUERY) as driven:
        await driven.press("3", "question_mark")
        assert isinstance(driven.app.screen, PageScreen)
        assert "on this screen" in driven.text
        await driven.press("escape")
        assert driven.in_use() == "why"


async def test_the_gate_is_answered_from_here(run: Run) -> None:
    async with searching(run, query=QUERY) as driven:
        driven.engine.publish(GateAsked(NOW, "q1", "deploy", "ship it", "about deploying", 30.0))
        await driven.settle()
        assert "does deploy apply to" in driven.text
        await driven.press("ctrl+y")
        assert driven.engine.asked("answer") == [("answer", "q1", True)]
        assert not driven.app.clipboard


async def test_the_theme_key_and_the_problems_work_here_too(run: Run) -> None:
    async with searching(run, query=QUERY) as driven:
        await driven.press("T")
        assert driven.app.theme == "light"
        await driven.press("exclamation_mark")
        assert "nothing is wrong" in driven.said


async def test_a_click_selects(run: Run) -> None:
    async with searching(run, query=QUERY) as driven:
        await driven.pilot.click("#results", offset=(10, 8))
        await driven.settle()
        assert driven.screen.results.cursor == 2 and driven.in_use() == "results"


async def test_another_size_keeps_selection_and_focus(run: Run) -> None:
    async with searching(run, query=QUERY) as driven:
        await driven.press("j", "j", "3")
        await driven.resize(80, 24)
        assert driven.screen.results.cursor == 2
        assert driven.screen.focused is not None and driven.in_use() in driven.screen.in_view()
        await driven.resize(50, 10)
        assert "This terminal is 50×10" in driven.text
        await driven.resize(120, 40)
        assert driven.screen.results.cursor == 2 and driven.screen.focused is not None
