"""The context screen's catalogue: keys, footer, help and palette agree because they come from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.tui.conftest import Run
from tests.tui.context_driven import looking
from tui.commands import context
from tui.commands.command import Command, Situation
from tui.commands.context import CONTEXT
from tui.commands.lookup import all_keys, footer, resolve
from tui.render.help import help_lines
from tui.roles import PLAIN

SECTIONS = Situation(panel="sections", rows=20, file="knowledge/digest.md", prompt=True)


async def test_every_command_is_done_by_something(run: Run) -> None:
    async with looking(run) as driven:
        assert driven.screen.actions.known == set(CONTEXT)


async def test_what_belongs_to_another_panel_is_not_done_but_said(run: Run) -> None:
    async with looking(run) as driven:
        await driven.press("2")
        driven.screen.do(context.OpenSelected)
        await driven.settle()
        assert driven.zoomed() is None and driven.in_use() == "text"
        assert "belongs to another panel: left-out, sections" in driven.said


async def test_a_command_chosen_by_name_leaves_the_line_it_does_not_apply_to(run: Run) -> None:
    async with looking(run) as driven:
        await driven.press("slash")
        assert driven.in_use() == "name" and driven.screen.prompt.display
        driven.screen.do(context.WholePrompt)
        await driven.settle()
        assert driven.state.whole and driven.in_use() == "sections" and not driven.screen.prompt.display


def test_while_typing_letters_are_letters() -> None:
    typing = Situation(panel="name", prompt=True)
    assert all(resolve(key, typing) is None for key in all_keys(CONTEXT) if len(key) == 1)
    assert resolve("enter", typing) is None and resolve("escape", typing) is context.Leave


@pytest.mark.parametrize(
    ("command", "situation", "reason"),
    [
        (context.WholePrompt, replace(SECTIONS, prompt=False), "no prompt"),
        (context.Compare, replace(SECTIONS, prompt=False), "no prompt"),
        (context.OpenSelected, replace(SECTIONS, rows=0), "nothing here"),
        (context.EditSource, replace(SECTIONS, file=""), "no file"),
        (context.CopyText, replace(SECTIONS, rows=0), "nothing here"),
        (context.CopyPrompt, replace(SECTIONS, prompt=False), "no prompt"),
        (context.WritePrompt, replace(SECTIONS, read_only=True), "read-only"),
    ],
)
def test_what_cannot_be_done_says_why(command: type[Command], situation: Situation, reason: str) -> None:
    assert reason in command.refusal(situation)
    help_text = " ".join(" ".join(row.text.split()) for row in help_lines(situation, 200, PLAIN))
    assert command.refusal(situation) in help_text


def test_the_footer_shows_what_matters_now() -> None:
    assert [words for _keys, words in footer(SECTIONS)[:3]] == ["whole", "left out", "diff"]
    without = footer(replace(SECTIONS, prompt=False, rows=0, file=""))
    assert not {"whole", "left out", "diff", "copy", "write", "edit"} & {words for _keys, words in without}
    assert footer(Situation(panel="name")) == [("esc", "back")]


@pytest.mark.parametrize(("panel", "sign"), [("sections", "━"), ("left-out", ".62")])
def test_help_explains_the_signs(panel: str, sign: str) -> None:
    rows = help_lines(Situation(panel=panel, rows=1), 60, PLAIN)  # type: ignore[arg-type]
    assert any(row.text.strip().startswith(sign) for row in rows)
    assert all(row.cells <= 60 for row in rows)
