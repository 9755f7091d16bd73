"""Running totals over sorted decisions, which make the figures of a moved threshold two look-ups (design 4).

About decisions that it was never asked about, the gate is expected to answer as reliably as where a person
has judged its answers. So figures are expected counts and need not be whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Marks = NDArray[np.int8]

PRIOR_TRUE_POSITIVE = 0.95
"""How often a gate says yes to what is useful, before any evidence."""
PRIOR_FALSE_POSITIVE = 0.03
"""How often a gate says yes to noise, before any evidence."""
PRIOR_WEIGHT = 20.0
"""Number of judged answers of either kind that the prior is worth."""


@dataclass(frozen=True, slots=True)
class Reliability:
    """The reliability of a gate's answers."""

    true_positive: float = PRIOR_TRUE_POSITIVE  # how often it says yes to what is useful, 0 to 1
    false_positive: float = PRIOR_FALSE_POSITIVE  # how often it says yes to noise, 0 to 1
    answers: int = 0  # number of answers judged by a person

    @classmethod
    def measured(cls, labels: Marks, answers: Marks) -> Reliability:
        """The reliability from judged answers (1 yes, 0 no) with labels (1 useful, 0 noise) and the prior."""

        def share(of: int, prior: float) -> float:
            given = answers[labels == of]
            return float((given.sum() + prior * PRIOR_WEIGHT) / (given.size + PRIOR_WEIGHT))

        return cls(share(1, PRIOR_TRUE_POSITIVE), share(0, PRIOR_FALSE_POSITIVE), int(labels.size))


@dataclass(frozen=True, slots=True)
class Sums:
    """Running totals over sorted decisions; each array begins with an additional 0."""

    useful: Numbers  # decisions labelled useful
    noise: Numbers
    useful_yes: Numbers  # useful ones that the gate is expected to say yes to
    noise_yes: Numbers  # noise, likewise

    @classmethod
    def of(cls, labels: Marks, yes: Numbers) -> Sums:
        """The totals of decisions by label (1 useful, 0 noise, -1 none) and probability of a yes."""
        useful, noise = labels == 1, labels == 0
        return cls(running(useful), running(noise), running(yes * useful), running(yes * noise))


def expected_yes(labels: Marks, answers: Marks, gate: Reliability) -> Numbers:
    """For each decision, the probability that the gate says yes, 0 to 1.

    Args:
        labels: 1 useful, 0 noise, -1 not labelled; those get 0, since no figure uses them.
        answers: The gate's actual answers: 1 yes, 0 no, -1 none.
        gate: Its reliability where it was not asked.
    """
    # A label of -1 takes the last entry.
    guessed = np.array([gate.false_positive, gate.true_positive, 0.0])[labels]
    return np.where(answers >= 0, answers, guessed)


def running(values: NDArray[np.bool_] | Numbers) -> Numbers:
    """Running totals of ``values``, with an additional 0 at the beginning."""
    totals = np.zeros(values.size + 1)
    np.cumsum(values, out=totals[1:])
    return totals
