"""Every action of the workbench, once."""

from __future__ import annotations

from typing import ClassVar

from tui.commands.command import LISTS, Command, Need, PanelName, Situation
from tui.commands.shared import A_TOPIC, ROWS, Focus, Label


class AnswerYes(Command):
    """Tell the gate that the topic applies to the message it asks about."""

    keys = ("y",)
    title = "Answer the gate: yes"
    panels = LISTS
    footer = "answer the gate"
    rank = 0
    passing = True

    @classmethod
    def applies(cls, situation: Situation) -> bool:
        """Only while a question is open; then it comes before every other meaning of the key."""
        return situation.question and situation.panel in cls.panels


class AnswerNo(AnswerYes):
    """Tell the gate that the topic does not apply."""

    keys = ("n",)
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


class _Focus(Focus):
    panels = LISTS
    rank = 10


class FocusFeed(_Focus):
    """Go to the feed: what came in and what happened, newest last."""

    keys = ("1",)
    title = "Go to the feed"


class FocusActivation(_Focus):
    """Go to the activation trace: which topics fired for the selected message, and why."""

    keys = ("2",)
    title = "Go to activation"


class FocusDigest(_Focus):
    """Go to the digest: the few kilobytes of knowledge that every prompt gets."""

    keys = ("3",)
    title = "Go to the digest"


class FocusLedger(_Focus):
    """Go to the ledger: what was harvested from each conversation."""

    keys = ("4",)
    title = "Go to the ledger"


class FocusBudget(_Focus):
    """Go to the budget: what takes how much of the prompt, and what was left out."""

    keys = ("5",)
    title = "Go to the budget"


class NextPanel(Command):
    """Go to the next panel."""

    keys = ("tab",)
    title = "Next panel"
    palette = False


class PreviousPanel(Command):
    """Go to the panel before."""

    keys = ("shift+tab",)
    title = "Previous panel"
    palette = False


class Open(Command):
    """Open what is selected: a message's trace, everything about a topic, ledger entry or left-out piece."""

    keys = ("enter",)
    title = "Open the selection"
    panels = LISTS
    footer = "open"
    rank = 20
    needs = (ROWS,)


class _Label(Label):
    panels = frozenset[PanelName]({"activation"})
    rank = 22
    needs = (
        A_TOPIC,
        Need(lambda here: here.key and not here.trying, "a tried message is not in the decision log"),
        *Label.needs,
    )


class LabelUseful(_Label):
    """Label the selected topic as useful for this message; the local gate learns from it."""

    keys = ("y",)
    title = "Label the topic: useful"


class LabelNoise(_Label):
    """Label the selected topic as noise for this message; the local gate learns from it."""

    keys = ("n",)
    title = "Label the topic: noise"


class Edit(Command):
    """Open the selected topic or file in $VISUAL or $EDITOR; the workbench waits and shows the change."""

    keys = ("e",)
    title = "Edit the topic or file"
    panels = LISTS
    footer = "edit"
    rank = 24
    needs = (Need(lambda here: here.file, "the selection is no file"),)


class Try(Command):
    """Type a message and see at once what would fire and what the prompt would hold."""

    keys = ("i",)
    title = "Try a message"
    panels = LISTS
    footer = "try"
    rank = 12


class OpenTune(Command):
    """Tune the topics: how well each does, and for one of them what other cuts would have changed."""

    keys = ("t",)
    title = "Tune the topics"
    panels = LISTS
    footer = "tune"
    rank = 16


class OpenContext(Command):
    """Look at the prompt of the selected message: every section, why it is there, and what was left out."""

    keys = ("c",)
    title = "Look at the prompt"
    panels = LISTS


class OpenSearch(Command):
    """Search everything remembered, by words and by meaning, and see why a result ranks there."""

    keys = ("s",)
    title = "Search everything remembered"
    panels = LISTS


class Filter(Command):
    """Narrow the list to the rows that hold what is typed, while it is typed."""

    keys = ("slash",)
    title = "Filter the list"
    panels = frozenset[PanelName]({"feed", "activation", "ledger"})
    footer = "filter"
    rank = 26


class _Match(Command):
    panels = frozenset[PanelName]({"feed", "ledger"})
    palette = False
    needs = (Need(lambda here: here.filtered, "no filter is set; / sets one"),)


class NextMatch(_Match):
    """Go to the next row the filter found."""

    keys = ("n",)
    title = "Next match"


class PreviousMatch(_Match):
    """Go to the row before that the filter found."""

    keys = ("N",)
    title = "Previous match"


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


class Down(Command):
    """Go down one line."""

    keys = ("j", "down")
    title = "Down"
    panels = LISTS
    palette = False


class Up(Command):
    """Go up one line."""

    keys = ("k", "up")
    title = "Up"
    panels = LISTS
    palette = False


class HalfDown(Command):
    """Go down half a page."""

    keys = ("ctrl+d", "pagedown")
    title = "Half a page down"
    panels = LISTS
    palette = False


class HalfUp(Command):
    """Go up half a page."""

    keys = ("ctrl+u", "pageup")
    title = "Half a page up"
    panels = LISTS
    palette = False


class First(Command):
    """Go to the first line."""

    keys = ("g", "home")
    title = "To the first line"
    panels = LISTS
    palette = False


class Last(Command):
    """Go to the last line; in the feed, follow what comes in."""

    keys = ("G", "end")
    title = "To the last line"
    panels = LISTS
    palette = False


class CommandLine(Command):
    """Type a command as in the shell, without its first word: trace …, topics check, doctor."""

    keys = ("colon",)
    title = "Command line"
    panels = LISTS
    footer = "command"
    rank = 28


class Help(Command):
    """Show what every key does here."""

    keys = ("question_mark",)
    title = "Help"
    panels = LISTS
    footer = "help"
    rank = 14


class Palette(Command):
    """Search all actions by name."""

    keys = ("ctrl+p",)
    title = "All actions"
    palette = False


class Problems(Command):
    """List what was found wrong in settings, topics and files, with line and cure."""

    keys = ("exclamation_mark",)
    title = "Show the problems"
    panels = LISTS
    needs = (Need(lambda here: here.problems, "nothing is wrong"),)


class Copy(Command):
    """Copy the selection to the clipboard, over SSH as well where the terminal allows it (OSC 52)."""

    keys = ("Y",)
    title = "Copy the selection"
    panels = LISTS
    needs = (ROWS,)


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


CATALOG: tuple[type[Command], ...] = (
    AnswerYes, AnswerNo, Back,
    FocusFeed, FocusActivation, FocusDigest, FocusLedger, FocusBudget, NextPanel, PreviousPanel,
    Down, Up, HalfDown, HalfUp, First, Last,
    Open, LabelUseful, LabelNoise, Edit, Copy, Try, OpenTune, OpenContext, OpenSearch, Filter, NextMatch,
    PreviousMatch, Zoom, Unzoom, CommandLine, Palette, Help, Problems, Theme, Rescan, Suspend, Quit,
)  # fmt: skip
"""In the order of help and palette. Where two share a key, the first that applies has it."""
