"""Replays the whole decision log under other thresholds (spec 5.5, design 4).

Each topic's decisions are sorted by score with running totals, so the figures of a moved threshold take a few
binary searches, however long the log is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.activation.policy import Thresholds
    from engine.activation.tuning.table import DecisionTable, Segment

Outcome = Literal["dropped", "asked", "active"]
FlipKind = Literal["fixed", "lost", "changed"]

FLIPS_LIMIT = 500

_OUTCOMES: tuple[Outcome, ...] = ("dropped", "asked", "active")
_KINDS: tuple[FlipKind, ...] = ("fixed", "lost", "changed")
_NO_THRESHOLDS: Mapping[str, Thresholds] = {}


@dataclass(frozen=True, slots=True)
class Figures:
    """The effect of thresholds on the logged decisions of a topic.

    Precision, recall and F1 are about labelled decisions. Where the gate would be asked, its logged answer
    counts, or an expected answer as reliable as its others if it was never asked.
    """

    precision: float | None
    """Useful share of what would be active, 0 to 1; ``None`` if nothing would be."""
    recall: float | None  # active share of what is useful, 0 to 1; ``None`` if nothing is
    f1: float | None  # 0 if only noise is active, ``None`` if there is nothing to judge
    decisions: int
    labelled: int
    useful: int
    noise: int
    by_person: int  # labels by a person
    by_gate: int  # labels that are answers of the gate
    by_use: int  # labels from use
    gate_calls: int  # decisions that the gate would be asked about
    gate_calls_per_day: float  # over the days that the log spans
    cost_usd_per_day: float
    useful_active: float = 0.0  # expected number of useful decisions that would be active
    noise_active: float = 0.0  # expected number of noise decisions that would be active


_SUMMED = tuple(f.name for f in fields(Figures) if f.name not in ("precision", "recall", "f1", "labelled"))


@dataclass(frozen=True, slots=True)
class Flip:
    """One decision that other thresholds treat differently."""

    index: int  # row in the table
    kind: FlipKind
    """``fixed``: wrong before, right after; ``lost``: the reverse; ``changed``: neither, because the label is
    unknown or the result is the same, e.g. active where the gate said yes before."""
    before: Outcome
    after: Outcome


@dataclass(frozen=True, slots=True)
class Flips:
    """Decisions changed by moving thresholds."""

    fixed: int  # wrong decisions that become right
    lost: int  # right ones that become wrong
    changed: int  # others that are treated differently
    rows: tuple[Flip, ...]
    """At most the requested number: fixed and lost ones, then others with a label, then those without; newest
    first in each group."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Labelled decisions by score, in equal bins from 0 to 1."""

    useful: tuple[int, ...]  # per bin
    noise: tuple[int, ...]  # per bin
    fixed: int = 0  # labelled decisions in no bin, since a trigger or a person decided them


def figures(table: DecisionTable, topic: str, thresholds: Thresholds | None = None) -> Figures:
    """The effect of thresholds, by default today's, on a topic's logged decisions; takes microseconds.

    Raises:
        KeyError: The topic is not in the table.
    """
    limits = {matched: table.limits(topic, thresholds, matched=matched) for matched in (False, True)}
    sums = table.sums
    decisions = calls = 0
    useful = noise = useful_active = noise_active = 0.0
    for part in table.segments(topic):
        asked, active = _places(table, part, limits[part.matched])
        decisions += part.end - part.start
        calls += active - asked
        useful += float(sums.useful[part.end] - sums.useful[part.start])
        noise += float(sums.noise[part.end] - sums.noise[part.start])
        useful_active += float(sums.useful[part.end] - sums.useful[active])
        useful_active += float(sums.useful_yes[active] - sums.useful_yes[asked])
        noise_active += float(sums.noise[part.end] - sums.noise[active])
        noise_active += float(sums.noise_yes[active] - sums.noise_yes[asked])
    by = table.label_counts(topic)
    return _figures(
        useful=round(useful),
        noise=round(noise),
        useful_active=useful_active,
        noise_active=noise_active,
        decisions=decisions,
        by_person=by["person"],
        by_gate=by["gate"],
        by_use=by["use"],
        gate_calls=calls,
        gate_calls_per_day=calls / table.days,
        cost_usd_per_day=calls / table.days * table.cost_per_call,
    )


def alone_text(table: DecisionTable, topic: str, thresholds: Thresholds | None = None) -> str:
    """What keeps a topic's thresholds from having an effect, one line; empty if nothing does.

    Raises:
        KeyError: The topic is not in the table.
    """
    found = table.with_thresholds(topic, thresholds)
    if found.activation == "manual":
        return "activated only by hand: the thresholds have no effect"
    return ""


def overview(
    table: DecisionTable, thresholds: Mapping[str, Thresholds] = _NO_THRESHOLDS
) -> dict[str, Figures]:
    """The figures of every topic, in the table's order, with today's thresholds if none are given."""
    return {topic: figures(table, topic, thresholds.get(topic)) for topic in table.topics}


def total(figures: Iterable[Figures]) -> Figures:
    """Several topics as one, each decision counting the same (micro average)."""
    parts = list(figures)
    return _figures(**{name: sum(getattr(part, name) for part in parts) for name in _SUMMED})


def flips(
    table: DecisionTable, topic: str, before: Thresholds, after: Thresholds, *, limit: int = FLIPS_LIMIT
) -> Flips:
    """The decisions that other thresholds treat differently: all in the counts, at most ``limit`` as rows.

    Raises:
        KeyError: The topic is not in the table.
    """
    places: list[NDArray[np.intp]] = []
    olds: list[NDArray[np.int8]] = []
    news: list[NDArray[np.int8]] = []
    for part in table.segments(topic):
        old = _places(table, part, table.limits(topic, before, matched=part.matched))
        new = _places(table, part, table.limits(topic, after, matched=part.matched))
        marks = sorted({part.start, *old, *new, part.end})
        for start, end in itertools.pairwise(marks):
            was, now = ((start >= asked) + (start >= active) for asked, active in (old, new))
            if was != now:
                places.append(np.arange(start, end))
                olds.append(np.full(end - start, was, dtype=np.int8))
                news.append(np.full(end - start, now, dtype=np.int8))
    if not places:
        return Flips(0, 0, 0, ())
    place = np.concatenate(places)
    rows = table.order[place]
    was_, now_ = np.concatenate(olds), np.concatenate(news)
    labels = table.labels[rows]
    gate_says = table.yes[place] >= 0.5
    right_before = _is_active(was_, gate_says) == (labels == 1)
    right_after = _is_active(now_, gate_says) == (labels == 1)
    kinds = np.where(right_before == right_after, 2, np.where(right_after, 0, 1)).astype(np.int8)
    kinds[labels < 0] = 2
    # Fixed and lost decisions, then other labelled ones, then the rest; newest first in each group.
    rank = np.where(kinds < 2, 0, np.where(labels >= 0, 1, 2)) * table.size - rows
    count = min(max(limit, 0), rows.size)
    first = np.argpartition(rank, count - 1)[:count] if 0 < count < rows.size else np.arange(count)
    first = first[np.argsort(rank[first], kind="stable")]
    return Flips(
        int((kinds == 0).sum()),
        int((kinds == 1).sum()),
        int((kinds == 2).sum()),
        tuple(
            Flip(row, _KINDS[kind], _OUTCOMES[was], _OUTCOMES[now])
            for row, kind, was, now in zip(
                *(column[first].tolist() for column in (rows, kinds, was_, now_)), strict=True
            )
        ),
    )


def histogram(table: DecisionTable, topic: str, bins: int) -> Histogram:
    """The labelled decisions of a topic by score; a score of 1 is in the last bin."""
    counts = {1: np.zeros(bins, dtype=np.intp), 0: np.zeros(bins, dtype=np.intp)}
    fixed = 0
    for part in table.segments(topic):
        labels = table.labels[table.order[part.start : part.end]]
        scores = table.sorted_scores[part.start : part.end]
        moved = np.isfinite(scores)
        fixed += int(((labels >= 0) & ~moved).sum())
        for label, found in counts.items():
            chosen = scores[moved & (labels == label)]
            found += np.bincount(np.minimum((chosen * bins).astype(np.intp), bins - 1), minlength=bins)
    return Histogram(tuple(counts[1].tolist()), tuple(counts[0].tolist()), fixed)


def _places(table: DecisionTable, part: Segment, limits: tuple[float, float]) -> tuple[int, int]:
    """Where a segment's asked and active decisions begin in the sorted columns."""
    scores = table.sorted_scores[part.start : part.end]
    asked, active = np.searchsorted(scores, limits, side="left").tolist()
    return part.start + asked, part.start + active


def _is_active(outcomes: NDArray[np.int8], gate_says: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return np.where(outcomes == 1, gate_says, outcomes == 2)


def _figures(*, useful: int, noise: int, useful_active: float, noise_active: float, **counts: Any) -> Figures:
    active = useful_active + noise_active
    judged = useful + active
    return Figures(
        precision=useful_active / active if active > 0 else None,
        recall=useful_active / useful if useful else None,
        f1=2 * useful_active / judged if judged > 0 else None,
        labelled=useful + noise,
        useful=useful,
        noise=noise,
        useful_active=useful_active,
        noise_active=noise_active,
        **counts,
    )
