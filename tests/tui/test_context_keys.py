"""The keys of the context screen: each does what help and footer say, or says why it cannot."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from engine.errors import AutopoiesisError
from engine.events import GateAsked
from tests.tui.conftest import Run
from tests.tui.context_data import LEFT_OUT, prompt, prompt_before, with_many_results
from tests.tui.fake_engine import NOW, REVIEW, SESSION, FakeEngine, status_view
from tests.tui.screen_driven import ContextDriven, open_context
from tui.kit.overlays import ConfirmScreen, PageScreen
from tui.screens.context.lists import HeadItem, SectionItem


def clipboard(driven: ContextDriven) -> str:
    """The clipboard's content."""
    return driven.app.clipboard


async def select(driven: ContextDriven, label: str) -> None:
    """Moves the selection down to a section."""
    for _press in range(40):
        if driven.label == label:
            return
        await driven.press("j")
    raise AssertionError(f"{label} was not reached")


async def test_tab_and_enter_show_the_other_panel_if_only_one_fits(run: Run) -> None:
    async with open_context(run, (60, 16)) as driven:
        assert not driven.screen.text.display
        await driven.press("tab")
        assert driven.focused_panel() == "text" and not driven.screen.sections.display
        await driven.press("tab")
        assert driven.focused_panel() == "sections"
        await driven.press("j", "enter")
        assert driven.focused_panel() == "text" and "I am Wren." in driven.text
        await driven.press("escape")
        assert driven.is_open() and driven.zoomed() is None


async def test_the_text_scrolls_below_its_head_and_e_opens_its_line(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_context(run, (80, 24)) as driven:
        await driven.press("G", "g")
        assert driven.screen.sections.scroll_offset.y == 0
        await select(driven, "memory:MEMORY.md")
        await driven.press("2", "j", "j")
        assert driven.screen.text.scroll_offset.y == 2
        assert "why always in a main session" in driven.text and "# Core memory" not in driven.text
        await driven.press("G")
        assert "2026-06-11" in driven.text
        await driven.press("g")
        assert "# Core memory" in driven.text
        await driven.press("1", "g")
        opened: list[tuple[str, int]] = []
        monkeypatch.setattr(driven.screen, "edit_file", lambda path, line=0: opened.append((path, line)))
        compiled = len(driven.engine.calls_of("compile_of"))
        await select(driven, "memory:MEMORY.md")
        await driven.press("e", "2", "j", "j", "j", "e")
        await driven.press("o", "j", "j", "e")
        memory = "knowledge/memory/MEMORY.md"
        assert opened == [(memory, 7), (memory, 10), (memory, 21)]
        assert len(driven.engine.calls_of("compile_of")) == compiled + 3


async def test_lines_are_numbered_as_in_their_file_and_t_shows_the_whole_prompt(run: Run) -> None:
    async with open_context(run) as driven:
        await select(driven, "memory:MEMORY.md")
        assert " 7  # Core memory" in driven.text and "10  - 2026-06-01" in driven.text
        await driven.press("G")
        assert driven.state.numbers.get(driven.state.section) is None
        assert [call[1] for call in driven.engine.calls_of("lines_of")].count("memory:MEMORY.md") == 1
        await driven.press("1", "g")
        await select(driven, "knowledge:digest.md")
        await driven.press("t")
        assert "the whole prompt" in driven.text
        head, after = (
            driven.text.index("<!-- knowledge:digest.md -->"),
            driven.text.index("<!-- discussion -->"),
        )
        assert head < driven.text.rindex("stable prefix ends here") < after
        await driven.press("G")
        assert "<!-- message -->" in driven.text
        await driven.press("t")
        assert "<!-- message -->" not in driven.text and REVIEW in driven.text
        prepared = driven.state.prepared
        assert prepared is not None
        compiled = driven.engine.compiled
        assert "\n".join(prepared.lines) == compiled.text
        for section, marker, end in zip(compiled.sections, prepared.markers, prepared.ends, strict=True):
            assert prepared.lines[marker].startswith("<!-- ")
            assert "\n".join(prepared.lines[marker + 1 : end]) == section.text
        stable = "\n".join(prepared.lines[: prepared.prefix_end])
        assert len(stable) + 1 == compiled.stable_prefix_length


async def test_o_shows_what_was_left_out(run: Run) -> None:
    async with open_context(run) as driven:
        for size in ((120, 40), (80, 24)):
            await driven.resize(*size)
            assert not driven.screen.left_out.display, size
            await driven.press("o", "g")
            assert driven.focused_panel() == "left-out" and "3 left out  5 · 2,692 tok" in driven.text, size
            items = driven.screen.left_out.items
            assert items[0] == HeadItem("500 more tokens would add", tokens=515), size
            rows = [item for item in items if isinstance(item, SectionItem)]
            assert [row.tokens for row in rows] == [420, 95, 1317, 820, 40], size
            await driven.press("j", "j")
            assert "the rest: over context" in driven.text, size
            await driven.press("o")
            assert driven.focused_panel() == "sections" and not driven.screen.left_out.display, size
            await driven.press("o", "slash")
            await driven.type("memory")
            assert "3 left out  2 of 5" in driven.text and "1 sections  15" in driven.text, size
            await driven.press("enter", "escape")
            assert "3 left out  5" in driven.text, size
            await driven.resize(120, 40)
            await driven.press("g", "j", "j", "enter")
            assert isinstance(driven.app.screen, PageScreen), size
            assert LEFT_OUT[0].reason in driven.text and "increase the cap to include it" in driven.text, size
            await driven.press("escape", "o")


async def test_many_left_out_search_results_are_listed_when_unfolded(run: Run) -> None:
    async with open_context(run, compiled=with_many_results()) as driven:
        await driven.press("o", "G")
        assert "▸ 40 search results" in driven.text and "note-00.md:20-31" in driven.text
        assert "note-39.md" not in driven.text and "enter lists them" in driven.text
        assert "43 · " in driven.line("left out  ")
        await driven.press("enter", "j", "j")
        assert "▾ 40 search results" in driven.text and not isinstance(driven.app.screen, PageScreen)
        piece = driven.state.left_out_entry()
        assert piece is not None and piece.source == "knowledge/reference/note-01.md"
        await driven.press("enter")
        assert isinstance(driven.app.screen, PageScreen) and "note-01.md:20-31" in driven.text
        await driven.press("escape", "k", "k")
        assert (
            driven.state.on_fold
            and driven.state.left_out_entry() is None
            and "enter hides them" in driven.text
        )
        await driven.press("e")
        assert "the selection does not come from a file" in driven.toasts
        await driven.press("enter")
        assert "▸ 40 search results" in driven.text and driven.state.on_fold
        await driven.press("o")
        await driven.press("o", "slash")
        await driven.type("note-17")
        await driven.press("enter")
        piece = driven.state.left_out_entry()
        assert "1 of 43" in driven.text and piece is not None and piece.source.endswith("note-17.md")
        await driven.press("escape")  # the match is folded again, so it is no longer selected
        piece = driven.state.left_out_entry()
        assert "▸ 40 search results" in driven.text and piece is not None
        assert piece.label == "topic:release-notes" and "needs 438 tokens" in driven.text


async def test_an_empty_left_out_list_says_so(run: Run) -> None:
    async with open_context(run, compiled=prompt(left_out=(), next_pieces=())) as driven:
        await driven.press("o")
        assert driven.text.count("nothing left out") == 2


async def test_d_compares_with_the_previous_prompt(run: Run) -> None:
    async with open_context(run) as driven:
        await driven.press("d")
        assert driven.engine.calls_of("compile_before") == [("compile_before", f"{SESSION}#5")]
        assert "+2 added  -1 removed  ~2 changed" in driven.text
        assert "stable prefix unchanged, byte for byte" in driven.text
        signs = {
            item.place: item.sign for item in driven.screen.sections.items if isinstance(item, SectionItem)
        }
        assert signs == {
            "knowledge/journal/2026-06-12.md": "~",
            "topics/email-triage.md": "-",
            "topics/code-style.md": "+",
            "knowledge/reference/gate-costs.md:12-12": "+",
            "message": "~",
        }
        assert "- - The mast at gauge 7 is worked on until eleven." in driven.text
        assert "+ - The mast at gauge 7 is worked on until noon." in driven.text
        await driven.press("d")
        assert not driven.comparing() and driven.label == "system:system.md"


async def test_d_says_where_the_stable_prefix_broke_at_every_size(run: Run) -> None:
    before = prompt_before(broken=True)
    async with open_context(run, compiled_before=before) as driven:
        await driven.press("d")
        after = driven.engine.compiled.text.encode()
        byte = next(
            at
            for at, (one, other) in enumerate(zip(before.text.encode(), after, strict=False))
            if one != other
        )
        assert f"! stable prefix broken: layer 7 knowledge, knowledge:digest.md, byte {byte:,}" in driven.text
        await driven.press("d")
        for size in ((120, 40), (80, 24), (60, 16)):
            await driven.resize(*size)
            await driven.press("o", "d")
            assert driven.focused_panel() == "sections" and "byte 1,588" in driven.text
            await driven.press("escape")
            assert driven.is_open() and not driven.comparing()


async def test_a_missing_comparison_says_why(run: Run) -> None:
    async with open_context(run, compiled_before=None) as driven:
        await driven.press("d")
        assert "First message of its conversation" in " ".join(driven.text.split())
        await driven.press("j", "y", "enter", "escape")
        assert driven.is_open() and not driven.comparing()
        driven.engine.compiled_before = prompt()
        await driven.press("escape", "c", "d")
        assert "The two prompts have the same sections." in driven.text
        driven.engine.failing["compile_before"] = AutopoiesisError(
            "cannot be read", where=SESSION, hint="look at it"
        )
        await driven.press("escape", "escape", "c", "d")
        assert "cannot be read; look at it" in " ".join(driven.text.split())


async def test_a_tried_message_is_compared_with_the_feed_message(run: Run) -> None:
    async with run(compiled=prompt()) as driven:
        screen = ContextDriven(driven.app, driven.pilot, driven.engine)
        await screen.press("i")
        await screen.type("please review my PR")
        await screen.press("enter", "c")
        assert "please review my PR" in screen.text and "tried" in screen.text
        await screen.press("d")
        assert "against the feed's message" in screen.text
        assert not screen.engine.calls_of("compile_before")


async def test_slash_filters_while_typing(run: Run) -> None:
    async with open_context(run) as driven:
        await driven.press("slash")
        await driven.type("review")
        assert "4 of 15" in driven.text and driven.label == "topic:github-pr-review"
        await driven.press("enter", "j")
        assert driven.label == "subscription:code-review" and driven.focused_panel() == "sections"
        await driven.press("escape")
        assert driven.state.queries["sections"] == "" and driven.label == "subscription:code-review"
        await driven.press("slash")
        await driven.type("zebra")
        assert "no matches" in driven.text
        await driven.press("escape")
        assert "knowledge/identity/SOUL.md" in driven.text
        await driven.send("slash", *"tdow")
        await driven.settle()
        assert driven.screen.prompt.input.value == "tdow"
        assert not driven.state.whole and not driven.comparing()


@pytest.fixture
def editor(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An editor called nano that records what it is asked to open."""
    opened = home / "opened"
    script = home / "nano"
    script.write_text(f'#!/bin/sh\necho "$@" >> {opened}\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("EDITOR", str(script))
    monkeypatch.delenv("VISUAL", raising=False)
    return opened


async def test_copying_writing_and_refused_edits(run: Run, editor: Path) -> None:
    async with open_context(run) as driven:
        await driven.press("w")
        assert driven.screen.prompt.input.value == "scratch/prompt.md"
        await driven.type("x")
        await driven.press("enter")
        assert driven.engine.calls_of("keep_prompt") == [
            ("keep_prompt", "scratch/prompt.mdx", driven.engine.compiled.text, False)
        ]
        assert "written to scratch/prompt.mdx" in driven.toasts and driven.focused_panel() == "sections"
        await driven.press("w", "escape")
        assert len(driven.engine.calls_of("keep_prompt")) == 1 and driven.is_open()
        await driven.press("G", "e")
        assert "the selection does not come from a file" in driven.toasts
        await driven.press("g")
        await driven.press("e")
        assert "this terminal cannot run an editor" in driven.toasts
        await select(driven, "memory:MEMORY.md")
        await driven.press("y")
        assert driven.state.chosen is not None
        assert clipboard(driven) == driven.state.chosen.text
        await driven.press("Y")
        assert clipboard(driven) == driven.engine.compiled.text
        await driven.press("d", "y")
        assert clipboard(driven).startswith("@@ ") and "\n-- The mast" in clipboard(driven)
        await driven.press("d", "o", "y")
        assert clipboard(driven).startswith("P2 topic topics/release-notes.md 420")
        await driven.press("4", "y")
        assert "identity" in clipboard(driven)


async def test_e_does_not_run_an_editor_from_the_current_folder(
    run: Run, editor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(editor.parent)
    monkeypatch.setenv("PATH", f".:{editor.parent / 'nothing'}:")
    async with open_context(run) as driven:
        for named in ("nano", "./nano", "../home/nano"):
            monkeypatch.setenv("EDITOR", named)
            await driven.press("e")
            assert f"cannot start {named}: not on PATH; use its full path" in driven.toasts
            assert not editor.exists(), named


async def test_a_refused_name_says_why_and_an_existing_file_needs_confirmation(run: Run) -> None:
    async with open_context(run, existing=frozenset({"scratch/prompt.md"})) as driven:
        refused = AutopoiesisError("below scratch/ only", where="x.md", hint="name it so")
        driven.engine.failing["keep_prompt"] = refused
        await driven.press("w", "enter")
        assert "x.md: below scratch/ only; name it so" in driven.toasts
        driven.engine.failing.clear()
        driven.engine.calls.clear()
        # the focus is on cancel
        await driven.press("w", "enter")
        assert isinstance(driven.app.screen, ConfirmScreen) and "▸ Cancel ◂" in driven.text
        await driven.press("enter")
        assert len(driven.engine.calls_of("keep_prompt")) == 1
        await driven.press("w", "enter", "right", "enter")
        assert driven.engine.calls_of("keep_prompt")[-1][-1] is True
        assert "written to scratch/prompt.md" in driven.toasts


async def test_a_read_only_workspace_writes_nothing(run: Run, engine: FakeEngine) -> None:
    engine.status_value = status_view(read_only=True)
    async with open_context(run) as driven:
        await driven.press("w")
        assert "the workspace is read-only" in driven.toasts and driven.focused_panel() == "sections"
        await driven.press("j", "t", "d", "y")
        assert driven.comparing()


async def test_message_keys_gate_questions_and_help_work_on_this_screen(run: Run) -> None:
    async with open_context(run) as driven:
        await driven.press("K")
        assert driven.bench.feed.selected is not None and driven.bench.feed.selected.key == f"{SESSION}#4"
        assert "agent · 18:46 · the prompt it answered" in driven.text
        await driven.press("J")
        assert REVIEW in driven.text
        await driven.press("J")
        assert "no later message" in driven.toasts
        driven.engine.publish(GateAsked(NOW, "q1", "code-style", REVIEW, "House rules", 30.0))
        await driven.settle()
        assert "the gate asks" in driven.text
        await driven.press("ctrl+y")
        assert driven.engine.calls_of("answer") == [("answer", "q1", True)] and not clipboard(driven)
        before = len(driven.engine.calls_of("compile_of"))
        await driven.press("ctrl+r")
        assert len(driven.engine.calls_of("compile_of")) == before + 1
        assert driven.engine.calls_of("rescan")
        await driven.press("question_mark")
        assert "Toggle between the whole prompt" in " ".join(driven.text.split())
        await driven.press("escape", "exclamation_mark")
        assert "there are no problems" in driven.toasts
        theme = driven.app.theme
        await driven.press("T")
        assert driven.app.theme != theme
        await driven.press("ctrl+p")
        await driven.type("compare")
        await driven.press("enter")
        await driven.settle()
        assert driven.comparing()
        await driven.press("d")
        await driven.press("d", "slash")
        await driven.type("message")
        await driven.press("enter", "plus", "escape")
        assert driven.state.queries["sections"] == "" and driven.zoomed() == "sections"
        await driven.press("escape")
        assert driven.zoomed() is None and driven.comparing()
        await driven.press("escape")
        assert not driven.comparing()
        await driven.press("o", "escape")
        assert driven.is_open() and not driven.screen.left_out_open
        await driven.press("q")
        assert not driven.is_open() and driven.app.is_running
