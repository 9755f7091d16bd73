"""The decision log as numpy columns: what replaying it under other thresholds needs (spec 5.5, design 4)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from engine.activation import policy
from engine.activation.decision import LABELLERS, Decision
from engine.activation.policy import Thresholds
from engine.activation.proof import NO_EFFECT, NO_PROOF, Proof, SimilarityAlone
from engine.activation.signals import CALIBRATED
from engine.activation.tuning.own import own_thresholds, today
from engine.activation.tuning.sums import Reliability, Sums, expected_yes
from engine.topics.model import PRIORITY_ORDER, Topic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.settings.model import WatcherSettings

    Numbers = NDArray[np.float64]
    Rows = NDArray[np.intp]
    Marks = NDArray[np.int8]

RULED_YES = 0.5
"""Probability from which the local gate's fixed rule says yes."""

FREE_GATES = frozenset({"", "local", "ask"})
"""Gates whose answers cost no money."""

_DAY_S = 86_400.0
_NO_PROOFS: Mapping[str, Proof] = {}
_PERSON = LABELLERS.index("person")
_LEAST_SCORE = 5e-324


@dataclass(frozen=True, slots=True)
class Segment:
    """Decisions of one topic that the same two thresholds are about, in the table's sorted columns."""

    start: int
    end: int  # behind the last
    matched: bool  # whether a trigger had fired for them


class DecisionTable:
    """The part of the decision log that can be replayed under today's preset, in its order, oldest first.

    A decision is left out when the signal that decides today was not logged with it: a raw cosine says
    nothing about thresholds of a probability. One thread may label while others read: what they see is from
    before or after. To make the columns of 100,000 decisions takes about half a second.

    Args:
        decisions: The log, oldest first; rows are numbered in this order.
        topics: Today's topics: they say which thresholds hold, and what no threshold moves.
        provider: Today's ``gate.provider``; what ``local`` would have said where it was not asked is
            calculated, what another one would have said is expected as reliable as what it did say.
        proofs: What labels have proven of topics' scores, by name: the same rule holds as for messages.

    Attributes:
        topics: Sorted names of today's topics, then those of topics that only the log knows.
        days: From the first decision to the last one, at least 1.
        left_out: Decisions that cannot be replayed.
        gate: The gate that was asked last, e.g. ``local``; empty when none was.
        cost_per_call: What an answer of that gate cost on average, US dollars; a remembered one cost 0.
        labels: Per row: 1 useful, 0 noise, -1 not labelled.
        labellers: Per row: who labelled it, as an index of ``LABELLERS``.
        answers: Per row: what the gate said, 1 yes, 0 no, -1 nothing.
        scores: Per row: the deciding score, 0 to 1.
        order: Row numbers sorted by topic, match and ``sorted_scores``.
        sorted_scores: The scores in that order; −∞ for what no threshold activates, ∞ for what none bars.
    """

    def __init__(
        self,
        decisions: Sequence[Decision],
        topics: Sequence[Topic],
        settings: WatcherSettings,
        provider: str = "",
        proofs: Mapping[str, Proof] = _NO_PROOFS,
    ) -> None:
        signal = CALIBRATED if settings.preset == "calibrated" else "tfidf"
        scores = [_number(decision.scores.get(signal)) for decision in decisions]
        kept = [row for row, score in enumerate(scores) if score is not None]
        self._settings = settings
        self._provider = provider
        self._proofs = proofs
        self._decisions = [decisions[row] for row in kept]
        self._left_out = Counter(decisions[row].topic for row, score in enumerate(scores) if score is None)
        self._topics = {topic.name: topic for topic in topics} | _gone_topics(decisions, topics)
        self.topics: tuple[str, ...] = (
            *sorted(topic.name for topic in topics),
            *sorted(self._topics.keys() - {topic.name for topic in topics}),
        )
        self.size = len(kept)
        self.left_out = self._left_out.total()
        self.days = _days_of(self._decisions)
        self.gate, self.cost_per_call = _gate_in_use(self._decisions)
        judged = [decision.label for decision in self._decisions]
        said = {"yes": 1, "no": 0}
        self.labels: Marks = np.array([_mark(label) for label, _ in judged], dtype=np.int8)
        self.labellers: Marks = np.array([LABELLERS.index(by) for _, by in judged], dtype=np.int8)
        self.answers: Marks = np.array([said.get(d.gate_answer, -1) for d in self._decisions], dtype=np.int8)
        by_gate = np.array([d.gate_provider == self.gate for d in self._decisions], dtype=bool)
        self._of_gate: NDArray[np.bool_] = by_gate & (self.answers >= 0)
        self.scores: Numbers = np.array([scores[row] for row in kept], dtype=np.float64)
        self._sort()
        self._sums: Sums | None = None
        self._yes: Numbers | None = None
        self._counts: Rows | None = None

    def today(self, topic: str) -> Thresholds:
        """The thresholds that hold now for a topic without a match, from its file and the table.

        With the ``spec`` preset the upper one is about matched messages only. A topic without a file has the
        table's thresholds, by the priority it last had.

        Raises:
            KeyError: The table does not know the topic.
        """
        return today(self._topics[topic], self._settings)

    def topic(self, name: str) -> Topic:
        """A topic; one that only the log knows has an empty ``path``.

        Raises:
            KeyError: The table does not know it.
        """
        return self._topics[name]

    def decision(self, index: int) -> Decision:
        """The decision in a row, with its label."""
        return self._decisions[index]

    def left_out_of(self, topic: str) -> int:
        """Decisions about a topic that cannot be replayed."""
        return self._left_out[topic]

    def rows(self, topic: str) -> Rows:
        """Row numbers of a topic's decisions, by match and score."""
        return self.order[self._span(topic)]

    def moved_scores(self, topic: str) -> Numbers:
        """Their ``sorted_scores``, in the same order."""
        return self.sorted_scores[self._span(topic)]

    def yes_of(self, topic: str) -> Numbers:
        """Their ``yes``, in the same order."""
        return self.yes[self._span(topic)]

    def label_counts(self, topic: str) -> dict[str, int]:
        """A topic's labels by who gave them: ``gate``, ``use``, ``person``; ``""`` for those without."""
        counts = self._counts
        if counts is None:
            kinds = len(LABELLERS)
            keys = self._places * kinds + self.labellers
            counts = self._counts = np.bincount(keys, minlength=len(self.topics) * kinds).reshape(-1, kinds)
        return dict(zip(LABELLERS, counts[self._place_of[topic]].tolist(), strict=True))

    def segments(self, topic: str) -> tuple[Segment, ...]:
        """Where a topic's decisions stand in the sorted columns; nowhere when it has none."""
        return self._segments.get(topic, ())

    def _span(self, topic: str) -> slice:
        segments = self.segments(topic)
        return slice(segments[0].start, segments[-1].end) if segments else slice(0)

    def replaced(self, index: int, decision: Decision) -> None:
        """Takes over a decision whose label has changed, as the log has it now."""
        label, who = decision.label
        self._decisions[index] = decision
        self.labels[index] = self._sorted_labels[self._place[index]] = _mark(label)
        self.labellers[index] = LABELLERS.index(who)
        self._sums = self._yes = self._counts = None

    def limits(self, topic: str, thresholds: Thresholds | None, *, matched: bool) -> tuple[float, float]:
        """The scores from which the policy asks about and activates some decisions of a topic; ∞ is never.

        Args:
            thresholds: The pair that its file would stand for; ``None``: as it is.
            matched: Whether one of its triggers had fired.
        """
        known = self.with_thresholds(topic, thresholds)
        found = policy.thresholds_of(known, self._settings, matched=matched)
        found = found if matched else policy.alone_thresholds(found, self.alone(known))
        activate = math.inf if found.activate is None else found.activate
        gate = math.inf if found.gate is None else found.gate
        if self._settings.preset == "spec" and not matched:
            # There a score of 0 is no similarity at all, whatever the threshold.
            gate = max(gate, _LEAST_SCORE)
        return min(gate, activate), activate

    def with_thresholds(self, name: str, thresholds: Thresholds | None) -> Topic:
        """A topic with other thresholds in its file; ``None``: as it is."""
        known = self._topics[name]
        return known if thresholds is None else own_thresholds(known, self._settings, thresholds).on(known)

    def alone(self, topic: Topic) -> SimilarityAlone:
        """What a score may do for a topic where no trigger fired."""
        if self._settings.nominate == "pattern":
            return NO_EFFECT
        proof = self._proofs.get(topic.name, NO_PROOF)
        return policy.alone_of(topic, self._settings, proof, provider=self._provider, is_input=True)

    def decides_alone(self, name: str) -> bool:
        """Whether a score at any threshold can let a topic in where no trigger fired.

        Labels that are too few prove nothing at any threshold, and the local gate lets nothing in by itself.
        """
        alone = self.alone(self._topics[name])
        return alone.asks or alone.activates or bool(self._proofs.get(name, NO_PROOF).held)

    @property
    def reliability(self) -> Reliability:
        """How far the gate in use can be trusted, from its answers that a person has judged."""
        if self.gate == "ask":
            return Reliability()
        judged = self._of_gate & (self.labellers == _PERSON)
        return Reliability.measured(self.labels[judged], self.answers[judged])

    @property
    def yes(self) -> Numbers:
        """In the order of the sorted columns: the probability that the gate says yes if it is asked."""
        yes = self._yes
        if yes is None:
            answers = self._sorted_answers
            if self._settings.preset == "calibrated" and self._provider == "local":
                # What the fixed rule says is known where it was not asked: yes from a probability of one
                # half. A local gate that has been fitted to labels differs from that for some.
                ruled = (self.scores[self.order] >= RULED_YES).astype(np.int8)
                answers = np.where(answers >= 0, answers, ruled)
            yes = self._yes = expected_yes(self._sorted_labels, answers, self.reliability)
        return yes

    @property
    def sums(self) -> Sums:
        """Running totals over the sorted columns; made anew after a label."""
        sums = self._sums
        if sums is None:
            sums = self._sums = Sums.of(self._sorted_labels, self.yes)
        return sums

    def _sort(self) -> None:
        self._place_of = {name: place for place, name in enumerate(self.topics)}
        places = np.array([self._place_of[decision.topic] for decision in self._decisions], dtype=np.intp)
        self._places: Rows = places
        matched = np.array([bool(decision.hits) for decision in self._decisions], dtype=bool)
        fixed = np.array(
            [
                self._fixed(decision, score)
                for decision, score in zip(self._decisions, self.scores.tolist(), strict=True)
            ],
            dtype=np.float64,
        )
        moved = np.where(fixed == 0, self.scores, fixed)
        self.order: Rows = np.lexsort((moved, matched, places))
        self.sorted_scores: Numbers = moved[self.order]
        self._place: Rows = np.empty_like(self.order)
        self._place[self.order] = np.arange(self.order.size)
        self._sorted_labels: Marks = self.labels[self.order]
        self._sorted_answers: Marks = self.answers[self.order]
        self._segments: dict[str, tuple[Segment, ...]] = {}
        # Topic and match as one number, so that the ends of every segment are found at once.
        keys = (places * 2 + matched)[self.order]
        ends = np.searchsorted(keys, np.arange(2 * len(self.topics) + 1)).tolist()
        for place, name in enumerate(self.topics):
            both = (Segment(ends[2 * place + m], ends[2 * place + m + 1], bool(m)) for m in (0, 1))
            self._segments[name] = tuple(segment for segment in both if segment.end > segment.start)

    def _fixed(self, decision: Decision, score: float) -> float:
        """∞ for what is active whatever the thresholds are, −∞ for what never is, 0 where they decide."""
        topic = self._topics[decision.topic]
        if topic.forced is not None:
            return math.inf if topic.forced else -math.inf
        if topic.activation == "manual":
            return -math.inf
        if decision.hits:
            matched = self._settings.row(topic.priority).matched
            certain = topic.activation == "auto" or (matched is not None and score >= matched)
            return math.inf if certain or _is_event(decision) else 0.0
        nominates = decision.direction == "input" and self._settings.nominate == "either"
        return 0.0 if nominates else -math.inf


def _number(value: Any) -> float | None:
    """A logged score; ``None`` where there is none, or something else in its place."""
    if value.__class__ is float and 0.0 <= value <= 1.0:
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return min(1.0, max(0.0, float(value)))


def _is_event(decision: Decision) -> bool:
    # The log is a file that people can edit: a hit may have any form.
    kinds = (kind for hit in decision.hits for kind in hit[1:2])
    return any(isinstance(kind, str) and kind in policy.EVENT_TYPES for kind in kinds)


def _mark(label: bool | None) -> Literal[-1, 0, 1]:
    return -1 if label is None else 1 if label else 0


def _gone_topics(decisions: Iterable[Decision], topics: Iterable[Topic]) -> dict[str, Topic]:
    """Topics that have no file any more, with the priority they had last."""
    latest = {decision.topic: decision for decision in decisions}
    for topic in topics:
        latest.pop(topic.name, None)
    return {
        name: Topic(
            name=name,
            path="",
            title=name,
            description="",
            instructions="",
            priority=decision.priority if decision.priority in PRIORITY_ORDER else "medium",
        )
        for name, decision in latest.items()
    }


def _days_of(decisions: Sequence[Decision]) -> float:
    """The days that the log spans, at least 1."""
    if not decisions:
        return 1.0
    first, last = (choose(decisions, key=lambda d: d.at).time for choose in (min, max))
    return max(1.0, (last - first).total_seconds() / _DAY_S)


def _gate_in_use(decisions: Sequence[Decision]) -> tuple[str, float]:
    """Who was asked last, and what an answer cost on average."""
    name = next((d.gate_provider for d in reversed(decisions) if d.asked), "")
    if name in FREE_GATES:
        return name, 0.0
    costs = [d.cost_usd for d in decisions if d.asked and d.gate_provider == name]
    return name, sum(costs) / len(costs)
