"""One sentence on why a topic is active or not, with the exact numbers, and one on what would change it.

What would change it is computed by applying the policy again; what cannot be known is left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.activation.numbers import format_score, format_threshold, format_weight
from engine.activation.policy import (
    NEAR_CHANCE,
    NEGATED,
    NOT_ASKED,
    NOT_OFFERED,
    Step,
    decide,
    thresholds_of,
)
from engine.activation.signals import TRIGGER_SIGNAL, probability_of
from engine.activation.trace import (
    Contribution,
    Direction,
    Funnel,
    GateOutcome,
    TopicTrace,
    TriggerHit,
    Verdict,
)
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from engine.settings.model import WatcherSettings
    from engine.topics.model import Topic

_SHOWN_MATCHES = 3
_MATCH_LENGTH = 40
_SHOWN_SIGNALS = 2
_TELLING = 0.05
_BARE_TYPES = frozenset({"pattern", "keywords", "mention", "url"})
_VERDICTS: dict[str, Verdict] = {"activate": "active", "manual": "manual", "off": "off"}
_ANSWERED: dict[str, Verdict] = {"yes": "active", "no": "rejected", "offered": "offered"}


@dataclass(frozen=True, slots=True)
class PolicyContext:
    """What decides on the topics of a message besides their matches and scores."""

    direction: Direction
    watchers: WatcherSettings
    on_failure: str = "skip"  # the setting ``gate.on_failure``
    offers: bool = False  # whether the gate is the agent, which is told of what may apply

    @property
    def similarity_nominates(self) -> bool:
        """Whether a score without a match has any effect."""
        return self.direction == "input" and self.watchers.nominate == "either"

    @property
    def calibrated(self) -> bool:
        """Whether the score is the probability that the topic applies, hits included."""
        return self.watchers.preset == "calibrated"

    @property
    def uncertain(self) -> str:
        """What would happen to a topic between its thresholds."""
        return "it might be offered to the agent" if self.offers else "the gate would be asked"

    def decide(self, topic: Topic, hits: Sequence[TriggerHit], score: float) -> Step:
        """What the policy says."""
        return decide(topic, hits, score, self.watchers, is_input=self.direction == "input")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A topic and what the tiers found for a message; attributes are as in ``TopicTrace``."""

    topic: Topic
    hits: tuple[TriggerHit, ...]
    score: float
    step: Step
    context: PolicyContext
    ignored: tuple[TriggerHit, ...] = ()
    gate: GateOutcome | None = None
    contributions: tuple[Contribution, ...] = ()

    @property
    def verdict(self) -> Verdict:
        if self.gate is None:
            return _VERDICTS.get(self.step.kind, "dropped")
        if self.gate.answer == "failed":
            return "active" if self.context.on_failure == "activate" else "failed"
        return _ANSWERED[self.gate.answer]

    @property
    def is_similar(self) -> bool:
        """Whether tier 2 alone would make it a candidate."""
        return self.score > 0 and self.score >= self.step.threshold

    @property
    def matched(self) -> str:
        """``matched “review”, “PR”``; empty without a hit."""
        return f"matched {matches(self.hits)}" if self.hits else ""

    @property
    def from_signals(self) -> str:
        """The strongest signals, of an active topic those in favour: ``, from vectors +1.9, words +1.2``."""
        telling = [
            f"{each.signal} {format_weight(each.weight)}"
            for each in self.contributions
            if abs(each.weight) >= _TELLING and (each.weight > 0 or self.verdict != "active")
        ]
        return f", from {', '.join(telling[:_SHOWN_SIGNALS])}" if telling else ""


def explained(case: Candidate) -> tuple[str, str]:
    """Why the verdict is what it is, and what would have changed it: empty if only another message would."""
    topic, context = case.topic, case.context
    if topic.forced is not None:
        step = context.decide(replace(topic, forced=None), case.hits, case.score)
        switched = "on" if topic.forced else "off"
        return f"switched {switched} by hand", f"without the switch {_outcome(case, step, case.score)}"
    if case.gate is not None:
        return _asked(case, case.gate)
    if case.verdict == "manual":
        return f"only by hand: {_evidence(case)}", "switch it on by hand, or set activation: gated"
    return _active(case) if case.verdict == "active" else _dropped(case)


def _asked(case: Candidate, gate: GateOutcome) -> tuple[str, str]:
    evidence = _evidence(case)
    if gate.answer == "offered":
        return (
            f"offered to the agent, which opens it if it applies: {evidence}",
            _upper(case) or "only a yes from a gate that answers would activate it",
        )
    if gate.answer == "failed":
        if gate.reason.startswith(NOT_ASKED):
            reason = gate.reason[len(NOT_ASKED) :].lstrip(": ")
            outcome = "the gate was not asked" + (f" ({reason})" if reason else "")
        else:
            outcome = f"the gate failed ({gate.reason or 'no answer'})"
        if case.verdict == "active":
            start, other, then = f"active, although {outcome}, because", "skip", "dropped"
        else:
            start, other, then = f"{outcome}, and", "activate", "active"
        return (
            f"{start} gate.on_failure is {case.context.on_failure}: {evidence}",
            f"an answer would decide; with gate.on_failure: {other} it would be {then}",
        )
    sure = "" if gate.probability is None else f", {format_score(gate.probability, 0.5)}"
    cached = ", cached" if gate.cached else ""
    said = f"the gate ({gate.provider}{sure}{cached}) said {gate.answer}: {evidence}"
    if gate.answer == "no":
        return said, _upper(case, " without the gate") or "a yes from the gate would have activated it"
    without = _without_match(case) if case.context.calibrated else ""
    return said, _joined("a no from the gate would have kept it out", without)


def _active(case: Candidate) -> tuple[str, str]:
    step, context, priority = case.step, case.context, case.topic.priority
    start, without = "active without the gate: ", _without_match(case)
    if step.rule == "event":
        return f"{start}triggered by {matches(case.hits)}", without
    start += f"{case.matched}; " if case.hits else ""
    if step.rule == "auto":
        return f"{start}the topic is auto", without
    if not step.activate_at:
        if case.hits and context.watchers.row(priority).matched == 0:
            return f"{start}a match is enough at {priority} priority", without
        owner = "the topic" if step.rule == "own" else f"{priority} priority"
        return f"{start}{owner} needs no score", without
    asked = step.gate_at is not None and step.gate_at < step.activate_at
    result = context.uncertain if asked else "it would be dropped"
    threshold = f"below {format_threshold(step.activate_at)} {result}"
    return (
        f"{start}{reaches(case.score, step.activate_at)}{case.from_signals}",
        _joined(threshold, without if context.calibrated else ""),
    )


def _dropped(case: Candidate) -> tuple[str, str]:
    step, score, context = case.step, case.score, case.context
    if step.rule == NEGATED:
        negator = case.ignored[0].negated
        return f"{negations(case.ignored)}, so it does not count", f"without “{negator}” it would match"
    if not case.hits and context.direction == "output":
        change = "a trigger with scope output or both would have to match"
        return "no trigger for the agent's output matched", change
    if not case.hits and not context.similarity_nominates:
        why = "no trigger matched, and only a match nominates (watchers.nominate: pattern)"
        return why, "a trigger would have to match"
    if step.rule in (NOT_OFFERED, NOT_ASKED):
        start = "not offered to the agent" if context.offers else "the gate was not asked"
        change = _upper(case) or "a yes from a gate that answers would activate it"
        return f"{start}, as others are likelier: {_evidence(case)}", change
    if step.rule == NEAR_CHANCE:
        near = f"score {format_score(score)} is near chance among so few topics{case.from_signals}"
        return f"no trigger matched, and {near}", _with_match(case) or "a higher score would count"
    start = f"dropped: {case.matched}, but" if case.hits else "no trigger matched, and"
    priority = case.topic.priority
    if not step.marks:
        return f"{start} watchers.policy.{priority} sets no threshold", _with_match(case)
    topic, general = case.topic, context.watchers.similarity_threshold
    is_of_row = topic.similarity_threshold is topic.activation_threshold is general is None
    source = f" for {priority} priority" if (case.hits or context.calibrated) and is_of_row else ""
    return f"{start} {below(score, min(step.marks))}{source}{case.from_signals}", _higher(case)


def _higher(case: Candidate) -> str:
    """The scores from which more would have become of a dropped topic."""
    step, score = case.step, case.score
    gate_at, activate_at = step.gate_at, step.activate_at
    asks = gate_at is not None and (activate_at is None or gate_at < activate_at)
    reach = "be uncertain" if case.context.offers else "reach the gate"
    marks = ([(reach, gate_at)] if asks else []) + [("activate", activate_at)]
    missed = [(effect, mark) for effect, mark in marks if mark is not None and mark > score]
    if case.topic.activation == "manual":
        missed = [("wait for a person", mark) for _effect, mark in missed[:1]]
    if not missed:
        return _with_match(case)
    would = " and ".join([f"{effect} at ≥ {format_threshold(mark)}" for effect, mark in missed])
    now = format_score(score, *[mark for _effect, mark in missed])
    return _joined(f"would {would}; now {now}", _with_match(case))


def _evidence(case: Candidate) -> str:
    """The match and the score of a candidate, compared with its thresholds."""
    score, marks = case.score, case.step.marks
    if case.verdict == "manual":
        own = thresholds_of(case.topic, case.context.watchers, matched=bool(case.hits))
        marks = own.gate or 0.0, own.activate or 0.0
    marks = tuple(filter(None, marks))
    reached = max((mark for mark in marks if mark <= score), default=None)
    missed = min((mark for mark in marks if mark > score), default=None)
    if reached is not None and missed is not None:
        between = f"between {format_threshold(reached)} and {format_threshold(missed)}"
        place = f"score {format_score(score, *marks)} is {between}"
    elif reached is not None:
        place = reaches(score, reached)
    elif missed is not None:
        place = below(score, missed)
    else:
        place = f"score {format_score(score)}"
    start = f"{case.matched}; " if case.hits else "no trigger matched, but "
    return f"{start}{place}{case.from_signals}"


def _upper(case: Candidate, how: str = "") -> str:
    """The score from which it would be active; empty if there is none above its own."""
    mark, score = case.step.activate_at, case.score
    if mark is None or score >= mark:
        return ""
    return f"would activate{how} at ≥ {format_threshold(mark)}; now {format_score(score, mark)}"


def _without_match(case: Candidate) -> str:
    """What would have happened if no trigger had fired; empty if none did, or if it is unknown."""
    context, score = case.context, case.score
    if not case.hits:
        return ""
    start = f"without the {'event' if case.step.rule == 'event' else 'match'} "
    if not context.similarity_nominates:
        return f"{start}it would be dropped"
    if not case.context.calibrated:
        return start + _outcome(case, context.decide(case.topic, (), score), score)
    weights = [each.weight for each in case.contributions if each.signal == TRIGGER_SIGNAL]
    if not weights or not 0 < score < 1:
        return ""
    left = probability_of(math.log(score / (1 - score)) - sum(weights))
    step = context.decide(case.topic, (), left)
    active = "still active" if case.gate is None else "active without the gate"
    outcome = {"activate": active, "ask": context.uncertain}.get(step.kind, "dropped")
    return f"{start}it would score about {format_score(left, *step.marks)}: {outcome}"


def _outcome(case: Candidate, step: Step, score: float) -> str:
    if step.kind == "activate":
        return "it would be active" + (f": {reaches(score, step.activate_at)}" if step.activate_at else "")
    if step.kind == "ask":
        return case.context.uncertain + (f": {reaches(score, step.gate_at)}" if step.gate_at else "")
    return "it would wait for a person" if step.kind == "manual" else "it would be dropped"


def _with_match(case: Candidate) -> str:
    """``a match would activate it`` if that is possible and true; else empty."""
    topic, context = case.topic, case.context
    if case.hits or topic.activation == "manual":
        return ""
    mark = thresholds_of(topic, context.watchers, matched=True).activate
    if topic.activation != "auto" and (mark is None or mark > 0):
        return ""
    possible = any(trigger.scope in (context.direction, "both") for trigger in topic.triggers)
    return "a match would activate it" if possible else ""


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))


def summary(rows: Sequence[TopicTrace], funnel: Funnel, *, empty: bool) -> str:
    """One sentence about the whole trace."""
    names = [row.topic for row in rows if row.active]
    if names:
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        return f"{len(names)} of {_topics(funnel.topics)} active: {shown}"
    if empty:
        return "nothing active: the message is empty"
    if not funnel.topics:
        return "nothing active: there are no topics"
    return f"nothing active: {_nothing(rows, funnel)}"


def _nothing(rows: Sequence[TopicTrace], funnel: Funnel) -> str:
    if failed := [row for row in rows if row.verdict == "failed"]:
        reason = (failed[0].gate.reason if failed[0].gate else "") or "no answer"
        topics = _topics(len(failed))
        if reason.startswith(NOT_ASKED):
            return f"the gate was not asked about {topics}"
        return f"the gate failed for {topics} ({reason})"
    if offered := [row.topic for row in rows if row.offered]:
        return f"offered to the agent: {', '.join(offered)}"
    if rejected := sum(row.verdict == "rejected" for row in rows):
        return f"the gate said no to {_topics(rejected)}"
    if funnel.tier1:
        return f"{_topics(funnel.tier1)} matched, but none was activated"
    if negated := [hit for row in rows for hit in row.ignored]:
        return negations(negated)
    return "no trigger matched"


def matches(hits: Sequence[TriggerHit]) -> str:
    """The first three distinct matches and the number of others: ``“review”, “PR”, “fix” and 2 more``."""
    texts: dict[str, str] = {}
    for hit in hits:
        text = " ".join(hit.matched.split())
        text = text if len(text) <= _MATCH_LENGTH else f"{text[: _MATCH_LENGTH - 1]}…"
        shown = f"“{text}”" if hit.type in _BARE_TYPES else f"{hit.type} “{text}”" if text else hit.type
        texts.setdefault(shown.lower(), shown)
    shown_texts = list(texts.values())
    more = len(shown_texts) - _SHOWN_MATCHES
    return ", ".join(shown_texts[:_SHOWN_MATCHES]) + (f" and {more} more" if more > 0 else "")


def negations(ignored: Sequence[TriggerHit]) -> str:
    """``“deploy” is negated (“don't”)``, of the first hit."""
    return f"{matches(ignored[:1])} is negated (“{ignored[0].negated}”)"


def reaches(score: float, mark: float) -> str:
    """``score .31 ≥ .30``."""
    return f"score {format_score(score, mark)} ≥ {format_threshold(mark)}"


def below(score: float, mark: float) -> str:
    """``score .29 < .30``."""
    return f"score {format_score(score, mark)} < {format_threshold(mark)}"


def _topics(count: int) -> str:
    return "1 topic" if count == 1 else f"{count} topics"
