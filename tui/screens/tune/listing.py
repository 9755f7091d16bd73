"""Chooses the messages to list: those that moved thresholds flip, or the most uncertain ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from engine.activation.decisions import LABELLERS
from tui.screens.tune.decisions import DecisionItem, Listing

if TYPE_CHECKING:
    from engine.activation.policy import Thresholds
    from engine.activation.tuning.replay import FlipKind, Flips
    from engine.activation.tuning.table import MessageTable, Outcome

LISTED = 200
"""Maximum rows; the total is always shown."""
_END = 1e-4
"""Distance from 0 and 1 at which log-odds end."""

Labels = Mapping[tuple[str, str], bool]
"""Labels being saved, by topic and message."""
Moves = Mapping[tuple[str, str], tuple[float, float]]
"""The scores before and after a label was learned, likewise."""


def flipped(table: MessageTable, topic: str, flips: Flips, saving: Labels, learned: Moves) -> Listing:
    items = tuple(
        _item(table, topic, flip.row, flip.before, flip.after, flip.kind, saving, learned)
        for flip in flips.rows
    )
    return Listing(items, flips.total, flips)


def nearest(
    table: MessageTable,
    topic: str,
    thresholds: Thresholds,
    saving: Labels,
    learned: Moves,
    *,
    limit: int = LISTED,
) -> Listing:
    """The messages that thresholds settle: unlabelled ones first; of them those from the lower threshold on,
    the nearest to the upper one in log-odds first, then those below it, the nearest first.
    """
    import numpy as np  # noqa: PLC0415 — only this screen needs it

    from engine.activation.tuning.table import OUTCOMES  # noqa: PLC0415 — likewise

    column = table.column(topic)
    rows = np.flatnonzero(~table.fixed(topic))

    def logit(scores: object) -> object:
        inside = np.clip(np.asarray(scores, dtype=np.float64), _END, 1 - _END)
        return np.log(inside / (1 - inside))

    marks = [mark for mark in (thresholds.gate, thresholds.activate) if mark is not None] or [1.0]
    scores = table.scores[rows, column]
    is_below = scores < marks[0]
    far = np.abs(logit(scores) - logit(np.where(is_below, marks[0], marks[-1])))  # type: ignore[operator]
    order = rows[np.lexsort((-rows, far, is_below, table.labels[rows, column] >= 0))[:limit]]
    outcomes = table.outcomes(topic, thresholds)
    items = tuple(
        _item(table, topic, row, (outcome := OUTCOMES[outcomes[row]]), outcome, "", saving, learned)
        for row in order.tolist()
    )
    return Listing(items, len(rows))


def with_current_labels(
    table: MessageTable,
    topic: str,
    listing: Listing,
    saving: Labels,
    learned: Moves,
    flips: Flips | None = None,
) -> Listing:
    """The same messages in the same order, with their current labels and scores.

    Args:
        flips: The flips under the current labels, if labels have changed.
    """
    rows = {message.hash: row for row, message in enumerate(table.messages)}
    kinds = {flip.row: flip.kind for flip in flips.rows} if flips is not None else {}
    items = tuple(
        _item(
            table, topic, row, item.before, item.after, kinds.get(row, item.kind), saving, learned
        )
        for item in listing.items
        if (row := rows.get(item.id, -1)) >= 0
    )  # fmt: skip
    return Listing(items, listing.total, flips or listing.flips)


def _item(
    table: MessageTable,
    topic: str,
    row: int,
    before: Outcome,
    after: Outcome,
    kind: FlipKind | Literal[""],
    saving: Labels,
    learned: Moves,
) -> DecisionItem:
    message, column = table.messages[row], table.column(topic)
    label = int(table.labels[row, column])
    useful = None if label < 0 else label == 1
    by = LABELLERS[int(table.labellers[row, column])]
    pending = saving.get((topic, message.hash))
    if pending is not None:
        useful, by = pending, "person"
    return DecisionItem(
        row,
        message.hash,
        message.at,
        message.text,
        float(table.scores[row, column]),
        before,
        after,
        kind,
        useful,
        by,
        pending is not None,
        learned.get((topic, message.hash)),
    )
