"""Compares all plausible pairs of thresholds on labelled decisions (spec 5.5).

Costs are measured in wrong decisions. For labelled decisions with expected counts TP, FP and FN::

    worth(thresholds) = (2·TP − GATE_PRICE · calls) / (2·TP + FP + FN)

is F1 minus a price for every gate question; fitting also subtracts ``MOVE_PRICE`` for moving a threshold
across the whole scale. Moving thresholds must pay for itself in corrected decisions, so few labels move them
little, and many as far as they suggest.

Candidates are the roundest numbers in the gaps between neighbouring scores with different labels; if there
are very many gaps, all two-digit numbers.

If all labels are of one kind, F1 is meaningless: wrong decisions are counted instead, and thresholds stay
close to the labelled scores. Noise alone does not say where a topic is certain, so above the threshold that
keeps it out, the same share as today is asked about. Useful labels alone move only the lower threshold:
nothing is known about what else it would let in, and the gate is there to find out.
"""

from __future__ import annotations

import math
import operator
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.activation.policy import Thresholds
from engine.activation.tuning.sums import running

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from engine.activation.tuning.samples import Samples
    from engine.activation.tuning.table import DecisionTable

    Numbers = NDArray[np.float64]

GATE_PRICE = 0.05
"""Price of a question to the gate, in wrong decisions."""
MOVE_PRICE = 2.0
"""Price of moving a threshold from 0 to 1 while fitting, in wrong decisions."""

_MAX_CANDIDATES = 120
_MIN_GAP = 0.005
_NEAR = 0.02


@dataclass(frozen=True, slots=True)
class Outcome:
    """The effect of a pair of thresholds on labelled decisions, as expected counts."""

    useful: float = 0.0
    noise: float = 0.0
    useful_active: float = 0.0
    noise_active: float = 0.0
    calls: float = 0.0  # questions to the gate
    unanswered: float = 0.0  # those that it never answered before

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(*map(operator.add, astuple(self), astuple(other)))

    @property
    def f1(self) -> float:
        """F1; 0 if nothing useful is active."""
        return 2 * self.useful_active / (self._weight or 1.0)

    @property
    def precision(self) -> float:
        """Precision; 0 if nothing is active."""
        return self.useful_active / ((self.useful_active + self.noise_active) or 1.0)

    @property
    def recall(self) -> float:
        """Recall; 0 if nothing is useful."""
        return self.useful_active / (self.useful or 1.0)

    @property
    def worth(self) -> float:
        """F1, or the share of right decisions if all labels are of one kind, minus the price of questions."""
        price = GATE_PRICE * self.calls
        if self.useful and self.noise:
            return (2 * self.useful_active - price) / self._weight
        wrong = self.useful - self.useful_active + self.noise_active
        return 1 - (wrong + price) / ((self.useful + self.noise) or 1.0)

    def gain_over(self, other: Outcome) -> float:
        """The advantage over other thresholds on the same rows, in wrong decisions."""
        weight = max(self._weight, other._weight) if self.useful and self.noise else self.useful + self.noise
        return (self.worth - other.worth) * weight

    @property
    def _weight(self) -> float:
        return self.useful + self.useful_active + self.noise_active


def outcome(table: DecisionTable, topic: str, samples: Samples, thresholds: Thresholds) -> Outcome:
    """The effect of a pair of thresholds on labelled decisions of a topic."""
    found = Outcome()
    for matched in (False, True):
        part = samples.where(samples.matched == matched)
        asked_at, active_at = table.limits(topic, thresholds, matched=matched)
        active = part.scores >= active_at
        asked = (part.scores >= asked_at) & ~active
        chance = np.where(active, 1.0, np.where(asked, part.yes, 0.0))
        found += Outcome(
            float(part.useful.sum()),
            float((~part.useful).sum()),
            float(chance[part.useful].sum()),
            float(chance[~part.useful].sum()),
            float(asked.sum()),
            float((asked & ~part.answered).sum()),
        )
    return found


def best_thresholds(table: DecisionTable, topic: str, samples: Samples) -> Thresholds:
    """The best pair of thresholds for labelled decisions of a topic.

    Among equally good pairs the closest to today's; today's if thresholds decide none of them.
    """
    today = table.today(topic)
    if not samples.moved.any():
        return today
    kind = samples.kind
    gates, actives = _candidates(samples, today)
    # Rounded, so that rounding errors do not choose between equal pairs.
    worth = np.round(_worth(table, topic, samples, gates, actives), 9)
    gate, active = np.unravel_index(int(np.argmax(worth)), worth.shape)
    best = Thresholds(gates[int(gate)], actives[int(active)])
    return _above_noise(best, today) if kind == "noise" else best


def _candidates(samples: Samples, today: Thresholds) -> tuple[list[float | None], list[float | None]]:
    """Candidate lower and upper thresholds: today's first, then by distance from it."""
    order = np.argsort(samples.scores[samples.moved], kind="stable")
    scores = samples.scores[samples.moved][order]
    useful = samples.useful[samples.moved][order]
    values, starts = np.unique(scores, return_index=True)
    if samples.kind == "both":
        # A threshold between two scores with the same single label is no better than one at the ends.
        counts = np.diff(np.append(starts, scores.size))
        shares = np.add.reduceat(useful.astype(np.float64), starts) / counts
        turns = np.flatnonzero((shares[:-1] != shares[1:]) | (shares[:-1] % 1 != 0))
    else:
        turns = np.arange(values.size - 1)
    if turns.size > _MAX_CANDIDATES:
        found = [mark / 100 for mark in range(1, 100) if scores[0] < mark / 100 <= scores[-1]]
    else:
        gaps = list(zip(values[turns].tolist(), values[turns + 1].tolist(), strict=True))
        if samples.kind == "noise":
            gaps = [(low, min(high, low + _NEAR)) for low, high in gaps]
        elif samples.kind == "useful":
            gaps = [(max(low, high - _NEAR), high) for low, high in gaps]
        found = [mark for low, high in gaps if (mark := _between(low, high)) is not None]
    found.append(_below(scores))
    if (highest := _above(scores)) is not None:
        found.append(highest)
    marks = sorted(set(found))

    def from_today(threshold: float | None) -> list[float | None]:
        return [threshold, *sorted(marks, key=lambda mark: (abs(mark - _place(threshold)), mark))]

    uppers = [today.activate] if samples.kind == "useful" else from_today(today.activate)
    return from_today(today.gate), uppers


def _worth(
    table: DecisionTable,
    topic: str,
    samples: Samples,
    gates: Sequence[float | None],
    actives: Sequence[float | None],
) -> Numbers:
    """The worth of every pair, lower by upper thresholds; −∞ if the lower is above the upper."""
    today = table.today(topic)
    zero = np.zeros((len(gates), len(actives)))
    useful_active, noise_active, calls = zero.copy(), zero.copy(), zero.copy()
    everything = table.moved_scores(topic)
    for part in table.segments(topic):
        chosen = samples.matched == part.matched
        scores, useful, yes = samples.scores[chosen], samples.useful[chosen], samples.yes[chosen]
        order = np.argsort(scores, kind="stable")
        scores, useful, yes = scores[order], useful[order], yes[order]
        asked_at = [table.limits(topic, Thresholds(g, None), matched=part.matched)[0] for g in gates]
        active_at = [table.limits(topic, Thresholds(today.gate, a), matched=part.matched)[1] for a in actives]
        asked, active = np.searchsorted(scores, asked_at), np.searchsorted(scores, active_at)
        asked = np.minimum.outer(asked, active)
        for wanted, total in ((useful, useful_active), (~useful, noise_active)):
            all_of, said_yes = running(wanted), running(wanted * yes)
            total += all_of[-1] - all_of[active] + said_yes[active] - said_yes[asked]
        all_scores = everything[part.start - table.segments(topic)[0].start :][: part.end - part.start]
        reached, certain = np.searchsorted(all_scores, asked_at), np.searchsorted(all_scores, active_at)
        calls += certain - np.minimum.outer(reached, certain)
    # Unlabelled decisions cost questions too; scale all questions to the number of labelled decisions.
    calls *= len(samples) / max(everything.size, 1)
    moves = np.add.outer(_distances(gates), _distances(actives))
    price = GATE_PRICE * calls + MOVE_PRICE * moves
    count = float(samples.useful.sum())
    if samples.kind == "both":
        worth = (2 * useful_active - price) / (count + useful_active + noise_active)
    else:
        worth = -(count - useful_active + noise_active + price)
    lower = np.array([-math.inf if gate is None else gate for gate in gates])
    upper = np.array([math.inf if active is None else active for active in actives])
    wrong_way = np.greater.outer(lower, upper)
    wrong_way[0, 0] = False
    worth[wrong_way] = -np.inf
    return worth


def _between(low: float, high: float) -> float | None:
    """The roundest number above ``low`` and up to ``high``, near the middle, if any."""
    for digits in (2, 3, 4):
        middle = round((low + high) / 2, digits)
        if low < middle <= high:
            return middle
    return None


def _above(scores: Numbers) -> float | None:
    """A threshold above all scores, by the mean distance between them; ``None`` above 1."""
    highest = float(scores[-1])
    threshold = min(1.0, math.ceil((highest + _gap(scores)) * 100) / 100)
    return threshold if threshold > highest else None


def _below(scores: Numbers) -> float:
    """A threshold below all scores, likewise."""
    return max(0.0, math.floor((float(scores[0]) - _gap(scores)) * 100) / 100)


def _gap(scores: Numbers) -> float:
    return max(_MIN_GAP, float(scores[-1] - scores[0]) / max(scores.size - 1, 1))


def _above_noise(best: Thresholds, today: Thresholds) -> Thresholds:
    """Raises the upper threshold to leave room for asking, if it had to rise to keep noise out."""
    if best.activate is None or today.activate is None or best.activate <= today.activate:
        return best
    asked = 0.0 if today.gate is None or today.gate >= 1 else (today.activate - today.gate) / (1 - today.gate)
    room = best.activate + (1 - best.activate) * max(asked, 0.0)
    return Thresholds(best.gate, max(best.activate, round(room, 2)))


def _place(threshold: float | None) -> float:
    """A threshold's place on the scale; “never” is at its end."""
    return 1.0 if threshold is None else threshold


def _distances(thresholds: Sequence[float | None]) -> Numbers:
    """The distance of each threshold from the first, which is today's."""
    places = np.array([_place(threshold) for threshold in thresholds])
    distances: Numbers = np.abs(places - places[0])
    return distances
