"""The input line: trying messages while typing, running commands, and type-ahead."""

from __future__ import annotations

import threading

import pytest
from textual import events

from engine.errors import AutopoiesisError
from tests.tui.conftest import Run
from tui.kit.overlays import PageScreen


async def test_a_draft_is_tried_after_a_pause_in_typing(run: Run) -> None:
    async with run() as driven:
        assert "6,912/8,192" in driven.text
        await driven.press("i")
        await driven.type("please review my PR")
        assert driven.source() == "draft"
        assert "please review my PR" in driven.lines[2]
        assert f"{6200 + 11 * len('please review my PR'):,}/8,192" in driven.lines[0]
        await driven.press("escape")
        driven.engine.calls.clear()

        await driven.press("i")
        driven.bench.prompt.input.value = "r"
        driven.bench.prompt.input.value = "re"
        driven.bench.prompt.input.value = "rev"
        await driven.settle()
        assert [call[1] for call in driven.engine.calls_of("try_message")] == ["rev"]
        await driven.press("escape")
        driven.engine.calls.clear()

        await driven.press("i")
        driven.bench.prompt.input.value = "review"
        await driven.press("escape")
        assert not driven.engine.calls_of("try_message")
        assert driven.source() == "feed"

        await driven.press("i")
        await driven.type("review")
        driven.bench.feed.show([*driven.engine.entries, driven.engine.entries[0]])
        await driven.settle()
        assert driven.bench.activation.shown.text == "review"
        await driven.press("escape")
        driven.engine.calls.clear()

        driven.engine.failing["try_message"] = AutopoiesisError("the budget is too small", hint="raise it")
        await driven.press("i")
        await driven.type("review")
        assert "the budget is too small; raise it" in driven.text


async def test_a_slow_try_is_superseded_by_the_newest(run: Run) -> None:
    async with run() as driven:
        release = threading.Event()
        driven.engine.blocked["try_message"] = release
        driven.bench.try_draft("one")
        await driven.until(lambda: driven.engine.calls_of("try_message"))
        for text in ("two", "three"):
            driven.bench.try_draft(text)
        release.set()
        await driven.settle()
        assert [call[1] for call in driven.engine.calls_of("try_message")] == ["one", "three"]
        assert driven.bench.activation.shown.text == "three"
        assert driven.bench.activation.shown.trace is not None


async def test_enter_keeps_a_message_and_asks_the_gate_and_esc_follows_again(run: Run) -> None:
    async with run() as driven:
        driven.engine.gate_only_on_request = True
        await driven.press("i")
        await driven.type("review")
        await driven.settle()
        assert driven.engine.calls_of("try_message")[-1] == ("try_message", "review")
        await driven.press("enter")
        await driven.settle()
        assert driven.engine.calls_of("try_message")[-1] == ("try_message", "review", "asked")
        await driven.press("i", "escape", "escape")
        driven.engine.gate_only_on_request = False

        await driven.press("i")
        await driven.type("review")
        await driven.press("enter")
        assert driven.source() == "kept"
        assert driven.panel() == "activation"
        assert "tried" in driven.lines[1]
        await driven.press("i")
        assert driven.bench.prompt.input.value == "review"
        await driven.press("escape")
        assert driven.source() == "feed"
        assert driven.panel() == "activation"

        await driven.press("i")
        await driven.type("q1?:/ynT")
        assert driven.bench.prompt.input.value == "q1?:/ynT"
        assert driven.app.is_running


async def test_type_ahead_ends_up_in_the_line(run: Run) -> None:
    async with run() as driven:
        await driven.press("2")
        await driven.send("i", *"yes no quit")
        await driven.settle()
        assert driven.bench.prompt.input.value == "yes no quit"
        assert not driven.engine.calls_of("label") and driven.app.is_running
        await driven.send("escape", ":", *"doctor", "enter")
        await driven.settle()
        assert driven.engine.calls_of("run_command") == [("run_command", "doctor")]
        await driven.send("escape", "1", "/", *"mail", "enter", "escape", "3", "+", "escape", "4")
        await driven.settle()
        assert driven.panel() == "ledger" and driven.zoomed() is None
        assert driven.bench.feed.query_text == ""


async def test_a_command_opens_a_page_with_its_output(run: Run) -> None:
    async with run() as driven:
        await driven.press("colon")
        await driven.type("topics check")
        await driven.press("enter")
        assert driven.engine.calls_of("run_command") == [("run_command", "topics check")]
        page = driven.app.screen
        assert isinstance(page, PageScreen)
        assert "42 topics, 0 problems" in driven.text
        await driven.press("escape", "colon", "up")
        assert driven.bench.prompt.input.value == "topics check"
        await driven.press("escape")

        release = threading.Event()
        driven.engine.blocked["run_command"] = release
        driven.bench.run_command("autopoiesis doctor")
        await driven.pilot.pause()
        await driven.pilot.pause()
        assert "running …" in driven.text and ":doctor" in driven.text
        driven.engine.output = "topic   score\n    indented  .5\n\nlast"
        release.set()
        await driven.settle()
        page = driven.app.screen
        assert isinstance(page, PageScreen)
        assert page.panel.selected_text() == "topic   score\n    indented  .5\n\nlast"
        await driven.press("escape")

        driven.engine.output = "line\n" * 20_100
        driven.bench.run_command("decisions list")
        await driven.settle()
        await driven.press("G")
        assert "100 more lines" in driven.text
        await driven.press("escape")

        driven.engine.failing["run_command"] = AutopoiesisError("no such command", where="nonsense")
        driven.bench.run_command("nonsense")
        await driven.settle()
        assert "nonsense: no such command" in driven.text


async def test_a_running_command_can_be_stopped_or_left_and_blocks_no_other(run: Run) -> None:
    async with run() as driven:
        bench, line = driven.bench, "reindex"
        release, stops = threading.Event(), []

        def reindex(_line: str, stop: threading.Event) -> str:
            stops.append(stop)
            release.wait(60)
            return "a third of it\nstopped\n"

        bench.conductor._run_line = reindex
        bench.run_command(line)
        await driven.until(lambda: stops and "esc stops it" in driven.text)
        bench.conductor._run_line = driven.engine.run_command
        await driven.send("q")
        await driven.until(lambda: len(driven.app.screen_stack) == 1)
        bench.run_command("doctor")  # while the first is running
        await driven.until(lambda: "42 topics" in driven.text)
        await driven.send("ctrl+c")  # there is nothing left to stop
        assert "42 topics" in driven.text and not stops[0].is_set()
        await driven.send("escape")
        await driven.until(lambda: len(driven.app.screen_stack) == 1)
        release.set()
        await driven.settle()
        assert f":{line} finished" in driven.text and not bench.outputs

        for key in ("escape", "ctrl+c"):
            release.clear()
            stops.clear()
            bench.conductor._run_line = reindex
            bench.run_command(line)
            await driven.until(lambda: stops and "running …" in driven.text)
            await driven.send(key)
            await driven.until(lambda: "stopping …" in driven.text)
            assert stops[-1].is_set()
            release.set()
            await driven.settle()
            assert isinstance(driven.app.screen, PageScreen)
            assert driven.app.screen.panel.selected_text() == "a third of it\nstopped"
            await driven.press("escape")
            assert len(driven.app.screen_stack) == 1


@pytest.mark.parametrize(("key", "line"), [("C", "cache overview"), ("B", "history branches")])
async def test_a_key_shows_what_a_command_prints(run: Run, key: str, line: str) -> None:
    async with run() as driven:
        await driven.press("2", key)
        assert f"$ autopoiesis {line}" in driven.text
        await driven.press("escape")
        assert driven.panel() == "activation" and len(driven.app.screen_stack) == 1


async def test_quit_is_also_a_command(run: Run) -> None:
    async with run() as driven:
        driven.bench.run_command("q")
        await driven.pilot.pause()
        assert driven.app._exit


async def test_late_focus_events_do_not_close_the_line(run: Run) -> None:
    """Keys arrive before the focus event."""
    async with run() as driven:
        await driven.press("2", "1", "/")
        driven.bench.post_message(events.DescendantFocus(driven.bench.activation))
        await driven.settle()
        await driven.type("review")
        assert driven.panel() == "try"
        assert driven.bench.feed.query_text == "review"
        assert driven.bench.activation.query_text == ""
        await driven.press("escape")
        assert driven.panel() == "feed" and driven.bench.feed.query_text == ""


async def test_tab_completes_a_command_and_never_leaves_its_line(run: Run) -> None:
    async with run() as driven:
        prompt = driven.bench.prompt
        await driven.press("colon")
        await driven.type("doc")
        await driven.press("tab")
        assert prompt.input.value == "doctor "
        await driven.press("tab", "shift+tab")
        await driven.type("e")
        assert driven.panel() == "try" and prompt.mode == "command", "letters after tab are no commands"

        step = "what is ambiguous is extended as far as it is certain, and listed"
        await driven.press("ctrl+u")
        await driven.type("pr")
        await driven.press("tab")
        assert prompt.input.value == "pr" and "preset · private · probe" in driven.text, step
        await driven.type("i")
        assert "preset · private" not in driven.text, step
        await driven.press("tab")
        assert prompt.input.value == "private ", step
        await driven.press("escape")
        assert driven.panel() == "feed", step
