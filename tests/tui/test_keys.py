"""The workbench's keys: navigation, backing out, and saved preferences."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from textual.events import AppFocus

from engine.live.feed import FeedEntry
from tests.tui.conftest import Run
from tests.tui.fake_engine import NOW, FakeEngine, status_view
from tui.kit.overlays import PageScreen
from tui.kit.preferences import Preferences

PANELS = {"1": "feed", "2": "activation", "3": "digest", "4": "ledger", "5": "budget"}


async def test_enter_opens_why_a_topic_fired_and_ctrl_c_says_how_to_quit(run: Run) -> None:
    async with run() as driven:
        await driven.press("2", "enter")
        assert "why github-pr-review" in driven.text
        await driven.press("escape", "ctrl+c")
        assert "q quits, esc backs out" in driven.text


async def test_folded_panels_open_full_size(run: Run) -> None:
    async with run((80, 24)) as driven:
        seen = []
        for _press in range(3):
            await driven.press("tab")
            seen.append(driven.panel())
        assert seen == ["activation", "try", "feed"]
        for key in ("3", "4", "5"):
            await driven.press(key)
            panel = driven.bench.panel_named(PANELS[key])
            assert panel.has_focus and panel.size.height > 12
            assert driven.bench.feed not in driven.visible()
            await driven.press("escape")
            assert driven.bench.feed in driven.visible() and not driven.bench.query_one("#lower").display
            assert driven.panel() == "activation"
        await driven.press("3", "5")
        assert driven.zoomed() == "budget"
        await driven.press("1")
        assert driven.zoomed() is None and driven.panel() == "feed"
        await driven.press("question_mark")
        page = driven.app.screen
        assert isinstance(page, PageScreen)
        await driven.press("j", "down", "j")
        assert page.panel.scroll_offset.y == 3
        await driven.press("k", "up")
        assert page.panel.scroll_offset.y == 1
        await driven.press("G")
        assert page.panel.rest() == 0 and page.panel.scroll_offset.y > 10
        await driven.press("ctrl+u")
        assert page.panel.rest() > 0
        await driven.press("g")
        assert page.panel.scroll_offset.y == 0


async def test_esc_and_q_back_out_one_level_at_a_time_and_q_quits_at_the_top(run: Run) -> None:
    async with run() as driven:
        await driven.press("plus", "k", "slash")
        await driven.type("mail")
        await driven.press("enter", "question_mark")
        assert len(driven.app.screen_stack) == 2
        await driven.press("escape")
        assert len(driven.app.screen_stack) == 1 and driven.bench.feed.query_text == "mail"
        await driven.press("escape")
        assert driven.bench.feed.query_text == "" and driven.zoomed() == "feed"
        await driven.press("escape")
        assert driven.zoomed() is None and not driven.following()
        await driven.press("escape")
        assert driven.following()
        await driven.press("ctrl+r")
        assert len(driven.engine.calls_of("rescan")) == 1
        assert "rescanned all files" in driven.text
        driven.app.post_message(AppFocus())
        await driven.settle()
        assert len(driven.engine.calls_of("rescan")) == 2
        await driven.press("question_mark", "q")
        assert len(driven.app.screen_stack) == 1
        await driven.press("plus", "q")
        assert driven.zoomed() is None and driven.app.is_running
        await driven.press("q")
        assert driven.app.return_code == 0 and driven.app._exit


async def test_refused_commands_say_why(run: Run, engine: FakeEngine) -> None:
    engine.status_value = status_view(read_only=True)
    async with run() as driven:
        await driven.press("2", "y")
        assert "the workspace is read-only" in driven.text
        assert not driven.engine.calls_of("label")


async def test_what_waits_for_the_person_is_said_with_its_key(run: Run, engine: FakeEngine) -> None:
    engine.status_value = status_view(waiting_rules=1, waiting_items=3)
    async with run() as driven:
        assert "R 1 rule waits for you   v 3 items to review" in driven.text
    engine.status_value = status_view(waiting_items=1)
    async with run() as driven:
        assert "v 1 item to review" in driven.text and "for you" not in driven.text


async def test_the_theme_changes_and_is_remembered(run: Run, home: Path) -> None:
    async with run() as driven:
        first = driven.app.theme
        await driven.press("T")
        assert driven.app.theme != first
        assert Preferences(home / "tui.yaml").theme == driven.app.theme
        background = driven.bench.feed.background_colors[1].hex.lower()
        assert background == driven.app.theme_files[driven.app.theme].colours["background"]
    async with run() as driven:
        assert driven.app.theme != first


async def test_a_theme_that_cannot_be_saved_is_still_used(run: Run, home: Path) -> None:
    (home / "tui.yaml").mkdir()
    async with run() as driven:
        first = driven.app.theme
        await driven.press("T")
        assert driven.app.theme != first
        assert "cannot save the theme" in driven.text


async def test_copying_and_editing_apply_to_the_selection(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\n", encoding="utf-8")
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("VISUAL", str(editor))
    async with run() as driven:
        await driven.press("Y")
        assert driven.app.clipboard == "Can you review the PR that just came in?"
        await driven.press("3", "Y")
        assert "Open tasks" in driven.app.clipboard
        await driven.press("4", "Y")
        assert driven.app.clipboard.startswith("investigate-cache ")
        await driven.press("2", "Y")
        assert "github-pr-review active" in driven.app.clipboard
        await driven.press("1")
        assert driven.bench.file == ""
        await driven.press("2")
        assert driven.bench.file == "topics/github-pr-review.md"
        await driven.press("j")
        assert driven.bench.file == ""
        await driven.press("3")
        assert driven.bench.file == "knowledge/digest.md"
        await driven.press("2", "k")
        await driven.press("2", "e")
        assert "cannot run an editor" in driven.text


async def test_a_truncated_copy_is_reported(run: Run) -> None:
    async with run(entries=[FeedEntry(NOW, "user", "x" * 150_000, "", "a#0")]) as driven:
        await driven.press("Y")
        assert len(driven.app.clipboard) == 100_000
        assert "copied 100,000 of 150,000 characters" in driven.text


async def test_the_mouse_works_and_every_size_down_to_the_smallest_is_usable(run: Run) -> None:
    async with run() as driven:
        await driven.pilot.click("#feed", offset=(10, 4))
        await driven.settle()
        assert driven.bench.feed.cursor == 3
        await driven.pilot.click("#ledger", offset=(10, 3))
        await driven.settle()
        assert driven.panel() == "ledger" and driven.bench.ledger_panel.cursor == 2
        for size, folded in (((100, 32), False), ((99, 40), True), ((120, 31), True), ((60, 16), True)):
            await driven.resize(*size)
            assert driven.bench.compact is folded
            assert driven.bench.activation.region.height > 5
        await driven.resize(59, 16)
        assert "needs 60×16" in driven.text and "59×16" in driven.text
        await driven.resize(120, 40)
        await driven.press("j")
        assert "needs 60×16" not in driven.text
        await driven.press("4")
        await driven.resize(80, 24)
        assert driven.bench.focused is driven.bench.activation
