"""The logged messages as a table, scored by the tier 2 of today, to try other thresholds on (spec 5.5)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from engine.activation import policy
from engine.activation.candidates import ABOVE_CHANCE, LIKELIEST, LIKELY, OFFERING
from engine.activation.decisions import LABELLER_RANK, LABELLERS, Decision
from engine.activation.policy import NEGATED, Thresholds, thresholds_of
from engine.activation.trace import Direction, TriggerHit
from engine.errors import TopicError
from engine.store import documents
from engine.topics.loader import load_topic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.settings.model import WatcherSettings
    from engine.topics.model import Topic

    Floats = NDArray[np.float32]
    Rows = NDArray[np.intp]
    Marks = NDArray[np.int8]
    Truths = NDArray[np.bool_]


_DIGITS = 4
_KEYS = ("similarity_threshold", "activation_threshold")


@dataclass(frozen=True, slots=True)
class OwnThresholds:
    """The thresholds in a topic's file.

    Only ``engine.activation.policy`` decides which score activates, asks or drops. To see the effect of other
    thresholds, tuning applies it to the same topic with other numbers in its file.
    """

    similarity_threshold: float | None = None
    """The lower threshold; ``None`` if the table's applies."""
    activation_threshold: float | None = None  # the upper threshold, likewise

    @classmethod
    def of(cls, topic: Topic) -> OwnThresholds:
        return cls(topic.similarity_threshold, topic.activation_threshold)

    def on(self, topic: Topic) -> Topic:
        """The topic with these thresholds in its file."""
        return replace(
            topic,
            similarity_threshold=self.similarity_threshold,
            activation_threshold=self.activation_threshold,
        )


def today(topic: Topic, settings: WatcherSettings) -> Thresholds:
    """The two effective thresholds of a topic that its file can change.

    With the ``calibrated`` preset they are those of a message without a match. With ``spec`` the lower one
    applies to messages without a match, and to matched ones if it is above their row's; the upper one applies
    to matched ones only, and is “never” if a match needs no score.
    """
    thresholds = thresholds_of(topic, settings, matched=False)
    if settings.preset == "calibrated":
        return thresholds
    if topic.activation_threshold is not None:
        return Thresholds(thresholds.gate, topic.activation_threshold)
    activate = settings.row(topic.priority).activate
    above = activate is not None and (thresholds.gate is None or activate > thresholds.gate)
    return Thresholds(thresholds.gate, activate if above else None)


def own_thresholds(topic: Topic, settings: WatcherSettings, thresholds: Thresholds) -> OwnThresholds:
    """What a topic's file must say to make ``thresholds`` effective.

    An effective threshold stays as written, and one equal to the table's needs no line. A file cannot say
    “never” where the table has a number, so it says 1, which only a score of 1 reaches; “never asked” is a
    lower threshold equal to the upper one.
    """
    now, table = today(topic, settings), today(OwnThresholds().on(topic), settings)
    upper = thresholds.activate
    if upper == now.activate:
        own_upper = topic.activation_threshold
    else:
        own_upper = None if upper == table.activate else 1.0 if upper is None else upper
    lower = thresholds.gate
    if lower == now.gate:
        own_lower = topic.similarity_threshold
    elif lower == table.gate:
        own_lower = None
    else:
        own_lower = lower if lower is not None else 1.0 if upper is None else upper
    own = OwnThresholds(own_lower, own_upper)
    if upper is not None and today(own.on(topic), settings).activate != upper:
        # The table's upper threshold only applies above its own lower threshold.
        return OwnThresholds(own_lower, upper)
    return own


def rounded(value: float | None) -> float | None:
    """A threshold rounded for a file: at most four digits."""
    return None if value is None else round(value, _DIGITS)


def thresholds_in(data: bytes, path: str) -> OwnThresholds:
    """The thresholds in a topic's file.

    Raises:
        TopicError: It is not a valid topic.
    """
    topic, problems = load_topic(documents.parse(data, path))
    if topic is None:
        reason = f": {problems[0].what}" if problems else ""
        raise TopicError(f"not a valid topic{reason}", where=path, hint="see: autopoiesis topics check")
    return OwnThresholds.of(topic)


def with_thresholds(data: bytes, topic: Topic, thresholds: OwnThresholds) -> bytes:
    """A topic's file with other thresholds; comments, order, line ends and everything else are kept.

    Raises:
        DocumentError: The header cannot be edited.
        TopicError: The file would still have other thresholds, since it has them in more than one place.
    """
    before = thresholds_in(data, topic.path)
    wanted = {key: getattr(thresholds, key) for key in _KEYS}
    changes = {key: value for key, value in wanted.items() if value != getattr(before, key)}
    new = documents.edit_header(data, changes, topic.path)
    if thresholds_in(new, topic.path) != thresholds:
        raise TopicError(
            "has its thresholds in a place that cannot be edited",
            where=topic.path,
            hint=f"move {' and '.join(changes)} to the left margin of the header",
        )
    return new


Outcome = Literal["quiet", "offered", "active"]
OUTCOMES: tuple[Outcome, ...] = ("quiet", "offered", "active")
QUIET, UNSURE, ACTIVE = 0, 1, 2
"""What becomes of a topic for a message, as indexes into ``OUTCOMES``. Unsure is offered to the agent, or
asked of another gate."""

MESSAGES_LIMIT = 10_000
"""The latest messages that are read."""
FREE_GATES = frozenset({"", "agent", "local", "ask"})
"""Gates whose answers are free."""

_OPEN = -1
_DAY_S = 86_400.0
_MIN_SCORE = 1e-30


@dataclass(slots=True)
class LoggedMessage:
    """One message of the log, however often it was sent."""

    hash: str  # sha256 of the whole message
    text: str  # its first 500 characters
    direction: Direction
    at: str = ""  # when it was last sent
    times: int = 0  # how often it was sent
    decisions: dict[str, Decision] = field(default_factory=dict)
    """The logged decisions by topic, of several the one with the strongest label, or the last."""
    hits: dict[str, tuple[TriggerHit, ...]] = field(default_factory=dict)
    """The hits that count, by topic."""


def messages_in(decisions: Iterable[Decision], topics: Mapping[str, Topic]) -> list[LoggedMessage]:
    """The latest messages of the log, in the order in which they were last sent."""
    found: dict[tuple[str, str], LoggedMessage] = {}
    for decision in decisions:
        key = decision.direction, decision.message_hash
        message = found.get(key)
        if message is None:
            direction: Direction = "output" if decision.direction == "output" else "input"
            message = found[key] = LoggedMessage(decision.message_hash, decision.message, direction)
        if decision.at != message.at:
            found[key] = found.pop(key)
            message.at, message.times = decision.at, message.times + 1
        topic = decision.topic
        before = message.decisions.get(topic)
        if before is None or LABELLER_RANK[decision.label[1]] >= LABELLER_RANK[before.label[1]]:
            message.decisions[topic] = decision
        if topic in topics:
            message.hits[topic] = _hits(decision, topics[topic])
    latest = list(found.values())[-MESSAGES_LIMIT:]
    for message in latest:
        message.hits = {topic: hits for topic, hits in message.hits.items() if hits}
    return latest


class MessageTable:
    """Logged messages with the score of every topic.

    Args:
        decisions: The whole log, oldest first.
        scores: The scores of ``topics`` for ``messages``.
        held_out: Whether the scores of labelled messages are from fits without them.
        provider: The setting ``gate.provider``.

    Attributes:
        topics: The topics by name, sorted.
        columns: The column of each topic in the arrays.
        days: Days from the first decision to the last one, at least 1.
        offers: Whether a topic that may apply is offered to the agent, and not asked about.
        cost_per_call: Mean cost of the answers of the gate asked last, US dollars.
        scores: Float32 ``[messages, topics]``, 0 to 1, as are the columns of the others.
        hit: Whether a trigger fired.
        labels: 1 useful, 0 noise, -1 not labelled.
        labellers: Who labelled it, as an index into ``LABELLERS``.
    """

    def __init__(
        self,
        decisions: Sequence[Decision],
        messages: Sequence[LoggedMessage],
        topics: Sequence[Topic],
        settings: WatcherSettings,
        provider: str,
        scores: Floats,
        *,
        held_out: bool = True,
    ) -> None:
        self._settings = settings
        self.topics = {topic.name: topic for topic in sorted(topics, key=lambda topic: topic.name)}
        self.columns = {name: column for column, name in enumerate(self.topics)}
        self.messages = messages
        self.held_out = held_out
        self.scores = scores
        self.size = len(messages)
        self.days = _days_of(decisions)
        self.offers = provider == OFFERING
        self._limited = provider not in ("", "local")
        self.cost_per_call = 0.0 if self.offers else _cost_per_call(decisions)
        self.times: Rows = np.array([message.times for message in messages], dtype=np.intp)
        shape = self.size, len(self.topics)
        self.hit: Truths = np.zeros(shape, dtype=bool)
        self.labels: Marks = np.full(shape, -1, dtype=np.int8)
        self.labellers: Marks = np.zeros(shape, dtype=np.int8)
        # What becomes of a topic whatever the thresholds; _OPEN where they decide.
        self._settled: Marks = np.full(shape, _OPEN, dtype=np.int8)
        for row, message in enumerate(messages):
            nominates = message.direction == "input" and settings.nominate == "either"
            self._settled[row] = _OPEN if nominates else QUIET
            for name, decision in message.decisions.items():
                column = self.columns.get(name)
                if column is None:
                    continue
                hits, (useful, by) = message.hits.get(name, ()), decision.label
                self.hit[row, column] = bool(hits)
                if decision.rule == NEGATED:
                    self._settled[row, column] = QUIET
                elif hits:
                    is_event = any(hit.type in policy.EVENT_TYPES for hit in hits)
                    is_certain = is_event or self.topics[name].activation == "auto"
                    self._settled[row, column] = ACTIVE if is_certain else _OPEN
                if useful is not None:
                    self.labels[row, column] = useful
                    self.labellers[row, column] = LABELLERS.index(by)
        for topic in topics:
            if topic.forced is not None or topic.activation == "manual":
                self._settled[:, self.columns[topic.name]] = ACTIVE if topic.forced else QUIET

    def today(self, topic: str) -> Thresholds:
        """The effective thresholds of a topic without a match (``own.today``).

        Raises:
            KeyError: There is no such topic.
        """
        return today(self.topics[topic], self._settings)

    def fixed(self, topic: str) -> Truths:
        """Whether thresholds have no effect on a message, for each."""
        column, matched = self.columns[topic], self._settings.row(self.topics[topic].priority).matched
        found: Truths = self._settled[:, column] != _OPEN
        if matched is not None:
            found |= self.hit[:, column] & (self.scores[:, column] >= matched)
        return found

    def can_activate(self, topic: str) -> Truths:
        """Whether the upper threshold has an effect on a message, for each."""
        is_similarity = self._settings.preset == "spec"
        found: Truths = ~self.fixed(topic) & (self.hit[:, self.columns[topic]] | (not is_similarity))
        return found

    def outcomes(self, topic: str, thresholds: Thresholds | None = None) -> Marks:
        """What the policy makes of a topic for each message, by default with today's thresholds."""
        found = self._by_policy(topic, thresholds)
        if not self._limited:
            return found
        column, best = self.columns[topic], self._best_offers
        # Only the likeliest are offered or asked about, so a topic competes with the others of a message.
        own = np.where(self._by_policy(topic, None) == UNSURE, self.scores[:, column], -1.0)
        rival = np.where(own >= best[:, -LIKELIEST], best[:, 0], best[:, -LIKELIEST])
        lost = (found == UNSURE) & (self.scores[:, column] < rival)
        return np.where(lost, QUIET, found).astype(np.int8)

    def _limits(self, known: Topic, *, matched: bool) -> tuple[float, float]:
        """The scores from which the policy asks about and activates a topic; ∞ is never."""
        found = policy.thresholds_of(known, self._settings, matched=matched)
        activate = math.inf if found.activate is None else found.activate
        gate = math.inf if found.gate is None else found.gate
        if self._settings.preset == "spec":
            # A score of 0 is no similarity at all, whatever the threshold.
            gate = gate if matched else max(gate, _MIN_SCORE)
        elif self.offers and not matched:
            chance = min(LIKELY, ABOVE_CHANCE / (len(self.topics) + 1))
            gate, activate = max(gate, chance), max(activate, chance) if activate else activate
        return min(gate, activate), activate

    def _by_policy(self, topic: str, thresholds: Thresholds | None) -> Marks:
        known, column = self.topics[topic], self.columns[topic]
        settled, scores, hit = self._settled[:, column], self.scores[:, column], self.hit[:, column]
        if thresholds is not None:
            known = own_thresholds(known, self._settings, thresholds).on(known)
        by_score = []
        for matched in (True, False):
            asked, active = self._limits(known, matched=matched)
            by_score.append((scores >= asked).astype(np.int8) + (scores >= active))
        return np.where(settled == _OPEN, np.where(hit, *by_score), settled)

    @cached_property
    def _best_offers(self) -> Floats:
        """The highest scores of uncertain topics for each message, one more than are offered, ascending."""
        unsure = np.zeros((self.size, len(self.topics) + LIKELIEST + 1), dtype=np.float32)
        for name, column in self.columns.items():
            unsure[:, column] = np.where(self._by_policy(name, None) == UNSURE, self.scores[:, column], 0)
        best = np.partition(unsure, -LIKELIEST - 1, axis=1)[:, -LIKELIEST - 1 :]
        return np.sort(best, axis=1)


def _hits(decision: Decision, topic: Topic) -> tuple[TriggerHit, ...]:
    """The hits of triggers that the topic still has. The log can be edited by hand."""
    found = []
    for hit in decision.hits:
        match tuple(hit):
            case (int(trigger), str(kind), str(matched), *_) if 0 <= trigger < len(topic.triggers):
                if topic.triggers[trigger].type == kind:
                    found.append(TriggerHit(trigger, kind, matched))
    return tuple(found)


def _days_of(decisions: Sequence[Decision]) -> float:
    if not decisions:
        return 1.0
    first, last = (choose(decisions, key=lambda d: d.at).time for choose in (min, max))
    return max(1.0, (last - first).total_seconds() / _DAY_S)


def _cost_per_call(decisions: Sequence[Decision]) -> float:
    """The mean cost of the answers of the gate that was asked last."""
    name = next((d.gate_provider for d in reversed(decisions) if d.asked), "")
    if name in FREE_GATES:
        return 0.0
    costs = [d.cost_usd for d in decisions if d.asked and d.gate_provider == name]
    return sum(costs) / len(costs)
