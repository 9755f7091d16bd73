"""Why a topic is active or not, and what would have changed it: one sentence each, with the exact numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.activation.numbers import limit, written
from engine.activation.policy import Step
from engine.activation.trace import Direction, Funnel, GateOutcome, TopicTrace, TriggerHit, Verdict

if TYPE_CHECKING:
    from engine.topics.model import Topic

_SHOWN_MATCHES = 3
_MATCH_LENGTH = 40
_BARE_TYPES = frozenset({"pattern", "keywords", "mention", "url"})


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What besides the numbers decides how a row is explained.

    Attributes:
        direction: Where the message goes.
        similarity_nominates: Whether similarity alone could make a candidate.
        on_failure: The setting ``gate.on_failure``.
    """

    direction: Direction
    similarity_nominates: bool
    on_failure: str


def why(
    topic: Topic,
    hits: Sequence[TriggerHit],
    score: float,
    step: Step,
    gate: GateOutcome | None,
    verdict: Verdict,
    around: Circumstances,
) -> str:
    """Why the verdict is what it is."""
    matched = matches(hits)
    if topic.forced is not None:
        return "switched on by hand" if topic.forced else "switched off by hand"
    if gate is not None:
        found = f"matched {matched}; score {written(score)}" if hits else _similar(score, step)
        if gate.answer == "failed":
            outcome = (
                f"the gate failed ({gate.reason or 'no answer'}) and gate.on_failure is {around.on_failure}"
            )
            return f"{'active, though ' if verdict == 'active' else ''}{outcome}: {found}"
        return f"the gate ({_gate_name(gate)}) said {gate.answer}: {found}"
    if verdict == "manual":
        return f"only a person activates it; {f'matched {matched}' if hits else _similar(score, step)}"
    if verdict == "active":
        return _why_active(topic, matched, score, step)
    return _why_dropped(topic, matched if hits else "", score, step, around)


def flip(
    topic: Topic,
    hits: Sequence[TriggerHit],
    score: float,
    step: Step,
    gate: GateOutcome | None,
    verdict: Verdict,
    around: Circumstances,
) -> str:
    """What would have changed the verdict; empty where nothing short of another message would."""
    if topic.forced is not None:
        return "taking the switch back lets its triggers decide again"
    if gate is not None:
        return _flip_asked(score, step, gate, verdict)
    if verdict == "manual":
        return "switch it on by hand, or set activation: gated"
    if verdict == "active":
        if step.rule not in ("event", "auto") and step.activate_at:
            asked = step.gate_at is not None and step.gate_at < step.activate_at
            result = "the gate would be asked" if asked else "it would be dropped"
            return f"below {limit(step.activate_at)} {result}"
        return "without the match " + _unmatched(score, step, around)
    if not hits:
        return _flip_unmatched(score, step, around)
    marks = [
        (mark, outcome)
        for mark, outcome in ((step.gate_at, "would reach the gate"), (step.activate_at, "would be active"))
        if mark is not None and mark > score
    ]
    if not marks:
        return f"a score to activate or to ask in watchers.policy.{topic.priority} would let it through"
    mark, outcome = min(marks, key=lambda pair: pair[0])
    return f"{outcome} at ≥ {limit(mark)}; now {written(score, mark)}"


def summary(rows: Sequence[TopicTrace], funnel: Funnel, direction: Direction, *, empty: bool) -> str:
    """One sentence about the whole trace."""
    names = [row.topic for row in rows if row.active]
    if names:
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        return f"{len(names)} of {funnel.topics} topics active: {shown}"
    if empty:
        return "nothing active: the message is empty"
    if not funnel.topics:
        return "nothing active: there are no topics"
    failed = [row for row in rows if row.verdict == "failed"]
    if failed:
        reason = failed[0].gate.reason if failed[0].gate else ""
        return (
            f"nothing active: the gate failed for {_counted(len(failed), 'topic')} ({reason or 'no answer'})"
        )
    rejected = [row for row in rows if row.verdict == "rejected"]
    if rejected:
        return f"nothing active: the gate said no to {_counted(len(rejected), 'topic')}"
    if funnel.tier1:
        return f"nothing active: {_counted(funnel.tier1, 'topic')} matched, none passed its policy row"
    nearest = max(rows, key=lambda row: row.score, default=None)
    if direction == "output" or nearest is None or nearest.score <= 0 or nearest.score >= nearest.threshold:
        return "nothing active: no trigger matched"
    number = written(nearest.score, nearest.threshold)
    return (
        f"nothing active: no trigger matched, and the nearest topic, {nearest.topic}, scored "
        f"{number} < {limit(nearest.threshold)}"
    )


def matches(hits: Sequence[TriggerHit]) -> str:
    """The matched texts, each once, the first three in full: ``“review”, “PR” and 2 more``."""
    texts: dict[str, str] = {}
    for hit in hits:
        text = " ".join(hit.matched.split())
        text = text if len(text) <= _MATCH_LENGTH else f"{text[: _MATCH_LENGTH - 1]}…"
        shown = f"“{text}”" if hit.type in _BARE_TYPES else f"{hit.type} “{text}”" if text else hit.type
        texts.setdefault(shown.lower(), shown)
    shown_texts = list(texts.values())
    more = len(shown_texts) - _SHOWN_MATCHES
    return ", ".join(shown_texts[:_SHOWN_MATCHES]) + (f" and {more} more" if more > 0 else "")


def _why_active(topic: Topic, matched: str, score: float, step: Step) -> str:
    start = f"active without the gate: matched {matched}"
    if step.rule == "event":
        return f"active without the gate: it waits for {matched}"
    if step.rule == "auto":
        return f"{start}; the topic is auto"
    if not step.activate_at:
        return f"{start}; {topic.priority} priority needs no score"
    return f"{start}; score {written(score, step.activate_at)} ≥ {limit(step.activate_at)}"


def _why_dropped(topic: Topic, matched: str, score: float, step: Step, around: Circumstances) -> str:
    if not matched:
        if around.direction == "output":
            return "no trigger for the agent's output matched"
        if not around.similarity_nominates:
            return "no trigger matched, and only a match nominates"
        return f"no trigger matched and {written(score, step.threshold)} < {limit(step.threshold)}"
    if step.rule.startswith("own") and step.gate_at is not None:
        bound = f"{written(score, step.gate_at)} < {limit(step.gate_at)}, the topic's own threshold"
        return f"dropped: matched {matched}, but {bound}"
    lowest = min((mark for mark in (step.gate_at, step.activate_at) if mark is not None), default=None)
    if lowest is None:
        return f"dropped: matched {matched}, but the policy row {topic.priority} lets nothing through"
    bound = f"{written(score, lowest)} < {limit(lowest)} for {topic.priority} priority"
    return f"dropped: matched {matched}, but {bound}"


def _flip_asked(score: float, step: Step, gate: GateOutcome, verdict: Verdict) -> str:
    if step.activate_at is not None and score < step.activate_at:
        past = f"at ≥ {limit(step.activate_at)} it would be active without the gate; now " + written(
            score, step.activate_at
        )
    else:
        past = ""
    if gate.answer == "failed":
        other = "skip" if verdict == "active" else "activate"
        result = "leave it out" if verdict == "active" else "let it in"
        return f"an answer would decide; gate.on_failure: {other} would {result}"
    if gate.answer == "yes":
        return "a no from the gate would have kept it out"
    return past or "a yes from the gate would have activated it"


def _unmatched(score: float, step: Step, around: Circumstances) -> str:
    if around.similarity_nominates and score >= step.threshold:
        return f"the gate would be asked: {written(score, step.threshold)} ≥ {limit(step.threshold)}"
    return "it would be dropped"


def _flip_unmatched(score: float, step: Step, around: Circumstances) -> str:
    if around.direction == "output":
        return "a trigger with scope output or both would have to match"
    if around.similarity_nominates:
        return f"would reach the gate at ≥ {limit(step.threshold)}; now {written(score, step.threshold)}"
    if score >= step.threshold:
        number = f"{written(score, step.threshold)} ≥ {limit(step.threshold)}"
        return f"watchers.nominate: either would ask the gate, as {number}"
    return "a trigger would have to match"


def _similar(score: float, step: Step) -> str:
    return f"no trigger matched, but {written(score, step.threshold)} ≥ {limit(step.threshold)}"


def _gate_name(gate: GateOutcome) -> str:
    parts = [gate.provider]
    if gate.probability is not None:
        parts.append(written(gate.probability, 0.5))
    if gate.cached:
        parts.append("remembered")
    return ", ".join(parts)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
