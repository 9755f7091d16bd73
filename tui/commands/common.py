"""What the screens have in common: the commands of all of them, and needs and bases for those of several."""

from __future__ import annotations

from typing import ClassVar

from tui.commands.command import LISTS, Command, Need, Situation

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


class AnswerYes(Command):
    """Tell the gate that the topic applies to the message it asks about."""

    keys = ("y", "ctrl+y")
    title = "Answer the gate: yes"
    panels = LISTS
    footer = "answer the gate"
    rank = 0
    passing = True

    @classmethod
    def applies(cls, situation: Situation) -> bool:
        """Only while a question is open; what else a letter does here comes first."""
        return situation.question and situation.panel in cls.panels


class AnswerNo(AnswerYes):
    """Tell the gate that the topic does not apply."""

    keys = ("n", "ctrl+n")
    title = "Answer the gate: no"


class Back(Command):
    """Back out one level: leave the line, drop the filter, end the try, shrink the panel, follow again."""

    keys = ("escape",)
    title = "Back"
    footer = "back"
    rank = 2
    palette = False
    needs: ClassVar[tuple[Need, ...]] = (
        Need(
            lambda here: here.zoomed or here.filtered or here.trying or here.panel == "try",
            "this is the top level; q quits",
        ),
    )


class BackOut(Back):
    """The base of backing out of a screen over the workbench; at its top level it returns there."""

    needs = ()  # there is always the workbench to return to


class _OtherPanel(Command):
    palette = False


class NextPanel(_OtherPanel):
    """Go to the next panel."""

    keys = ("tab",)
    title = "Next panel"


class PreviousPanel(_OtherPanel):
    """Go to the panel before."""

    keys = ("shift+tab",)
    title = "Previous panel"


class _Motion(Command):
    panels = LISTS
    palette = False


class Down(_Motion):
    """Go down one line."""

    keys = ("j", "down")
    title = "Down"


class Up(_Motion):
    """Go up one line."""

    keys = ("k", "up")
    title = "Up"


class HalfDown(_Motion):
    """Go down half a page."""

    keys = ("ctrl+d", "pagedown")
    title = "Half a page down"


class HalfUp(_Motion):
    """Go up half a page."""

    keys = ("ctrl+u", "pageup")
    title = "Half a page up"


class First(_Motion):
    """Go to the first line."""

    keys = ("g", "home")
    title = "To the first line"


class Last(_Motion):
    """Go to the last line; in the feed, follow what comes in."""

    keys = ("G", "end")
    title = "To the last line"


class Edit(Command):
    """Open the selected topic or file in $VISUAL or $EDITOR; the workbench waits and shows the change."""

    keys = ("e",)
    title = "Edit the topic or file"
    panels = LISTS
    footer = "edit"
    rank = 24
    needs = (Need(lambda here: here.file, "the selection is no file"),)


class Copy(Command):
    """Copy the selection to the clipboard, over SSH as well where the terminal allows it (OSC 52)."""

    keys = ("Y",)
    title = "Copy the selection"
    panels = LISTS
    needs = (ROWS,)


class Zoom(Command):
    """Give the focused panel the whole area."""

    keys = ("plus",)
    title = "Enlarge the panel"
    panels = LISTS
    footer = "enlarge"
    rank = 40
    needs = (Need(lambda here: not here.zoomed, "the panel is enlarged already"),)


class Unzoom(Command):
    """Show all panels again."""

    keys = ("underscore",)
    title = "Show all panels"
    panels = LISTS
    needs = (Need(lambda here: here.zoomed, "no panel is enlarged"),)


class Palette(Command):
    """Search all actions by name."""

    keys = ("ctrl+p",)
    title = "All actions"
    palette = False


class Help(Command):
    """Show what every key does here."""

    keys = ("question_mark",)
    title = "Help"
    panels = LISTS
    footer = "help"
    rank = 14


class Problems(Command):
    """List what was found wrong in settings, topics and files, with line and cure."""

    keys = ("exclamation_mark",)
    title = "Show the problems"
    panels = LISTS
    needs = (Need(lambda here: here.problems, "nothing is wrong"),)


class Theme(Command):
    """Use the next theme; the choice is kept in tui.yaml of your user settings."""

    keys = ("T",)
    title = "Next theme"
    panels = LISTS


class Rescan(Command):
    """Look at every file again; only needed where changes are not noticed by themselves."""

    keys = ("ctrl+r",)
    title = "Rescan the workspace"


class Suspend(Command):
    """Put the workbench aside and return to the shell; fg brings it back."""

    keys = ("ctrl+z",)
    title = "Suspend"


class Quit(Command):
    """Quit; from inside something it first backs out, as esc does."""

    keys = ("q",)
    title = "Quit"
    panels = LISTS


ANSWERS: tuple[type[Command], ...] = (AnswerYes, AnswerNo)
"""The first of every catalogue; ``resolve`` lets what else their letters do come first."""
MOVING: tuple[type[Command], ...] = (NextPanel, PreviousPanel, Down, Up, HalfDown, HalfUp, First, Last)
"""Moving about, in the order of help and palette."""
ENLARGING: tuple[type[Command], ...] = (Zoom, Unzoom)
"""Giving one panel the whole area, and taking it back."""
ALWAYS: tuple[type[Command], ...] = (Palette, Help, Problems, Theme, Rescan, Suspend, Quit)
"""What is about the whole workbench: the last of every catalogue."""
