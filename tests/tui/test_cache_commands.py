"""The cache screen's catalogue: keys, footer, help and palette agree because they come from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.tui.cache_driven import caching
from tests.tui.conftest import Run
from tui.commands import cache, catalog, common
from tui.commands.cache import CACHE
from tui.commands.catalog import CATALOG
from tui.commands.command import CACHE_PANELS, Command, Situation
from tui.commands.lookup import all_keys, footer, resolve
from tui.render.help import help_lines
from tui.roles import PLAIN

CACHED = Situation(
    panel="discussions", rows=6, discussion="ses_a1b2c3d4", cached=True, caching=True, file="raw/talk.md"
)
SETTING = Situation(panel="settings", rows=6, file="memory-config.yaml")


async def test_every_command_is_done_by_something(run: Run) -> None:
    async with caching(run) as driven:
        assert driven.screen.actions.known == set(CACHE)


def test_a_key_means_one_thing_in_each_panel() -> None:
    passing = {common.AnswerYes, common.AnswerNo}
    for panel in CACHE_PANELS:
        situation = replace(CACHED, panel=panel)
        for key in all_keys(CACHE):
            meant = [each for each in CACHE if key in each.keys and each.applies(situation)]
            assert len(set(meant) - passing) <= 1, (panel, key)


def test_capital_c_opens_it_from_the_workbench_and_means_nothing_else_there() -> None:
    assert [each for each in CATALOG if "C" in each.keys] == [catalog.OpenCache]


def test_a_question_of_the_gate_takes_no_key_that_means_something_here() -> None:
    asked = replace(CACHED, question=True)
    assert resolve("y", CACHED) is resolve("y", asked) is cache.CopyId
    assert resolve("ctrl+y", asked) is common.AnswerYes


def test_caches_are_ended_only_where_discussions_are_listed() -> None:
    for key in "ida":
        assert resolve(key, CACHED) is not None
        assert all(resolve(key, replace(CACHED, panel=panel)) is None for panel in ("providers", "settings"))
    assert resolve("space", SETTING) is cache.Step is resolve("enter", SETTING)
    assert resolve("space", CACHED) is None


@pytest.mark.parametrize(
    ("command", "situation", "reason"),
    [
        (cache.Invalidate, replace(CACHED, discussion=""), "no discussion is selected"),
        (cache.Invalidate, replace(CACHED, cached=False), "has no cache to give up"),
        (cache.Invalidate, replace(CACHED, read_only=True), "read-only"),
        (cache.Disable, replace(CACHED, caching=False), "switched off"),
        (cache.Disable, replace(CACHED, read_only=True), "read-only"),
        (cache.Enable, CACHED, "caching is on"),
        (cache.Enable, replace(CACHED, caching=False, read_only=True), "read-only"),
        (cache.EditThere, replace(CACHED, file=""), "no file"),
        (cache.CopyId, replace(CACHED, discussion=""), "no discussion is selected"),
        (cache.Details, replace(CACHED, rows=0), "nothing here"),
        (cache.Step, replace(SETTING, read_only=True), "read-only"),
    ],
)
def test_what_cannot_be_done_says_why(command: type[Command], situation: Situation, reason: str) -> None:
    assert reason in command.refusal(situation)
    help_text = " ".join(" ".join(row.text.split()) for row in help_lines(situation, 200, PLAIN))
    assert command.refusal(situation) in help_text


def test_the_footer_shows_what_matters_now() -> None:
    assert footer(CACHED)[:3] == [("enter", "details"), ("i", "invalidate"), ("d", "disable")]
    off = footer(replace(CACHED, cached=False, caching=False))
    assert ("a", "enable") in off and not {"invalidate", "disable"} & {words for _keys, words in off}
    assert footer(SETTING)[0] == ("space", "change")
    reading = {words for _keys, words in footer(replace(CACHED, read_only=True))}
    assert not {"invalidate", "disable", "enable"} & reading and {"details", "period"} <= reading


@pytest.mark.parametrize(
    ("panel", "sign"), [("providers", "▸"), ("discussions", "◌"), ("settings", "◂▸"), ("misses", "×")]
)
def test_help_explains_the_signs(panel: str, sign: str) -> None:
    rows = help_lines(Situation(panel=panel, rows=1), 60, PLAIN)  # type: ignore[arg-type]
    assert any(row.text.strip().startswith(sign) for row in rows)
    assert all(row.cells <= 60 for row in rows)


async def test_the_palette_opens_it_and_lists_its_commands(run: Run) -> None:
    async with caching(run) as driven:
        await driven.press("escape")
        assert not driven.is_open()
        await driven.press("ctrl+p")
        await driven.type("look at the caches")
        await driven.press("enter")
        await driven.until(driven.is_open)
        await driven.press("ctrl+p")
        await driven.type("sums of another")
        await driven.press("enter")
        await driven.until(lambda: driven.state.days == 1)
