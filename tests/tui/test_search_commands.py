"""The search screen's catalogue: keys, footer, help and palette agree because they come from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.tui.conftest import Run
from tests.tui.search_driven import searching
from tui.commands import catalog, common, search
from tui.commands.catalog import CATALOG
from tui.commands.command import SEARCH_PANELS, Command, Situation
from tui.commands.lookup import all_keys, footer, resolve
from tui.commands.search import SEARCH
from tui.render.help import help_lines
from tui.roles import PLAIN

RESULTS = Situation(panel="results", rows=3, result=True, asked=True, file="knowledge/decisions.md")


async def test_every_command_is_done_by_something(run: Run) -> None:
    async with searching(run) as driven:
        assert driven.screen.actions.known == set(SEARCH)


def test_a_key_means_one_thing_in_each_panel() -> None:
    passing = {common.AnswerYes, common.AnswerNo}
    for panel in SEARCH_PANELS:
        situation = replace(RESULTS, panel=panel)
        for key in all_keys(SEARCH):
            meant = [each for each in SEARCH if key in each.keys and each.applies(situation)]
            assert len(set(meant) - passing) <= 1, (panel, key)


def test_s_opens_it_from_the_workbench_and_means_nothing_else_there() -> None:
    assert [each for each in CATALOG if "s" in each.keys] == [catalog.OpenSearch]


@pytest.mark.parametrize("panel", ["query", "preset"])
def test_while_typing_letters_are_letters(panel: str) -> None:
    typing = Situation(panel=panel)  # type: ignore[arg-type]
    assert all(resolve(key, typing) is None for key in all_keys(SEARCH) if len(key) == 1)
    assert all(resolve(key, typing) is None for key in ("slash", "up", "ctrl+u", "home", "left"))
    assert resolve("enter", typing) is (search.ToResults if panel == "query" else None)
    assert resolve("escape", typing) is search.Leave
    assert resolve("tab", typing) is common.NextPanel


def test_a_question_of_the_gate_takes_no_key_that_means_something_here() -> None:
    asked = replace(RESULTS, question=True)
    assert resolve("y", RESULTS) is resolve("y", asked) is search.CopyPlace
    assert resolve("n", RESULTS) is resolve("n", asked) is search.NextResult
    assert (resolve("ctrl+y", asked), resolve("ctrl+n", asked)) == (common.AnswerYes, common.AnswerNo)


@pytest.mark.parametrize(
    ("command", "situation", "reason"),
    [
        (search.Read, replace(RESULTS, result=False), "no result is selected"),
        (search.CopyPlace, replace(RESULTS, result=False), "no result is selected"),
        (search.Why, replace(RESULTS, result=False), "no result is selected"),
        (search.EditThere, replace(RESULTS, file=""), "not there any more"),
        (search.AddToPreset, replace(RESULTS, read_only=True), "read-only"),
        (common.Unzoom, RESULTS, "no panel is enlarged"),
    ],
)
def test_what_cannot_be_done_says_why(command: type[Command], situation: Situation, reason: str) -> None:
    assert reason in command.refusal(situation)
    help_text = " ".join(" ".join(row.text.split()) for row in help_lines(situation, 200, PLAIN))
    assert command.refusal(situation) in help_text


def test_the_footer_shows_what_matters_now() -> None:
    assert footer(RESULTS)[0] == ("enter", "read")
    words = {words for _keys, words in footer(RESULTS)}
    assert {"query", "why", "kind", "edit", "copy place", "to preset", "help"} <= words
    nothing = {words for _keys, words in footer(replace(RESULTS, rows=0, result=False, file=""))}
    assert not {"read", "why", "edit", "copy place", "to preset"} & nothing and "query" in nothing
    assert ("a", "to preset") not in footer(replace(RESULTS, read_only=True))
    assert footer(Situation(panel="query")) == [("enter", "results"), ("esc", "back")]
    assert footer(Situation(panel="preset")) == [("esc", "back")]


@pytest.mark.parametrize(("panel", "sign"), [("preview", "▎"), ("why", "░")])
def test_help_explains_the_signs(panel: str, sign: str) -> None:
    rows = help_lines(Situation(panel=panel, rows=1), 60, PLAIN)  # type: ignore[arg-type]
    assert any(row.text.strip().startswith(sign) for row in rows)
    assert all(row.cells <= 60 for row in rows)


async def test_the_palette_opens_it_and_lists_its_commands(run: Run) -> None:
    async with searching(run) as driven:
        await driven.press("escape")
        assert not driven.is_open()
        await driven.press("ctrl+p")
        await driven.type("search everything")
        await driven.press("enter")
        await driven.until(driven.is_open)
        await driven.type("pool")
        await driven.press("enter", "ctrl+p")
        await driven.type("add the result to")
        assert "Add the result to a preset" in driven.text
        await driven.press("enter")
        await driven.until(lambda: driven.in_use() == "preset")
