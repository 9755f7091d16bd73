"""Every action of the ledger screen, once; those of every screen come from ``common``."""

from __future__ import annotations

from typing import ClassVar

from tui.commands.command import LINES, RECORD_PANELS, Command, Need, PanelName
from tui.commands.common import ALWAYS, ANSWERS, ENLARGING, MOVING, ROWS, WRITABLE, BackOut, Focus

RECORDS: frozenset[PanelName] = frozenset(RECORD_PANELS) - LINES
AN_ENTRY = Need(lambda here: here.record, "no entry is selected")
A_LEDGER = Need(lambda here: not here.broken, "the ledger is damaged; R rebuilds it")
A_FILE = Need(lambda here: here.file, "the line or the conversation is not in a file any more")
_TO_BE_HAD = ("", "in trash", "in history")


class _Records(Command):
    panels = RECORDS


class Leave(BackOut):
    """Back out one level: leave the line, drop filters, show all panels, return to the workbench."""

    rank = 30


class FocusEntries(Focus):
    """Go to the entries, newest first."""

    keys = ("1",)
    title = "Go to the entries"
    panels = RECORDS
    rank = 24


class FocusRecord(FocusEntries):
    """Go to the selected entry: all that is known, and where each of its lines stands now."""

    keys = ("2",)
    title = "Go to the selected entry"


class Read(Command):
    """Read the selected entry; small screens give it the whole area."""

    keys = ("enter", "o")
    title = "Read the entry"
    panels = frozenset[PanelName]({"entries"})
    footer = "read"
    rank = 0
    needs: ClassVar[tuple[Need, ...]] = (AN_ENTRY,)


class EditThere(_Records):
    """Open in $VISUAL or $EDITOR the selected line where it stands now; elsewhere the conversation."""

    keys = ("e",)
    title = "Edit the line, or the conversation"
    footer = "edit"
    rank = 12
    needs = (A_FILE,)


class OpenLine(Command):
    """Open the selected line in $VISUAL or $EDITOR, where it stands now."""

    keys = ("enter", "o")
    title = "Open the line where it stands"
    panels = frozenset[PanelName]({"record"})
    footer = "open"
    rank = 0
    needs = (A_FILE,)


class HarvestNow(_Records):
    """Harvest, step by step: look first, then choose, then confirm; nothing happens before."""

    keys = ("H",)
    title = "Harvest conversations"
    footer = "harvest"
    rank = 2
    needs: ClassVar[tuple[Need, ...]] = (A_LEDGER,)


class RetryFailed(Command):
    """Harvest again what failed: those conversations are chosen beforehand."""

    keys = ("f",)
    title = "Harvest again what failed"
    panels = frozenset[PanelName]({"entries"})
    footer = "retry failed"
    rank = 6
    needs: ClassVar[tuple[Need, ...]] = (A_LEDGER, Need(lambda here: here.failures, "no harvest has failed"))


class Restore(_Records):
    """Bring the entry's conversation back, byte for byte, from the trash or the history; asks first."""

    keys = ("r",)
    title = "Restore the conversation"
    footer = "restore"
    rank = 4
    needs: ClassVar[tuple[Need, ...]] = (
        AN_ENTRY,
        Need(lambda here: here.kept_in != "there", "its conversation is where it was"),
        Need(
            lambda here: here.kept_in in _TO_BE_HAD, "its bytes are neither in the trash nor in the history"
        ),
        WRITABLE,
    )


class Verify(_Records):
    """Hold every entry against the files: its lines, its conversation, their hashes. Changes nothing."""

    keys = ("v",)
    title = "Verify all entries"
    footer = "verify"
    rank = 8
    needs: ClassVar[tuple[Need, ...]] = (A_LEDGER,)


class Rebuild(_Records):
    """Make the ledger anew from all versions in the history and what can be read of it; asks first."""

    keys = ("R",)
    title = "Rebuild the ledger"
    footer = "rebuild"
    rank = 1
    needs: ClassVar[tuple[Need, ...]] = (
        Need(lambda here: here.broken, "the ledger is whole"),
        WRITABLE,
    )


class NextStatus(_Records):
    """Keep to the next status: harvested, harvest-failed, deleted-unharvested, too-large; then to all."""

    keys = ("s",)
    title = "Only the next status"
    footer = "status"
    rank = 14


class Filter(_Records):
    """Narrow the entries to those that hold what is typed: name, path, error, sha256 or a line of theirs."""

    keys = ("slash",)
    title = "Filter the entries"
    footer = "filter"
    rank = 16


class CopyIt(_Records):
    """Copy the selected line's text; among the entries the sha256, for autopoiesis ledger show."""

    keys = ("y",)
    title = "Copy the line, or the sha256"
    footer = "copy"
    rank = 18
    needs: ClassVar[tuple[Need, ...]] = (AN_ENTRY,)


class CopyText(_Records):
    """Copy what the panel shows: of the entries the selected one, else everything known of it (OSC 52)."""

    keys = ("Y",)
    title = "Copy the text"
    needs = (ROWS,)


LEDGER: tuple[type[Command], ...] = (
    *ANSWERS, Leave,
    Read, OpenLine, EditThere, HarvestNow, RetryFailed, Restore, Verify, Rebuild,
    Filter, NextStatus, CopyIt, CopyText,
    FocusEntries, FocusRecord, *MOVING,
    *ENLARGING, *ALWAYS,
)  # fmt: skip
"""In the order of help and palette. Where two share a key, the first that applies has it."""
