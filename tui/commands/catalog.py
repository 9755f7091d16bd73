"""Every action of the workbench, once; those that other screens have as well are in ``common``."""

from __future__ import annotations

from tui.commands.command import LISTS, Command, Need, PanelName
from tui.commands.common import (
    A_TOPIC,
    ALWAYS,
    ANSWERS,
    ENLARGING,
    MOVING,
    ROWS,
    WRITABLE,
    Back,
    Copy,
    Edit,
    Focus,
    Label,
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


class Try(Command):
    """Type a message and see at once what would fire and what the prompt would hold."""

    keys = ("i",)
    title = "Try a message"
    panels = LISTS
    footer = "try"
    rank = 12


class SendMessage(Command):
    """Send the message in the line: it is written down, answered by the model of chat.provider, and watched.

    It goes on with the session in view if that was begun here and is open, else begins one.
    """

    keys = ("ctrl+s", "ctrl+enter")
    title = "Send the message in the line"
    panels = frozenset[PanelName]({"try"})
    palette = False
    needs = (WRITABLE,)


class BreakLine(Command):
    """Begin another line in the message; a paste of several lines stays whole and is never sent by itself."""

    keys = ("ctrl+j", "alt+enter", "shift+enter")
    title = "New line in the message"
    panels = frozenset[PanelName]({"try"})
    palette = False


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
    footer = "prompt"
    rank = 18


class OpenSearch(Command):
    """Search everything remembered, by words and by meaning, and see why a result ranks there."""

    keys = ("s",)
    title = "Search everything remembered"
    panels = LISTS
    footer = "search"
    rank = 17


class OpenCache(Command):
    """Look at the caches of discussions: what each provider keeps, until when, and what broke the prefix."""

    keys = ("C",)
    title = "Look at the caches"
    panels = LISTS
    footer = "caches"
    rank = 30


class OpenKnowledge(Command):
    """Look at all that is known: facts, decisions, tasks, notes of files, entries, skills, and the digest."""

    keys = ("K",)
    title = "Look at what is known"
    panels = LISTS
    footer = "knowledge"
    rank = 31


class OpenReview(Command):
    """Review what a harvest held back: accept, edit or reject each item before it becomes knowledge."""

    keys = ("v",)
    title = "Review what waits for you"
    panels = LISTS
    footer = "review"
    rank = 33


class OpenLedger(Command):
    """Look at the ledger: what became of each conversation; harvest, verify, restore (H there harvests)."""

    keys = ("L",)
    title = "Look at the ledger, and harvest"
    panels = LISTS
    footer = "ledger"
    rank = 32


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


class CommandLine(Command):
    """Type a command as in the shell, without its first word: trace …, topics check, doctor."""

    keys = ("colon",)
    title = "Command line"
    panels = LISTS
    footer = "command"
    rank = 28


CATALOG: tuple[type[Command], ...] = (
    *ANSWERS, Back,
    FocusFeed, FocusActivation, FocusDigest, FocusLedger, FocusBudget, *MOVING,
    Open, LabelUseful, LabelNoise, Edit, Copy, Try, SendMessage, BreakLine, OpenTune, OpenContext, OpenSearch,
    OpenCache, OpenLedger, OpenKnowledge, OpenReview, Filter, NextMatch, PreviousMatch, *ENLARGING,
    CommandLine, *ALWAYS,
)  # fmt: skip
"""In the order of help and palette. Where two share a key, the first that applies has it."""
