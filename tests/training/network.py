"""Trains the combiner, the network of ``engine.activation.fusion.combiner``, on synthetic workspaces."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy
import torch

from engine.activation.fusion.combiner import FEATURES
from tests.training.workspaces import Array, Lessons

HIDDEN = (48, 24)
EPOCHS = 8
RATE = 4e-3
DECAY = 1e-3
RANKING = 1.0
"""Weight of the loss for ranking a message's topics, relative to that for classifying each topic."""
NOISE = 0.1
"""Standard deviation of the random shift and scale of the features in training, in units of their own: other
topics behave differently, and a network that relies on exact values does not generalise to them."""
WORDING = (
    "words_mean",
    "words_about",
    "bm25",
    "bm25_lead",
    "bm25_above",
    "jaccard",
    "minhash",
    "sentiment",
    "vectors_label_lead",
    "vectors_label_above",
)
WORDING_NOISE = 1.0
"""The same for the features that depend most on the wording of a set's messages and titles."""
_BATCH = 256
_LEAST_SCALE = 1e-3
_CALIBRATION_STEPS = 200


def fit_network(lessons: Sequence[Lessons], *, seed: int = 0) -> dict[str, Any]:
    """Train the network and return its weights in the format of ``Combiner.load``.

    Each topic's loss is the log-loss of its probability, so the output is calibrated for the synthetic
    workspaces; messages with an applicable topic add the log-loss of choosing it among all.
    """
    rows = numpy.concatenate([each.rows for each in lessons])
    truth = numpy.concatenate([each.truth for each in lessons])
    weight = numpy.concatenate([each.weight for each in lessons])
    real = rows[weight > 0].astype(numpy.float32)
    mean, scale = real.mean(axis=0), 1 / (real.std(axis=0) + _LEAST_SCALE)
    torch.manual_seed(seed)
    sizes = (rows.shape[2], *HIDDEN, 1)
    layers = [torch.nn.Linear(inputs, outputs) for inputs, outputs in pairwise(sizes)]
    optimiser = torch.optim.AdamW([p for each in layers for p in each.parameters()], RATE, weight_decay=DECAY)
    order, steps = numpy.random.RandomState(seed), EPOCHS * (len(rows) // _BATCH)
    shift, factor = torch.from_numpy(mean), torch.from_numpy(scale)
    noise = torch.tensor([WORDING_NOISE if name in WORDING else NOISE for name in FEATURES])
    for step in range(steps):
        place = step % (len(rows) // _BATCH)
        if place == 0:
            shuffled = order.permutation(len(rows))
        chosen = shuffled[place * _BATCH : (place + 1) * _BATCH]
        values = ((torch.from_numpy(rows[chosen]).float() - shift) * factor).clamp(-6, 6)
        stretch, move = (noise * torch.randn(len(chosen), 1, rows.shape[2]) for _ in range(2))
        found = _forward(layers, values * (1 + stretch) + move)
        loss = _loss(found, torch.tensor(truth[chosen]), torch.tensor(weight[chosen]))
        for group in optimiser.param_groups:
            group["lr"] = RATE * (1 - step / steps) + 1e-5
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    _calibrate(layers, rows, truth, weight, shift, factor)
    far = rows[(weight > 1) & (truth == 0)].astype(numpy.float32)
    return {
        "features": list(FEATURES),
        "mean": _numbers(mean),
        "scale": _numbers(scale),
        "layers": [
            {
                "weights": _numbers(each.weight.detach().numpy().T),
                "bias": _numbers(each.bias.detach().numpy()),
            }
            for each in layers
        ],
        "typical": _numbers(far.mean(axis=0)),
    }


def _forward(layers: Sequence[torch.nn.Linear], values: torch.Tensor) -> torch.Tensor:
    for each in layers[:-1]:
        values = torch.nn.functional.silu(each(values))
    return layers[-1](values)[..., 0]


def _calibrate(
    layers: Sequence[torch.nn.Linear],
    rows: Array,
    truth: Array,
    weight: Array,
    shift: torch.Tensor,
    factor: torch.Tensor,
) -> None:
    """Scale and shift the log-odds so that they are calibrated for features without noise."""
    with torch.no_grad():
        found = torch.cat(
            [
                _forward(layers, ((torch.from_numpy(part).float() - shift) * factor).clamp(-6, 6))
                for part in numpy.array_split(rows, max(1, len(rows) // 4_096))
            ]
        )
    wanted, counted = torch.tensor(truth), torch.tensor(weight)
    scale, move = torch.ones(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    optimiser = torch.optim.Adam([scale, move], lr=0.02)
    for _ in range(_CALIBRATION_STEPS):
        each = torch.nn.functional.binary_cross_entropy_with_logits(
            found * scale + move, wanted, reduction="none"
        )
        optimiser.zero_grad()
        ((each * counted).sum() / counted.sum()).backward()
        optimiser.step()
    with torch.no_grad():
        layers[-1].weight.mul_(scale)
        layers[-1].bias.mul_(scale).add_(move)


def _loss(found: torch.Tensor, truth: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    each = torch.nn.functional.binary_cross_entropy_with_logits(found, truth, reduction="none")
    there = found.masked_fill(weight == 0, -1e4)
    picked = torch.logsumexp(there, 1) - torch.logsumexp(there.masked_fill(truth == 0, -1e4), 1)
    some = (truth.sum(1) > 0).float()
    return (each * weight).sum(1).mean() + RANKING * (picked * some).sum() / some.sum().clamp(min=1)


def _numbers(values: Array) -> Any:
    if values.ndim > 1:
        return [_numbers(row) for row in values]
    return [float(f"{value:.6g}") for value in values]
