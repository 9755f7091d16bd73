"""Every action of the cache screen, once; those of every screen come from ``common``."""

from __future__ import annotations

from typing import ClassVar

from tui.commands.command import CACHE_PANELS, Command, Need, PanelName
from tui.commands.common import ALWAYS, ANSWERS, ENLARGING, MOVING, ROWS, WRITABLE, BackOut, Focus

CACHING: frozenset[PanelName] = frozenset(CACHE_PANELS)
A_DISCUSSION = Need(lambda here: here.discussion, "no discussion is selected")


class _Looking(Command):
    panels = CACHING


class _Discussion(Command):
    panels = frozenset[PanelName]({"discussions"})


class Leave(BackOut):
    """Back out one level: show all panels again, return to the workbench."""

    rank = 30


class _Focus(Focus):
    panels = CACHING
    rank = 24


class FocusProviders(_Focus):
    """Go to the providers: what each was sent, what its caches served, when the last of them goes."""

    keys = ("1",)
    title = "Go to the providers"


class FocusDiscussions(_Focus):
    """Go to the discussions: which have a cache, with whom, until when."""

    keys = ("2",)
    title = "Go to the discussions"


class FocusSettings(_Focus):
    """Go to the settings of caches, which are those of the whole workspace."""

    keys = ("3",)
    title = "Go to the settings"


class FocusMisses(_Focus):
    """Go to the misses: why the last one happened, and what broke prefixes how often at what price."""

    keys = ("4",)
    title = "Go to the misses"


class Details(Command):
    """Show all that is known of the selected discussion's cache, or of what broke prefixes."""

    keys = ("enter", "o")
    title = "Show everything known of it"
    panels = frozenset[PanelName]({"discussions", "misses"})
    footer = "details"
    rank = 0
    needs = (ROWS,)


class Step(Command):
    """Switch the selected setting on or off, or go to its next value; it is written and committed at once."""

    keys = ("space", "enter")
    title = "Change the selected setting"
    panels = frozenset[PanelName]({"settings"})
    footer = "change"
    rank = 0
    needs: ClassVar[tuple[Need, ...]] = (ROWS, WRITABLE)


class Invalidate(_Discussion):
    """Give the selected discussion's cache up, so that the next call begins another one; asks first."""

    keys = ("i",)
    title = "Invalidate the discussion's cache"
    footer = "invalidate"
    rank = 2
    needs: ClassVar[tuple[Need, ...]] = (
        A_DISCUSSION,
        Need(lambda here: here.cached, "this discussion has no cache to give up"),
        WRITABLE,
    )


class Disable(_Discussion):
    """Ask for no caches in the selected discussion any more, and give up the one there is."""

    keys = ("d",)
    title = "Disable caching for the discussion"
    footer = "disable"
    rank = 4
    needs: ClassVar[tuple[Need, ...]] = (
        A_DISCUSSION,
        Need(lambda here: here.caching, "caching is switched off for this discussion already"),
        WRITABLE,
    )


class Enable(_Discussion):
    """Ask for caches in the selected discussion again, from its next call on."""

    keys = ("a",)
    title = "Enable caching for the discussion again"
    footer = "enable"
    rank = 4
    needs: ClassVar[tuple[Need, ...]] = (
        A_DISCUSSION,
        Need(lambda here: not here.caching, "caching is on for this discussion already"),
        WRITABLE,
    )


class Period(_Looking):
    """Sum the providers up over another period: today, the last 7 days, the last 30."""

    keys = ("p",)
    title = "Sums of another period"
    footer = "period"
    rank = 10


class EditThere(_Looking):
    """Open in $VISUAL or $EDITOR the file that broke the prefix, the transcript, or the settings."""

    keys = ("e",)
    title = "Edit the file"
    footer = "edit"
    rank = 8
    needs = (Need(lambda here: here.file, "the selection is no file, or it is gone"),)


class CopyId(Command):
    """Copy the session id of the selected discussion, for autopoiesis cache show ID and the like."""

    keys = ("y",)
    title = "Copy the session id"
    panels = frozenset[PanelName]({"discussions", "misses"})
    footer = "copy id"
    rank = 12
    needs = (A_DISCUSSION,)


class CopyText(_Looking):
    """Copy what the panel shows: of discussions, misses and settings the selected line (OSC 52)."""

    keys = ("Y",)
    title = "Copy the text"
    needs = (ROWS,)


CACHE: tuple[type[Command], ...] = (
    *ANSWERS, Leave,
    Details, Invalidate, Disable, Enable, Step, Period, EditThere, CopyId, CopyText,
    FocusProviders, FocusDiscussions, FocusSettings, FocusMisses, *MOVING,
    *ENLARGING, *ALWAYS,
)  # fmt: skip
"""In the order of help and palette. Where two share a key, the first that applies has it."""
