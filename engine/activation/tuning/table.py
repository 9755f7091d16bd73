"""The decision log as numpy columns, for replaying it under other thresholds (spec 5.5, design 4)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from engine.activation import policy
from engine.activation.decision import LABELLERS, Decision
from engine.activation.policy import Thresholds
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

FREE_GATES = frozenset({"", "agent", "local", "ask"})
"""Gates whose answers are free."""

_DAY_S = 86_400.0
_PERSON = LABELLERS.index("person")
_MIN_SCORE = 5e-324


@dataclass(frozen=True, slots=True)
class Segment:
    """Decisions of one topic, matched or not, as a range of the table's sorted columns."""

    start: int
    end: int  # exclusive
    matched: bool  # whether a trigger had fired


class DecisionTable:
    """The part of the decision log that can be replayed under today's preset, oldest first.

    Decisions logged without today's deciding signal are left out: a raw cosine says nothing about thresholds
    of a probability. One thread may label while others read. Building the table of 100,000 decisions takes
    about half a second.

    Args:
        decisions: The log, oldest first.
        topics: Today's topics.
        provider: Today's ``gate.provider``. Missing answers of ``local`` are calculated; those of other gates
            are expected to be as reliable as their actual answers.

    Attributes:
        topics: Sorted names of today's topics, then of topics that are only in the log.
        days: Days from the first decision to the last one, at least 1.
        left_out: Number of decisions that cannot be replayed.
        gate: The gate that was asked last, e.g. ``local``; empty if none was.
        cost_per_call: Mean cost of that gate's answers, including cached ones, US dollars.
        labels: For each row 1 useful, 0 noise, -1 not labelled.
        labellers: For each row who labelled it, as an index into ``LABELLERS``.
        answers: For each row the gate's answer: 1 yes, 0 no, -1 none.
        scores: For each row the deciding score, 0 to 1.
        order: Row numbers sorted by topic, match and ``sorted_scores``.
        sorted_scores: The scores in that order; −∞ if no threshold activates it, ∞ if none keeps it out.
    """

    def __init__(
        self,
        decisions: Sequence[Decision],
        topics: Sequence[Topic],
        settings: WatcherSettings,
        provider: str = "",
    ) -> None:
        signal = CALIBRATED if settings.preset == "calibrated" else "tfidf"
        scores = [_number(decision.scores.get(signal)) for decision in decisions]
        kept = [row for row, score in enumerate(scores) if score is not None]
        self._settings = settings
        self._provider = provider
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
        codes = {"yes": 1, "no": 0}
        self.labels: Marks = np.array([_mark(label) for label, _ in judged], dtype=np.int8)
        self.labellers: Marks = np.array([LABELLERS.index(by) for _, by in judged], dtype=np.int8)
        self.answers: Marks = np.array([codes.get(d.gate_answer, -1) for d in self._decisions], dtype=np.int8)
        by_gate = np.array([d.gate_provider == self.gate for d in self._decisions], dtype=bool)
        self._of_gate: NDArray[np.bool_] = by_gate & (self.answers >= 0)
        self.scores: Numbers = np.array([scores[row] for row in kept], dtype=np.float64)
        self._sort()
        self._sums: Sums | None = None
        self._yes: Numbers | None = None
        self._counts: Rows | None = None

    def today(self, topic: str) -> Thresholds:
        """The effective thresholds of a topic without a match (``own.today``).

        A topic without a file has those of its last priority.

        Raises:
            KeyError: The topic is not in the table.
        """
        return today(self._topics[topic], self._settings)

    def topic(self, name: str) -> Topic:
        """A topic; one that is only in the log has an empty ``path``.

        Raises:
            KeyError: The topic is not in the table.
        """
        return self._topics[name]

    def decision(self, index: int) -> Decision:
        return self._decisions[index]

    def left_out_of(self, topic: str) -> int:
        """Number of a topic's decisions that cannot be replayed."""
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
        """Number of a topic's labels by labeller; ``""`` for decisions without a label."""
        counts = self._counts
        if counts is None:
            kinds = len(LABELLERS)
            keys = self._places * kinds + self.labellers
            counts = self._counts = np.bincount(keys, minlength=len(self.topics) * kinds).reshape(-1, kinds)
        return dict(zip(LABELLERS, counts[self._place_of[topic]].tolist(), strict=True))

    def segments(self, topic: str) -> tuple[Segment, ...]:
        """The ranges of a topic's decisions in the sorted columns; may be empty."""
        return self._segments.get(topic, ())

    def _span(self, topic: str) -> slice:
        segments = self.segments(topic)
        return slice(segments[0].start, segments[-1].end) if segments else slice(0)

    def replaced(self, index: int, decision: Decision) -> None:
        """Replaces a decision whose label has changed."""
        label, who = decision.label
        self._decisions[index] = decision
        self.labels[index] = self._sorted_labels[self._place[index]] = _mark(label)
        self.labellers[index] = LABELLERS.index(who)
        self._sums = self._yes = self._counts = None

    def limits(self, topic: str, thresholds: Thresholds | None, *, matched: bool) -> tuple[float, float]:
        """The scores from which the policy asks about and activates a topic's decisions; ∞ is never.

        Args:
            thresholds: The thresholds in its file; ``None`` for today's.
            matched: Whether one of its triggers had fired.
        """
        known = self.with_thresholds(topic, thresholds)
        found = policy.thresholds_of(known, self._settings, matched=matched)
        never = not matched and self._settings.nominate == "pattern"
        activate = math.inf if found.activate is None or never else found.activate
        gate = math.inf if found.gate is None or never else found.gate
        if self._settings.preset == "spec" and not matched:
            # A score of 0 is no similarity at all, whatever the threshold.
            gate = max(gate, _MIN_SCORE)
        return min(gate, activate), activate

    def with_thresholds(self, name: str, thresholds: Thresholds | None) -> Topic:
        """A topic with other thresholds in its file; unchanged for ``None``."""
        known = self._topics[name]
        return known if thresholds is None else own_thresholds(known, self._settings, thresholds).on(known)

    @property
    def reliability(self) -> Reliability:
        """The reliability of the current gate, from its answers that a person has judged."""
        if self.gate == "ask":
            return Reliability()
        judged = self._of_gate & (self.labellers == _PERSON)
        return Reliability.measured(self.labels[judged], self.answers[judged])

    @property
    def yes(self) -> Numbers:
        """The probability that the gate says yes if it is asked, in the order of the sorted columns."""
        yes = self._yes
        if yes is None:
            answers = self._sorted_answers
            if self._provider == "agent":  # what is offered is not active
                answers = np.zeros_like(answers)
            elif self._settings.preset == "calibrated" and self._provider == "local":
                # Its answer is known even if it was not asked.
                ruled = (self.scores[self.order] >= RULED_YES).astype(np.int8)
                answers = np.where(answers >= 0, answers, ruled)
            yes = self._yes = expected_yes(self._sorted_labels, answers, self.reliability)
        return yes

    @property
    def sums(self) -> Sums:
        """Running totals over the sorted columns; rebuilt after a label."""
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
        """∞ if active at any thresholds, −∞ if never active, 0 if thresholds decide."""
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
    """A logged score; ``None`` if it is missing or not a number."""
    if value.__class__ is float and 0.0 <= value <= 1.0:
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return min(1.0, max(0.0, float(value)))


def _is_event(decision: Decision) -> bool:
    # The log can be edited by hand, so a hit may have any form.
    kinds = (kind for hit in decision.hits for kind in hit[1:2])
    return any(isinstance(kind, str) and kind in policy.EVENT_TYPES for kind in kinds)


def _mark(label: bool | None) -> Literal[-1, 0, 1]:
    return -1 if label is None else 1 if label else 0


def _gone_topics(decisions: Iterable[Decision], topics: Iterable[Topic]) -> dict[str, Topic]:
    """Topics without a file, with their last priority."""
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
    if not decisions:
        return 1.0
    first, last = (choose(decisions, key=lambda d: d.at).time for choose in (min, max))
    return max(1.0, (last - first).total_seconds() / _DAY_S)


def _gate_in_use(decisions: Sequence[Decision]) -> tuple[str, float]:
    """The gate that was asked last, and the mean cost of its answers."""
    name = next((d.gate_provider for d in reversed(decisions) if d.asked), "")
    if name in FREE_GATES:
        return name, 0.0
    costs = [d.cost_usd for d in decisions if d.asked and d.gate_provider == name]
    return name, sum(costs) / len(costs)
