"""A message goes in, a trace comes out: the three tiers in order (spec 4, 5 and 10.2, design 4).

The output of the agent is watched like its input, with two differences. Only triggers whose scope is
``output`` or ``both`` count, and similarity nominates nothing: an agent's long answer is similar to whatever
it was about, which says nothing about what it should read next. What its watchers hint at stands in
``Trace.corrections``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from engine.activation import explain, gate_limit
from engine.activation.case import Case
from engine.activation.decision import worth_logging
from engine.activation.gate import Gate, GateQuestion, profile_of
from engine.activation.policy import Step, decide, far_step
from engine.activation.signals import CALIBRATED, Signals, content_words, measure
from engine.activation.similarity import Explanation, Scorer, deciding_value
from engine.activation.trace import (
    Correction,
    Direction,
    Funnel,
    GateOutcome,
    Message,
    Score,
    TopicTrace,
    Trace,
    TriggerHit,
    Verdict,
)

if TYPE_CHECKING:
    from engine.activation.decisions import DecisionLog
    from engine.config import GateSettings, WatcherSettings
    from engine.errors import Problem
    from engine.topics.model import Topic

ROWS_LIMIT = 500
"""Topics up to which every one has a row."""
NEAREST_ROWS = 50
"""Rows kept beyond that for their score alone."""
EXPLAINED_ROWS = 20
"""Topics nearest to a message whose scores are explained, beside those that it reached."""
SCORED_CHARS = 200_000
"""Characters of a message that tier 2 reads; of a longer one the first and the last half of that."""

_UNEXPLAINED = Explanation()


class TopicSource(Protocol):
    """Where the topics come from; a ``TopicLibrary`` is one."""

    @property
    def topics(self) -> Sequence[Topic]: ...


class Matcher(Protocol):
    """Tier 1; ``PatternMatcher`` is it."""

    @property
    def problems(self) -> Sequence[Problem]: ...

    def update(self, changed: Iterable[Topic], removed: Iterable[str] = ()) -> None: ...

    def match(self, message: Message) -> Mapping[str, tuple[TriggerHit, ...]]: ...

    def corrections(
        self, message: Message, hits: Mapping[str, Sequence[TriggerHit]] | None = None
    ) -> Sequence[Correction]: ...


@dataclass(frozen=True, slots=True)
class _Candidate:
    """One topic on its way through the tiers."""

    topic: Topic
    hits: tuple[TriggerHit, ...]
    scores: tuple[Score, ...]
    score: float
    step: Step


@dataclass(frozen=True, slots=True)
class _Nominated:
    """What tiers 1 and 2 left of a message."""

    message: Message
    candidates: tuple[_Candidate, ...]
    asked: tuple[_Candidate, ...]
    questions: tuple[GateQuestion, ...]
    corrections: tuple[Correction, ...]
    similarity_nominates: bool
    tier1_ms: float
    tier2_ms: float
    deciding: str
    explained: Mapping[str, Explanation]


class WatcherPipeline:
    """Decides which topics apply to a message.

    The topics are looked at anew for every message; matcher and scorer are brought up to date when they have
    changed, so both may be constructed without topics. Safe to use from several threads.

    Args:
        source: Where the topics come from.
        matcher: Tier 1.
        scorer: Tier 2.
        gate: Tier 3.
        watchers: The policy table and thresholds.
        gate_settings: What happens when the gate fails.
        decisions: Where decisions are logged; ``None`` logs nothing.
    """

    def __init__(
        self,
        source: TopicSource,
        matcher: Matcher,
        scorer: Scorer,
        gate: Gate,
        watchers: WatcherSettings,
        gate_settings: GateSettings,
        decisions: DecisionLog | None = None,
    ) -> None:
        self.gate = gate
        self._source = source
        self._matcher = matcher
        self._scorer = scorer
        self._watchers = watchers
        self._gate_settings = gate_settings
        self._decisions = decisions
        self._topics: tuple[Topic, ...] | None = None
        self._profiles: dict[str, tuple[Topic, str, frozenset[str]]] = {}
        self._far: dict[bool, dict[str, tuple[float, Step]]] = {}
        self._guard = threading.Lock()

    def process(
        self, message: Message | str, direction: Direction = "input", *, record: bool = True, ask: bool = True
    ) -> Trace:
        """The trace of a message. Waits for the gate; may be called from any thread.

        Args:
            message: The message, or its text.
            direction: For a text: where it goes. A ``Message`` knows that itself.
            record: Whether the decisions are logged.
            ask: Whether anybody may be asked. Without, what a provider calculates and what is remembered
                counts, and every other question fails as not asked.

        Returns:
            The trace. The same message and the same state give the same trace, times apart.
        """
        nominated = self._nominate(_message(message, direction))
        started = time.perf_counter()
        outcomes: Sequence[GateOutcome | None] = ()
        if nominated.questions:
            wait = self.gate.ask_and_wait if ask else self.gate.known
            outcomes = wait(nominated.questions)
        return self._finish(nominated, outcomes, _ms_since(started), record)

    async def aprocess(
        self, message: Message | str, direction: Direction = "input", *, record: bool = True, ask: bool = True
    ) -> Trace:
        """As ``process``; the gate is asked on the running event loop, and cancelling gives up at once."""
        nominated = self._nominate(_message(message, direction))
        started = time.perf_counter()
        outcomes: Sequence[GateOutcome | None] = ()
        if nominated.questions:
            questions = nominated.questions
            outcomes = await self.gate.ask(questions) if ask else self.gate.known(questions)
        gate_ms = _ms_since(started)
        if not record or self._decisions is None:
            return self._finish(nominated, outcomes, gate_ms, record)
        from asyncio import to_thread  # noqa: PLC0415 — 25 ms that the hook path, which is not async, never pays

        return await to_thread(self._finish, nominated, outcomes, gate_ms, record)

    def relearn(self) -> bool:
        """Lets tier 2 take over labels given since; whether it scores differently from now on."""
        with self._guard:
            return self._scorer.relearn()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Patterns that turned out to be unusable while messages were matched."""
        return tuple(self._matcher.problems)

    def close(self) -> None:
        """Lets the gate's thread go and writes decisions that are still waiting."""
        self.gate.close()
        if self._decisions is not None:
            self._decisions.flush()

    def _nominate(self, message: Message) -> _Nominated:
        is_input = message.direction == "input"
        with self._guard:
            topics = self._refresh()
            started = time.perf_counter()
            empty = _is_empty(message)
            hits_of = {} if empty else self._matcher.match(message)
            corrections = () if is_input else tuple(self._matcher.corrections(message, hits_of))
            tier1_ms = _ms_since(started)
            started = time.perf_counter()
            scored = "" if empty else _scored_part(message.text)
            counted = _counted_hits(topics, hits_of, message.direction)
            scores_of = self._scorer.score(scored, counted)
            deciding = self._scorer.deciding
            unmatched = self._unmatched(topics, is_input)
            candidates = []
            for topic in topics:
                hits = counted.get(topic.name, ())
                scores = scores_of.get(topic.name, ())
                score = deciding_value(scores, deciding)
                mark, step = unmatched[topic.name]
                if hits or score >= mark:
                    step = decide(topic, hits, score, self._watchers, similarity_nominates=is_input)
                candidates.append(_Candidate(topic, hits, scores, score, step))
            asked = tuple(candidate for candidate in candidates if candidate.step.kind == "ask")
            near = sorted((c for c in candidates if c.score > 0), key=lambda c: (-c.score, c.topic.name))
            telling = [c.topic.name for c in candidates if c.hits or c.step.kind != "drop"]
            telling += [c.topic.name for c in near[:EXPLAINED_ROWS]]
            explained = self._scorer.explain(scored, counted, telling)
            tier2_ms = _ms_since(started)
            signals = self._signals(message, asked, deciding)
            questions = tuple(
                GateQuestion(
                    message=message.text,
                    topic=candidate.topic.name,
                    description=candidate.topic.description,
                    profile=self._profile(candidate.topic)[0],
                    signals=signals[candidate.topic.name],
                    probability=candidate.score if deciding == CALIBRATED else None,
                    distance=gate_limit.distance(candidate.step, candidate.score),
                )
                for candidate in asked
            )
        nominates = is_input and self._watchers.nominate == "either"
        return _Nominated(
            message,
            tuple(candidates),
            asked,
            questions,
            corrections,
            nominates,
            tier1_ms,
            tier2_ms,
            deciding,
            explained,
        )

    def _finish(
        self, nominated: _Nominated, outcomes: Sequence[GateOutcome | None], gate_ms: float, record: bool
    ) -> Trace:
        message, candidates = nominated.message, nominated.candidates
        outcome_of = {c.topic.name: outcome for c, outcome in zip(nominated.asked, outcomes, strict=True)}
        told = [outcome for outcome in outcomes if outcome is not None]
        around = explain.Circumstances(
            message.direction, nominated.similarity_nominates, self._gate_settings.on_failure, self._watchers
        )
        rows = [
            _row(
                candidate,
                outcome_of.get(candidate.topic.name),
                around,
                nominated.explained.get(candidate.topic.name, _UNEXPLAINED),
                self._gate_settings.max_calls_per_message,
            )
            for candidate in _shown(candidates)
        ]
        rows.sort(key=lambda row: (not row.active, -row.score, row.topic))
        funnel = Funnel(
            topics=len(candidates),
            tier1=sum(1 for c in candidates if c.hits),
            tier2=sum(1 for c in candidates if c.hits or (message.direction == "input" and _similar(c))),
            asked=len(told),
            active=sum(1 for row in rows if row.active),
        )
        trace = Trace(
            message=message,
            rows=tuple(rows),
            funnel=funnel,
            corrections=_standing(nominated.corrections, rows),
            tier1_ms=nominated.tier1_ms,
            tier2_ms=nominated.tier2_ms,
            gate_ms=gate_ms if told else 0.0,
            cost_usd=sum(outcome.cost_usd for outcome in told),
            why=explain.summary(rows, funnel, message.direction, empty=_is_empty(message)),
            deciding=nominated.deciding,
        )
        if record and self._decisions is not None:
            logged = {row.topic for row in worth_logging(trace)}
            worth = [candidate for candidate in candidates if candidate.topic.name in logged]
            with self._guard:
                signals = self._signals(message, worth, nominated.deciding)
            self._decisions.record(trace, signals)
        return trace

    def _refresh(self) -> tuple[Topic, ...]:
        topics = tuple(self._source.topics)
        if topics != self._topics:
            names = {topic.name for topic in topics}
            self._matcher.update(topics, {topic.name for topic in self._topics or ()} - names)
            self._scorer.update(topics)
            self._profiles = {name: known for name, known in self._profiles.items() if name in names}
            self._topics = topics
            self._far = {}
        return topics

    def _unmatched(self, topics: Sequence[Topic], is_input: bool) -> dict[str, tuple[float, Step]]:
        """What becomes of each topic without a hit, and the score below which that holds.

        Of thousands of topics nearly all are far from a message; they need no decision of their own.
        """
        known = self._far.get(is_input)
        if known is None:
            known = self._far[is_input] = {
                topic.name: far_step(topic, self._watchers, similarity_nominates=is_input) for topic in topics
            }
        return known

    def _profile(self, topic: Topic) -> tuple[str, frozenset[str]]:
        known = self._profiles.get(topic.name)
        if known is None or known[0] != topic:
            profile = profile_of(topic)
            known = self._profiles[topic.name] = (topic, profile, content_words(profile))
        return known[1], known[2]

    def _signals(
        self, message: Message, candidates: Sequence[_Candidate], deciding: str
    ) -> dict[str, Signals]:
        if not candidates:
            return {}
        words = content_words(message.text)
        return {
            c.topic.name: measure(
                c.topic,
                c.hits,
                c.score,
                c.step.threshold,
                words,
                self._profile(c.topic)[1],
                message.direction,
                calibrated=deciding == CALIBRATED,
            )
            for c in candidates
        }


def _message(message: Message | str, direction: Direction) -> Message:
    return message if isinstance(message, Message) else Message(message, direction)


def _is_empty(message: Message) -> bool:
    return not message.text.strip() and message.event is None and not message.paths


def _scored_part(text: str) -> str:
    if len(text) <= SCORED_CHARS:
        return text
    half = SCORED_CHARS // 2
    return f"{text[:half]} {text[-half:]}"


def _counted_hits(
    topics: Sequence[Topic], hits_of: Mapping[str, Sequence[TriggerHit]], direction: Direction
) -> dict[str, tuple[TriggerHit, ...]]:
    if not hits_of:
        return {}
    counted = {
        topic.name: tuple(hit for hit in hits_of[topic.name] if _in_scope(topic, hit, direction))
        for topic in topics
        if topic.name in hits_of
    }
    return {name: hits for name, hits in counted.items() if hits}


def _in_scope(topic: Topic, hit: TriggerHit, direction: Direction) -> bool:
    # The matcher may still know a version of the topic with more triggers.
    return 0 <= hit.trigger < len(topic.triggers) and topic.triggers[hit.trigger].scope in (direction, "both")


def _similar(candidate: _Candidate) -> bool:
    return candidate.score > 0 and candidate.score >= candidate.step.threshold


def _shown(candidates: Sequence[_Candidate]) -> Sequence[_Candidate]:
    if len(candidates) <= ROWS_LIMIT:
        return candidates
    nearest = sorted(candidates, key=lambda c: (-c.score, c.topic.name))[:NEAREST_ROWS]
    kept = {c.topic.name for c in nearest}
    return [
        c
        for c in candidates
        if c.hits
        or c.topic.forced is not None
        or c.step.kind != "drop"
        or _similar(c)
        or c.topic.name in kept
    ]


def _row(
    candidate: _Candidate,
    gate: GateOutcome | None,
    around: explain.Circumstances,
    explanation: Explanation,
    calls: int,
) -> TopicTrace:
    topic, step = candidate.topic, candidate.step
    unasked = step.kind == "ask" and gate is None
    if unasked:
        step = gate_limit.unasked(step, candidate.score)
    verdict = _verdict(step, gate, around.on_failure)
    # Behind the middle of a message that was cut, places in what was scored are not places in the message.
    readable = SCORED_CHARS // 2
    told = (topic, candidate.hits, candidate.score, step, gate, verdict, around, explanation.contributions)
    case = Case(*told)
    return TopicTrace(
        topic=topic.name,
        priority=topic.priority,
        activation=topic.activation,
        hits=candidate.hits,
        scores=candidate.scores,
        score=candidate.score,
        threshold=step.threshold,
        activate_at=step.activate_at,
        gate_at=step.gate_at,
        rule=step.rule,
        gate=gate,
        verdict=verdict,
        why=gate_limit.why(case, calls) if unasked else explain.why(*told),
        flip=gate_limit.flip(case) if unasked else explain.flip(*told),
        contributions=explanation.contributions,
        words=tuple(span for span in explanation.words if span.end <= readable),
    )


def _verdict(step: Step, gate: GateOutcome | None, on_failure: str) -> Verdict:
    if gate is not None:
        if gate.answer == "failed":
            return "active" if on_failure == "activate" else "failed"
        return "active" if gate.answer == "yes" else "rejected"
    match step.kind:
        case "activate":
            return "active"
        case "manual":
            return "manual"
        case "off":
            return "off"
        case _:
            return "dropped"


def _standing(corrections: Sequence[Correction], rows: Sequence[TopicTrace]) -> tuple[Correction, ...]:
    """Hints of topics that a person keeps off, or that the gate found not to apply, are not given.

    A topic that its policy row dropped still gives its hint: the pattern was written for exactly this text,
    and a hint is one line, not a playbook.
    """
    heard = {row.topic for row in rows if row.verdict not in ("off", "manual", "rejected")}
    return tuple(correction for correction in corrections if correction.topic in heard)


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
