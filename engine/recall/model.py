"""How likely a passage is about what comes next in a session: a logistic regression on the features and their
products (``engine.recall.fitting`` fits it).
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy

from engine.recall.features import NAMES
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from engine.recall.features import Values

DATA = Path(__file__).parent / "data" / "worth.json"
VERSION = 1
"""Bump when a feature changes its meaning; a model of another version is not used."""
_FARTHEST = 3.0
"""Standard deviations."""
_FIRST, _SECOND = numpy.triu_indices(len(NAMES))


@dataclass(frozen=True, slots=True)
class Model:
    """The weights of the ``F`` features and their ``F (F + 1) / 2`` products."""

    mean: tuple[float, ...]  # ``[F]``, subtracted from each feature
    scale: tuple[float, ...]  # ``[F]``, by which it is then divided
    weights: tuple[float, ...]  # of the features, then of the products
    base: float
    floor: float  # probability from which a passage is told
    prompts: int = 0  # that it was fitted on
    is_own: bool = False  # whether these were the person's own

    @property
    def description(self) -> str:
        """What it was fitted on."""
        whose = "of your own prompts" if self.is_own else "prompts of other people"
        return f"fitted on {self.prompts:,} {whose}"

    def worth(self, values: Values) -> Values:
        """The probability of each candidate, float64 ``[N]``."""
        scores = expanded((values - self.mean) / self.scale) @ numpy.array(self.weights) + self.base
        found: Values = 1 / (1 + numpy.exp(-scores))
        return found


def expanded(values: Values) -> Values:
    """Scaled features, ``[N, F]``, followed by their products; far outside of what was seen, both are cut."""
    values = values.clip(-_FARTHEST, _FARTHEST)
    return numpy.concatenate([values, values[:, _FIRST] * values[:, _SECOND]], axis=1)


@lru_cache(maxsize=1)
def shipped() -> Model:
    """The model that ships with the program."""
    found = of_json(DATA.read_bytes())
    if found is None:
        raise ValueError(f"{DATA.name} was fitted for other features")
    return found


def of_json(data: bytes | str) -> Model | None:
    """A model from its JSON; ``None`` if it is damaged or of another version."""
    try:
        tree = json.loads(data)
        if tree["version"] != VERSION or tree["features"] != list(NAMES):
            return None
        mean, scale, weights = (tuple(map(float, tree[name])) for name in ("mean", "scale", "weights"))
        base, floor = float(tree["base"]), float(tree["floor"])
        is_sound = (len(mean), len(scale), len(weights)) == (len(NAMES), len(NAMES), len(NAMES) + len(_FIRST))
        if not is_sound or not numpy.isfinite((*mean, *scale, *weights, base, floor)).all() or not all(scale):
            return None
        return Model(mean, scale, weights, base, floor, int(tree["prompts"]), bool(tree["is_own"]))
    except (ValueError, TypeError, KeyError):
        return None


def to_json(model: Model) -> str:
    """A model as JSON."""
    tree = {
        "version": VERSION,
        "features": NAMES,
        "prompts": model.prompts,
        "is_own": model.is_own,
        "floor": model.floor,
        "base": model.base,
        "mean": model.mean,
        "scale": model.scale,
        "weights": model.weights,
    }
    return json.dumps(tree) + "\n"
