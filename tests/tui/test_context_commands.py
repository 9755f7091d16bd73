"""The context screen's catalogue: keys, footer, help and palette agree because they come from it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from tests.tui.conftest import Run
from tests.tui.context_driven import looking
from tui.commands import catalog, context
from tui.commands.command import CONTEXT_PANELS, Command, Situation
from tui.commands.context import CONTEXT
from tui.commands.lookup import all_keys, everywhere, footer, here, resolve
from tui.render.help import help_lines
from tui.roles import PLAIN

SECTIONS = Situation(panel="sections", rows=20, file="knowledge/digest.md", prompt=True)


@pytest.mark.parametrize("command", CONTEXT, ids=lambda command: command.__name__)
def test_every_command_says_what_it_does(command: type[Command]) -> None:
    assert command.help().endswith(".")
    assert command.title[0].isupper()
    assert command.keys


async def test_every_command_is_done_by_something(run: Run) -> None:
    async with looking(run) as driven:
        assert driven.screen.actions.known == set(CONTEXT)


def test_no_command_is_out_of_reach() -> None:
    reached = set()
    for panel, question in product(CONTEXT_PANELS, (False, True)):
        situation = Situation(panel=panel, question=question)
        reached |= {resolve(key, situation) for key in all_keys(CONTEXT)}
    assert set(CONTEXT) <= reached


def test_keys_that_terminals_eat_are_never_the_only_way() -> None:
    eaten = {"shift+left", "shift+right", "shift+tab", "ctrl+p", "home", "end"}
    for command in CONTEXT:
        only = set(command.keys) <= eaten
        assert not only or command in (catalog.PreviousPanel, catalog.Palette), command


def test_while_typing_letters_are_letters() -> None:
    typing = Situation(panel="name", prompt=True)
    assert all(resolve(key, typing) is None for key in all_keys(CONTEXT) if len(key) == 1)
    assert resolve("enter", typing) is None and resolve("escape", typing) is context.BackOut


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


@pytest.mark.parametrize("panel", CONTEXT_PANELS)
def test_help_lists_every_command_of_the_panel_once(panel: str) -> None:
    situation = Situation(panel=panel, rows=1)  # type: ignore[arg-type]
    listed = [*here(situation), *everywhere(situation)]
    assert len(listed) == len(set(listed))
    assert set(listed) == {command for command in CONTEXT if command.applies(situation)}


@pytest.mark.parametrize(("panel", "sign"), [("sections", "━"), ("left-out", ".62")])
def test_help_explains_the_signs(panel: str, sign: str) -> None:
    rows = help_lines(Situation(panel=panel, rows=1), 60, PLAIN)  # type: ignore[arg-type]
    assert any(row.text.strip().startswith(sign) for row in rows)
    assert all(row.cells <= 60 for row in rows)
