"""The gate that needs neither key nor network (design 3.5).

Until enough decisions carry a label it answers by a fixed rule, afterwards by a logistic regression fitted
to those labels: a weighted sum of ``Signals`` through the logistic function. Both say yes from a probability
of one half. Fitting uses scikit-learn; answering is eight multiplications.

Where tier 2 is calibrated, its score is such a probability already, trigger hits included, and the fixed rule
is that probability. Labels then say how far it is to be trusted, and what the other signals add to it. A
model is fitted to decisions of one kind, calibrated or not, and answers only questions of that kind.

The fixed rule for scores that are not calibrated, in words: one word that a trigger knows is worth 2.4, a
mention or code 3.4, a fact about the whole message (its language, its mood, a link, a touched file) 4.6; each
further matched text .8; each multiple of the similarity threshold 1.0; a message whose content words all
occur in the topic's profile 3.0; one whose content words were all matched 3.0; against all of this stands
4.2. So a short request with one matching word passes on little similarity, the same word alone in a long
message about something else does not, and without any match it takes two to three times the threshold and
words the topic knows.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

from engine.activation.gate_question import GateQuestion
from engine.activation.numbers import limit, written
from engine.activation.signals import CALIBRATED, Signals
from engine.activation.trace import GateOutcome
from engine.errors import AutopoiesisError
from engine.records import dataclass

if TYPE_CHECKING:
    from engine.activation.decision import Decision
    from engine.store.files import Files

MODEL_PATH = "scratch/gate-model.json"
LEAST_OF_EACH = 8
"""Labels of either kind without which nothing is fitted."""

_FOLDS = 4


@dataclass(frozen=True, slots=True)
class LocalGateModel:
    """A weighted sum of the signals."""

    weights: tuple[float, ...]  # one weight per signal, in the order of ``Signals``
    bias: float
    labels: int = 0  # labelled decisions it was fitted to; 0 for the fixed rule
    fingerprint: str = ""
    """sha256 over those decisions and labels: equal logs give equal fingerprints and weights."""
    calibrated: bool = False
    """Whether it is about decisions whose score was the probability that the topic applies."""

    def probability(self, signals: Signals) -> float:
        """How probable it is that the topic applies, 0 to 1."""
        total = self.bias + sum(weight * value for weight, value in zip(self.weights, signals, strict=True))
        if total < -700:
            return 0.0
        return 1.0 / (1.0 + math.exp(-total))


FIXED_RULE = LocalGateModel(weights=(2.4, 3.4, 4.6, 0.8, 1.0, 3.0, 3.0, 0.0), bias=-4.2)


class LocalGate:
    """Answers by calculation.

    Args:
        model: A fitted model; ignored while it rests on fewer than ``min_labels`` labels.
        min_labels: Labels from which a fitted model is trusted (``gate.local_min_labels``).
    """

    name = "local"
    identity = ""

    def __init__(self, model: LocalGateModel | None = None, *, min_labels: int = 50) -> None:
        self._fitted = model if model is not None and model.labels >= min_labels else None

    @property
    def model(self) -> str:
        """``fixed rule``, or on how many labels the fitted model rests."""
        return _name(self._fitted)

    def decide(self, question: GateQuestion) -> GateOutcome:
        """Yes from a probability of one half."""
        fitted, tier2 = self._fitted, question.probability
        if fitted is not None and fitted.calibrated != (tier2 is not None):
            fitted = None
        if fitted is not None:
            probability = fitted.probability(question.signals)
        else:
            probability = FIXED_RULE.probability(question.signals) if tier2 is None else tier2
        return GateOutcome(
            "yes" if probability >= 0.5 else "no",
            self.name,
            _name(fitted),
            probability=probability,
            reason=f"{_name(fitted)}: {written(probability, 0.5)} from {_in_words(question, fitted)}",
        )

    async def ask(self, question: GateQuestion, *, timeout: float) -> GateOutcome:
        """As ``decide``."""
        return self.decide(question)


def _name(fitted: LocalGateModel | None) -> str:
    return "fixed rule" if fitted is None else f"fitted to {fitted.labels} labels"


def _in_words(question: GateQuestion, fitted: LocalGateModel | None) -> str:
    signals, tier2 = question.signals, question.probability
    if tier2 is not None and fitted is None:
        return "tiers 1 and 2"
    if signals.word or signals.mark or signals.whole:
        hit = "one match" if signals.more == 0 else f"{1 + signals.more:g} matches"
        parts = [f"{hit} covering {limit(round(signals.density, 2))} of the message"]
    else:
        parts = ["no match"]
    if tier2 is None:
        parts.append(f"similarity worth {signals.similar:.1f} × the threshold")
    else:
        parts.append(f"probability {written(tier2)} before it")
    parts.append(f"{limit(round(signals.share, 2))} of its words in the topic")
    return ", ".join(parts)


def fit_local_gate(decisions: Iterable[Decision]) -> LocalGateModel | None:
    """Learns from labelled decisions; ``None`` when there are too few of either kind of label.

    A logistic regression on the signals, then calibrated: its scores on decisions it had not seen (four
    folds) are fitted once more to the labels, which takes back the overconfidence of few examples. Equal
    decisions give equal weights, whatever their order. Takes about a second, most of it importing
    scikit-learn.

    Decisions with a calibrated score and those without have too little in common to be learned from together:
    those count that are of the kind of the latest one, labelled or not. Decisions logged before there was a
    calibrated score, with one signal less, are of the other kind.
    """
    known = {decision.id: decision for decision in decisions}.values()
    calibrated = _is_calibrated(max(known, key=lambda decision: (decision.at, decision.id), default=None))
    rows = sorted(
        (decision.id, decision.useful, (*decision.signals, 0.0)[: len(Signals._fields)])
        for decision in known
        if decision.useful is not None
        and len(decision.signals) in (len(Signals._fields) - 1, len(Signals._fields))
        and _is_calibrated(decision) == calibrated
    )
    useful = sum(1 for _, label, _ in rows if label)
    if min(useful, len(rows) - useful) < LEAST_OF_EACH:
        return None
    import numpy as np  # noqa: PLC0415 — only where a model is fitted
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 — a second; only where a model is fitted
    from sklearn.model_selection import StratifiedKFold, cross_val_predict  # noqa: PLC0415 — only for fitting

    features = np.array([signals for _, _, signals in rows], dtype=np.float64)
    labels = np.array([bool(label) for _, label, _ in rows])
    regression = LogisticRegression(C=1.0, max_iter=1000)
    unseen = cross_val_predict(
        regression,
        features,
        labels,
        cv=StratifiedKFold(_FOLDS, shuffle=True, random_state=0),
        method="decision_function",
    )
    calibration = LogisticRegression(C=10.0, max_iter=1000).fit(unseen.reshape(-1, 1), labels)
    slope, offset = float(calibration.coef_[0][0]), float(calibration.intercept_[0])
    regression.fit(features, labels)
    if slope <= 0:
        # On decisions it had not seen the regression was no better than chance: only the base rate is known.
        slope, offset = 0.0, math.log(useful / (len(rows) - useful))
    digest = hashlib.sha256("\n".join(f"{id_} {bool(label)}" for id_, label, _ in rows).encode()).hexdigest()
    return LocalGateModel(
        weights=tuple(round(slope * float(weight), 6) for weight in regression.coef_[0]),
        bias=round(slope * float(regression.intercept_[0]) + offset, 6),
        labels=len(rows),
        fingerprint=digest,
        calibrated=calibrated,
    )


def _is_calibrated(decision: Decision | None) -> bool:
    if decision is None or len(decision.signals) < len(Signals._fields):
        return False
    return CALIBRATED in decision.scores


def save_model(files: Files, model: LocalGateModel) -> None:
    """Writes the model to ``scratch/gate-model.json``.

    Raises:
        WriteFailed, ReadOnly: It did not reach the disk.
    """
    data = {"form": list(Signals._fields), **asdict(model)}
    files.replace(MODEL_PATH, json.dumps(data, indent=1).encode() + b"\n")


def load_model(files: Files) -> LocalGateModel | None:
    """The saved model; ``None`` when none can be read, or it does not fit this version's signals.

    The file can be fitted again at any time, so damage to it is not an error.
    """
    try:
        data = json.loads(files.read(MODEL_PATH, limit=64 * 1024))
        weights = tuple(map(float, data["weights"]))
        if data["form"] != list(Signals._fields) or len(weights) != len(Signals._fields):
            return None
        model = LocalGateModel(
            weights,
            float(data["bias"]),
            int(data["labels"]),
            str(data["fingerprint"]),
            data["calibrated"] is True,
        )
    except (OSError, AutopoiesisError, ArithmeticError, ValueError, LookupError, TypeError, RecursionError):
        return None
    return model if all(map(math.isfinite, (*weights, model.bias))) else None
