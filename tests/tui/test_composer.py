"""The message input: several lines, pastes, and history."""

from __future__ import annotations

import pytest
from textual import events
from textual._xterm_parser import XTermParser

from tests.cases import each_case
from tests.tui.conftest import Driven, Run
from tui.kit.prompt import Composer, pasted_text
from tui.kit.terminal import Pastes
from tui.screens.workbench.pages import ReplyScreen


async def paste(driven: Driven, text: str) -> None:
    """Sends a bracketed paste, as the driver does."""
    driver = driven.app._driver
    assert driver is not None
    driver.send_message(events.Paste(text))
    await driven.settle()


def value(driven: Driven) -> str:
    """The text in the input line."""
    return driven.bench.prompt.input.value


async def test_multi_line_paste_is_kept_and_not_sent(run: Run) -> None:
    async with run() as driven:
        await driven.press("i")
        await paste(driven, "review this:\r\n\tif x:\rdone\n")
        assert value(driven) == "review this:\n\tif x:\ndone\n"
        assert driven.panel() == "try" and driven.source() == "draft"
        assert not isinstance(driven.app.screen, ReplyScreen)
        await driven.press("enter")
        assert driven.engine.calls_of("try_message")[-1][1] == "review this:\n\tif x:\ndone\n"


async def test_newline_keys_insert_a_newline_and_enter_submits(run: Run) -> None:
    async with run() as driven:
        for key in ("ctrl+j", "alt+enter", "shift+enter"):
            await driven.press("i")
            await driven.type("one")
            await driven.press(key)
            await driven.type("two")
            assert value(driven) == "one\ntwo" and driven.panel() == "try", key
            await driven.press("enter")
            assert driven.source() == "kept" and driven.bench.shown.text == "one\ntwo"
            await driven.press("escape")
            assert driven.source() == "feed"


async def test_keys_typed_faster_than_they_are_drawn_keep_their_order(run: Run) -> None:
    async with run() as driven:
        await driven.press("i")
        await driven.send(*"first line", "ctrl+j", *"second line")
        await driven.settle()
        assert value(driven) == "first line\nsecond line"
        await driven.send(*" more", "escape", "T")
        await driven.settle()
        assert value(driven) == "" and driven.panel() != "try" and driven.app.theme == "light"


async def test_only_messages_can_have_several_lines(run: Run) -> None:
    async with run() as driven:
        await driven.press("colon")
        await paste(driven, "topics\n  check\x1b[31m\n")
        await driven.press("ctrl+j")
        assert value(driven) == "topics check[31m"
        assert "only messages can have several lines" in driven.text


async def test_composer_grows_and_then_scrolls(run: Run) -> None:
    async with run() as driven:
        for size, max_lines in (((120, 40), 10), ((80, 24), 5), ((60, 16), 2)):
            await driven.resize(*size)
            await driven.press("i")
            composer = driven.bench.query_one(Composer)
            assert composer.size.height == 1
            await paste(driven, "\n".join(f"line {number}" for number in range(2)))
            assert composer.size.height == 2
            await paste(driven, "".join(f"\nline {number}" for number in range(2, 30)))
            assert composer.size.height == max_lines, size
            assert "line 29" in driven.text and composer.scroll_offset.y == 30 - max_lines
            await driven.press("escape")
            assert composer.size.height == 1


async def test_paste_on_a_panel_presses_no_keys(run: Run) -> None:
    async with run() as driven:
        theme = driven.app.theme
        await driven.press("2")
        await paste(driven, "Tyn1q:")
        assert (driven.app.theme, driven.panel()) == (theme, "activation") and driven.app.is_running
        assert not driven.engine.calls_of("label")


async def test_up_and_down_browse_the_input_history(run: Run) -> None:
    async with run() as driven:
        await driven.press("i")
        await driven.type("first")
        await driven.press("enter", "i", "ctrl+u")
        await paste(driven, "second\nthird")
        await driven.press("up")
        assert value(driven) == "second\nthird"
        await driven.press("up")
        assert value(driven) == "first"
        await driven.press("down")
        assert value(driven) == "second\nthird"


def test_pasted_text_loses_only_control_characters() -> None:
    assert pasted_text("a\x1b]52;c;x\x07\r\nb\x00\x9b\tö\u200d") == "a]52;c;x\nb\tö\u200d"


class InputHarness:
    """An input parser that is fed by hand, with a clock that only moves when advanced."""

    def __init__(self) -> None:
        self.now = 0.0
        self.reader = Pastes(XTermParser(), lambda: self.now)
        self.seen: list[str] = []

    def feed(self, *pieces: str) -> list[str]:
        """Feeds input and returns everything parsed so far: key names, and pastes in angle quotes."""
        for piece in pieces:
            for message in (*self.reader.feed(piece), *self.reader.tick()):
                assert isinstance(message, events.Key | events.Paste)
                self.seen.append(message.key if isinstance(message, events.Key) else f"«{message.text}»")
        return self.seen

    def advance(self, seconds: float) -> list[str]:
        """Advances the clock and returns everything parsed so far."""
        self.now += seconds
        return self.feed("")


START, END = "\x1b[200~", "\x1b[201~"


@pytest.mark.parametrize(
    "inside", ["AA\x1bTBB", "\x1b", "x\x1b[A\x1b[<0;1;1M", "\x1b[201", f"a{END}Tq", "", "\x1b\r"]
)
@pytest.mark.parametrize("size", [1, 4, 1000])
def test_nothing_inside_a_paste_is_a_key(inside: str, size: int) -> None:
    if END in inside and size < 1000:
        pytest.skip("an inner end marker is recognised only if it arrives together with the real one")
    text = f"k{START}{inside}{END}j{START}b{END}"
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert InputHarness().feed(*pieces) == ["k", f"«{inside}»", "j", "«b»"]


def test_lone_escape_is_a_key_and_a_slow_paste_marker_is_recognised() -> None:
    harness = InputHarness()
    assert harness.feed("\x1b") == []
    assert harness.advance(0.2) == ["escape"]
    assert harness.feed("\x1b[20") == ["escape"]
    harness.advance(0.5)
    assert harness.feed("0~T", END) == ["escape", "«T»"]
    assert harness.feed("\x1b[A", "\x1b", "[B", "\x1b[2~") == ["escape", "«T»", "up", "down", "insert"]


@each_case(
    ("sent", "key"),
    [("\x1b\r", "alt+enter"), ("\n", "ctrl+j"), ("\x1b[13;2u", "shift+enter"), ("\r", "enter")],
)
def test_newline_keys_differ_from_enter(sent: str, key: str) -> None:
    assert InputHarness().feed(sent) == [key]
    assert InputHarness().feed(*sent) == [key]
