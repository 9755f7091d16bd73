"""One definition per action: keys, footer, help and palette agree because they come from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.tui.conftest import Run
from tui.commands import catalog, common
from tui.commands.catalog import CATALOG
from tui.commands.command import Command, Situation
from tui.commands.lookup import all_keys, footer, resolve
from tui.render.help import help_lines
from tui.roles import PLAIN

FEED = Situation(panel="feed", rows=3, key="a#0")
ACTIVATION = Situation(panel="activation", rows=3, key="a#0", topic="deploy", file="topics/deploy.md")


async def test_every_command_is_done_by_something(run: Run) -> None:
    async with run() as driven:
        assert driven.bench.actions.known == set(CATALOG)


def test_y_and_n_mean_what_the_situation_says() -> None:
    assert resolve("y", FEED) is None
    assert resolve("n", FEED) is catalog.NextMatch
    assert resolve("y", ACTIVATION) is catalog.LabelUseful
    assert resolve("n", ACTIVATION) is catalog.LabelNoise
    asked = replace(FEED, question=True)
    assert resolve("y", asked) is common.AnswerYes
    assert resolve("n", asked) is common.AnswerNo
    assert resolve("n", replace(asked, filtered=True)) is catalog.NextMatch
    asked = replace(ACTIVATION, question=True)
    assert resolve("y", asked) is catalog.LabelUseful
    assert resolve("ctrl+y", asked) is common.AnswerYes


def test_while_typing_letters_are_letters() -> None:
    typing = Situation(panel="try")
    letters = [key for key in all_keys() if len(key) == 1]
    assert all(resolve(key, typing) is None for key in letters)
    assert resolve("escape", typing) is common.Back


@pytest.mark.parametrize(
    ("command", "situation", "reason"),
    [
        (catalog.LabelUseful, replace(ACTIVATION, read_only=True), "read-only"),
        (catalog.LabelUseful, replace(ACTIVATION, topic=""), "no topic"),
        (catalog.LabelNoise, replace(ACTIVATION, trying=True), "tried message"),
        (common.Edit, FEED, "no file"),
        (catalog.NextMatch, FEED, "no filter"),
        (common.Zoom, replace(FEED, zoomed=True), "enlarged already"),
        (common.Unzoom, FEED, "no panel is enlarged"),
        (catalog.Open, replace(FEED, rows=0), "nothing here"),
        (common.Problems, FEED, "nothing is wrong"),
        (common.Back, FEED, "top level"),
    ],
)
def test_what_cannot_be_done_says_why(command: type[Command], situation: Situation, reason: str) -> None:
    assert reason in command.refusal(situation)
    help_text = " ".join(" ".join(row.text.split()) for row in help_lines(situation, 200, PLAIN))
    assert command.refusal(situation) in help_text


def test_the_footer_shows_what_matters_now() -> None:
    assert footer(FEED)[0] == ("1–5", "panel")
    assert ("y n", "useful / noise") in footer(ACTIVATION)
    assert ("y n", "useful / noise") not in footer(replace(ACTIVATION, read_only=True))
    assert footer(replace(FEED, question=True))[0] == ("y n", "answer the gate")
    assert footer(replace(FEED, zoomed=True))[0] == ("esc", "back")
    assert footer(Situation(panel="try"))[0] == ("esc", "back")


def test_help_explains_the_signs() -> None:
    text = "\n".join(row.text for row in help_lines(FEED, 80, PLAIN))
    assert "◷" in text and "a schedule fired" in text


async def test_the_palette_finds_a_command_and_does_it(run: Run) -> None:
    async with run() as driven:
        await driven.press("ctrl+p")
        await driven.type("ledger")
        await driven.press("enter")
        assert driven.panel() == "ledger"


async def test_the_palette_will_not_do_what_belongs_elsewhere(run: Run) -> None:
    async with run() as driven:
        driven.bench.do(catalog.LabelUseful)
        await driven.settle()
        assert not driven.engine.asked("label")
        assert "belongs to another panel: activation" in driven.text
