"""What the commands of several screens have in common: needs, and the bases for focus and labels."""

from __future__ import annotations

from typing import ClassVar

from tui.commands.command import Command, Need

A_TOPIC = Need(lambda here: here.topic, "no topic is selected")
ROWS = Need(lambda here: here.rows, "there is nothing here yet")
WRITABLE = Need(lambda here: not here.read_only, "the workspace is read-only")


class Focus(Command):
    """The base of commands that go to a panel."""

    footer = "panel"


class Label(Command):
    """The base of commands that say whether a topic was useful; a label is written to the log.

    What is labelled differs between screens and comes before ``WRITABLE`` in ``needs``.
    """

    footer = "useful / noise"
    needs: ClassVar[tuple[Need, ...]] = (WRITABLE,)
