"""The context screen on the sample: real prompts by section, what was left out, and comparisons."""

from __future__ import annotations

import re
import shutil
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from engine.context.compiled import Compiled
from engine.engine import Engine
from engine.errors import AutopoiesisError
from engine.events import FileChanged, GateAsked, TurnArrived
from engine.transcripts.capture import ConversationCapture
from engine.transcripts.turn import Text, Turn
from tests.tui.conftest import EVENING, SIZES, TURNS, Driven, Watch
from tests.tui.every_screen import NOW, open_workbench
from tests.tui.screen_driven import ScreenDriven
from tui.kit.bars import Footer
from tui.kit.overlays import ConfirmScreen, PageScreen
from tui.render.roles import PLAIN
from tui.render.safe import visible
from tui.screens.context.draw import (
    TextPage,
    compare,
    difference_items,
    difference_summary,
    draw_part,
    gutter_of,
    left_out_detail,
    parts_of,
    section_head,
)
from tui.screens.context.lists import (
    NOWHERE,
    Columns,
    HeadItem,
    RuleItem,
    SectionItem,
    draw_item,
    left_out_items,
    left_out_order,
    prepare,
    rule_text,
    section_items,
)
from tui.screens.context.screen import ContextScreen

PATH = f"raw/conversations/2026/06/12/1840-{EVENING}-evening-round.md"
MEMORY, DIGEST = "knowledge/memory/MEMORY.md", "knowledge/digest.md"
REVIEW = TURNS[-1][1]
Picture = Callable[[Driven, str], None]


class ContextDriven(ScreenDriven[ContextScreen]):
    kind, key = ContextScreen, "c"

    @property
    def label(self) -> str:
        """The selected section."""
        return self.state.chosen.label if self.state.chosen is not None else ""

    @property
    def compiled(self) -> Compiled:
        """The prompt that is shown."""
        found = self.state.compiled
        assert isinstance(found, Compiled)
        return found

    async def select(self, label: str) -> None:
        """Moves the selection down to a section."""
        for _press in range(40):
            if self.label == label:
                return
            await self.press("j")
        raise AssertionError(f"{label} was not reached")

    async def show(self, compiled: Compiled) -> None:
        """Shows another prompt for the message."""
        self.bench.show_message(replace(self.bench.shown, compiled=compiled))
        await self.settle()


@asynccontextmanager
async def open_screen(
    root: Path, size: tuple[int, int] = (120, 40), **more: Any
) -> AsyncIterator[ContextDriven]:
    async with open_workbench(root, size, **more) as workbench:
        yield await ContextDriven.over(workbench)


async def test_pictures(evening: Path, picture: Picture) -> None:
    async with open_screen(evening, SIZES["200x60"]) as driven:
        picture(driven, "context/full-200x60-dark")
        await driven.press("o", "j")
        picture(driven, "context/left-out-200x60")
        await driven.press("o")
        for size in ("120x40", "80x24"):
            await driven.resize(*SIZES[size])
            picture(driven, f"context/full-{size}-dark")
        await driven.press("o", "G", "enter", "G")
        picture(driven, "context/left-out-many-80x24")
        await driven.press("o", "1", "g")
        await driven.select("topic:github-pr-review")
        picture(driven, "context/section-80x24")
        await driven.press("1", "g")
        await driven.select("knowledge:digest.md")
        await driven.press("t", "2")
        picture(driven, "context/whole-80x24")
        await driven.press("t", "1", "d")
        picture(driven, "context/difference-80x24")
        await driven.press("d", "g")
        await driven.resize(60, 16)
        picture(driven, "context/full-60x16-dark")


async def test_errors_are_shown_with_a_hint_until_a_retry_succeeds(evening: Path, picture: Picture) -> None:
    async with open_screen(evening, SIZES["80x24"]) as driven:
        driven.engine.configuration.change("context_compiler.token_budget", 900)
        await driven.press("ctrl+r")
        driven.app.clear_notifications()
        await driven.settle()
        assert "ctrl+r tries again" in driven.flat()
        picture(driven, "context/error-80x24")
        driven.engine.configuration.change("context_compiler.token_budget", 8192)
        await driven.press("ctrl+r")
        assert "identity/SOUL.md" in driven.text and "tries again" not in driven.text


async def test_without_a_message_the_bare_prompt_is_shown(
    evening: Path, watch: Watch, picture: Picture
) -> None:
    compiled = watch(Engine, "try_message")
    async with open_workbench(evening) as workbench:
        feed = workbench.bench.feed
        feed.select(next(at for at in range(feed.row_count) if not feed.item_at(at).key))
        await workbench.settle()
        driven = await ContextDriven.over(workbench)
        assert "the selected feed row is not a message" in driven.text and compiled == [("", False)]
        driven.engine.publish(FileChanged(NOW, MEMORY, "changed"))
        await driven.settle()
        assert len(compiled) == 2
    for folder in ("raw", "conversations", ".git"):
        shutil.rmtree(evening / folder)
    async with open_screen(evening, SIZES["80x24"]) as driven:
        picture(driven, "context/empty-80x24")
        assert "no message yet: showing the prompt without one" in driven.text
        await driven.press("d")
        assert "No earlier message to compare with." in driven.flat()
        await driven.press("d")
        await driven.select("identity:SOUL.md")
        await driven.press("t")
        assert "<!-- identity:SOUL.md -->" in driven.text
        compiled.error = AutopoiesisError("the message takes 9,000 tokens", hint="shorten the message")
        await driven.press("ctrl+r")
        assert "shorten the message" in driven.flat()


async def test_tab_and_enter_show_the_other_panel_if_only_one_fits(evening: Path) -> None:
    async with open_screen(evening, (60, 16)) as driven:
        assert not driven.screen.text.display
        await driven.press("tab")
        assert driven.focused_panel() == "text" and not driven.screen.sections.display
        await driven.press("tab")
        assert driven.focused_panel() == "sections"
        await driven.press("j", "enter")
        assert driven.focused_panel() == "text" and "I am Wren." in driven.text
        await driven.press("escape")
        assert driven.is_open() and driven.zoomed() is None
        await driven.press("1")
        for size in ((59, 24), (80, 15)):
            await driven.resize(*size)
            assert "needs 60×16" in driven.text
        await driven.resize(120, 40)
        assert REVIEW in driven.text and driven.focused_panel() == "sections"


async def test_the_text_is_numbered_as_in_its_file_and_e_opens_its_line(
    evening: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbered, compiled = watch(Engine, "lines_of"), watch(Engine, "compile_of")
    async with open_screen(evening, SIZES["80x24"]) as driven:
        await driven.press("G", "g")
        assert driven.screen.sections.scroll_offset.y == 0
        await driven.select("memory:MEMORY.md")
        assert " 7  # Core Memory" in driven.text
        await driven.press("2", "j", "j")
        assert driven.screen.text.scroll_offset.y == 2
        assert "why always in a main session" in driven.text and "# Core Memory" not in driven.text
        await driven.press("G")
        assert "48  " in driven.text
        await driven.press("g")
        assert "# Core Memory" in driven.text
        await driven.press("1", "g")
        opened: list[tuple[str, int]] = []
        monkeypatch.setattr(driven.screen, "edit_file", lambda path, line=0: opened.append((path, line)))
        compiled.clear()
        await driven.select("memory:MEMORY.md")
        await driven.press("e", "2", "j", "j", "e", "o", "e")
        assert opened == [(MEMORY, 7), (MEMORY, 9), (MEMORY, 49)] and len(compiled) == 3
        assert [section.label for (section,) in numbered].count("memory:MEMORY.md") == 1
        await driven.press("o", "1", "G", "e")
        assert "the selection does not come from a file" in driven.toasts


async def test_the_whole_prompt_is_shown_at_the_section_and_prefix_and_markers_are_where_they_are(
    evening: Path,
) -> None:
    async with open_screen(evening) as driven:
        await driven.select("journal:2026-06-11.md")
        await driven.press("t")
        assert "the whole prompt" in driven.text
        await driven.press("2", "k", "k", "plus")
        rule, marker = (
            driven.text.index(words) for words in ("stable prefix ends here", "<!-- journal:2026-06-11")
        )
        assert rule < marker
        await driven.press("underscore", "1")
        await driven.press("G")
        assert "<!-- message -->" in driven.text
        await driven.press("t")
        assert "<!-- message -->" not in driven.text and REVIEW in driven.text
        prepared, compiled = driven.state.prepared, driven.compiled
        assert "\n".join(prepared.lines) == compiled.text
        assert sorted(prepared.markers) == list(prepared.markers) and NOWHERE not in prepared.markers
        for section, marker, end in zip(compiled.sections, prepared.markers, prepared.ends, strict=True):
            first, *more = prepared.lines[marker + 1 : end]
            assert "\n".join([re.sub("^§ (user: |agent: )?", "", first), *more]) == section.text
            assert prepared.lines[marker].startswith(("<!-- ", "§ ")), section.label
        stable = "\n".join(prepared.lines[: prepared.prefix_end])
        assert len(stable) + 1 == compiled.stable_prefix_length


async def test_o_shows_what_was_left_out_with_search_results_folded(evening: Path) -> None:
    async with open_screen(evening) as driven:
        total = len(driven.compiled.left_out)
        results = sum(each.label.startswith("knowledge:raw") for each in driven.compiled.left_out)
        assert total > results > 50
        for size in ((120, 40), (80, 24)):
            await driven.resize(*size)
            assert not driven.screen.left_out.display, size
            await driven.press("o", "g")
            assert driven.focused_panel() == "left-out" and f"3 left out  {total} · " in driven.text, size
            await driven.press("o")
            assert driven.focused_panel() == "sections" and not driven.screen.left_out.display, size
        await driven.resize(120, 40)
        await driven.press("o", "g")
        await driven.until(lambda: "the rest: over context_compiler.memory_budget_kb" in driven.text)
        await driven.press("enter")
        assert isinstance(driven.app.screen, PageScreen) and "increase the cap to include it" in driven.text
        await driven.press("escape", "G")
        assert f"▸ {total - 2} search results" in driven.text and "enter lists them" in driven.text
        assert driven.state.on_fold and driven.state.left_out_entry() is None
        await driven.press("e")
        assert "the selection does not come from a file" in driven.toasts
        await driven.press("enter", "j", "j")
        assert f"▾ {total - 2} search results" in driven.text and len(driven.app.screen_stack) == 2
        piece = driven.state.left_out_entry()
        assert piece == driven.state.entries[3]
        await driven.press("enter")
        assert isinstance(driven.app.screen, PageScreen) and f":{piece.lines}" in driven.text
        await driven.press("escape", "k", "k")
        assert driven.state.on_fold and "enter hides them" in driven.text
        await driven.press("enter")
        assert f"▸ {total - 2} search results" in driven.text and driven.state.on_fold
        await driven.press("slash")
        await driven.type("release-0-14-0")
        await driven.press("enter")
        piece = driven.state.left_out_entry()
        assert f" of {total} · " in driven.text and "release-0-14-0" in piece.source
        assert f"1 sections  {len(driven.compiled.sections)}" in driven.text
        await driven.press("escape")  # the match is folded again, so it is no longer selected
        assert "▸" in driven.text and driven.state.left_out_entry() in driven.state.entries[:2]
        await driven.press("plus", "o")
        assert driven.zoomed() is None
        more = {"dropped_turns": 4, "unflushed_turns": 1, "problems": ("knowledge/a.md is not UTF-8 text",)}
        await driven.show(replace(driven.compiled, left_out=(), next_pieces=(), **more))  # type: ignore[arg-type]
        assert driven.text.count("nothing left out") == 2
        assert "4 turns dropped, 1 unflushed" in driven.text and "! 1 problem" in driven.text


async def test_pieces_that_more_room_would_include_come_first(evening: Path) -> None:
    async with open_screen(evening) as driven:
        await driven.press("K")  # the agent's turn, whose prompt has no room for all that search found
        await driven.press("o", "g")
        wanted = driven.compiled.next_pieces
        tokens = sum(each.tokens for each in wanted)
        assert driven.screen.left_out.items[0] == HeadItem("500 more tokens would add", tokens=tokens)
        assert wanted and driven.state.entries[: len(wanted)] == wanted
        assert "needs about" in driven.text


async def test_d_compares_with_the_previous_prompt(evening: Path, watch: Watch) -> None:
    earlier = watch(Engine, "compile_before")
    async with open_screen(evening) as driven:
        await driven.press("d")
        assert earlier == [(f"{PATH}#4",)]
        assert "stable prefix unchanged, byte for byte" in driven.text and "added" in driven.text
        signs = {
            each.place: each.sign for each in driven.screen.sections.items if isinstance(each, SectionItem)
        }
        assert signs["topics/github-pr-review.md"] == "+" and signs["topics/gauge-quality.md"] == "-"
        assert signs["discussion"] == signs["message"] == "~"
        assert f"- Today is 2026-06-12. Session {EVENING}, turn 3." in driven.text
        assert f"+ Today is 2026-06-12. Session {EVENING}, turn 5." in driven.text
        await driven.press("y")
        assert driven.app.clipboard.startswith("@@ ") and "\n-Today is" in driven.app.clipboard
        await driven.press("d")
        assert not driven.state.comparing and driven.label == "system:system.md"
        earlier.error = AutopoiesisError("cannot be read", where=PATH, hint="look at it")
        await driven.press("escape", "c", "d")
        assert "cannot be read; look at it" in driven.flat()
        earlier.error = None
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Engine, "compile_before", lambda *_: driven.compiled)
            await driven.press("escape", "escape", "c", "d")
            assert "The two prompts have the same sections." in driven.flat()
        await driven.press("escape", *["K"] * 4)
        await driven.press("d")
        assert "First message of its conversation" in driven.flat()
        await driven.press("j", "y", "enter", "escape")
        assert driven.is_open() and not driven.state.comparing


async def test_d_says_where_the_stable_prefix_broke_at_every_size(evening: Path, picture: Picture) -> None:
    async with open_screen(evening) as driven:
        digest = evening / DIGEST
        digest.write_text(digest.read_text().replace("Decisions", "Verdicts", 1))
        await driven.press("d")
        comparison = driven.state.comparison
        before, after = (each.text.encode() for each in (comparison.before, comparison.after))
        byte = next(at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other)
        assert f"! stable prefix broken: layer 7 knowledge, knowledge:digest.md, byte {byte:,}" in driven.text
        picture(driven, "context/prefix-broken-120x40")
        await driven.press("d")
        for size in ((120, 40), (80, 24), (60, 16)):
            await driven.resize(*size)
            await driven.press("o", "d")
            assert driven.focused_panel() == "sections" and f"byte {byte:,}" in driven.text
            await driven.press("escape")
            assert driven.is_open() and not driven.state.comparing


async def test_a_tried_message_is_shown_and_compared_with_the_feed_message(
    evening: Path, watch: Watch
) -> None:
    earlier, tried = watch(Engine, "compile_before"), watch(Engine, "try_message")
    async with open_workbench(evening) as workbench:
        await workbench.press("i")
        await workbench.type("please review my PR")
        await workbench.press("enter")
        driven = await ContextDriven.over(workbench)
        assert "“please review my PR”  tried" in driven.text
        await driven.press("d")
        assert "against the feed's message" in driven.text and not earlier
        tried.clear()
        await driven.press("ctrl+r")
        assert tried == [("please review my PR", True)]


async def test_slash_filters_while_typing(evening: Path) -> None:
    async with open_screen(evening) as driven:
        total = len(driven.compiled.sections)
        await driven.press("slash")
        await driven.type("review")
        assert f" of {total}" in driven.text and driven.label == "topic:github-pr-review"
        await driven.press("enter", "j", "enter")
        assert driven.focused_panel() == "text" and driven.zoomed() is None
        await driven.press("1")
        following = driven.label
        assert "review" in driven.state.chosen.source and driven.focused_panel() == "sections"
        await driven.press("escape")
        assert driven.state.queries["sections"] == "" and driven.label == following
        await driven.press("slash")
        await driven.type("zebra")
        assert "no matches" in driven.text
        await driven.press("escape")
        assert "projects/_active.md" in driven.text
        await driven.send("slash", *"tdow")
        await driven.settle()
        assert driven.screen.prompt.input.value == "tdow"
        assert not driven.state.whole and not driven.state.comparing


async def test_a_prompt_is_written_only_after_confirmation_and_copied(evening: Path, watch: Watch) -> None:
    kept = watch(Engine, "keep_prompt")
    async with open_screen(evening) as driven:
        await driven.press("w")
        assert driven.screen.prompt.input.value == "scratch/prompt.md"
        await driven.press("left", "left", "left")
        await driven.type("-2")
        await driven.press("enter")
        assert (evening / "scratch/prompt-2.md").read_text() == driven.compiled.text
        assert "written to scratch/prompt-2.md" in driven.toasts and driven.focused_panel() == "sections"
        await driven.press("w", "escape")
        assert len(kept) == 1 and driven.is_open()
        await driven.press("w", "ctrl+u")
        await driven.type("x.md")
        await driven.press("enter")
        assert "x.md: " in driven.toasts and not (evening / "x.md").exists()
        old = evening / "scratch/old.md"
        old.write_text("an old one")
        await driven.press("w", "ctrl+u")
        await driven.type("scratch/old.md")
        await driven.press("enter")
        assert isinstance(driven.app.screen, ConfirmScreen) and "▸ Cancel ◂" in driven.text
        await driven.press("enter")
        assert old.read_text() == "an old one"
        await driven.press("w", "enter", "right", "enter")
        assert old.read_text() == driven.compiled.text and "written to scratch/old.md" in driven.toasts

        await driven.select("memory:MEMORY.md")
        await driven.press("y")
        assert driven.app.clipboard == driven.state.chosen.text
        await driven.press("Y")
        assert driven.app.clipboard == driven.compiled.text
        await driven.press("o", "y")
        assert driven.app.clipboard.startswith("P1 memory knowledge/memory/MEMORY.md:49-109 1317 the rest")
    async with open_screen(evening, read_only=True) as driven:
        await driven.press("w")
        assert "the workspace is read-only" in driven.toasts and driven.focused_panel() == "sections"
        await driven.press("j", "t", "d", "y")
        assert driven.state.comparing


async def test_e_does_not_run_an_editor_from_the_current_folder(
    evening: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, opened = tmp_path / "nano", tmp_path / "opened"
    script.write_text(f'#!/bin/sh\necho "$@" >> {opened}\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("VISUAL", str(script))
    async with open_screen(evening) as driven:
        await driven.press("e")
        assert "this terminal cannot run an editor" in driven.toasts
        monkeypatch.delenv("VISUAL")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("PATH", f".:{tmp_path / 'nothing'}:")
        for named in ("nano", "./nano", f"../{tmp_path.name}/nano"):
            monkeypatch.setenv("EDITOR", named)
            await driven.press("e")
            assert f"cannot start {named}: not on PATH; use its full path" in driven.toasts
            assert not opened.exists(), named


async def test_message_keys_gate_questions_and_esc_work_on_this_screen(evening: Path, watch: Watch) -> None:
    answers, scans, compiled = watch(Engine, "answer"), watch(Engine, "rescan"), watch(Engine, "compile_of")
    async with open_screen(evening) as driven:
        await driven.press("K")
        assert driven.bench.feed.selected is not None and driven.bench.feed.selected.key == f"{PATH}#3"
        assert "agent · 18:44 · the prompt it answered" in driven.text
        await driven.press("J")
        assert REVIEW in driven.text
        await driven.press("J")
        assert "no later message" in driven.toasts
        driven.engine.publish(GateAsked(NOW, "q1", "code-style", REVIEW, "House rules", 30.0))
        await driven.settle()
        assert "the gate asks" in driven.text
        await driven.press("ctrl+y")
        assert answers == [("q1", True)] and not driven.app.clipboard
        compiled.clear()
        await driven.press("ctrl+r")
        assert len(compiled) == 1 and scans
        await driven.press("ctrl+p")
        await driven.type("compare")
        await driven.press("enter")
        await driven.settle()
        assert driven.state.comparing
        await driven.press("slash")
        await driven.type("message")
        await driven.press("enter", "plus", "escape")
        assert driven.state.queries["sections"] == "" and driven.zoomed() == "sections"
        await driven.press("escape")
        assert driven.zoomed() is None and driven.state.comparing
        await driven.press("escape")
        assert not driven.state.comparing
        await driven.press("o", "escape")
        assert driven.is_open() and not driven.screen.left_out_open
        await driven.press("q")
        assert not driven.is_open() and driven.app.is_running


async def test_while_compiling_the_screen_says_so_and_leaving_does_not_wait(
    evening: Path, watch: Watch
) -> None:
    compiled = watch(Engine, "compile_of")
    async with open_workbench(evening) as workbench:
        driven = ContextDriven(workbench.app, workbench.pilot, workbench.engine)
        for leave in (False, True):
            with compiled.held():
                await driven.send("k", "c")
                await driven.until(lambda: driven.is_open() and "compiling …" in driven.text)
                if leave:
                    await driven.send("escape")
                    await driven.until(lambda: not driven.is_open())
                    break
                for key in (
                    "j",
                    "t",
                    "o",
                    "d",
                    "y",
                    "Y",
                    "w",
                    "enter",
                    "2",
                    "1",
                    "3",
                    "plus",
                    "underscore",
                ):
                    await driven.send(key)
                await driven.pilot.pause()
                assert "there is no prompt" in driven.toasts and not driven.screen.prompt.display
            await driven.settle()
            assert "knowledge/identity/SOUL.md" in driven.text and "compiling" not in driven.text
            await driven.press("escape", "escape")
        await driven.settle()
        assert driven.panel() == "feed" and not driven.bench.followers


async def test_the_screen_follows_the_message_and_keeps_the_section_and_its_place(
    evening: Path, watch: Watch
) -> None:
    compiled = watch(Engine, "compile_of")
    async with open_screen(evening, SIZES["80x24"]) as driven:
        await driven.select("memory:MEMORY.md")
        await driven.press("2", "j", "j", "j")
        prepared, line = driven.state.prepared, driven.screen.text.line_in_view
        await driven.press("ctrl+r")  # nothing has changed
        assert driven.state.prepared is prepared and driven.screen.text.line_in_view == line > 0
        (evening / DIGEST).unlink()
        compiled.clear()
        for number in range(30):
            driven.engine.publish(FileChanged(NOW, f"knowledge/{number}.md", "changed"))
        await driven.settle()
        assert len(compiled) == 1 and driven.state.prepared is not prepared
        assert driven.label == "memory:MEMORY.md" and driven.screen.text.line_in_view == line
        await driven.resize(120, 40)
        assert "knowledge:digest.md" not in [section.label for section in driven.compiled.sections]
        await driven.press("t", "2", "G", *["k"] * 20)
        line = driven.screen.text.line_in_view
        await driven.resize(90, 30)
        assert abs(driven.screen.text.line_in_view - line) <= 1
        await driven.press("t", "1")
        await driven.show(replace(driven.compiled, sections=driven.compiled.sections[:3]))
        assert driven.label == driven.compiled.sections[2].label  # the last one that is left

        text = "And the one after it?"
        ConversationCapture(driven.engine.files).message(EVENING, "user", text, at=NOW)
        turn = Turn("user", "18:47", (Text(text),))
        driven.engine.publish(TurnArrived(NOW, f"{PATH}#5", PATH, EVENING, turn))
        await driven.settle()
        assert f"“{text}”  user · 18:47" in driven.text
        await driven.press("G")
        assert "1  And the one" not in driven.text and text in driven.text
        late, newest = (replace(driven.compiled, tokens=number) for number in (1, 2))
        driven.bench.show_message(replace(driven.bench.shown, compiled=late))
        await driven.show(newest)
        assert driven.state.compiled is newest


async def test_a_late_comparison_is_dropped_and_events_during_teardown_are_ignored(
    evening: Path, watch: Watch
) -> None:
    earlier = watch(Engine, "compile_before")
    async with open_screen(evening) as driven:
        newest = replace(driven.compiled, tokens=700)
        with earlier.held():
            await driven.send("d")
            await driven.until(lambda: bool(earlier))
            assert "comparing …" in driven.text
            driven.bench.show_message(replace(driven.bench.shown, compiled=newest))
            await driven.until(lambda: driven.state.compiled is newest)
        await driven.settle()
        assert driven.state.comparison is not None and driven.state.comparison.after is newest
        await driven.screen.query_one(Footer).remove()
        driven.screen.follow()
        await driven.pilot.pause()
        assert driven.screen.gone


async def test_thousands_of_sections_and_a_line_of_a_megabyte_scroll_immediately(evening: Path) -> None:
    async with open_screen(evening) as driven:
        compiled, text = driven.compiled, driven.screen.text
        times = 1 + 4000 // len(compiled.sections)
        huge = replace(
            compiled, text="\n".join([compiled.text] * times), sections=compiled.sections * times,
            left_out=compiled.left_out * times,
        )  # fmt: skip
        for size in ((120, 40), (80, 24)):
            await driven.resize(*size)
            await driven.show(huge)
            driven.watch()
            driven.screen.left_out.drawn = driven.screen.sections.drawn = 0
            await driven.press("G", "g", "ctrl+d", "j")
            await driven.press("t", "2", "G", "ctrl+u", "g")
            assert text.row_count > 4000 and 0 < len(text._cache) <= 4 * size[1]
            await driven.press("3", "G", "g")
            assert 0 < driven.screen.left_out.drawn + driven.screen.sections.drawn < 12 * size[1]
            await driven.press("t", "1", "underscore")
        *sections, message = compiled.sections
        long = replace(message, text="word " * 200_000)
        await driven.show(
            replace(compiled, text=compiled.text + long.text, sections=(*sections, long), left_out=())
        )
        await driven.press("1", "G", "2", "G")
        assert "word word" in driven.text and text.virtual_size.height > 10_000


# What is drawn.


@pytest.fixture
def prompts(evening: Path) -> tuple[Compiled, Compiled]:
    """The prompts of the last two messages; before the last one, the digest was changed."""
    with Engine.open(evening, clock=lambda: NOW) as engine:
        last, before = engine.compile_of(f"{PATH}#4"), engine.compile_before(f"{PATH}#4")
    assert last is not None and before is not None
    sections = tuple(replace(each, text=each.text.replace("Facts", "Truths", 1)) for each in before.sections)
    return replace(before, sections=sections, text=before.text.replace("Facts", "Truths", 1)), last


def test_rows_fit_their_width_and_a_summary_names_the_byte(prompts: tuple[Compiled, Compiled]) -> None:
    before, compiled = prompts
    comparison = compare(before, compiled)
    left_out = left_out_order(compiled.left_out, compiled.next_pieces)
    for width in (18, 24, 36, 44, 60, 80, 120):
        for items in (
            section_items(prepare(compiled, len)),
            left_out_items(left_out, 2),
            left_out_items(left_out, 0, unfolded=True),
            difference_items(comparison),
        ):
            for reasons in (False, True):
                columns = Columns.of(items, reasons=reasons)
                for item in items:
                    assert draw_item(item, width, PLAIN, columns, query="md").cells <= max(width, 40)
        room = max(width, 24)
        for section in compiled.sections:
            assert all(row.cells <= room for row in section_head(section, 1024, room, PLAIN)[1:-1])
        assert all(row.cells <= room for row in left_out_detail(left_out[0], room, PLAIN)[1:])
    for width in (200, 118, 78, 58):
        text = "".join(words for words, _style in difference_summary(comparison, width, PLAIN))
        assert re.search(r"\+\d+.*-\d+.*~\d+.*byte [\d,]+", text[:width]), width


def test_prompts_without_text_or_with_sections_missing_from_it_are_harmless(
    prompts: tuple[Compiled, Compiled],
) -> None:
    prepared = prepare(replace(prompts[1], text="something else"), len)
    assert set(prepared.markers) == {NOWHERE} and set(prepared.ends) == {0} and section_items(prepared)
    assert section_items(prepare(Compiled("", 0, 0, 0, (), (), (), 0, (), (), 0), len)) == []


def test_what_more_room_would_include_comes_first_then_the_rest_and_then_search_results(
    prompts: tuple[Compiled, Compiled],
) -> None:
    left_out = prompts[1].left_out
    wanted = (left_out[5], left_out[0])
    order = left_out_order(left_out, wanted)
    assert order[:2] == wanted and sorted(map(str, order)) == sorted(map(str, left_out))
    few = left_out_items(order[:6], 2)
    assert [row.index for row in few if isinstance(row, SectionItem)] == list(range(6))
    assert all(isinstance(row, SectionItem) for row in left_out_items(order[:6], 0))
    for unfolded in (False, True):
        rows = left_out_items(order, 2, unfolded=unfolded)
        assert [row.tokens for row in rows if isinstance(row, HeadItem)] == [
            sum(each.tokens for each in wanted),
            sum(each.tokens for each in order[2:]),
        ]
        (fold,) = [row for row in rows if isinstance(row, SectionItem) and row.fold]
        folded = [each for each in order[2:] if each.slot == "knowledge"]
        assert fold.tokens == sum(each.tokens for each in folded) and fold.index == len(order)
        assert fold.place == f"{len(folded)} search results" and fold.score == max(
            each.score or 0 for each in folded
        )
    filtered = [row for row in left_out_items(order, 2, "release-0-14-0") if isinstance(row, SectionItem)]
    assert filtered and not any(row.fold for row in filtered)


@given(st.lists(st.text(max_size=80), max_size=6), st.integers(4, 40))
def test_wrapped_lines_fit_and_lose_only_spaces(lines: list[str], width: int) -> None:
    shown = [visible(line.replace("\n", " ")) for line in lines]
    parts = parts_of(shown, width)
    assert [at for at, _start, _end in parts] == sorted(at for at, _start, _end in parts)
    for at, line in enumerate(shown):
        own = [(start, end) for where, start, end in parts if where == at]
        assert own[0][0] == 0 and own[-1][1] == len(line)
        for start, end in own:
            assert cell_len(line[start:end]) <= max(width, 2)
        for (_start, end), (following, _end) in pairwise(own):
            assert line[end:following] in ("", " ")


def test_lines_are_wrapped_between_words_numbered_once_and_signed() -> None:
    for line, width, parts in (
        ("one two three four", 9, ["one two", "three", "four"]),
        ("日本 日本語 日本", 7, ["日本", "日本語", "日本"]),
    ):
        assert [line[start:end] for _at, start, end in parts_of([line], width)] == parts
    for page, width, drawn in (
        (TextPage(("abc def", "x"), (98, 0)), 4, ["98  abc", "    def", "    x"]),
        (
            TextPage(("@@ -1 +1 @@", "- old", "same"), signs=("@", "-", " ")),
            20,
            ["  @@ -1 +1 @@", "- - old", "  same"],
        ),
    ):
        gutter = gutter_of(page)
        assert [
            draw_part(page, each, gutter, PLAIN).text.rstrip() for each in parts_of(page.lines, width)
        ] == drawn
    assert gutter_of(TextPage(("x",), (0,))) == 0


def test_a_rule_shows_the_longest_text_that_fits() -> None:
    rule = RuleItem(True, 11_676, 3_427)
    assert rule_text(rule, 80) == "stable prefix ends here: 3,427 tokens, 11,676 characters · cache boundary"
    assert rule_text(rule, 60) == "stable prefix ends here: 3,427 tokens, 11,676 characters"
    assert all(len(rule_text(rule, width)) <= width for width in range(80))
