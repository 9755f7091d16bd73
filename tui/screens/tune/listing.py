"""Chooses the decisions to list: those that moved thresholds flip, or those nearest to a threshold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from engine.activation.decision import LABELLERS
from tui.screens.tune.decisions import DecisionItem, Listing

if TYPE_CHECKING:
    from engine.activation.policy import Thresholds
    from engine.activation.tuning.replay import FlipKind, Flips, Outcome
    from engine.activation.tuning.table import DecisionTable

LISTED = 200
"""Maximum rows; the total is always shown."""
_NEVER = 1.01
"""Stands in for an unreachable threshold when measuring distance."""
_LABELLED_OFFSET = 10.0
"""Added to the distance of labelled decisions, to list them last."""
_OUTCOMES: tuple[Outcome, ...] = ("dropped", "asked", "active")


Labels = Mapping[str, bool]
"""Labels being saved, by decision id."""


def flipped(table: DecisionTable, flips: Flips, saving: Labels) -> Listing:
    items = tuple(_item(table, flip.index, flip.before, flip.after, flip.kind, saving) for flip in flips.rows)
    return Listing(items, flips.fixed + flips.lost + flips.changed, flips)


def nearest(
    table: DecisionTable, topic: str, thresholds: Thresholds, saving: Labels, *, limit: int = LISTED
) -> Listing:
    """A topic's decisions that thresholds settle: unlabelled ones first, nearest to a threshold first."""
    import numpy as np  # noqa: PLC0415 — only this screen needs it

    total = 0
    found: list[tuple[float, int, Outcome]] = []
    for part in table.segments(topic):
        asked, active = table.limits(topic, thresholds, matched=part.matched)
        scores = table.sorted_scores[part.start : part.end]
        low = int(np.searchsorted(scores, -np.inf, side="right"))
        high = int(np.searchsorted(scores, np.inf, side="left"))
        rows, scores = table.order[part.start + low : part.start + high], scores[low:high]
        total += rows.size
        if not rows.size:
            continue
        places = [min(place, _NEVER) for place in (asked, active)]
        far = np.minimum(np.abs(scores - places[0]), np.abs(scores - places[1]))
        far = far + np.where(table.labels[rows] >= 0, _LABELLED_OFFSET, 0.0)
        count = min(limit, rows.size)
        chosen = np.argpartition(far, count - 1)[:count]
        outcomes = (scores[chosen] >= asked).astype(np.int8) + (scores[chosen] >= active)
        found.extend(
            (distance, row, _OUTCOMES[outcome])
            for distance, row, outcome in zip(
                far[chosen].tolist(), rows[chosen].tolist(), outcomes.tolist(), strict=True
            )
        )
    found.sort(key=lambda each: (each[0], -each[1]))
    items = tuple(_item(table, row, outcome, outcome, "", saving) for _far, row, outcome in found[:limit])
    return Listing(items, total)


def with_current_labels(
    table: DecisionTable, listing: Listing, saving: Labels, flips: Flips | None = None
) -> Listing:
    """The same rows in the same order, with their current labels.

    Args:
        flips: The flips under the current labels, if labels have changed.
    """
    kinds = {flip.index: flip.kind for flip in flips.rows} if flips is not None else {}
    items = tuple(
        _item(table, item.index, item.before, item.after, kinds.get(item.index, item.kind), saving)
        for item in listing.items
    )
    return Listing(items, listing.total, flips or listing.flips)


def _item(
    table: DecisionTable,
    index: int,
    before: Outcome,
    after: Outcome,
    kind: FlipKind | Literal[""],
    saving: Labels,
) -> DecisionItem:
    decision = table.decision(index)
    label = int(table.labels[index])
    useful = None if label < 0 else label == 1
    by = LABELLERS[int(table.labellers[index])]
    pending = saving.get(decision.id)
    if pending is not None:
        useful, by = pending, "person"
    return DecisionItem(
        index,
        decision.id,
        decision.at,
        decision.message,
        float(table.scores[index]),
        before,
        after,
        kind,
        useful,
        by,
        pending is not None,
    )
