"""Every action of the context screen, once; those of every screen come from ``common``."""

from __future__ import annotations

from typing import ClassVar

from tui.commands.command import CONTEXT_PANELS, LINES, Command, Need, PanelName
from tui.commands.common import ALWAYS, ANSWERS, ENLARGING, MOVING, ROWS, WRITABLE, BackOut, Edit, Focus

CONTEXT_LISTS: frozenset[PanelName] = frozenset(CONTEXT_PANELS) - LINES
A_PROMPT = Need(lambda here: here.prompt, "there is no prompt")


class _Context(Command):
    panels = CONTEXT_LISTS
    needs: ClassVar[tuple[Need, ...]] = (A_PROMPT,)


class Leave(BackOut):
    """Back out one level: leave the line, drop the filter, end the comparison, return to the workbench."""

    rank = 11


class _Focus(Focus):
    panels = CONTEXT_LISTS
    rank = 30


class FocusSections(_Focus):
    """Go to the sections of the prompt, by layer, or to those that changed while two prompts are compared."""

    keys = ("1",)
    title = "Go to the sections"


class FocusText(_Focus):
    """Go to the text of the selected section, or of the whole prompt; up and down scroll it there."""

    keys = ("2",)
    title = "Go to the text"


class FocusLeftOut(_Focus):
    """Go to what was left out: everything that did not get in, with its size, its score and the reason."""

    keys = ("3",)
    title = "Go to what was left out"


class FocusSlots(_Focus):
    """Go to the budget: what each slot uses, against its cap."""

    keys = ("4",)
    title = "Go to the budget"


class OpenSelected(_Context):
    """Open what is selected: the text of a section over the whole area, everything about a left-out piece."""

    keys = ("enter",)
    title = "Open the selection"
    panels = frozenset[PanelName]({"sections", "left-out"})
    needs = (*_Context.needs, ROWS)


class WholePrompt(_Context):
    """Show the whole prompt as one text, at the selected section; once more shows only the section."""

    keys = ("t",)
    title = "Show the whole prompt, or only the section"
    footer = "whole"
    rank = 4


class LeftOutList(_Context):
    """Show what was left out below the text; once more takes it away."""

    keys = ("o",)
    title = "Show what was left out"
    footer = "left out"
    rank = 6


class Compare(_Context):
    """Compare with the prompt of the message before: sections that came, went and changed; once more ends it.

    Says whether the stable prefix is the same byte for byte, and else where it first differs.
    """

    keys = ("d",)
    title = "Compare with the prompt before"
    footer = "diff"
    rank = 8


class FilterSections(_Context):
    """Narrow the focused list to the rows that hold what is typed, while it is typed."""

    keys = ("slash",)
    title = "Filter the list"
    footer = "filter"
    rank = 12


class NextMessage(Command):
    """Show the prompt of the next message of the feed."""

    keys = ("J",)
    title = "Next message of the feed"
    panels = CONTEXT_LISTS
    footer = "message"
    rank = 10


class PreviousMessage(Command):
    """Show the prompt of the message before it in the feed."""

    keys = ("K",)
    title = "Previous message of the feed"
    panels = CONTEXT_LISTS
    footer = "message"
    rank = 10


class EditSource(Edit):
    """Open the selection's file in $VISUAL or $EDITOR, at its line; then the prompt is compiled anew."""

    title = "Edit the source"
    panels = CONTEXT_LISTS
    rank = 14
    needs = (Need(lambda here: here.file, "the selection comes from no file"),)


class CopyText(_Context):
    """Copy what is selected: a section's text, its difference, or a left-out line (OSC 52, also over SSH)."""

    keys = ("y",)
    title = "Copy the selected text"
    footer = "copy"
    rank = 16
    needs = (*_Context.needs, ROWS)


class CopyPrompt(_Context):
    """Copy the whole prompt; what is too long for a terminal's clipboard is cut, and it says so."""

    keys = ("Y",)
    title = "Copy the whole prompt"


class WritePrompt(_Context):
    """Write the prompt into a file below scratch/, where memory does not learn from it; asks its name."""

    keys = ("w",)
    title = "Write the prompt to a file"
    footer = "write"
    rank = 18
    needs = (*_Context.needs, WRITABLE)


CONTEXT: tuple[type[Command], ...] = (
    *ANSWERS, Leave,
    FocusSections, FocusText, FocusLeftOut, FocusSlots, *MOVING,
    OpenSelected, WholePrompt, LeftOutList, Compare, FilterSections, NextMessage, PreviousMessage,
    EditSource, CopyText, CopyPrompt, WritePrompt, *ENLARGING,
    *ALWAYS,
)  # fmt: skip
"""In the order of help and palette. Where two share a key, the first that applies has it."""
