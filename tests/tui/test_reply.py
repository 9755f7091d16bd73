"""A message sent from the workbench: the reply as it comes, ended by hand, and every way it may fail."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from engine.errors import SendFailed
from tests.tui.conftest import SIZES, Driven, Run
from tests.tui.discussion_data import REPLY
from tests.tui.fake_engine import REVIEW, status_view
from tui.screens.workbench.reply import ReplyScreen

Picture = Callable[[Driven, str], None]


def screen_of(driven: Driven) -> ReplyScreen:
    found = driven.app.screen
    assert isinstance(found, ReplyScreen)
    return found


async def until_ended(driven: Driven) -> ReplyScreen:
    screen = screen_of(driven)
    await driven.until(lambda: not screen.busy)
    await driven.pilot.pause()
    return screen


@asynccontextmanager
async def sending(run: Run, size: tuple[int, int] = (120, 40), **how: Any) -> AsyncIterator[Driven]:
    """Types a message and sends it."""
    async with run(size, **how) as driven:
        await driven.press("i")
        await driven.type(REVIEW)
        await driven.send("ctrl+s")
        await driven.pilot.pause()
        yield driven


@pytest.mark.parametrize("key", ["ctrl+s", "ctrl+enter"])
async def test_the_message_in_the_line_is_sent_and_its_reply_shown(run: Run, key: str) -> None:
    async with run() as driven:
        await driven.press("i")
        await driven.type(REVIEW)
        await driven.send(key)
        await driven.pilot.pause()
        await until_ended(driven)
        (call,) = driven.engine.asked("send")
        assert call == ("send", REVIEW, "")
        text = driven.text
        for line in (
            REVIEW,
            "Two things before it goes in:",
            "    connection.execute(QUERY)",
            "6,912 tokens in",
        ):
            assert line in text
        assert "5,113 of them cached (74%)" in text and "$0.0124" in text
        await driven.send("escape")
        await driven.settle()
        assert driven.app.screen is driven.bench
        assert driven.source() == "feed"


async def test_it_goes_on_with_the_session_in_view(run: Run) -> None:
    async with run() as driven:
        driven.engine.session = "ses_a1b2c3d4"
        key = driven.bench.shown.key
        await driven.press("i")
        await driven.type("And the tests?")
        await driven.send("ctrl+s")
        await driven.pilot.pause()
        await until_ended(driven)
        assert driven.engine.asked("to_continue") == [("to_continue", key)]
        assert driven.engine.asked("send") == [("send", "And the tests?", "ses_a1b2c3d4")]


async def test_what_comes_is_shown_before_it_is_all_there(run: Run) -> None:
    async with run() as outer:
        outer.engine.go_on.clear()
        await outer.press("i")
        await outer.type(REVIEW)
        await outer.send("ctrl+s")
        await outer.until(lambda: "The PR splits the cursor" in outer.text)
        assert "The PR splits the cursor" in outer.text and "wall clock" not in outer.text
        assert screen_of(outer).busy and "esc stops the reply" in outer.text
        outer.engine.go_on.set()
        await until_ended(outer)
        assert "wall clock" in outer.text and "esc closes" in outer.text


async def test_esc_ends_the_reply_and_only_then_closes(run: Run) -> None:
    async with run() as driven:
        driven.engine.go_on.clear()
        await driven.press("i")
        await driven.type(REVIEW)
        await driven.send("ctrl+s")
        await driven.until(lambda: isinstance(driven.app.screen, ReplyScreen))
        await driven.until(lambda: len(screen_of(driven).reply) >= 80)
        await driven.send("escape")
        screen = await until_ended(driven)
        assert driven.engine.asked("stop sending")
        assert "! anthropic: stopped" in driven.text and screen.reply == REPLY[:120]
        await driven.send("escape")
        await driven.settle()
        assert driven.app.screen is driven.bench


async def test_a_failure_is_shown_where_the_reply_would_be(run: Run) -> None:
    async with run() as driven:
        driven.engine.failing["send"] = SendFailed(
            "the key was refused (401)", where="anthropic", cure="set it"
        )
        await driven.press("i")
        await driven.type(REVIEW)
        await driven.send("ctrl+s")
        await driven.pilot.pause()
        await until_ended(driven)
        assert "! anthropic: the key was refused (401); set it" in driven.text


@pytest.mark.parametrize("typed", ["", "   "])
async def test_nothing_is_not_sent(run: Run, typed: str) -> None:
    async with run() as driven:
        await driven.press("i")
        await driven.type(typed)
        await driven.send("ctrl+s")
        await driven.settle()
        assert driven.app.screen is driven.bench
        assert "write a message first" in driven.text
        assert not driven.engine.asked("send")


async def test_in_the_command_line_nothing_is_sent(run: Run) -> None:
    async with run() as driven:
        await driven.press("colon")
        await driven.type("doctor")
        await driven.send("ctrl+s")
        await driven.settle()
        assert not driven.engine.asked("send")


async def test_a_read_only_workspace_says_so(run: Run) -> None:
    async with run(status_value=status_view(read_only=True)) as driven:
        await driven.press("i")
        await driven.type(REVIEW)
        await driven.send("ctrl+s")
        await driven.settle()
        assert driven.app.screen is driven.bench and not driven.engine.asked("send")


async def test_hostile_text_of_a_model_is_only_text(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = "\x1b]52;c;ZXZpbA==\x07[@click=app.quit]x[/] [/etc/passwd] \u202eevil\x9b31m"
    monkeypatch.setattr("tests.tui.discussion_data.REPLY", hostile)
    async with sending(run) as driven:
        await until_ended(driven)
        assert "[@click=app.quit]x[/] [/etc/passwd]" in driven.text
        assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(driven.text)


async def test_picture_of_a_whole_one(run: Run, picture: Picture) -> None:
    async with sending(run, SIZES["80x24"]) as driven:
        await until_ended(driven)
        picture(driven, "reply/whole-80x24")


async def test_picture_of_one_under_way(run: Run, picture: Picture) -> None:
    async with run(SIZES["120x40"]) as driven:
        driven.engine.go_on.clear()
        await driven.press("i")
        await driven.type(REVIEW)
        await driven.send("ctrl+s")
        await driven.until(lambda: isinstance(driven.app.screen, ReplyScreen))
        await driven.until(lambda: len(screen_of(driven).reply) >= 120)
        await driven.pilot.pause()
        picture(driven, "reply/under-way-120x40")
        driven.engine.go_on.set()
        await until_ended(driven)
