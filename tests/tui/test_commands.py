"""Each command is defined once; keys, footer, help and palette are derived from it."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from textual.command import CommandList, CommandPalette

from tests.tui import test_context_screen, test_search_screen
from tests.tui.conftest import Run
from tests.tui.every_screen import each_screen, open_workbench
from tui import screens as screens_package
from tui.kit.command import Need, command
from tui.kit.commands import Commanded, help_lines
from tui.kit.full_screen import FullScreen
from tui.render.roles import PLAIN
from tui.screens.context.screen import ContextScreen
from tui.screens.ledger.screen import LedgerScreen
from tui.screens.search.screen import SearchScreen
from tui.screens.tune.screen import TuneScreen
from tui.screens.workbench.screen import OPENINGS, Opening, Workbench

RESERVED = {"shift+left", "shift+right", "shift+tab", "ctrl+p", "home", "end"}
"""Keys that some terminals reserve."""
SHARED = [each.name for each in Workbench.catalog if each.scope == "everywhere"]


def resolve(screen: Commanded, key: str) -> str:
    """The name of the command that a key means; empty for none."""
    found = screen.catalog.resolve(key, screen)
    assert screen.catalog.means(key, screen) == (found is not None)
    return found.name if found is not None else ""


# Rules for every screen


def check_commands(screen: Commanded) -> None:
    """Each command says what it does, and every screen has the common ones."""
    catalog, name = screen.catalog, type(screen).__name__
    for each in catalog:
        assert each.help.endswith("."), (name, each.name)
        assert not each.help.split()[0].endswith("s"), (name, each.name, "say what to do: Go, not Goes")
        assert each.title[0].isupper() and each.keys, (name, each.name)
        assert set(each.keys) - RESERVED or each.name in ("previous_panel", "palette"), (name, each.name)
        assert all(need.reason and not need.reason.endswith(".") for need in each.needs), (name, each.name)
        assert each.refusal(screen) in ("", *(need.reason for need in each.needs)), (name, each.name)
    names = [each.name for each in catalog]
    assert len(names) == len(set(names)), name
    assert {*SHARED, "back", "quit", "rescan", "unzoom"} <= set(names), name
    assert bool(catalog["back"].refusal(screen)) == (name == "Workbench")


def check_keys(screen: Commanded) -> set[str]:
    """A key means one thing in each panel, letters are typed in a prompt, and the help lists what applies."""
    catalog, name = screen.catalog, type(screen).__name__
    keys = {key: resolve(screen, key) for key in catalog.keys}
    if screen.in_line:
        arrows = ("up", "down", "left", "right", "home", "slash", "ctrl+u")
        typed = [key for key in keys if len(key) == 1 or key in arrows]
        assert not any(keys[key] for key in typed), (name, screen.panel_in_use)
        assert (keys["escape"], keys["tab"]) == ("back", "next_panel"), name
    else:
        assert (keys["j"], keys["plus"], keys["escape"]) == ("down", "zoom", "back"), name
        for key in keys:
            several = [each.name for each in catalog if key in each.keys and each.applies(screen)]
            assert len(several) <= 1, (name, screen.panel_in_use, key, several)
    rows = [" ".join(row.text.split()) for row in help_lines(catalog, screen, (), 400, PLAIN)]
    for each in catalog:
        listed = [row for row in rows if row.startswith(f"{each.shown_keys[0]} ") and each.help in row]
        assert len(listed) == each.applies(screen), (name, screen.panel_in_use, each.name)
    return set(keys.values())


async def test_keys_help_and_refusals_agree_on_every_screen(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(SHARED) > 15
    async with open_workbench(sample) as driven:
        async for screen in each_screen(driven):
            check_commands(screen)
            reached: set[str] = set()
            for panel in (*screen.catalog.panels, *screen.catalog.lines):
                monkeypatch.setattr(screen, "panel_in_use", panel)
                reached |= check_keys(screen)
                with monkeypatch.context() as asked:
                    asked.setattr(screen.bench.questions, "open", [None])
                    reached |= {resolve(screen, key) for key in screen.catalog.keys}
                with monkeypatch.context() as filtered:
                    filtered.setattr(type(screen), "narrowed", panel)
                    if not screen.in_line:  # who searches must not write
                        found = resolve(screen, "n"), resolve(screen, "N")
                        assert found == ("next_match", "previous_match"), (type(screen).__name__, panel)
                        reached |= set(found)
                if isinstance(screen, TuneScreen):
                    assert screen.state.move(-5)
                    reached.add(resolve(screen, "escape"))
                    screen.state.discard()
            assert {each.name for each in screen.catalog} <= reached, type(screen).__name__
            monkeypatch.undo()


def test_a_command_of_an_unknown_panel_is_refused() -> None:
    with pytest.raises(ValueError, match="leftt"):

        class Wrong(Commanded, panels=("left",)):
            @command("x", "Nothing", panels=["leftt"], needs=[Need(lambda here: here.rows, "")])
            def nothing(self) -> None:
                """Do nothing."""


async def test_a_question_of_the_gate_takes_letters_that_nothing_else_can_use(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with run() as driven:
        bench = driven.bench
        assert (resolve(bench, "y"), resolve(bench, "n")) == ("", "")
        monkeypatch.setattr(bench.questions, "open", [None])
        assert (resolve(bench, "y"), resolve(bench, "n")) == ("answer_yes", "answer_no")
        bench.set_filter("feed", "a")
        assert resolve(bench, "n") == "next_match"
        await driven.press("2")
        assert bench.selected_topic and resolve(bench, "y") == "label_useful"
        assert resolve(bench, "ctrl+y") == "answer_yes"


# The screens over the workbench


def screen_of(opening: Opening) -> type:
    module, _, name = opening.screen.partition(":")
    return getattr(import_module(module), name)  # type: ignore[no-any-return]


def test_every_screen_has_one_opening() -> None:
    screens = [screen_of(each) for each in OPENINGS]
    parts = {each.__module__.split(".")[2] for each in screens}
    found = {path.parent.name for path in Path(screens_package.__path__[0]).glob("*/screen.py")}
    assert found - parts == {"workbench", "harvest"}  # the harvest is opened from the ledger
    assert len(screens) == len(parts) and all(issubclass(each, FullScreen) for each in screens)


async def test_screens_open_on_the_current_selection(sample: Path) -> None:
    async with open_workbench(sample) as driven:
        await driven.press("4", "j")
        ledger, topic = driven.bench.selected_sha256, driven.bench.selected_topic
        driven.bench.searched = "gauge 7"
        assert ledger and topic
        for each in OPENINGS:
            await driven.press(each.key)
            screen = driven.app.screen
            assert type(screen) is screen_of(each)
            if isinstance(screen, TuneScreen):
                assert screen.state.topic == topic
            elif isinstance(screen, LedgerScreen):
                await driven.until(partial(lambda screen: screen.entries.selected, screen))
                assert screen.entries.selected is not None and screen.entries.selected.sha256 == ledger
            elif isinstance(screen, SearchScreen):
                assert screen.prompt.input.value == "gauge 7"
            driven.app.pop_screen()
            await driven.settle()


# On the screens


async def test_help_and_palette_of_the_workbench(run: Run) -> None:
    async with run() as driven:
        step = "help explains the signs of the panel"
        await driven.press("question_mark", "G")
        assert "◷" in driven.text and "a schedule fired" in driven.text, step
        await driven.press("escape", "2", "question_mark", "G")
        assert "on the gauge" in driven.text, step
        await driven.press("escape", "1")

        step = "the palette refuses commands of another panel"
        driven.bench.do(Workbench.catalog["label_useful"])
        await driven.settle()
        assert not driven.engine.calls_of("label"), step
        assert "only available in: 2 activation" in driven.text, step

        step = "so does the command's key"
        driven.app.clear_notifications()
        await driven.press("y")
        assert not driven.engine.calls_of("label"), step
        assert "only available in: 2 activation" in driven.text, step

        step = "the palette finds and runs a command"
        await driven.press("ctrl+p")
        await driven.type("go to the ledger")
        await driven.press("enter")
        assert driven.panel() == "ledger", step


async def test_a_command_chosen_by_name_runs_only_where_it_applies(evening: Path) -> None:
    async with test_context_screen.open_screen(evening) as driven:
        step = "a command of another panel is refused with a reason"
        await driven.press("2")
        driven.screen.do(ContextScreen.catalog["open"])
        await driven.settle()
        assert driven.zoomed() is None and driven.focused_panel() == "text", step
        assert "only available in: 1 sections, 3 left out" in driven.toasts, step

        step = "it leaves a line that it does not apply to"
        await driven.press("1", "slash")
        assert driven.focused_panel() == "name" and driven.screen.prompt.display, step
        driven.screen.do(ContextScreen.catalog["whole"])
        await driven.settle()
        assert driven.state.whole and driven.focused_panel() == "sections", step
        assert not driven.screen.prompt.display, step


async def test_a_page_key_before_the_palette_is_laid_out_does_not_end_the_workbench(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    refresh = CommandPalette._refresh_command_list

    def refresh_and_page(palette: CommandPalette, *arguments: Any) -> None:
        """The key is handled between the filling of the list and its layout."""
        refresh(palette, *arguments)
        palette._action_command_list("page_down")

    monkeypatch.setattr(CommandPalette, "_refresh_command_list", refresh_and_page)
    async with run() as driven:
        await driven.press("ctrl+p")
        commands = driven.app.screen.query_one(CommandList)
        await driven.until(lambda: commands.highlighted is not None)
        await driven.press("pagedown")
        assert commands.highlighted


async def test_the_palette_opens_search_and_lists_its_commands(sample: Path) -> None:
    async with test_search_screen.open_screen(sample) as driven:
        await driven.press("escape")
        assert not driven.is_open()
        await driven.press("ctrl+p")
        await driven.type("search the memory")
        await driven.press("enter")
        await driven.until(driven.is_open)
        await driven.type("gauge")
        await driven.press("enter", "ctrl+p")
        await driven.type("add the result to")
        assert "Add the result to a preset" in driven.text
        await driven.press("enter")
        await driven.until(lambda: driven.focused_panel() == "preset")
