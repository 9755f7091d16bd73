"""Every action of the search screen, once; those of every screen come from ``common``."""

from __future__ import annotations

from typing import ClassVar

from tui.commands.command import LINES, SEARCH_PANELS, Command, Need, PanelName
from tui.commands.common import ALWAYS, ANSWERS, ENLARGING, MOVING, WRITABLE, BackOut, Focus

SEARCH_LISTS: frozenset[PanelName] = frozenset(SEARCH_PANELS) - LINES
A_RESULT = Need(lambda here: here.result, "no result is selected")
ITS_FILE = Need(lambda here: here.file, "the file is not there any more")


class _Searching(Command):
    panels = SEARCH_LISTS


class _Result(_Searching):
    needs: ClassVar[tuple[Need, ...]] = (A_RESULT,)


class Leave(BackOut):
    """Back out one level: leave the line, show all panels, search every kind, return to the workbench."""

    rank = 30


class Ask(_Searching):
    """Type what to search for; results come while you type, and enter goes to them."""

    keys = ("slash",)
    title = "Type what to search for"
    footer = "query"
    rank = 2


class ToResults(Command):
    """Go to the results of what is typed."""

    keys = ("enter",)
    title = "Go from the line to the results"
    panels = frozenset[PanelName]({"query"})
    footer = "results"
    rank = 0
    palette = False


class _Focus(Focus):
    panels = SEARCH_LISTS
    rank = 24


class FocusResults(_Focus):
    """Go to the results, best first."""

    keys = ("1",)
    title = "Go to the results"


class FocusPreview(_Focus):
    """Go to the preview: the selected result with the lines around it in its file."""

    keys = ("2",)
    title = "Go to the preview"


class FocusWhy(_Focus):
    """Go to the reasons: what the selected result's score is made of, shown if it was not."""

    keys = ("3",)
    title = "Go to why it ranks there"
    needs: ClassVar[tuple[Need, ...]] = (A_RESULT,)


class Read(_Result):
    """Read the selected result with the lines around it; small screens give it the whole area."""

    keys = ("enter", "o")
    title = "Read the result"
    panels = frozenset[PanelName]({"results"})
    footer = "read"
    rank = 0


class NextResult(_Result):
    """Select the next result, from any panel."""

    keys = ("n",)
    title = "Next result"
    footer = "next / previous"
    rank = 18


class PreviousResult(_Result):
    """Select the result before, from any panel."""

    keys = ("N",)
    title = "Previous result"
    footer = "next / previous"
    rank = 18


class More(_Result):
    """Bring more results than the first 50, up to 500; going down past the last one does it as well."""

    keys = ("m",)
    title = "Bring more results"


class Why(_Result):
    """Show or hide why the selected result ranks there: the parts of its score, its ranks, its words."""

    keys = ("w",)
    title = "Why this rank"
    footer = "why"
    rank = 4


class NextKind(_Searching):
    """Keep to the next kind of file that there is: identity, memory, journal and so on; in the end to all."""

    keys = ("c",)
    title = "Only the next kind of file"
    footer = "kind"
    rank = 6


class PreviousKind(_Searching):
    """Keep to the kind of file before."""

    keys = ("C",)
    title = "Only the kind of file before"


class EditThere(_Result):
    """Open the selected result's file in $VISUAL or $EDITOR, at its first line; then search again."""

    keys = ("e",)
    title = "Edit the file at this line"
    footer = "edit"
    rank = 8
    needs: ClassVar[tuple[Need, ...]] = (A_RESULT, ITS_FILE)


class CopyPlace(_Result):
    """Copy where the selected result stands, as path:line."""

    keys = ("y",)
    title = "Copy path:line"
    footer = "copy place"
    rank = 10


class CopyText(_Result):
    """Copy what the panel shows: of the results the selected one's whole text; over SSH as well (OSC 52)."""

    keys = ("Y",)
    title = "Copy the text"


class AddToPreset(_Result):
    """Add the selected result's lines to a preset, by its name; a new name makes a new preset."""

    keys = ("a",)
    title = "Add the result to a preset"
    footer = "to preset"
    rank = 12
    needs: ClassVar[tuple[Need, ...]] = (A_RESULT, WRITABLE)


SEARCH: tuple[type[Command], ...] = (
    *ANSWERS, Leave,
    Ask, ToResults, Read, NextResult, PreviousResult, More, Why, NextKind, PreviousKind,
    EditThere, CopyPlace, CopyText, AddToPreset,
    FocusResults, FocusPreview, FocusWhy, *MOVING,
    *ENLARGING, *ALWAYS,
)  # fmt: skip
"""In the order of help and palette. Where two share a key, the first that applies has it."""
