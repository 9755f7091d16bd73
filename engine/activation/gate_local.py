"""The gate that needs neither key nor network, nor anybody's answer (design 3.5).

It says yes from a probability of one half. If tier 2 is calibrated, that is its score, hits included.
With the ``spec`` preset it is a fixed rule over ``Signals``: a matched word adds 2.4, a mention or code 3.4,
a property of the whole message (language, sentiment, link, file) 4.6; each further matched text .8; each
multiple of the similarity threshold 1.0; the share of content words in the topic's profile up to 3.0; the
share that was matched up to 3.0; the bias is −4.2. So a short request with one matching word passes with
little similarity, the same word in a long message about something else does not, and without a match it takes
two to three times the threshold and words from the topic.
"""

from __future__ import annotations

import math

from engine.activation.gate_question import GateQuestion
from engine.activation.numbers import format_score, format_threshold
from engine.activation.signals import Signals
from engine.activation.trace import GateOutcome

WEIGHTS = Signals(word=2.4, mark=3.4, whole=4.6, more=0.8, similar=1.0, share=3.0, density=3.0)
BIAS = -4.2


class LocalGate:
    """Answers by calculation."""

    name = "local"
    model = "fixed rule"
    identity = ""

    def decide(self, question: GateQuestion) -> GateOutcome:
        """Yes from a probability of one half."""
        tier2 = question.probability
        probability = ruled(question.signals) if tier2 is None else tier2
        basis = _basis(question.signals) if tier2 is None else "tiers 1 and 2"
        return GateOutcome(
            "yes" if probability >= 0.5 else "no",
            self.name,
            self.model,
            probability=probability,
            reason=f"{self.model}: {format_score(probability, 0.5)} from {basis}",
        )

    async def ask(self, question: GateQuestion, *, timeout: float) -> GateOutcome:
        return self.decide(question)


class AgentGate:
    """Leaves the answer to the agent: it is told of the topic, and opens it if it applies."""

    name = "agent"
    model = ""
    identity = ""

    def decide(self, question: GateQuestion) -> GateOutcome:
        return GateOutcome("offered", self.name, reason="the agent opens it if it applies")

    async def ask(self, question: GateQuestion, *, timeout: float) -> GateOutcome:
        return self.decide(question)


def ruled(signals: Signals) -> float:
    """The probability that a topic applies by the fixed rule, 0 to 1."""
    total = BIAS + sum(weight * value for weight, value in zip(WEIGHTS, signals, strict=True))
    return 1.0 / (1.0 + math.exp(-total))


def _basis(signals: Signals) -> str:
    if signals.word or signals.mark or signals.whole:
        hit = "one match" if signals.more == 0 else f"{1 + signals.more:g} matches"
        parts = [f"{hit} covering {format_threshold(round(signals.density, 2))} of the words"]
    else:
        parts = ["no match"]
    parts.append(f"similarity {signals.similar:.1f} × the threshold")
    parts.append(f"{format_threshold(round(signals.share, 2))} of the words in the topic")
    return ", ".join(parts)
