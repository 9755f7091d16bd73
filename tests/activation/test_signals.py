"""The local gate's input signals, for a similarity and for a probability."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.activation.gate_question import profile_of
from engine.activation.signals import LOGIT_LIMIT, Signals, content_words, measure
from engine.activation.trace import TriggerHit
from tests.activation.support import pr_topic
from tests.cases import each_case

MESSAGE = "Can you review the PR that just came in?"


def signals_of(score: float, *, calibrated: bool) -> Signals:
    known = pr_topic()
    return measure(
        known,
        [TriggerHit(0, "pattern", "review")],
        score,
        0.25,
        content_words(MESSAGE),
        content_words(profile_of(known)),
        "input",
        calibrated=calibrated,
    )


@each_case("probability", [0.01, 0.25, 0.5, 0.6, 0.99])
def test_a_probability_becomes_log_odds_and_not_similarity(probability: float) -> None:
    signals = signals_of(probability, calibrated=True)
    assert signals.logit == pytest.approx(math.log(probability / (1 - probability)))
    assert signals.similar == 0
    assert signals.word == 1 and signals.share > 0 and signals.density > 0


@pytest.mark.parametrize("score", [0.0, 0.2, 1.0])
def test_a_similarity_has_no_log_odds(score: float) -> None:
    signals = signals_of(score, calibrated=False)
    assert signals.logit == 0 and (signals.similar > 0) is (score > 0)


@given(st.floats(0, 1))
def test_log_odds_are_bounded(probability: float) -> None:
    logit = signals_of(probability, calibrated=True).logit
    assert -LOGIT_LIMIT <= logit <= LOGIT_LIMIT
    assert (logit > 0) is (probability > 0.5) or abs(probability - 0.5) < 1e-12


def test_certain_probabilities_are_at_the_bound() -> None:
    assert signals_of(0.0, calibrated=True).logit == -LOGIT_LIMIT
    assert signals_of(1.0, calibrated=True).logit == LOGIT_LIMIT
