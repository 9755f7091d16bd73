"""The context screen with changing messages, late answers, and huge and hostile prompts."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from engine.context.compiled import Compiled
from engine.errors import BudgetError
from engine.events import FileChanged, TurnTraced
from engine.live.feed import FeedEntry
from tests.tui.conftest import Run
from tests.tui.context_data import candidate, candidates, compiled_of, huge_prompt, prompt
from tests.tui.fake_engine import NOW, REVIEW, SESSION, FakeEngine, review_trace
from tests.tui.screen_driven import ContextDriven, open_context
from tests.tui.test_hostile_text import COMBINED, assert_each_harmless, assert_harmless
from tui.kit.bars import Footer

TOO_MUCH = BudgetError(
    "the message takes 9,000 tokens", where="context_compiler.token_budget", hint="shorten the message"
)


async def test_while_compiling_the_screen_says_so_and_keys_work(run: Run) -> None:
    release = threading.Event()
    async with open_context(run, settle=False, blocked={"compile_of": release}) as driven:
        await driven.until(lambda: "compiling …" in driven.text)
        for key in ("j", "t", "o", "d", "y", "Y", "w", "enter", "2", "1", "3", "4", "plus", "underscore"):
            await driven.send(key)
        await driven.pilot.pause()
        assert "there is no prompt" in driven.toasts and not driven.screen.prompt.display
        release.set()
        await driven.settle()
        assert "knowledge/identity/SOUL.md" in driven.text and "compiling" not in driven.text


async def test_leaving_while_compiling_does_not_wait(run: Run) -> None:
    release = threading.Event()
    async with open_context(run, settle=False, blocked={"compile_of": release}) as driven:
        await driven.until(lambda: "compiling …" in driven.text)
        await driven.send("escape")
        await driven.until(lambda: not driven.is_open())
        release.set()
        await driven.settle()
        assert driven.panel() == "feed" and not driven.bench.followers


async def test_the_screen_follows_the_message_and_keeps_the_selected_section(run: Run) -> None:
    async with open_context(run) as driven:
        await driven.press("j", "j", "j", "2", "j")
        prepared, at = driven.state.prepared, driven.screen.text.scroll_offset.y
        driven.engine.compiled = replace(prompt())
        await driven.press("ctrl+r")
        assert driven.state.prepared is prepared and driven.screen.text.scroll_offset.y == at
        await driven.press("1", "g")
        driven.engine.compiled = prompt()
        while driven.label != "topic:github-pr-review":
            await driven.press("j")
        pieces = [each for each in candidates() if each.label != "knowledge:digest.md"]
        driven.engine.compiled = compiled_of(pieces)
        await driven.press("ctrl+r")
        assert driven.label == "topic:github-pr-review" and "1 sections  14" in driven.text
        driven.engine.compiled = compiled_of(pieces[:3])
        await driven.press("ctrl+r")
        assert driven.label == "identity:USER.md"
        before = len(driven.engine.calls_of("compile_of"))
        driven.engine.compiled = prompt(tokens=700)
        driven.engine.publish(
            *(FileChanged(NOW, f"knowledge/{number}.md", "changed") for number in range(30))
        )
        await driven.settle()
        assert len(driven.engine.calls_of("compile_of")) == before + 1
        assert "700 of 1,024 tok" in driven.text
        driven.engine.compiled = prompt("And the one after it?")
        driven.engine.entries = [
            *driven.engine.entries,
            FeedEntry(NOW, "user", "And the one after it?", "", f"{SESSION}#6"),
        ]
        driven.engine.publish(TurnTraced(f"{SESSION}#6", review_trace()))
        await driven.settle()
        assert "“And the one after it?”  user · 18:47" in driven.text
        await driven.press("G")
        assert "1  And the one after it?" not in driven.text and "And the one after it?" in driven.text
        shown = driven.bench.shown
        late, newest = prompt("late"), prompt("newest")
        driven.bench.show_message(replace(shown, compiled=late))
        driven.bench.show_message(replace(shown, compiled=newest))
        await driven.settle()
        assert driven.state.compiled is newest


async def test_the_scroll_position_survives_a_new_prompt_and_a_resize(run: Run) -> None:
    async with open_context(run, (80, 24)) as driven:
        await driven.press(*["j"] * 3, "2", "j", "j", "j")
        line = driven.screen.text.line_in_view
        assert driven.label == "memory:MEMORY.md" and line > 0
        driven.engine.compiled = prompt(tokens=700)
        await driven.press("ctrl+r")
        assert driven.screen.text.line_in_view == line and "700 of 1,024" in driven.text
        await driven.resize(120, 40)
        await driven.press("t", "2", "G", *["k"] * 20)
        line = driven.screen.text.line_in_view
        await driven.resize(90, 30)
        assert abs(driven.screen.text.line_in_view - line) <= 1
        await driven.press("1")
        for size in ((59, 24), (80, 15)):
            await driven.resize(*size)
            assert "needs 60×16" in driven.text
            await driven.resize(120, 40)
            assert REVIEW in driven.text and driven.focused_panel() == "sections"


async def test_a_late_comparison_is_dropped(run: Run) -> None:
    release = threading.Event()
    async with open_context(run) as driven:
        driven.engine.blocked["compile_before"] = release
        await driven.send("d")
        await driven.until(lambda: bool(driven.engine.calls_of("compile_before")))
        assert "comparing …" in driven.text
        newest = prompt("newest")
        driven.bench.show_message(replace(driven.bench.shown, compiled=newest))
        await driven.until(lambda: driven.state.compiled is newest)
        release.set()
        await driven.settle()
        assert driven.state.comparison is not None and driven.state.comparison.after is newest


async def test_a_budget_error_is_shown_with_a_hint_and_clears_on_retry(run: Run, engine: FakeEngine) -> None:
    engine.failing["compile_of"] = TOO_MUCH
    async with open_context(run) as driven:
        text = " ".join(driven.text.replace("│", " ").split())
        assert "! context_compiler.token_budget: the message takes 9,000 tokens; shorten the message." in text
        assert "ctrl+r tries again" in text
        engine.failing.clear()
        await driven.press("ctrl+r")
        assert "knowledge/identity/SOUL.md" in driven.text and "9,000 tokens" not in driven.text


@pytest.mark.parametrize("entries", [[], [FeedEntry(NOW, "file", "knowledge/facts.md", "changed")]])
async def test_without_a_message_the_bare_prompt_is_shown(run: Run, entries: list[FeedEntry]) -> None:
    async with open_context(run, entries=entries) as driven:
        assert "showing the prompt without one" in driven.text
        assert driven.engine.calls_of("try_message") == [("try_message", "")]
        await driven.press("d")
        assert "No earlier message to compare with." in " ".join(driven.text.split())
        await driven.press("j", "t")
        assert "<!-- identity:SOUL.md -->" in driven.text


async def test_without_a_message_an_error_also_has_a_hint(run: Run, engine: FakeEngine) -> None:
    engine.failing["try_message"] = TOO_MUCH
    async with open_context(run, entries=[]) as driven:
        assert "shorten the message" in " ".join(driven.text.split())


async def test_a_tried_message_is_shown_and_tried_again_on_rescan(run: Run) -> None:
    async with run(compiled=prompt()) as driven:
        screen = ContextDriven(driven.app, driven.pilot, driven.engine)
        await screen.press("i")
        await screen.type("please review")
        await screen.press("enter", "c")
        assert "“please review”  tried" in screen.text
        await screen.press("ctrl+r")
        assert screen.engine.calls_of("try_message")[-1] == ("try_message", "please review", "asked")


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_thousands_of_sections_and_100_000_tokens_scroll_immediately(
    run: Run, size: tuple[int, int]
) -> None:
    async with open_context(run, size, compiled=huge_prompt()) as driven:
        compiled, text = driven.engine.compiled, driven.screen.text
        driven.watch()
        assert compiled.tokens > 90_000 and len(compiled.sections) > 4000
        await driven.press("G", "g", "ctrl+d", "j")
        await driven.press("t", "2", "G", "ctrl+u", "g")
        assert text.row_count > 4000 and 0 < len(text._cache) <= 4 * size[1]
        await driven.press("3", "G", "g")
        assert 0 < driven.screen.left_out.drawn + driven.screen.sections.drawn < 12 * size[1]


async def test_a_single_line_of_a_megabyte_is_wrapped(run: Run) -> None:
    pieces = [*candidates()[:2], candidate("message", 12, 0, "message", "", "word " * 200_000, "the message")]
    async with open_context(run, compiled=compiled_of(pieces)) as driven:
        await driven.press("G", "2", "G")
        assert "word word" in driven.text and driven.screen.text.virtual_size.height > 15_000


def poisoned(text: str) -> Compiled:
    """A prompt with a text in every displayed field."""
    compiled = prompt()
    sections = tuple(
        replace(each, label=text, source=text, lines=text, why=text, text=f"{text}\n{each.text}")
        for each in compiled.sections
    )
    left = tuple(
        replace(each, label=text, source=text, lines=text, reason=text) for each in compiled.left_out
    )
    whole = "\n\n".join(f"<!-- {text} -->\n{section.text}" for section in sections)
    return replace(
        compiled,
        text=whole,
        sections=sections,
        left_out=left,
        next_pieces=left[:1],
        active_topics=(text,),
        problems=(text,),
    )


async def test_hostile_text_is_shown_and_has_no_effect(run: Run) -> None:
    async with open_context(run, (80, 24)) as driven:
        for size in ((160, 50), (80, 24)):
            await driven.resize(*size)
            await assert_each_harmless(
                driven, lambda text: setattr(driven.engine, "compiled", poisoned(text))
            )
        driven.engine.compiled = poisoned(COMBINED)
        await driven.press("ctrl+r")
        for keys in ("j", "t", "2 j", "o j", "enter", "escape d", "j", "plus"):
            await driven.press(*keys.split())
            assert_harmless(driven)
        assert driven.is_open()
        await driven.press("underscore", "d", "1", "g")
        await driven.resize(200, 60)
        for text in ("[todo] buy", "[/]", "[red]no[/red]"):  # markup-like text is shown in full
            driven.engine.compiled = poisoned(text)
            await driven.press("ctrl+r")
            if not driven.screen.left_out_open:
                await driven.press("o")
            assert driven.text.count(text) > 30


async def test_events_during_teardown_are_ignored(run: Run) -> None:
    async with open_context(run) as driven:
        await driven.screen.query_one(Footer).remove()
        driven.screen.follow()
        await driven.pilot.pause()
        assert driven.screen.gone
