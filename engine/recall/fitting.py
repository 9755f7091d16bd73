"""Fits the model of what is worth telling to played sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy

from engine.recall.model import Model, expanded

if TYPE_CHECKING:
    from engine.recall.replay import Played

STRENGTH = 0.05
"""Inverse of the regularization, as in scikit-learn."""
_DIGITS = 4


def fitted(people: Sequence[Sequence[Played]], floor: float, *, is_own: bool = False) -> Model | None:
    """The model of the prompts of several people, who count alike; ``None`` if there is nothing to learn.

    Args:
        floor: Probability from which a passage is told.
    """
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 — takes a second

    groups = [[each for each in played if len(each.candidates.places)] for played in people]
    groups = [group for group in groups if group]
    useful = [numpy.concatenate([each.useful for each in group]) for group in groups]
    if not groups or len(set(numpy.concatenate(useful).tolist())) < 2:
        return None
    values = numpy.concatenate([each.candidates.values for group in groups for each in group])
    counted = [numpy.concatenate([each.weights for each in group]) for group in groups]
    weights = [each * (len(values) / len(groups) / each.sum()) for each in counted]
    mean, scale = values.mean(0).round(_DIGITS), values.std(0).round(_DIGITS)
    scale[scale == 0] = 1.0
    model = LogisticRegression(C=STRENGTH, max_iter=2_000)
    model.fit(
        expanded((values - mean) / scale), numpy.concatenate(useful), sample_weight=numpy.concatenate(weights)
    )
    return Model(
        mean=tuple(mean.tolist()),
        scale=tuple(scale.tolist()),
        weights=tuple(model.coef_[0].round(_DIGITS).tolist()),
        base=round(float(model.intercept_[0]), _DIGITS),
        floor=floor,
        prompts=sum(map(len, groups)),
        is_own=is_own,
    )
