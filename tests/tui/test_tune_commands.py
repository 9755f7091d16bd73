"""The tune screen's catalogue: keys, footer, help and palette agree because they come from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.tui.conftest import Run
from tests.tui.tune_driven import tuning
from tui.commands import tune
from tui.commands.command import Command, Situation
from tui.commands.lookup import all_keys, footer, resolve
from tui.commands.tune import TUNE
from tui.render.help import help_lines
from tui.roles import PLAIN

SCORES = Situation(panel="scores", rows=1, topic="deploy", file="topics/deploy.md", decision=True)


async def test_every_command_is_done_by_something(run: Run) -> None:
    async with tuning(run) as driven:
        assert driven.screen.actions.known == set(TUNE)


def test_esc_discards_a_move_before_it_leaves() -> None:
    assert resolve("escape", SCORES) is tune.Leave
    assert resolve("escape", replace(SCORES, moved=True)) is tune.Discard
    assert resolve("escape", Situation(panel="filter", moved=True)) is tune.Leave


def test_while_typing_letters_are_letters() -> None:
    typing = Situation(panel="filter")
    assert all(resolve(key, typing) is None for key in all_keys(TUNE) if len(key) == 1)
    assert resolve("left", typing) is None and resolve("enter", typing) is None


@pytest.mark.parametrize(
    ("command", "situation", "reason"),
    [
        (tune.CutLeft, replace(SCORES, loading=True), "being read"),
        (tune.CutRight, replace(SCORES, topic=""), "no topic"),
        (tune.Apply, SCORES, "no cut is moved"),
        (tune.Apply, replace(SCORES, moved=True, read_only=True), "read-only"),
        (tune.Apply, replace(SCORES, moved=True, file=""), "no file"),
        (tune.Fit, replace(SCORES, fitting=True), "under way"),
        (tune.LabelUseful, replace(SCORES, read_only=True), "read-only"),
        (tune.LabelNoise, replace(SCORES, decision=False), "no decision"),
        (tune.OpenDecision, replace(SCORES, decision=False), "no decision"),
        (tune.Undo, replace(SCORES, read_only=True), "read-only"),
    ],
)
def test_what_cannot_be_done_says_why(command: type[Command], situation: Situation, reason: str) -> None:
    assert reason in command.refusal(situation)
    help_text = " ".join(" ".join(row.text.split()) for row in help_lines(situation, 200, PLAIN))
    assert command.refusal(situation) in help_text


def test_the_footer_shows_what_matters_now() -> None:
    assert footer(SCORES)[0] == ("← →", "move the cut")
    assert ("enter", "apply") not in footer(SCORES)
    moved = footer(replace(SCORES, moved=True))
    assert ("enter", "apply") in moved[:4] and ("esc", "discard") in moved[:4]
    assert ("esc", "back") not in moved
    read_only = footer(replace(SCORES, moved=True, read_only=True))
    assert not {"apply", "useful / noise", "undo"} & {words for _keys, words in read_only}
    assert footer(Situation(panel="filter")) == [("esc", "back")]


@pytest.mark.parametrize(("panel", "sign"), [("topics", "◂▸"), ("scores", "━"), ("decisions", "−")])
def test_help_explains_the_signs(panel: str, sign: str) -> None:
    situation = Situation(panel=panel, rows=1)  # type: ignore[arg-type]
    rows = help_lines(situation, 60, PLAIN)
    assert any(row.text.strip().startswith(sign) for row in rows)
    assert all(row.cells <= 60 for row in rows)
