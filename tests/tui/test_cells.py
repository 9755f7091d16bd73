"""The terminal shows what is drawn, and only what changed is sent to it."""

from __future__ import annotations

from pathlib import Path

import pyte
from hypothesis import given
from hypothesis import strategies as st
from pyte.screens import Char
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import CompositorUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from tests.tui.conftest import Driven, Run
from tests.tui.every_screen import each_screen, open_workbench
from tui.app import WorkbenchApp
from tui.kit.cells import Cells

CONSOLE = Console(force_terminal=True, color_system="256")
TEXTS = ("a", " ", "  ", "bc", "▇▇", "漢", "e\u0301", "no match")
STYLES = ("none", "red", "bold", "reverse red", "white on blue", "#336699 on #202020", "underline")
WIDTH = 12


class Terminal:
    """A terminal of some size, and what it shows."""

    def __init__(self, width: int, height: int) -> None:
        self._screen = pyte.Screen(width, height)
        self._stream = pyte.Stream(self._screen)

    def takes(self, text: str) -> None:
        self._stream.feed(text)

    @property
    def cells(self) -> list[list[Char]]:
        """The cells, without the text colour of blanks that show none of it."""
        lines = [
            [self._screen.buffer[y][x] for x in range(self._screen.columns)]
            for y in range(self._screen.lines)
        ]
        return [
            [c._replace(fg="") if c.data == " " and not (c.reverse or c.underscore) else c for c in line]
            for line in lines
        ]


def shown_by(update: CompositorUpdate | None, size: tuple[int, int], console: Console) -> list[list[Char]]:
    """The cells of a new terminal that gets an update."""
    terminal = Terminal(*size)
    terminal.takes(update.render_segments(console) if update else "")
    return terminal.cells


def drawn(app: WorkbenchApp) -> list[list[Char]]:
    """The cells of a new terminal that gets the whole screen."""
    whole = app.screen._compositor.render_full_update()
    return shown_by(Cells().differences(whole, app.console), app.size, app.console)


Texts = list[tuple[str, str]]
"""Texts with their styles."""
Lines = list[Texts]
segments = st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from(STYLES)), max_size=6)
lines = st.lists(segments, min_size=2, max_size=2)


def strip_of(drawn: Texts, width: int) -> Strip:
    parts = [Segment(text, Style.parse(style)) for text, style in drawn]
    return Strip(parts).adjust_cell_length(width, Style())


def updated(lines: list[list[Strip]], width: int) -> LayoutUpdate:
    return LayoutUpdate([*lines], Region(0, 0, width, len(lines)))


@given(st.lists(st.tuples(lines, lines), min_size=2, max_size=4))
def test_after_any_updates_the_terminal_shows_the_last_one(pictures: list[tuple[Lines, Lines]]) -> None:
    size = (
        2 * WIDTH + 1,
        2,
    )  # the last column is free: a combining character there would start a line in pyte
    shown, terminal = Cells(), Terminal(*size)
    for left, right in pictures:
        halves = zip(left, right, strict=True)
        update = updated([[strip_of(part, WIDTH) for part in line] for line in halves], 2 * WIDTH)
        sent = shown.differences(update, CONSOLE)
        terminal.takes(sent.render_segments(CONSOLE) if sent else "")
        assert terminal.cells == shown_by(update, size, CONSOLE)
        assert shown.differences(update, CONSOLE) is None  # nothing is sent twice


def sent_for(*texts: str) -> list[str]:
    """What is sent for a line with one text after the other."""
    shown, sent = Cells(), []
    for text in texts:
        update = updated([[strip_of([(text, "none")], 20)]], 20)
        differences = shown.differences(update, CONSOLE)
        sent.append(differences.render_segments(CONSOLE) if differences else "")
    return sent


def test_where_terminals_disagree_on_widths_the_rest_is_sent_whole() -> None:
    assert sent_for("one two three", "one two throw")[1].endswith("ow\x1b[0m")
    assert "漢 two throw" in sent_for("漢 two three", "漢 two throw")[1]


def test_what_the_terminal_may_have_lost_is_sent_again() -> None:
    shown = Cells()
    update = updated([[strip_of([("kept", "none")], WIDTH)]], WIDTH)
    assert shown.differences(update, CONSOLE) is not None
    shown.forget()
    again = shown.differences(update, CONSOLE)
    assert again is not None and "kept" in again.render_segments(CONSOLE)


ROW, ROWS, FOCUS, OVER, SCREENS = 4_500, 9_000, 4_000, 16_000, 27_000
"""Most bytes at 120×40 in 256 colours: of the next row, the last row, the focus on another panel, a page
opened or closed, and one screen closed and another opened. Textual sends up to thirty times as much."""


async def test_every_screen_is_shown_as_drawn_and_a_key_sends_little_more_than_what_it_changes(
    sample: Path,
) -> None:
    terminal = Terminal(120, 40)
    async with open_workbench(sample) as driven:
        assert driven.app.console._color_system is ColorSystem.EIGHT_BIT
        driven.bench.searched = "gauge"
        output = await driven.record_output()

        def sent() -> int:
            text = "".join(output)
            output.clear()
            terminal.takes(text)
            return len(text.encode())

        driven.app.redraw()
        await driven.settle()
        async for screen in each_screen(driven):
            assert sent() < SCREENS and terminal.cells == drawn(driven.app), screen
            for name in screen.offered():
                screen.go_to(name)
                await driven.settle()
                assert sent() < FOCUS, (screen, name)
                for key, most in (("j", ROW), ("G", ROWS)):
                    await driven.press(key)
                    assert sent() < most, (screen, name, key)
            assert terminal.cells == drawn(driven.app), screen
            for key in ("question_mark", "escape", "ctrl+p", "escape"):
                await driven.press(key)
                assert sent() < OVER, (screen, key)
            assert terminal.cells == drawn(driven.app), screen


async def resumed(driven: Driven) -> None:
    driven.app.app_resume_signal.publish(driven.app)
    await driven.settle()


async def test_a_terminal_of_another_size_and_one_that_others_wrote_on_get_the_whole_screen(run: Run) -> None:
    async with run((80, 24)) as driven:
        output = await driven.record_output()
        for change in (
            driven.resize(100, 30),
            driven.resize(80, 24),
            driven.press("ctrl+l"),
            resumed(driven),
        ):
            await change
            terminal = Terminal(*driven.app.size)
            terminal.takes("".join(output))
            output.clear()
            assert terminal.cells == drawn(driven.app)
