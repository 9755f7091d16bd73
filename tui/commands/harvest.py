"""Every action of the harvest screen, once, by the step it belongs to; others come from ``common``."""

from __future__ import annotations

from typing import ClassVar

from tui.commands.command import HARVEST_PANELS, LINES, Command, Need, PanelName
from tui.commands.common import ALWAYS, ANSWERS, ENLARGING, MOVING, ROWS, WRITABLE, BackOut, Focus

STEPS: frozenset[PanelName] = frozenset(HARVEST_PANELS) - LINES
PICKING: frozenset[PanelName] = frozenset({"pick", "switches"})
CHOSEN = Need(lambda here: here.chosen, "nothing is chosen that a harvest would look at")
STILL = Need(lambda here: not here.harvesting, "the harvest is under way; x stops it, b leaves it running")
UNDER_WAY = Need(lambda here: here.harvesting, "no harvest is under way")


class Leave(BackOut):
    """Back one step, in the end to the ledger; while a harvest is under way, stop it after this one."""

    rank = 30


class ToPick(Command):
    """Go on and choose what is harvested."""

    keys = ("enter",)
    title = "Go on: choose"
    panels = frozenset[PanelName]({"survey"})
    footer = "choose"
    rank = 0
    needs = (Need(lambda here: here.rows, "there is no conversation"),)


class ToConfirm(Command):
    """Go on and see what would happen at what price; nothing happens yet."""

    keys = ("enter",)
    title = "Go on: see what would happen"
    panels = PICKING
    footer = "go on"
    rank = 0
    needs: ClassVar[tuple[Need, ...]] = (CHOSEN,)


class Toggle(Command):
    """Choose the selected conversation, or leave it out."""

    keys = ("space",)
    title = "Choose the conversation, or not"
    panels = frozenset[PanelName]({"pick"})
    footer = "choose"
    rank = 2
    needs = (Need(lambda here: here.selectable, "this one is left alone, for the reason that stands there"),)


class ToggleAll(Command):
    """Choose all that can be chosen; when all are, none."""

    keys = ("a",)
    title = "Choose all, or none"
    panels = PICKING
    footer = "all"
    rank = 4


class Switch(Command):
    """Switch the selected option on or off."""

    keys = ("space",)
    title = "Switch the option"
    panels = frozenset[PanelName]({"switches"})
    footer = "switch"
    rank = 2
    needs = (ROWS,)


class Filter(Command):
    """Narrow the conversations to those that hold what is typed: path, kind or reason."""

    keys = ("slash",)
    title = "Filter the conversations"
    panels = frozenset[PanelName]({"survey", "pick"})
    footer = "filter"
    rank = 10


class Start(Command):
    """Start. Conversations are sent to the provider that is named, one after the other."""

    keys = ("enter",)
    title = "Start the harvest"
    panels = frozenset[PanelName]({"progress"})
    footer = "start"
    rank = 0
    needs: ClassVar[tuple[Need, ...]] = (STILL, CHOSEN, WRITABLE)


class Stop(Command):
    """Stop after the conversation that is under way; what was harvested stays."""

    keys = ("x",)
    title = "Stop the harvest"
    panels = frozenset[PanelName]({"progress"})
    footer = "stop"
    rank = 2
    needs: ClassVar[tuple[Need, ...]] = (UNDER_WAY,)


class Background(Command):
    """Leave the harvest running and return to the ledger; the workbench says when it is done."""

    keys = ("b",)
    title = "Leave the harvest running"
    panels = frozenset[PanelName]({"progress"})
    footer = "leave it running"
    rank = 4
    needs: ClassVar[tuple[Need, ...]] = (UNDER_WAY,)


class TypeNumber(Command):
    """Type how many conversations go to the trash, where so many would that their number is asked for."""

    keys = ("m",)
    title = "Move them to the trash, by their number"
    panels = frozenset[PanelName]({"outcome"})
    footer = "type the number"
    rank = 0
    needs: ClassVar[tuple[Need, ...]] = (Need(lambda here: here.brake, "no number is asked for"), WRITABLE)


class RetryFailed(Command):
    """Look again and choose what failed in this harvest."""

    keys = ("f",)
    title = "Try again what failed"
    panels = frozenset[PanelName]({"outcome"})
    footer = "retry failed"
    rank = 2
    needs = (Need(lambda here: here.failures, "nothing failed"),)


class Again(Command):
    """Begin anew with another look at the conversations."""

    keys = ("H",)
    title = "Look at the conversations again"
    panels = STEPS
    needs: ClassVar[tuple[Need, ...]] = (STILL,)


class FocusPick(Focus):
    """Go to the conversations."""

    keys = ("1",)
    title = "Go to the conversations"
    panels = PICKING
    rank = 24


class FocusSwitches(FocusPick):
    """Go to the options."""

    keys = ("2",)
    title = "Go to the options"


class CopyText(Command):
    """Copy what the panel shows: of lists the selected row, else the whole text (OSC 52)."""

    keys = ("Y",)
    title = "Copy the text"
    panels = STEPS
    needs = (ROWS,)


HARVEST: tuple[type[Command], ...] = (
    *ANSWERS, Leave,
    ToPick, ToConfirm, Toggle, ToggleAll, Switch, Filter, Start, Stop, Background,
    TypeNumber, RetryFailed, Again, CopyText,
    FocusPick, FocusSwitches, *MOVING,
    *ENLARGING, *ALWAYS,
)  # fmt: skip
"""In the order of help and palette. Where two share a key, the first that applies has it."""
