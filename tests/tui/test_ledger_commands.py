"""The catalogues of ledger and harvest: keys, footer, help and palette agree because they come from them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.tui.conftest import Run
from tests.tui.ledger_driven import auditing, harvesting
from tui.commands import catalog, common, harvest, ledger
from tui.commands.catalog import CATALOG
from tui.commands.command import HARVEST_PANELS, LINES, RECORD_PANELS, Command, Situation
from tui.commands.harvest import HARVEST
from tui.commands.ledger import LEDGER
from tui.commands.lookup import all_keys, footer
from tui.render.help import help_lines
from tui.roles import PLAIN

ENTRY = Situation(panel="entries", rows=6, record="a" * 64, kept_in="in trash", file="conversations/a.md")
PICK = Situation(panel="pick", rows=6, chosen=3, selectable=True)


async def test_every_command_is_done_by_something(run: Run) -> None:
    async with auditing(run) as driven:
        assert driven.screen.actions.known == set(LEDGER)
        await driven.press("H")
    async with harvesting(run) as harvested:
        assert harvested.screen.actions.known == set(HARVEST)


@pytest.mark.parametrize(("panels", "commands"), [(RECORD_PANELS, LEDGER), (HARVEST_PANELS, HARVEST)])
def test_a_key_means_one_thing_in_each_panel(
    panels: tuple[str, ...], commands: tuple[type[Command], ...]
) -> None:
    passing = {common.AnswerYes, common.AnswerNo}
    for panel in panels:
        situation = replace(ENTRY, panel=panel)  # type: ignore[arg-type]
        for key in all_keys(commands):
            meant = [each for each in commands if key in each.keys and each.applies(situation)]
            assert len(set(meant) - passing) <= 1, (panel, key)


def test_capital_l_opens_it_from_the_workbench_and_means_nothing_else_there() -> None:
    assert [each for each in CATALOG if "L" in each.keys] == [catalog.OpenLedger]
    assert {"entries-filter", "survey-filter", "number"} <= LINES


@pytest.mark.parametrize(
    ("command", "situation", "reason"),
    [
        (ledger.Restore, replace(ENTRY, kept_in="there"), "is where it was"),
        (ledger.Restore, replace(ENTRY, kept_in="lost"), "neither in the trash"),
        (ledger.Restore, replace(ENTRY, kept_in="changed"), "neither in the trash"),
        (ledger.Restore, replace(ENTRY, read_only=True), "read-only"),
        (ledger.Restore, replace(ENTRY, record=""), "no entry"),
        (ledger.Rebuild, ENTRY, "the ledger is whole"),
        (ledger.Rebuild, replace(ENTRY, broken=True, read_only=True), "read-only"),
        (ledger.Verify, replace(ENTRY, broken=True), "R rebuilds it"),
        (ledger.HarvestNow, replace(ENTRY, broken=True), "R rebuilds it"),
        (ledger.RetryFailed, ENTRY, "no harvest has failed"),
        (ledger.EditThere, replace(ENTRY, file=""), "not in a file"),
        (harvest.Toggle, replace(PICK, selectable=False), "left alone"),
        (harvest.ToConfirm, replace(PICK, chosen=0), "nothing is chosen"),
        (harvest.Start, replace(PICK, panel="progress", read_only=True), "read-only"),
        (harvest.Start, replace(PICK, panel="progress", harvesting=True), "x stops it"),
        (harvest.Stop, replace(PICK, panel="progress"), "no harvest is under way"),
        (harvest.TypeNumber, replace(PICK, panel="outcome"), "no number"),
        (harvest.RetryFailed, replace(PICK, panel="outcome"), "nothing failed"),
    ],
)
def test_what_cannot_be_done_says_why(command: type[Command], situation: Situation, reason: str) -> None:
    assert reason in command.refusal(situation)
    help_text = " ".join(" ".join(row.text.split()) for row in help_lines(situation, 200, PLAIN))
    assert command.refusal(situation) in help_text


def test_the_footer_shows_what_matters_now() -> None:
    assert footer(ENTRY)[:3] == [("enter", "read"), ("H", "harvest"), ("r", "restore")]
    assert ("f", "retry failed") in footer(replace(ENTRY, failures=1))
    broken = footer(replace(ENTRY, broken=True, rows=0, record=""))
    assert broken[0] == ("R", "rebuild") and ("H", "harvest") not in broken
    assert footer(PICK)[:3] == [("enter", "go on"), ("space", "choose"), ("a", "all")]
    running = footer(replace(PICK, panel="progress", harvesting=True))
    assert running[:2] == [("x", "stop"), ("b", "leave it running")]
    assert footer(replace(PICK, panel="outcome", brake=4))[0] == ("m", "type the number")


@pytest.mark.parametrize(
    ("panel", "sign"),
    [("entries", "⌫"), ("record", "~"), ("pick", "[x]"), ("progress", "→")],
)
def test_help_explains_the_signs(panel: str, sign: str) -> None:
    rows = help_lines(Situation(panel=panel, rows=1), 60, PLAIN)  # type: ignore[arg-type]
    assert any(row.text.strip().startswith(sign) for row in rows)
    assert all(row.cells <= 60 for row in rows)


async def test_the_palette_opens_it_and_lists_its_commands(run: Run) -> None:
    async with auditing(run) as driven:
        await driven.press("escape")
        assert not driven.is_open()
        await driven.press("ctrl+p")
        await driven.type("look at the ledger")
        await driven.press("enter")
        await driven.until(driven.is_open)
        await driven.settle()
        await driven.press("ctrl+p")
        await driven.type("verify all entries")
        await driven.press("enter")
        await driven.until(lambda: bool(driven.engine.asked("verify")))
