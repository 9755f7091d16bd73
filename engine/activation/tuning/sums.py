"""Running totals over sorted decisions: what makes the figures of a moved threshold two look-ups (design 4).

Asked about a decision that it was never asked about, the gate is expected to answer as reliably as it did
where a person has judged its answers. So figures are expected counts, and need not be whole.
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
"""How often a gate says yes to what is useful, before anything was seen of it."""
PRIOR_FALSE_POSITIVE = 0.03
"""How often it says yes to noise, likewise."""
PRIOR_WEIGHT = 20.0
"""How many judged answers of either kind that belief is worth."""


@dataclass(frozen=True, slots=True)
class Reliability:
    """How far a gate can be trusted."""

    true_positive: float = PRIOR_TRUE_POSITIVE  # how often it says yes to what is useful, 0 to 1
    false_positive: float = PRIOR_FALSE_POSITIVE  # how often it says yes to noise, 0 to 1
    answers: int = 0  # answers that a person has judged; the rest is prior belief

    @classmethod
    def measured(cls, labels: Marks, answers: Marks) -> Reliability:
        """What judged answers say, with the prior.

        Args:
            labels: Per answer: 1 where the topic was useful, 0 where it was noise.
            answers: 1 for yes, 0 for no.
        """

        def share(of: int, prior: float) -> float:
            said = answers[labels == of]
            return float((said.sum() + prior * PRIOR_WEIGHT) / (said.size + PRIOR_WEIGHT))

        return cls(share(1, PRIOR_TRUE_POSITIVE), share(0, PRIOR_FALSE_POSITIVE), int(labels.size))


@dataclass(frozen=True, slots=True)
class Sums:
    """Running totals over sorted decisions; each array is one longer than they are and begins with 0."""

    useful: Numbers  # decisions labelled useful
    noise: Numbers
    useful_yes: Numbers  # of the useful ones, those the gate is expected to say yes to
    noise_yes: Numbers  # of the noise, likewise

    @classmethod
    def of(cls, labels: Marks, yes: Numbers) -> Sums:
        """Adds up.

        Args:
            labels: Per decision: 1 useful, 0 noise, -1 not labelled.
            yes: The probability that the gate says yes to it.
        """
        useful, noise = labels == 1, labels == 0
        return cls(running(useful), running(noise), running(yes * useful), running(yes * noise))


def expected_yes(labels: Marks, answers: Marks, gate: Reliability) -> Numbers:
    """Per decision, the probability that the gate says yes to it, 0 to 1.

    Args:
        labels: 1 useful, 0 noise, -1 not labelled: 0 comes out, because no figure asks.
        answers: What the gate did say: 1 yes, 0 no, -1 nothing.
        gate: How reliable it is where it was not asked.
    """
    # One look-up per decision; -1 takes the last entry.
    guessed = np.array([gate.false_positive, gate.true_positive, 0.0])[labels]
    return np.where(answers >= 0, answers, guessed)


def running(values: NDArray[np.bool_] | Numbers) -> Numbers:
    """Totals up to each place: one longer than ``values``, beginning with 0."""
    totals = np.zeros(values.size + 1)
    np.cumsum(values, out=totals[1:])
    return totals
