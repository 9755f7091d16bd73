"""A message sent from the workbench: streamed replies, stopped replies and failures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from engine.errors import SendFailed
from engine.events import GateAsked, WatchState
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.discussion_data import REPLY
from tests.tui.fake_engine import NOW, REVIEW, status_view
from tui.screens.workbench.pages import ReplyScreen

Picture = Callable[[Driven, str], None]


def reply_screen(driven: Driven) -> ReplyScreen:
    found = driven.app.screen
    assert isinstance(found, ReplyScreen)
    return found


async def wait_until_ended(driven: Driven) -> ReplyScreen:
    screen = reply_screen(driven)
    await driven.until(lambda: not screen.busy)
    await driven.settle()  # the workbench below fetches its message again
    return screen


async def send_message(driven: Driven, text: str, key: str = "ctrl+s") -> None:
    """Types a message and sends it."""
    await driven.press("i")
    await driven.type(text)
    await driven.send(key)
    await driven.settle()  # does not wait for the reply


async def close_reply(driven: Driven) -> None:
    """Closes the reply."""
    await driven.send("escape")
    await driven.settle()
    assert driven.app.screen is driven.bench


async def test_a_message_is_sent_and_its_whole_reply_is_shown(run: Run) -> None:
    async with run() as driven:
        for key in ("ctrl+s", "ctrl+enter"):
            driven.engine.calls.clear()
            await send_message(driven, REVIEW, key)
            await wait_until_ended(driven)
            assert driven.engine.calls_of("send") == [("send", REVIEW, "")], key
            text = driven.text
            for line in (
                REVIEW,
                "Two things before it goes in:",
                "    connection.execute(QUERY)",
                "6,912 tokens in",
                "5,113 cached (74%)",
                "$0.0124",
            ):
                assert line in text, key
            await close_reply(driven)
            assert driven.source() == "feed", key

        step = "continues the session in view"
        driven.engine.session = "ses_a1b2c3d4"
        driven.engine.calls.clear()
        turn = driven.bench.shown.key
        await send_message(driven, "And the tests?")
        await wait_until_ended(driven)
        assert driven.engine.calls_of("to_continue") == [("to_continue", turn)], step
        assert driven.engine.calls_of("send") == [("send", "And the tests?", "ses_a1b2c3d4")], step


async def test_the_reply_is_streamed_and_esc_stops_it_then_closes(run: Run) -> None:
    async with run() as driven:
        step = "shown before it is complete"
        driven.engine.go_on.clear()
        await send_message(driven, REVIEW)
        await driven.until(lambda: "The PR splits the cursor" in driven.text)
        assert "wall clock" not in driven.text, step
        assert reply_screen(driven).busy and "esc stops the reply" in driven.text, step
        driven.engine.go_on.set()
        await wait_until_ended(driven)
        assert "wall clock" in driven.text and "esc closes" in driven.text, step
        await close_reply(driven)

        step = "esc stops it, then closes"
        driven.engine.go_on.clear()
        await send_message(driven, REVIEW)
        await driven.until(lambda: len(reply_screen(driven).reply) == 120)
        await driven.send("escape")
        screen = await wait_until_ended(driven)
        assert driven.engine.calls_of("stop sending"), step
        assert "! anthropic: stopped" in driven.text and screen.reply == REPLY[:120], step
        await close_reply(driven)


@pytest.mark.parametrize("size", SIZES.values())
async def test_the_gate_is_answered_while_a_message_is_sent(run: Run, size: tuple[int, int]) -> None:
    asked = GateAsked(NOW, "q1", "code-style", REVIEW, "House rules for code", 30.0)
    async with run(size) as driven:
        driven.engine.go_on.clear()
        await send_message(driven, REVIEW)
        await driven.until(lambda: "The PR splits the cursor" in driven.text)
        for key, yes in (("y", True), ("ctrl+n", False)):
            driven.engine.publish(replace(asked, question_id=key))
            await driven.until(lambda: "does code-style apply" in driven.text)
            assert "y yes" in driven.text and "esc stops the reply" in driven.text
            await driven.send(key)
            await driven.until(lambda: "does code-style apply" not in driven.text)
            await driven.until(lambda answer=("answer", key, yes): answer in driven.engine.calls)  # type: ignore[misc]
        driven.engine.go_on.set()
        await wait_until_ended(driven)


async def test_a_question_asked_before_a_dialog_opens_is_answered_over_it(run: Run) -> None:
    async with run() as driven:
        driven.bench.ask("quit?", "Really?", "Yes", driven.bench.app.bell)
        driven.engine.publish(GateAsked(NOW, "q1", "code-style", REVIEW, "House rules for code", 30.0))
        await driven.settle()
        assert "Really?" in driven.text and "ctrl+y yes" in driven.text
        await driven.press("ctrl+y")
        assert driven.engine.calls_of("answer") == [("answer", "q1", True)] and "Really?" in driven.text


async def test_an_unsent_message_gives_the_reason(run: Run) -> None:
    async with run() as driven:
        engine = driven.engine
        for typed in ("", "   "):
            await send_message(driven, typed)
            await driven.settle()
            assert driven.app.screen is driven.bench, repr(typed)
            assert "type a message first" in driven.text and not engine.calls_of("send"), repr(typed)
            driven.app.clear_notifications()
            await driven.press("escape")

        step = "nothing is sent from the command line"
        await driven.press("colon")
        await driven.type("doctor")
        await driven.send("ctrl+s")
        await driven.settle()
        assert not engine.calls_of("send"), step
        await driven.press("escape")

        step = "a failure is shown where the reply would be"
        engine.failing["send"] = SendFailed("the key was refused (401)", where="anthropic", hint="set it")
        await send_message(driven, REVIEW)
        await wait_until_ended(driven)
        assert "! anthropic: the key was refused (401); set it" in driven.text, step
        await close_reply(driven)

        step = "a read-only workspace says so"
        engine.calls.clear()
        engine.status_value = status_view(read_only=True)
        engine.publish(WatchState("live"))
        await driven.settle()
        await send_message(driven, REVIEW)
        await driven.settle()
        assert driven.app.screen is driven.bench and not engine.calls_of("send"), step
        assert "the workspace is read-only" in driven.text, step


async def test_hostile_text_from_a_model_is_shown_only_as_text(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = "\x1b]52;c;ZXZpbA==\x07[@click=app.quit]x[/] [/etc/passwd] \u202eevil\x9b31m"
    monkeypatch.setattr("tests.tui.discussion_data.REPLY", hostile)
    async with run() as driven:
        await send_message(driven, REVIEW)
        await wait_until_ended(driven)
        assert "[@click=app.quit]x[/] [/etc/passwd]" in driven.text
        assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(driven.text)


async def test_picture_of_a_complete_reply(run: Run, picture: Picture) -> None:
    async with run(SIZES["80x24"]) as driven:
        await send_message(driven, REVIEW)
        await wait_until_ended(driven)
        picture(driven, "reply/whole-80x24")


async def test_picture_of_a_streaming_reply(run: Run, picture: Picture) -> None:
    async with run(SIZES["120x40"]) as driven:
        driven.engine.go_on.clear()
        await send_message(driven, REVIEW)
        shown = reply_screen(driven).panel
        await driven.until(lambda: "with pool.connection()" in shown.selected_text())  # the last piece so far
        await driven.pilot.pause()
        picture(driven, "reply/under-way-120x40")
        driven.engine.go_on.set()
        await wait_until_ended(driven)
