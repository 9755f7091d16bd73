"""Every action of the review screen, once; those of every screen come from ``common``."""

from __future__ import annotations

from typing import ClassVar

from tui.commands.command import LINES, REVIEW_PANELS, Command, Need, PanelName
from tui.commands.common import ALWAYS, ANSWERS, ENLARGING, MOVING, WRITABLE, BackOut, Focus

REVIEWING: frozenset[PanelName] = frozenset(REVIEW_PANELS) - LINES
AN_ITEM = Need(lambda here: here.held, "no item is selected")
STILL_WAITS = Need(lambda here: here.waits, "the item is settled, or being settled")


class _Reviewing(Command):
    panels = REVIEWING


class _Settling(_Reviewing):
    needs: ClassVar[tuple[Need, ...]] = (AN_ITEM, STILL_WAITS, WRITABLE)


class Leave(BackOut):
    """Back out one level: leave the line, show both panels, drop the filter, return to the workbench."""

    rank = 30


class _Focus(Focus):
    panels = REVIEWING
    rank = 26


class FocusQueue(_Focus):
    """Go to the list of what waits for you."""

    keys = ("1",)
    title = "Go to what waits"


class FocusItem(_Focus):
    """Go to the selected item: what it says, why it was held, and where it comes from."""

    keys = ("2",)
    title = "Go to the item"


class Accept(_Settling):
    """Make the selected item knowledge as it is: its line is written, the digest made anew, and committed."""

    keys = ("a",)
    title = "Accept the item"
    footer = "accept"
    rank = 0


class Reword(_Settling):
    """Edit the item's text in the line; enter accepts what stands there, esc leaves the item waiting."""

    keys = ("E",)
    title = "Edit the item, then accept it"
    footer = "edit, accept"
    rank = 4


class Reject(_Settling):
    """Turn the selected item down: it becomes no knowledge and never comes back; asks first."""

    keys = ("x", "delete")
    title = "Reject the item"
    footer = "reject"
    rank = 2


class AcceptAll(_Reviewing):
    """Accept every listed item that waits, but for what could do harm; w, c and / narrow them. Asks first."""

    keys = ("A",)
    title = "Accept all that are listed"
    footer = "accept all"
    rank = 10
    needs: ClassVar[tuple[Need, ...]] = (
        Need(lambda here: here.listed_waiting, "no listed item waits"),
        WRITABLE,
    )


class ShowItem(Command):
    """Show the selected item over the whole area; once more shows both panels again."""

    keys = ("enter", "o")
    title = "Show the item over the whole area"
    panels = REVIEWING
    needs = (AN_ITEM,)


class ShowSettled(_Reviewing):
    """List also what was accepted and rejected before; once more only what waits."""

    keys = ("s",)
    title = "Show settled items, or only what waits"
    footer = "settled"
    rank = 12


class FilterQueue(_Reviewing):
    """Narrow the list to the items that hold what is typed, while it is typed."""

    keys = ("slash",)
    title = "Filter the list"
    footer = "filter"
    rank = 14


class SameReason(_Reviewing):
    """Narrow the list to what waits for the same reason as the selected item; A then accepts all of it."""

    keys = ("w",)
    title = "Only what waits for this reason"
    needs = (AN_ITEM,)


class SameConversation(_Reviewing):
    """Narrow the list to what waits of the selected item's conversation; A then accepts all of it."""

    keys = ("c",)
    title = "Only what waits of this conversation"
    needs = (AN_ITEM,)


class EditSource(_Reviewing):
    """Open the conversation at the line that says it, in $VISUAL or $EDITOR."""

    keys = ("e",)
    title = "Open the conversation at its line"
    footer = "source"
    rank = 8
    needs: ClassVar[tuple[Need, ...]] = (
        AN_ITEM,
        Need(lambda here: here.file, "the conversation is not here any more"),
    )


class CopyItem(_Reviewing):
    """Copy the text of the selected item (OSC 52, also over SSH)."""

    keys = ("y",)
    title = "Copy the item"
    footer = "copy"
    rank = 18
    needs = (AN_ITEM,)


class CopyAbout(_Reviewing):
    """Copy all that is shown of the selected item."""

    keys = ("Y",)
    title = "Copy all that is shown of the item"
    needs = (AN_ITEM,)


REVIEW: tuple[type[Command], ...] = (
    *ANSWERS, Leave,
    Accept, Reject, Reword, AcceptAll, ShowItem, ShowSettled, FilterQueue, SameReason,
    SameConversation, EditSource, CopyItem, CopyAbout,
    FocusQueue, FocusItem, *MOVING,
    *ENLARGING, *ALWAYS,
)  # fmt: skip
"""In the order of help and palette. Where two share a key, the first that applies has it."""
