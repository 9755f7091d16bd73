"""Every action of the tune screen, once; those of every screen come from ``common``."""

from __future__ import annotations

from typing import ClassVar

from tui.commands.command import LINES, TUNE_PANELS, Command, Need, PanelName, Situation
from tui.commands.common import (
    A_TOPIC,
    ALWAYS,
    ANSWERS,
    ENLARGING,
    MOVING,
    WRITABLE,
    BackOut,
    Copy,
    Edit,
    Focus,
    Label,
)

TUNE_LISTS: frozenset[PanelName] = frozenset(TUNE_PANELS) - LINES
THE_LOG = Need(lambda here: not here.loading, "the decision log is being read")
A_DECISION = Need(lambda here: here.decision, "no decision is selected")


class _Tuning(Command):
    panels = TUNE_LISTS
    needs: ClassVar[tuple[Need, ...]] = (THE_LOG, A_TOPIC)


class Discard(_Tuning):
    """Put the cuts back to where they stand today; nothing was written."""

    keys = ("escape",)
    title = "Discard the move"
    footer = "discard"
    rank = 4
    passing = True

    @classmethod
    def applies(cls, situation: Situation) -> bool:
        """While a cut is moved, this comes before leaving."""
        return situation.moved and situation.panel in cls.panels


class Leave(BackOut):
    """Back out one level: leave the line, drop the filter, show all panels, return to the workbench."""

    rank = 20


class _Focus(Focus):
    panels = TUNE_LISTS
    rank = 30


class FocusTopics(_Focus):
    """Go to the topics: how well each does with its cuts of today, worst first."""

    keys = ("1",)
    title = "Go to the topics"


class FocusScores(_Focus):
    """Go to the scores of the topic's labelled decisions; up and down choose another topic there."""

    keys = ("2",)
    title = "Go to the scores"


class FocusDecisions(_Focus):
    """Go to the decisions: those that flip when a cut is moved, else those nearest to the cuts."""

    keys = ("3",)
    title = "Go to the decisions"


class CutLeft(_Tuning):
    """Move the chosen cut down by .01; nothing is written before you apply it."""

    keys = ("left", "h")
    title = "Move the cut down by .01"
    footer = "move the cut"
    rank = 0


class CutRight(_Tuning):
    """Move the chosen cut up by .01; beyond 1 it is never reached."""

    keys = ("right", "l")
    title = "Move the cut up by .01"
    footer = "move the cut"
    rank = 0


class CutLeftFast(_Tuning):
    """Move the chosen cut down by .05."""

    keys = ("H", "shift+left", "less_than_sign")
    title = "Move the cut down by .05"
    footer = "by .05"
    rank = 6


class CutRightFast(_Tuning):
    """Move the chosen cut up by .05."""

    keys = ("L", "shift+right", "greater_than_sign")
    title = "Move the cut up by .05"
    footer = "by .05"
    rank = 6


class OtherCut(_Tuning):
    """Choose the other cut: from the lower one the gate is asked, from the upper one the topic is active."""

    keys = ("c",)
    title = "Choose the other cut"
    footer = "other cut"
    rank = 1


class Apply(_Tuning):
    """Write the moved cuts into the header of the topic's file, which keeps its comments, and commit it.

    Asks first where a fit warned of such cuts.
    """

    keys = ("enter",)
    title = "Apply the cuts and commit"
    footer = "apply"
    rank = 2
    needs = (
        *_Tuning.needs,
        Need(lambda here: here.moved, "no cut is moved"),
        WRITABLE,
        Need(lambda here: here.file, "the topic has no file any more"),
    )


class Fit(_Tuning):
    """Show the cuts that fit the labels best, measured on decisions held out; once more takes them away."""

    keys = ("f",)
    title = "Fit the cuts to the labels"
    footer = "fit"
    rank = 8
    needs = (*_Tuning.needs, Need(lambda here: not here.fitting, "a fit is under way"))


class _Label(Label):
    panels = TUNE_LISTS
    rank = 10
    needs = (*_Tuning.needs, A_DECISION, *Label.needs)


class LabelUseful(_Label):
    """Label the selected decision: the topic was useful for this message; then go to the next one."""

    keys = ("y",)
    title = "Label the decision: useful"


class LabelNoise(_Label):
    """Label the selected decision: the topic was noise for this message; then go to the next one."""

    keys = ("n",)
    title = "Label the decision: noise"


class Unlabel(_Tuning):
    """Take the last label back and go to its decision; a label you gave it before is there again."""

    keys = ("u",)
    title = "Take the last label back"


class Undo(Command):
    """Take the last applied change of cuts back, also one of an earlier day; asks first."""

    keys = ("z",)
    title = "Undo the last applied change"
    panels = TUNE_LISTS
    footer = "undo"
    rank = 16
    needs = (WRITABLE,)


class OpenDecision(_Tuning):
    """Open the selected decision: the whole message, every score, what the gate said, and its label."""

    keys = ("o", "space")
    title = "Open the decision"
    needs = (*_Tuning.needs, A_DECISION)


class Sort(Command):
    """Sort the topics by the next thing: worst first, most gate calls, highest cost, most labels, name.

    What decides the order has its column, however narrow the list is.
    """

    keys = ("s",)
    title = "Sort the topics otherwise"
    panels = TUNE_LISTS
    footer = "sort"
    rank = 22


class FilterTopics(Command):
    """Narrow the topics to those whose name holds what is typed, while it is typed."""

    keys = ("slash",)
    title = "Filter the topics"
    panels = TUNE_LISTS
    footer = "filter"
    rank = 24


TUNE: tuple[type[Command], ...] = (
    *ANSWERS, Discard, Leave,
    CutLeft, CutRight, CutLeftFast, CutRightFast, OtherCut, Apply, Fit, LabelUseful, LabelNoise, Unlabel,
    OpenDecision, Undo, Sort, FilterTopics,
    FocusTopics, FocusScores, FocusDecisions, *MOVING,
    Edit, Copy, *ENLARGING, *ALWAYS,
)  # fmt: skip
"""In the order of help and palette. Where two share a key, the first that applies has it."""
