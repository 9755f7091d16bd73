"""Fuses the signals of a message into one calibrated probability per topic.

A small network (``data/combiner.json``) was trained on thousands of synthetic workspaces of different sizes,
as described in ``data/README.md``. It sees each signal of a topic, also relative to other topics and to the
similarity of the topic's own examples, so that it generalizes to topics it has never seen.
"""

from __future__ import annotations

import json
import math
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy

from engine.activation.fusion.measures import RAW, Measured
from engine.errors import AutopoiesisError
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.activation.fusion.fitted import Fitted

    Floats = NDArray[numpy.float32]

WEIGHTS = Path(__file__).parent / "data" / "combiner.json"
MINILM_WEIGHTS = WEIGHTS.with_name("combiner-minilm.json")
MOST_LOGIT = 16.0
"""Limit of log-odds, far beyond what a probability shows, since it still orders practically impossible
topics."""

_ALONE = 1 << 18
"""Number of multiplications up to which BLAS uses one core."""
_STEPS = 8
"""Integration steps between two topics' features; more change no contribution by .1."""

_COMPARED = (
    "vectors_max",
    "vectors_top",
    "vectors_mean",
    "vectors_label",
    "words_max",
    "words_top",
    "bm25",
    "classifier",
)
FEATURES = (
    *RAW,
    *(f"{name}_lead" for name in _COMPARED),
    *(f"{name}_above" for name in _COMPARED),
    "vectors_own",
    "words_own",
    "owned",
    "classifier_own",
    "classifier_part",
    "classifier_rivals",
    "classifier_level",
    "classifier_spread",
    "against_lead",
    "coverage",
    "length",
    "entries",
    "topics",
    "classified",
    "background",
)
"""The features of one topic, in order.

``_lead`` is a signal minus the highest of any other measured topic, ``_above`` minus the mean of the five
highest; ``_own`` minus that of the topic's own entries among themselves, ``_part`` divided by it; ``_rivals``
minus that of other topics' entries; ``_level`` and ``_spread`` are mean and deviation for the own entries;
``background`` is the mean similarity to all topics.
"""

GROUPS = {
    "vectors": ("vectors_max", "vectors_top", "vectors_mean", "vectors_label", "vectors_own", "background"),
    "words": ("words_max", "words_top", "words_mean", "words_about", "words_own"),
    "bm25": ("bm25",),
    "jaccard": ("jaccard",),
    "minhash": ("minhash",),
    "sentiment": ("sentiment",),
    "classifier": ("classifier", "classifier_own", "classifier_part", "classifier_rivals"),
    "counter-examples": ("against", "against_lead"),
    "coverage": ("coverage",),
}
"""The features of each signal, besides its ``_lead`` and ``_above``."""


def features(measured: Measured, fitted: Fitted) -> Floats:
    """The features of each measured topic, float32 ``[n, len(FEATURES)]``."""
    values, topics = measured.values, measured.topics
    compared = values[:, [RAW.index(name) for name in _COMPARED]]
    best = numpy.sort(compared, axis=0)[::-1]
    second = best[1] if len(best) > 1 else numpy.zeros(compared.shape[1], dtype=numpy.float32)
    lead = compared - numpy.where(compared == best[0], second, best[0])
    above = compared - best[:5].mean(axis=0)
    sizes = (fitted.starts[topics + 1] - fitted.starts[topics]).astype(numpy.float32)
    own = fitted.own_vectors[topics]
    owned = (own >= 0).astype(numpy.float32)
    against = values[:, RAW.index("against")]
    whole = numpy.array(
        [
            measured.coverage,
            math.log1p(measured.length) / 5,
            math.log1p(len(fitted.names)) / 6,
            float(measured.classified),
            measured.background,
        ],
        dtype=numpy.float32,
    )
    rest = numpy.tile(whole, (len(topics), 1))
    return numpy.column_stack(
        [
            values,
            lead,
            above,
            (values[:, RAW.index("vectors_top")] - own) * owned,
            (values[:, RAW.index("words_top")] - fitted.own_grams[topics]) * owned,
            owned,
            *_against_unseen(values[:, RAW.index("classifier")], measured, fitted),
            numpy.where(against > 0, values[:, 0] - against, 1.0),
            rest[:, 0],
            rest[:, 1],
            numpy.log1p(sizes) / 4,
            rest[:, 2],
            rest[:, 3],
            rest[:, 4],
        ]
    ).astype(numpy.float32)


def _against_unseen(classifier: Floats, measured: Measured, fitted: Fitted) -> list[Floats]:
    """The classifier's value relative to its values for held-out entries, the topic's own and others'.

    What counts as high depends on the similarity of the workspace's topics and of the topic's examples; this
    normalizes it.
    """
    if not measured.classified or not fitted.spread_classified[0]:
        return [numpy.zeros(len(classifier), dtype=numpy.float32)] * 5
    own, rivals = fitted.own_classified[measured.topics], fitted.rivals_classified[measured.topics]
    spread = numpy.full(len(classifier), fitted.spread_classified[0], dtype=numpy.float32)
    part = numpy.clip(classifier / numpy.maximum(own, 0.1), -2, 3)
    return [classifier - own, part, classifier - rivals, own, spread]


@dataclass(frozen=True, slots=True)
class Combiner:
    """A network with two hidden layers over ``FEATURES``."""

    version: str  # identifies the weights
    mean: Floats  # float32 ``[F]``, subtracted from the features
    scale: Floats  # float32 ``[F]``, then multiplied with them
    layers: tuple[tuple[Floats, Floats], ...]
    """Weights ``[inputs, outputs]`` and biases ``[outputs]`` of each layer."""
    typical: Floats  # float32 ``[F]``: the features of a topic unrelated to the message

    @classmethod
    def load(cls, path: Path = WEIGHTS) -> Combiner:
        """Reads the weights.

        Raises:
            AutopoiesisError: The file cannot be read or has other features.
        """
        try:
            data = json.loads(path.read_text("utf-8"))
            known = tuple(data["features"])
            found = cls(
                version=data["version"],
                mean=numpy.array(data["mean"], dtype=numpy.float32),
                scale=numpy.array(data["scale"], dtype=numpy.float32),
                layers=tuple(
                    (
                        numpy.array(layer["weights"], dtype=numpy.float32),
                        numpy.array(layer["bias"], dtype=numpy.float32),
                    )
                    for layer in data["layers"]
                ),
                typical=numpy.array(data["typical"], dtype=numpy.float32),
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise AutopoiesisError(
                f"the weights of tier 2 cannot be read ({error})",
                where=str(path),
                hint="reinstall autopoiesis",
            ) from error
        if known != FEATURES:
            raise AutopoiesisError(
                "the weights of tier 2 have other features", where=str(path), hint="reinstall autopoiesis"
            )
        return found

    def logits(self, rows: Floats) -> Floats:
        """The log-odds that each topic applies, float32 ``[n]``, from its features ``[n, F]``."""
        values = numpy.clip((rows - self.mean) * self.scale, -6, 6)
        for weights, bias in self.layers[:-1]:
            values = _product(values, weights) + bias
            values = values / (1 + numpy.exp(-numpy.clip(values, -60, 60)))
        weights, bias = self.layers[-1]
        last: Floats = (_product(values, weights) + bias)[:, 0]
        return numpy.clip(last, -MOST_LOGIT, MOST_LOGIT)

    def contributions(self, rows: Floats) -> list[dict[str, float]]:
        """By how much each signal moved the log-odds of some topics, in nats, compared with a topic that has
        nothing to do with the message and no counter-examples.

        On the straight line from that topic's features to these, each signal gets what the log-odds change by
        it (integrated gradients). Together with what is not shown, such as how many topics there are, the
        parts add up to the difference. ``rows`` is float32 ``[n, F]``.

        Returns:
            For each topic, the names in ``GROUPS`` with their parts.
        """
        start = self.typical.copy()
        start[[FEATURES.index("against"), FEATURES.index("against_lead")]] = 0, 1
        way = (rows - start)[:, None, :]
        part = ((numpy.arange(_STEPS, dtype=numpy.float32) + 0.5) / _STEPS)[:, None]
        slopes = self._slopes((start + part * way).reshape(-1, rows.shape[1]))
        by_feature = way[:, 0] * slopes.reshape(len(rows), _STEPS, rows.shape[1]).mean(axis=1)
        return [dict(zip(GROUPS, parts, strict=True)) for parts in (by_feature @ _group_masks().T).tolist()]

    def _slopes(self, rows: Floats) -> Floats:
        """The gradient of the log-odds by each feature, float32 ``[n, F]``."""
        scaled = (rows - self.mean) * self.scale
        values = numpy.clip(scaled, -6, 6)
        bends = []
        for weights, bias in self.layers[:-1]:
            values = _product(values, weights) + bias
            share = 1 / (1 + numpy.exp(-numpy.clip(values, -60, 60)))
            bends.append(share * (1 + values * (1 - share)))
            values = values * share
        slopes = numpy.repeat(self.layers[-1][0].T, len(rows), axis=0)
        for (weights, _), bend in zip(reversed(self.layers[:-1]), reversed(bends), strict=True):
            slopes = _product(slopes * bend, weights.T)
        return numpy.where(numpy.abs(scaled) < 6, slopes * self.scale, 0)


def _product(left: Floats, right: Floats) -> Floats:
    """A matrix product on one core: on a busy machine, waiting for BLAS threads takes longer."""
    step = max(1, _ALONE // right.size)
    if len(left) <= step:
        return left @ right
    return numpy.concatenate([left[start : start + step] @ right for start in range(0, len(left), step)])


@lru_cache(maxsize=1)
def _group_masks() -> Floats:
    """The features of each signal: float32 ``[len(GROUPS), len(FEATURES)]``, 1 or 0."""
    masks = numpy.zeros((len(GROUPS), len(FEATURES)), dtype=numpy.float32)
    for index, members in enumerate(GROUPS.values()):
        for column, feature in enumerate(FEATURES):
            base = feature.removesuffix("_lead").removesuffix("_above")
            masks[index, column] = feature in members or (base != feature and base in members)
    return masks


def probability_of(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-logit)) if logit > -700 else 0.0
