"""Fits thresholds to labels, and measures their effect on labels that the fit did not see (spec 5.5).

The upper threshold has the highest recall at the wanted precision; the lower one offers what makes up for the
price of offers. Unlabelled messages, of which there are many, count with their probability, so that a single
odd label does not open the topic to them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.activation.numbers import format_threshold
from engine.activation.policy import Thresholds
from engine.activation.tuning.replay import (
    NOISE_OFFERED,
    USEFUL_OFFERED,
    Figures,
    figures,
    figures_of,
    settled,
)
from engine.activation.tuning.table import rounded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.activation.tuning.table import MessageTable

    Floats = NDArray[np.floating]
    Marks = NDArray[np.int8]

PRECISION = 0.9
"""Useful share wanted of the labelled messages for which a topic is active."""
LIKELY = 0.5
"""Useful share wanted of all messages for which it is active, unlabelled ones by their probability."""
LEAST_LABELS = 10
"""Labelled messages below which nothing is proposed."""
LEAST_OF_EACH = 3
"""Useful and noise labels below which nothing is proposed, unless all labels are of one kind."""
LEAST_GAIN = 1.0
"""How many wrong held-out labels thresholds must put right if there are labels of both kinds; less is chance.
If all labels are of one kind, any gain is enough."""
FOLDS = 5

_CLOSED = 0.985
"""Lower threshold from which a topic is practically switched off."""
_CLEARLY = 1e-6
_LEFT_OUT = -2


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The effect of fitted thresholds on held-out labels: those of each fold are judged by thresholds fitted
    to the other folds.
    """

    folds: int
    fitted: Figures
    today: Figures  # of today's thresholds for the same messages

    @property
    def effect(self) -> str:
        """The effect in short: ``precision .92, today .80; recall .75, today .75; 3 unsure, today 9``."""
        parts = [
            f"{name} {_figure(getattr(self.fitted, name))}, today {_figure(getattr(self.today, name))}"
            for name in ("precision", "recall", "quiet")
            if getattr(self.today, name) is not None or getattr(self.fitted, name) is not None
        ]
        return "; ".join([*parts, f"{self.fitted.offered} uncertain, today {self.today.offered}"])

    def __str__(self) -> str:
        return f"held out, {self.folds} folds: {self.effect}"


@dataclass(frozen=True, slots=True)
class Proposal:
    """Proposed thresholds of a topic, or why there are none."""

    topic: str
    today: Thresholds
    thresholds: Thresholds | None
    refused: str  # why there are none, one sentence; empty otherwise
    before: Figures  # of today's thresholds
    after: Figures | None  # of the proposed thresholds, on the messages they were fitted to
    held_out: HeldOut | None
    """Their effect on held-out labels, if measured."""

    @property
    def caution(self) -> str:
        """A warning about the proposed thresholds, one sentence; may be empty.

        Noise with the highest possible scores is kept out only by thresholds that keep everything out.
        """
        if self.thresholds is None or self.thresholds.gate is None or self.thresholds.gate < _CLOSED:
            return ""
        return "hardly any message would reach the topic: check its triggers and examples first"


def propose(table: MessageTable, topic: str) -> Proposal:
    """Fits a topic's thresholds to its labels, and measures the effect on held-out labels.

    The same table gives the same proposal.

    Raises:
        KeyError: There is no such topic.
    """
    today, before = table.today(topic), figures(table, topic)
    labels = np.where(table.fixed(topic), np.int8(-1), table.labels[:, table.columns[topic]])
    refused = settled(table, topic) or _thin(before, labels)
    if refused:
        return Proposal(topic, today, None, refused, before, None, None)
    best, held_out = best_thresholds(table, topic, labels), _hold_out(table, topic, labels)
    gain = held_out.today.wrong - held_out.fitted.wrong
    least = LEAST_GAIN if before.useful and before.noise else _CLEARLY
    if best == today:
        refused = f"today's thresholds are already the best for its {int((labels >= 0).sum())} labels"
    elif gain < least:
        refused = f"fitted thresholds do no better than today's on held-out labels: {held_out.effect}"
    if refused:
        return Proposal(topic, today, None, refused, before, None, held_out)
    return Proposal(topic, today, best, "", before, figures(table, topic, best), held_out)


def best_thresholds(table: MessageTable, topic: str, labels: Marks) -> Thresholds:
    """The best pair of thresholds for labels: 1 useful, 0 noise, -1 none, -2 left out, for each message."""
    today, scores = table.today(topic), table.scores[:, table.columns[topic]].astype(np.float64)
    active = today.activate
    # Useful labels alone say nothing about what else a lower threshold would let in.
    if active is not None and (labels == 0).any():
        chosen = table.can_activate(topic) & (labels > _LEFT_OUT)
        active = _Cuts(scores[chosen], labels[chosen]).precise() or active
    chosen = ~table.fixed(topic) & (labels > _LEFT_OUT) & (scores < (math.inf if active is None else active))
    gate = _Cuts(scores[chosen], labels[chosen]).cheapest() or today.gate
    if gate is not None and active is not None:
        gate = min(gate, active)
    return Thresholds(gate, active)


class _Cuts:
    """The messages from each score up, by label. Unlabelled ones are useful with their probability."""

    def __init__(self, scores: Floats, labels: Marks) -> None:
        self._labels = labels
        self._values, self._places = np.unique(scores, return_inverse=True)
        self._truth = np.where(labels >= 0, labels, scores)

    def precise(self) -> float | None:
        """The lowest threshold at which the useful share of labels is ``PRECISION``, and that of all messages
        ``LIKELY``; else the one with the fewest wrong labels. ``None`` without labels.
        """
        if not (self._labels >= 0).any():
            return None
        useful, noise = self._above(self._labels == 1), self._above(self._labels == 0)
        right = (useful >= PRECISION * (useful + noise))[:-1] & (np.diff(useful) < 0)
        right &= (self._above(self._truth) >= LIKELY * self._above(np.ones(len(self._truth))))[:-1]
        return self._cut(int(right.argmax() if right.any() else (noise + useful[0] - useful).argmin()))

    def cheapest(self) -> float | None:
        """The threshold for offers that make up for their price; ``None`` without labels. Unlabelled messages
        add to the price only.
        """
        if not (self._labels >= 0).any():
            return None
        useful = self._above(self._labels == 1)
        wrong = NOISE_OFFERED * self._above(1 - self._truth) + (1 - USEFUL_OFFERED) * (useful[0] - useful)
        return self._cut(int(wrong.argmin()))

    def _above(self, weights: NDArray[np.generic]) -> Floats:
        """The weight of the messages from each score up, and of none."""
        by_score = np.bincount(self._places, weights, len(self._values))
        return np.append(by_score[::-1].cumsum()[::-1], 0.0)

    def _cut(self, at: int) -> float:
        """A threshold that keeps out the scores before the one with this index."""
        values = self._values
        low = float(values[at - 1]) if at else 0.0
        high = float(values[at]) if at < len(values) else min(1.0, low + 0.02)
        judged = np.unique(self._places[self._labels >= 0])
        judged = judged[judged < at]
        return _between(low, high, float(values[judged[-1]]) if judged.size else 0.0)


def _between(low: float, high: float, least: float) -> float:
    """A round number from ``low`` to ``high``, or where they are close down to ``least``."""
    for digits in (2, 3, 4):
        if low < (middle := round((low + high) / 2, digits)) <= high:
            return middle
        if least < (under := math.floor(high * 10**digits) / 10**digits):
            return under
    return rounded(high) or high


def _hold_out(table: MessageTable, topic: str, labels: Marks) -> HeldOut:
    """The outcomes of fitted and of today's thresholds for labels that the fit did not see."""
    today = table.outcomes(topic)
    fitted = today.copy()
    kinds = [np.flatnonzero(labels == kind) for kind in (0, 1)]
    folds = max(2, min(FOLDS, *(len(rows) for rows in kinds if len(rows))))
    for fold in range(folds):
        unseen = np.concatenate([rows[fold::folds] for rows in kinds])
        seen = labels.copy()
        seen[unseen] = _LEFT_OUT
        fitted[unseen] = table.outcomes(topic, best_thresholds(table, topic, seen))[unseen]
    judged = labels >= 0
    ours, theirs = (
        figures_of(table, topic, np.where(judged, outcomes, np.int8(0)), labels)
        for outcomes in (fitted, today)
    )
    return HeldOut(folds, ours, theirs)


def _thin(before: Figures, labels: Marks) -> str:
    """Why there are too few labels; empty if there are enough."""
    useful, noise = int((labels == 1).sum()), int((labels == 0).sum())
    if before.labelled < LEAST_LABELS:
        counted = "1 labelled message" if before.labelled == 1 else f"{before.labelled} labelled messages"
        return f"{counted}, at least {LEAST_LABELS} needed"
    if useful + noise < LEAST_LABELS:
        return (
            f"thresholds decide {useful + noise} of {before.labelled} labelled messages, at least "
            f"{LEAST_LABELS} needed; a trigger decides the others"
        )
    if useful and noise and min(useful, noise) < LEAST_OF_EACH:
        return f"{useful} useful and {noise} noise messages labelled, at least {LEAST_OF_EACH} of each needed"
    return ""


def _figure(value: float | None) -> str:
    return "–" if value is None else format_threshold(round(value, 2))
