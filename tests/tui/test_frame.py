"""What every screen has: help and the way back in the footer, ctrl+c, panel numbers in the theme's colour."""

from __future__ import annotations

from pathlib import Path

from tests.tui.every_screen import each_screen, open_workbench
from tui.kit.bars import footer
from tui.render.roles import PLAIN


async def test_help_and_the_way_back_never_fall_off_the_footer(sample: Path) -> None:
    async with open_workbench(sample, (80, 24)) as driven:
        async for screen in each_screen(driven):
            entries = screen.catalog.footer(screen)
            keys = {key for key, _ in entries}
            for width in (60, 80, 120, 200):
                line = footer(entries, width, PLAIN).text
                assert len(line) <= width and "…" not in line, (screen, line)
                assert "? help" in line or "?" not in keys, (screen, line)
                assert "esc back" in line or "esc" not in keys, (screen, line)


async def test_ctrl_c_clears_an_input_line_and_says_once_how_to_quit(sample: Path) -> None:
    async with open_workbench(sample, (80, 24)) as driven:
        await driven.press("ctrl+c", "ctrl+c", "ctrl+c")
        assert [str(each.message) for each in driven.app._notifications] == ["q quits, esc backs out"]
        await driven.press("slash")
        await driven.type("abc")
        await driven.press("ctrl+c")
        assert driven.bench.in_line and driven.bench.feed.query_text == ""


async def test_panel_numbers_take_the_colour_of_a_new_theme(sample: Path) -> None:
    async with open_workbench(sample, (80, 24)) as driven:

        def colour() -> str:
            for strip in driven.app.screen._compositor.render_strips():
                for segment in strip:
                    if segment.text.strip() == "2" and segment.style is not None:
                        return str(segment.style.color)
            return ""

        before = colour()
        await driven.press("T")
        after = colour()
        assert before and after and before != after
        async with open_workbench(sample, (80, 24), theme=driven.app.theme) as fresh:
            shown = [
                str(segment.style.color)
                for strip in fresh.app.screen._compositor.render_strips()
                for segment in strip
                if segment.text.strip() == "2" and segment.style is not None
            ]
        assert shown[0] == after
