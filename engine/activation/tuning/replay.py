"""What thresholds would make of the logged messages (spec 5.5, design 4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

import numpy as np

from engine.activation.decisions import LABELLER_RANK, LABELLERS
from engine.activation.tuning.table import ACTIVE, OUTCOMES, UNSURE, Outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.activation.policy import Thresholds
    from engine.activation.tuning.table import MessageTable

FlipKind = Literal["fixed", "lost", "changed"]

FLIPS_LIMIT = 500
USEFUL_OFFERED, NOISE_OFFERED = 0.3, 0.1
"""How wrong it is only to offer, or ask about, a topic that is useful, and to do so with one that is not."""

_KINDS: tuple[FlipKind, ...] = ("fixed", "lost", "changed")


@dataclass(frozen=True, slots=True)
class Figures:
    """What thresholds make of logged messages. Precision, recall and the like are about labelled ones."""

    precision: float | None
    """Useful share of what is active, 0 to 1; ``None`` if nothing is."""
    recall: float | None  # active share of what is useful, 0 to 1; ``None`` if nothing is
    reached: float | None  # the share that is active, offered or asked about
    quiet: float | None  # quiet share of noise, 0 to 1; ``None`` if nothing is noise
    f1: float | None  # 0 if only noise is active, ``None`` if there is nothing to judge
    labelled: int
    messages: int
    active: int  # messages for which the topic is active
    offered: int  # messages for which it is offered or asked about
    useful: int
    noise: int
    by_person: int  # labels by a person
    by_gate: int  # labels that are answers of the gate
    by_use: int  # labels from use
    useful_active: int
    noise_active: int
    useful_offered: int
    noise_offered: int
    offers_per_day: float  # counting a message as often as it was sent, over the days that the log spans
    cost_usd_per_day: float

    @property
    def wrong(self) -> float:
        """What is wrong on labelled messages: active noise, useful ones that stay quiet, and in part what is
        offered.
        """
        missed = self.useful - self.useful_active - self.useful_offered
        offered = USEFUL_OFFERED * self.useful_offered + NOISE_OFFERED * self.noise_offered
        return self.noise_active + missed + offered


_SUMMED = tuple(
    f.name
    for f in fields(Figures)
    if f.name not in ("precision", "recall", "reached", "quiet", "f1", "labelled")
)


@dataclass(frozen=True, slots=True)
class Flip:
    """One message for which other thresholds change what becomes of a topic."""

    row: int  # in the table
    kind: FlipKind
    """``fixed``: nearer to what its label wants; ``lost``: the reverse; ``changed``: it has no label."""
    before: Outcome
    after: Outcome


@dataclass(frozen=True, slots=True)
class Flips:
    """Messages changed by moving thresholds."""

    fixed: int
    lost: int
    changed: int
    rows: tuple[Flip, ...]
    """At most the requested number: labelled ones first, then the newest."""

    @property
    def total(self) -> int:
        """The number of all of them."""
        return self.fixed + self.lost + self.changed


@dataclass(frozen=True, slots=True)
class Histogram:
    """Labelled messages by score, in equal bins from 0 to 1."""

    useful: tuple[int, ...]  # per bin
    noise: tuple[int, ...]  # per bin
    fixed: int = 0  # labelled messages in no bin, since a trigger or a person decided them


def figures(table: MessageTable, topic: str, thresholds: Thresholds | None = None) -> Figures:
    """What thresholds, by default today's, make of a topic; takes a fraction of a millisecond.

    Raises:
        KeyError: There is no such topic.
    """
    return figures_of(table, topic, table.outcomes(topic, thresholds), table.labels[:, table.columns[topic]])


def figures_of(
    table: MessageTable, topic: str, outcomes: NDArray[np.int8], labels: NDArray[np.int8]
) -> Figures:
    """The figures of given outcomes and labels of a topic for each message."""
    # By label and outcome; the labels are -1, 0 and 1.
    counts = np.bincount(3 * (labels.astype(np.intp) + 1) + outcomes, minlength=9).reshape(3, 3).tolist()
    by = np.bincount(table.labellers[:, table.columns[topic]], minlength=len(LABELLERS)).tolist()
    (_, _, _), noise, useful = counts
    offers = int(table.times[outcomes == UNSURE].sum()) / table.days
    return _figures(
        messages=int(outcomes.size),
        active=sum(row[ACTIVE] for row in counts),
        offered=sum(row[UNSURE] for row in counts),
        useful=sum(useful),
        noise=sum(noise),
        by_person=by[LABELLER_RANK["person"]],
        by_gate=by[LABELLER_RANK["gate"]],
        by_use=by[LABELLER_RANK["use"]],
        useful_active=useful[ACTIVE],
        noise_active=noise[ACTIVE],
        useful_offered=useful[UNSURE],
        noise_offered=noise[UNSURE],
        offers_per_day=offers,
        cost_usd_per_day=offers * table.cost_per_call,
    )


def settled(table: MessageTable, topic: str) -> str:
    """Why thresholds have no effect on a topic, one line; empty if they do."""
    known = table.topics[topic]
    if known.activation == "manual":
        return "activated only by hand: the thresholds have no effect"
    if known.forced is not None:
        switched = "on" if known.forced else "off"
        return f"switched {switched} by hand: the thresholds have no effect until it is reset"
    return ""


def alone_text(table: MessageTable, topic: str) -> str:
    """What keeps a topic's thresholds from having an effect, one line; empty if nothing does.

    Raises:
        KeyError: There is no such topic.
    """
    fires = int((table.fixed(topic) & (table.outcomes(topic) == ACTIVE)).sum())
    if (text := settled(table, topic)) or table.topics[topic].activation != "auto" or not fires:
        return text
    times = "1 time" if fires == 1 else f"{fires:,} times"
    return f"a trigger alone activated it {times}; with activation: gated, labels would count"


def overview(table: MessageTable) -> dict[str, Figures]:
    """The figures of every topic with today's thresholds, in the table's order."""
    return {topic: figures(table, topic) for topic in table.topics}


def total(figures: Iterable[Figures]) -> Figures:
    """Several topics as one, each message of each topic counting the same (micro average)."""
    parts = list(figures)
    return _figures(**{name: sum(getattr(part, name) for part in parts) for name in _SUMMED})


def flips(
    table: MessageTable, topic: str, before: Thresholds, after: Thresholds, *, limit: int = FLIPS_LIMIT
) -> Flips:
    """The messages that other thresholds treat differently: all in the counts, at most ``limit`` as rows.

    Raises:
        KeyError: There is no such topic.
    """
    was, now = table.outcomes(topic, before), table.outcomes(topic, after)
    rows = np.flatnonzero(was != now)
    labels = table.labels[rows, table.columns[topic]]
    kinds = np.where(labels < 0, 2, np.where((now[rows] > was[rows]) == (labels == 1), 0, 1))
    fixed, lost, changed = np.bincount(kinds, minlength=3).tolist()
    first = np.lexsort((-rows, labels < 0))[: max(limit, 0)]
    return Flips(
        fixed,
        lost,
        changed,
        tuple(
            Flip(row, _KINDS[kind], OUTCOMES[was[row]], OUTCOMES[now[row]])
            for row, kind in zip(rows[first].tolist(), kinds[first].tolist(), strict=True)
        ),
    )


def histogram(table: MessageTable, topic: str, bins: int) -> Histogram:
    """The labelled messages of a topic by score; a score of 1 is in the last bin."""
    column = table.columns[topic]
    labels, fixed = table.labels[:, column], table.fixed(topic)
    places = np.minimum((table.scores[:, column] * bins).astype(np.intp), bins - 1)
    noise, useful = (
        tuple(np.bincount(places[(labels == label) & ~fixed], minlength=bins).tolist()) for label in (0, 1)
    )
    return Histogram(useful, noise, int(((labels >= 0) & fixed).sum()))


def _figures(*, useful: int, noise: int, useful_active: int, noise_active: int, **counts: float) -> Figures:
    active, offered = useful_active + noise_active, counts["useful_offered"]
    quiet = noise - noise_active - counts["noise_offered"]
    return Figures(
        precision=useful_active / active if active else None,
        recall=useful_active / useful if useful else None,
        reached=(useful_active + offered) / useful if useful else None,
        quiet=quiet / noise if noise else None,
        f1=2 * useful_active / (useful + active) if useful + active else None,
        labelled=useful + noise,
        useful=useful,
        noise=noise,
        useful_active=useful_active,
        noise_active=noise_active,
        **counts,  # type: ignore[arg-type]
    )
