"""Fits thresholds to labels, and measures their effect on held-out decisions (spec 5.5).

What makes thresholds good is defined in ``engine.activation.tuning.grid``. The reliability of proposals was
simulated with ten kinds of topics, well and badly separated, with a good and a poor gate, and known F1::

    labels   topics   proposals   worse than today by a point   mean gain over all topics
        20      100          35                             1   7 points of F1
        60      100          69                             2   12
       200      100          87                             1   15
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.activation.numbers import format_threshold
from engine.activation.tuning.grid import Outcome, best_thresholds, outcome
from engine.activation.tuning.replay import Figures, figures
from engine.activation.tuning.samples import Kind, Samples

if TYPE_CHECKING:
    from engine.activation.policy import Thresholds
    from engine.activation.tuning.table import DecisionTable

LEAST_LABELS = 10
"""Labelled decisions below which nothing is proposed."""
LEAST_OF_EACH = 3
"""Useful and noise labels below which nothing is proposed, unless all labels are of one kind."""

LEAST_GAIN = 1.0
"""How many wrong held-out decisions thresholds must put right if there are labels of both kinds; less is
chance. If all labels are of one kind, any gain is enough."""

_CLEARLY = 1e-6


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The effect of fitted thresholds on held-out decisions.

    The decisions of each fold are judged by thresholds fitted to the other folds; equal messages are in the
    same fold.
    """

    folds: int
    f1: float
    f1_spread: float  # standard deviation between folds
    precision: float  # 0 if nothing was active
    recall: float  # 0 if nothing is useful
    today_f1: float  # of today's thresholds on the same decisions, like the next two
    today_precision: float = 0.0
    today_recall: float = 0.0
    kind: Kind = "both"
    """Which labels there are. With ``noise`` alone F1 is always 0; with ``useful`` alone only recall is
    meaningful."""
    noise: int = 0
    noise_kept_out: float = 0.0  # expected number of those not activated
    today_noise_kept_out: float = 0.0
    gate_calls: int = 0  # decisions that the gate was asked about
    today_gate_calls: int = 0
    unanswered: int = 0
    """Those of ``gate_calls`` that were never asked before; their answers are assumed to be as reliable as
    the others."""

    @property
    def effect(self) -> str:
        """The effect in short: ``F1 .83 ±.03, today .79; 12 gate calls, today 20``."""
        new = f" ({self.unanswered} never asked before)" if self.unanswered else ""
        calls = f"{self.gate_calls} gate calls{new}, today {self.today_gate_calls}"
        if self.kind == "noise":
            kept = f"{_count(self.noise_kept_out)} of {self.noise} noise decisions kept out"
            return f"{kept}, today {_count(self.today_noise_kept_out)}; {calls}"
        if self.kind == "useful":
            return f"recall {_figure(self.recall)}, today {_figure(self.today_recall)}; {calls}"
        spread = _figure(self.f1_spread)
        return f"F1 {_figure(self.f1)} ±{spread}, today {_figure(self.today_f1)}; {calls}"

    def __str__(self) -> str:
        return f"held out, {self.folds} folds: {self.effect}"


_CLOSED = 0.985
"""Lower threshold from which a topic is practically switched off."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Proposed thresholds of a topic, or why there are none."""

    topic: str
    today: Thresholds
    thresholds: Thresholds | None
    refused: str  # why there are none, one sentence; empty otherwise
    before: Figures  # of today's thresholds
    after: Figures | None  # of the proposed thresholds, on the decisions they were fitted to
    held_out: HeldOut | None
    """Their effect on held-out decisions, if measured."""

    @property
    def caution(self) -> str:
        """A warning about the proposed thresholds, one sentence; may be empty.

        Noise with the highest possible scores is kept out only by thresholds that keep everything out.
        """
        if self.thresholds is None or self.thresholds.gate is None or self.thresholds.gate < _CLOSED:
            return ""
        return "hardly any message would reach the topic: check its triggers and examples first"


def propose(table: DecisionTable, topic: str, *, folds: int = 5) -> Proposal:
    """Fits a topic's thresholds to its labels, and measures the effect on held-out labels.

    The same table gives the same proposal. With few messages there are fewer ``folds``.

    Raises:
        KeyError: The topic is not in the table.
    """
    today, before = table.today(topic), figures(table, topic)
    samples = Samples.of(table, topic)
    refused = _settled(table, topic) or _thin(table, topic, samples)
    if refused:
        return Proposal(topic, today, None, refused, before, None, None)
    best = best_thresholds(table, topic, samples)
    ours, theirs, held_out = _hold_out(table, topic, samples, folds)
    refused = _no_better(today, best, ours, theirs, held_out)
    if refused:
        return Proposal(topic, today, None, refused, before, None, held_out)
    return Proposal(topic, today, best, "", before, figures(table, topic, best), held_out)


def _settled(table: DecisionTable, topic: str) -> str:
    """Why thresholds have no effect on a topic; empty if they do."""
    known = table.topic(topic)
    if not known.path:
        return f"{topic} no longer has a file to write thresholds to"
    if known.activation == "manual":
        return f"{topic} is activated only by hand, so its thresholds have no effect"
    if known.forced is not None:
        switched = "on" if known.forced else "off"
        return f"{topic} is switched {switched} by hand, so its thresholds have no effect until it is reset"
    return ""


def _thin(table: DecisionTable, topic: str, samples: Samples) -> str:
    """Why there are too few labels; empty if there are enough."""
    labelled, moved = len(samples), int(samples.moved.sum())
    left_out = table.left_out_of(topic)
    more = f"; {left_out} logged under another preset do not count" if left_out else ""
    if labelled < LEAST_LABELS:
        counted = "1 labelled decision" if labelled == 1 else f"{labelled} labelled decisions"
        return f"{counted}, at least {LEAST_LABELS} needed{more}"
    if moved < LEAST_LABELS:
        return (
            f"thresholds decide {moved} of {labelled} labelled decisions, at least {LEAST_LABELS} needed; "
            f"a trigger decides the others{more}"
        )
    useful = int(samples.useful[samples.moved].sum())
    noise = moved - useful
    if samples.kind == "both" and min(useful, noise) < LEAST_OF_EACH:
        return (
            f"{useful} useful and {noise} noise decisions labelled, at least {LEAST_OF_EACH} of each "
            f"needed{more}"
        )
    kinds = [kind for kind, count in ((True, useful), (False, noise)) if count]
    if min(samples.messages_of(useful=kind) for kind in kinds) < 2:
        what = "labelled" if len(kinds) == 1 else "useful or all noise"
        return f"all {what} decisions are about the same message, at least two messages needed{more}"
    return ""


def _hold_out(
    table: DecisionTable, topic: str, samples: Samples, folds: int
) -> tuple[Outcome, Outcome, HeldOut]:
    """Outcomes of fitted and of today's thresholds on held-out decisions, and both as figures."""
    kinds = (True, False) if samples.kind == "both" else (samples.kind == "useful",)
    count = max(2, min(folds, *(samples.messages_of(useful=kind) for kind in kinds)))
    ours = theirs = Outcome()
    by_fold: list[float] = []
    for fold in samples.folds(count):
        unseen = samples.where(fold)
        fitted = best_thresholds(table, topic, samples.where(~fold))
        found = outcome(table, topic, unseen, fitted)
        ours += found
        theirs += outcome(table, topic, unseen, table.today(topic))
        if found.useful or found.noise_active:
            by_fold.append(found.f1)
    return (
        ours,
        theirs,
        HeldOut(
            folds=count,
            f1=ours.f1,
            f1_spread=statistics.pstdev(by_fold) if by_fold else 0.0,
            precision=ours.precision,
            recall=ours.recall,
            today_f1=theirs.f1,
            today_precision=theirs.precision,
            today_recall=theirs.recall,
            kind=samples.kind,
            noise=round(ours.noise),
            noise_kept_out=ours.noise - ours.noise_active,
            today_noise_kept_out=theirs.noise - theirs.noise_active,
            gate_calls=round(ours.calls),
            today_gate_calls=round(theirs.calls),
            unanswered=round(ours.unanswered),
        ),
    )


def _no_better(today: Thresholds, best: Thresholds, ours: Outcome, theirs: Outcome, held_out: HeldOut) -> str:
    """Why today's thresholds should stay; empty if the fitted ones are better."""
    if best == today:
        count = round(ours.useful + ours.noise)
        return f"today's thresholds are already the best for its {count} labelled decisions"
    least = LEAST_GAIN if held_out.kind == "both" else _CLEARLY
    if ours.gain_over(theirs) < least or ours.f1 < theirs.f1 - _CLEARLY:
        return f"fitted thresholds do no better than today's on held-out decisions: {held_out.effect}"
    return ""


def _figure(value: float) -> str:
    return format_threshold(round(value, 2))


def _count(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
