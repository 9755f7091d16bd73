"""Every action of the knowledge screen, once; those of every screen come from ``common``."""

from __future__ import annotations

from typing import ClassVar

from tui.commands.command import KNOWLEDGE_PANELS, LINES, Command, Need, PanelName
from tui.commands.common import ALWAYS, ANSWERS, ENLARGING, MOVING, ROWS, WRITABLE, BackOut, Focus

KNOWING: frozenset[PanelName] = frozenset(KNOWLEDGE_PANELS) - LINES
UNCLEAR = Need(lambda here: here.unclear, "no notes of an unclear file are selected")


class _Knowing(Command):
    panels = KNOWING


class Leave(BackOut):
    """Back out one level: leave the line, show all panels, drop the filter, return to the workbench."""

    rank = 30


class _Focus(Focus):
    panels = KNOWING
    rank = 24


class FocusGroups(_Focus):
    """Go to the groups: the category files, notes of files, entries and skills, and the digest."""

    keys = ("1",)
    title = "Go to the groups"


class FocusPieces(_Focus):
    """Go to what is in the selected group, newest first."""

    keys = ("2",)
    title = "Go to what is in the group"


class FocusReading(_Focus):
    """Go to the selected thing in full; up and down scroll it there."""

    keys = ("3",)
    title = "Go to the selected thing in full"


class Deeper(_Knowing):
    """Go deeper: into the group, then to the thing in full over the whole area; once more takes it back.

    A section of the digest leads to the group that it is made of.
    """

    keys = ("enter", "o")
    title = "Go deeper"
    footer = "deeper"
    rank = 0
    needs = (ROWS,)


class FilterPieces(_Knowing):
    """Narrow the list to what holds the words typed, while they are typed."""

    keys = ("slash",)
    title = "Filter the list"
    footer = "filter"
    rank = 4


class EditThere(_Knowing):
    """Open the file of the selection in $VISUAL or $EDITOR, at its line; the screen shows the change."""

    keys = ("e",)
    title = "Edit the file at its line"
    footer = "edit"
    rank = 6
    needs = (Need(lambda here: here.file, "there is no such file yet"),)


class CopyPiece(_Knowing):
    """Copy what the selected thing says (OSC 52, also over SSH)."""

    keys = ("y",)
    title = "Copy what it says"
    footer = "copy"
    rank = 12
    needs = (ROWS,)


class CopyReading(_Knowing):
    """Copy all that is shown of the selected thing."""

    keys = ("Y",)
    title = "Copy all that is shown of it"
    needs = (ROWS,)


class NextCandidate(_Knowing):
    """Mark the next file that the unclear notes may belong to."""

    keys = ("space",)
    title = "Mark the next candidate"
    footer = "candidate"
    rank = 3
    needs: ClassVar[tuple[Need, ...]] = (
        UNCLEAR,
        Need(lambda here: here.candidates > 1, "there is no other candidate"),
    )


class Bind(_Knowing):
    """Say that the unclear notes belong to the marked file; asks first."""

    keys = ("b",)
    title = "Bind the notes to the marked file"
    footer = "bind"
    rank = 2
    needs: ClassVar[tuple[Need, ...]] = (
        UNCLEAR,
        Need(lambda here: here.candidates, "no file looks like it; autopoiesis notes PATH --move-to NEW"),
        WRITABLE,
    )


class DigestOff(_Knowing):
    """Delete the digest, which turns it off: no prompt gets it until you make it anew; asks first."""

    keys = ("D", "delete")
    title = "Delete the digest to turn it off"
    footer = "digest off"
    rank = 14
    needs: ClassVar[tuple[Need, ...]] = (
        Need(lambda here: here.digest, "the digest is off already"),
        WRITABLE,
    )


class Regenerate(_Knowing):
    """Make the digest anew from the category files, which also turns it on again."""

    keys = ("R",)
    title = "Make the digest anew"
    footer = "digest anew"
    rank = 16
    needs = (WRITABLE,)


KNOWLEDGE: tuple[type[Command], ...] = (
    *ANSWERS, Leave,
    Deeper, FilterPieces, EditThere, CopyPiece, CopyReading, NextCandidate, Bind, DigestOff, Regenerate,
    FocusGroups, FocusPieces, FocusReading, *MOVING,
    *ENLARGING, *ALWAYS,
)  # fmt: skip
"""In the order of help and palette. Where two share a key, the first that applies has it."""
