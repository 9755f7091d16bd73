"""What holds for the catalogue of every screen: its commands explain themselves and can all be reached."""

from __future__ import annotations

from itertools import product

import pytest

from tui.commands import catalog, common
from tui.commands.command import LINES, PanelName, Situation
from tui.commands.lookup import SCREENS, Catalog, all_keys, everywhere, here, resolve

EATEN = {"shift+left", "shift+right", "shift+tab", "ctrl+p", "home", "end"}
"""Keys that some terminals keep for themselves."""
COMMANDS = dict.fromkeys(command for _panels, commands in SCREENS for command in commands)
CATALOGS = [pytest.param(*screen, id=screen[0][0]) for screen in SCREENS]
OF_PANELS = [(panel, commands) for panels, commands in SCREENS for panel in panels]


def test_every_command_says_what_it_does() -> None:
    for command in COMMANDS:
        assert command.help().endswith("."), command
        assert command.title[0].isupper(), command
        assert command.keys, command


@pytest.mark.parametrize(("panels", "commands"), CATALOGS)
def test_no_command_is_out_of_reach(panels: tuple[PanelName, ...], commands: Catalog) -> None:
    reached = {
        resolve(key, Situation(panel=panel, question=question, moved=moved))
        for key, panel, question, moved in product(all_keys(commands), panels, (False, True), (False, True))
    }
    assert set(commands) <= reached


def test_keys_that_terminals_eat_are_never_the_only_way() -> None:
    only = {command for command in COMMANDS if set(command.keys) <= EATEN}
    assert only <= {common.PreviousPanel, common.Palette}


@pytest.mark.parametrize(("panels", "commands"), CATALOGS)
def test_every_catalogue_has_what_all_screens_have(panels: tuple[PanelName, ...], commands: Catalog) -> None:
    assert commands[: len(common.ANSWERS)] == common.ANSWERS  # before every other meaning of their keys
    assert commands[-len(common.ALWAYS) :] == common.ALWAYS
    assert {*common.MOVING, *common.ENLARGING} <= set(commands)
    assert len(commands) == len(set(commands))
    assert sum(issubclass(each, common.Back) for each in commands) == 1


def test_help_lists_every_command_of_the_panel_once() -> None:
    for panel, commands in OF_PANELS:
        situation = Situation(panel=panel, rows=1)
        listed = [*here(situation), *everywhere(situation)]
        assert len(listed) == len(set(listed)), panel
        assert set(listed) == {command for command in commands if command.applies(situation)}, panel


def test_a_line_takes_letters_and_the_panels_take_keys() -> None:
    for panel, commands in OF_PANELS:
        meant = {key: resolve(key, Situation(panel=panel)) for key in all_keys(commands)}
        letters = {key for key in meant if len(key) == 1}
        if panel in LINES:
            assert not any(meant[key] for key in letters), panel
            arrows = [key for key in ("up", "down", "left", "right", "home") if key in meant]
            assert not any(meant[key] for key in arrows), panel
        else:
            assert meant["j"] is common.Down and meant["plus"] is common.Zoom, panel
        back = meant["escape"]
        assert back is not None and issubclass(back, common.Back), panel


def test_the_workbench_alone_has_nothing_to_go_back_to() -> None:
    for panels, commands in SCREENS:
        back = next(each for each in commands if issubclass(each, common.Back))
        assert bool(back.refusal(Situation(panel=panels[0]))) == (commands is catalog.CATALOG)
