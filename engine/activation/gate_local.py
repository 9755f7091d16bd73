"""The gate that needs neither key nor network (design 3.5).

Until enough decisions are labelled it answers by a fixed rule, then by a logistic regression fitted to those
labels: a weighted sum of ``Signals`` through the logistic function. Both say yes from a probability of one
half. Fitting uses scikit-learn; answering is eight multiplications.

If tier 2 is calibrated, its score already is such a probability, trigger hits included, and the fixed rule
returns it. Labels then teach how far to trust it and what the other signals add. A model is fitted to
decisions of one kind, calibrated or not, and answers only questions of that kind.

The fixed rule for uncalibrated scores: a matched word adds 2.4, a mention or code 3.4, a property of the
whole message (language, sentiment, link, file) 4.6; each further matched text .8; each multiple of the
similarity threshold 1.0; the share of content words in the topic's profile up to 3.0; the share that was
matched up to 3.0; the bias is −4.2. So a short request with one matching word passes with little similarity,
the same word in a long message about something else does not, and without a match it takes two to three times
the threshold and words from the topic.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

from engine.activation.gate_question import GateQuestion
from engine.activation.numbers import format_score, format_threshold
from engine.activation.signals import CALIBRATED, Signals
from engine.activation.trace import GateOutcome
from engine.errors import AutopoiesisError
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from engine.activation.decision import Decision
    from engine.store.files import Files

MODEL_PATH = "scratch/gate-model.json"
LEAST_OF_EACH = 8
"""Labels of each kind, useful and not, needed to fit a model."""

_FOLDS = 4


@dataclass(frozen=True, slots=True)
class LocalGateModel:
    """A weighted sum of the signals."""

    weights: tuple[float, ...]  # in the order of ``Signals``
    bias: float
    labels: int = 0  # labelled decisions it was fitted to; 0 for the fixed rule
    fingerprint: str = ""
    """sha256 over those decisions and labels; equal fingerprints mean equal weights."""
    calibrated: bool = False
    """Whether the scores of those decisions were the probability that the topic applies."""

    def probability(self, signals: Signals) -> float:
        """The probability that the topic applies, 0 to 1."""
        total = self.bias + sum(weight * value for weight, value in zip(self.weights, signals, strict=True))
        if total < -700:
            return 0.0
        return 1.0 / (1.0 + math.exp(-total))


FIXED_RULE = LocalGateModel(weights=(2.4, 3.4, 4.6, 0.8, 1.0, 3.0, 3.0, 0.0), bias=-4.2)


class LocalGate:
    """Answers by calculation.

    Args:
        min_labels: Number of labels from which a fitted model is used (``gate.local_min_labels``).
    """

    name = "local"
    identity = ""

    def __init__(self, model: LocalGateModel | None = None, *, min_labels: int = 50) -> None:
        self._fitted = model if model is not None and model.labels >= min_labels else None

    @property
    def model(self) -> str:
        """``fixed rule``, or ``fitted to 80 labels``."""
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
            reason=f"{_name(fitted)}: {format_score(probability, 0.5)} from {_basis(question, fitted)}",
        )

    async def ask(self, question: GateQuestion, *, timeout: float) -> GateOutcome:
        return self.decide(question)


def _name(fitted: LocalGateModel | None) -> str:
    return "fixed rule" if fitted is None else f"fitted to {fitted.labels} labels"


def _basis(question: GateQuestion, fitted: LocalGateModel | None) -> str:
    signals, tier2 = question.signals, question.probability
    if tier2 is not None and fitted is None:
        return "tiers 1 and 2"
    if signals.word or signals.mark or signals.whole:
        hit = "one match" if signals.more == 0 else f"{1 + signals.more:g} matches"
        parts = [f"{hit} covering {format_threshold(round(signals.density, 2))} of the words"]
    else:
        parts = ["no match"]
    if tier2 is None:
        parts.append(f"similarity {signals.similar:.1f} × the threshold")
    else:
        parts.append(f"tier-2 probability {format_score(tier2)}")
    parts.append(f"{format_threshold(round(signals.share, 2))} of the words in the topic")
    return ", ".join(parts)


def fit_local_gate(decisions: Iterable[Decision]) -> LocalGateModel | None:
    """Learns from labelled decisions; ``None`` with too few of either kind of label.

    A logistic regression on the signals, calibrated by fitting its scores on held-out decisions (four folds)
    to the labels again, which corrects overconfidence from few examples. The order of decisions does not
    matter. Takes about a second, mostly for importing scikit-learn.

    Decisions with a calibrated score and those without are too different to learn from together; only those
    of the same kind as the latest decision count, labelled or not. Decisions logged before calibrated scores
    existed have one signal less and count as uncalibrated.
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
    import numpy as np  # noqa: PLC0415 — only for fitting
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 — a second; only for fitting
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
        # On held-out decisions the regression was no better than chance, so only the base rate is used.
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
        WriteFailed, ReadOnly: It was not saved.
    """
    data = {"form": list(Signals._fields), **asdict(model)}
    files.replace(MODEL_PATH, json.dumps(data, indent=1).encode() + b"\n")


def load_model(files: Files) -> LocalGateModel | None:
    """The saved model; ``None`` if it cannot be read or has other signals than this version.

    A model can be fitted again at any time, so a damaged file is not an error.
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
