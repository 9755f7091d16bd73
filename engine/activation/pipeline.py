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
from engine.activation.candidates import Candidate, candidates_of, counted_hits, telling
from engine.activation.case import Circumstances
from engine.activation.decision import worth_logging
from engine.activation.gate import Gate
from engine.activation.gate_question import GateQuestion, profile_of
from engine.activation.policy import Step, alone_of, far_step
from engine.activation.proof import NO_PROOF, Alone, Proof
from engine.activation.rows import funnel_of, rows_of, standing
from engine.activation.signals import CALIBRATED, Signals, content_words, measure
from engine.activation.similarity import Explanation, Hits, Scorer, readable, scored_part
from engine.activation.trace import Correction, Direction, GateOutcome, Message, Trace, TriggerHit

if TYPE_CHECKING:
    from engine.activation.decisions import DecisionLog
    from engine.errors import Problem
    from engine.settings.model import GateSettings, WatcherSettings
    from engine.topics.model import Topic


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
class _Nominated:
    """What tiers 1 and 2 left of a message."""

    message: Message
    candidates: tuple[Candidate, ...]
    asked: tuple[Candidate, ...]
    questions: tuple[GateQuestion, ...]
    corrections: tuple[Correction, ...]
    tier1_ms: float
    tier2_ms: float
    deciding: str
    explained: Mapping[str, Explanation]
    alone: Mapping[str, Alone]


@dataclass(frozen=True, slots=True)
class _Unmatched:
    """What becomes of topics without a hit, by name."""

    alone: Mapping[str, Alone]
    far: Mapping[str, tuple[float, Step]]
    """What becomes of it, and the score below which that holds."""


class ProofSource(Protocol):
    """What labels have proven; ``Proofs`` is one."""

    def stamp(self) -> object: ...

    def __call__(self, topics: Sequence[Topic]) -> Mapping[str, Proof]: ...


class WatcherPipeline:
    """Decides which topics apply to a message.

    The topics are looked at anew for every message; matcher and scorer are brought up to date when they have
    changed, so both may be constructed without topics. Safe to use from several threads.

    Args:
        decisions: Where decisions are logged; ``None`` logs nothing.
        proofs: What labels have proven of topics' scores; ``None``: nothing.
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
        proofs: ProofSource | None = None,
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
        self._proofs = proofs if watchers.similarity_alone == "proven" else None
        self._proved: object = None
        self._unmatched_: dict[bool, _Unmatched] = {}
        self._guard = threading.Lock()

    def process(
        self, message: Message | str, direction: Direction = "input", *, record: bool = True, ask: bool = True
    ) -> Trace:
        """The trace of a message. Waits for the gate; may be called from any thread.

        Args:
            direction: For a text: where it goes. A ``Message`` knows its own.
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

    def relearn(self) -> bool:
        """Lets tier 2 take over labels given since; whether it scores differently from now on.

        Messages go on being scored by what was known before until the new fit is made.
        """
        return self._scorer.relearn(self._guard)

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
        """Tiers 1 and 2, and what is to be asked of the third."""
        is_input = message.direction == "input"
        with self._guard:
            topics = self._refresh()
            started = time.perf_counter()
            empty = _is_empty(message)
            hits_of: Hits = {} if empty else self._matcher.match(message)
            corrections = () if is_input else tuple(self._matcher.corrections(message, hits_of))
            tier1_ms = _ms_since(started)
            started = time.perf_counter()
            scored = "" if empty else scored_part(message.text)
            counted = counted_hits(topics, hits_of, message.direction)
            deciding = self._scorer.deciding
            unmatched = self._unmatched(topics, is_input)
            candidates = candidates_of(
                topics,
                counted,
                self._scorer.score(scored, counted),
                unmatched.far,
                self._watchers,
                deciding=deciding,
                alone=unmatched.alone,
            )
            explained = readable(self._scorer.explain(scored, counted, telling(candidates)), scored)
            tier2_ms = _ms_since(started)
            asked = tuple(candidate for candidate in candidates if candidate.step.kind == "ask")
            questions = self._questions(message, asked, deciding)
        return _Nominated(
            message,
            candidates,
            asked,
            questions,
            corrections,
            tier1_ms,
            tier2_ms,
            deciding,
            explained,
            unmatched.alone,
        )

    def _questions(
        self, message: Message, asked: Sequence[Candidate], deciding: str
    ) -> tuple[GateQuestion, ...]:
        signals = self._signals(message, asked, deciding)
        return tuple(
            GateQuestion(
                message=message.text,
                topic=candidate.topic.name,
                description=candidate.topic.description,
                profile=self._profile(candidate.topic)[0],
                signals=signals[candidate.topic.name],
                probability=candidate.score if deciding == CALIBRATED else None,
                distance=gate_limit.distance(candidate.step, candidate.score),
                discussion=message.session_id,
            )
            for candidate in asked
        )

    def _finish(
        self, nominated: _Nominated, outcomes: Sequence[GateOutcome | None], gate_ms: float, record: bool
    ) -> Trace:
        """The trace, once the gate has answered."""
        message, candidates = nominated.message, nominated.candidates
        is_input = message.direction == "input"
        told = [outcome for outcome in outcomes if outcome is not None]
        rows = rows_of(
            candidates,
            {c.topic.name: of for c, of in zip(nominated.asked, outcomes, strict=True) if of is not None},
            nominated.explained,
            Circumstances(
                message.direction,
                is_input and self._watchers.nominate == "either",
                self._gate_settings.on_failure,
                self._watchers,
                nominated.alone,
            ),
            calls=self._gate_settings.max_calls_per_message,
        )
        funnel = funnel_of(candidates, rows, message.direction, asked=len(told))
        trace = Trace(
            message=message,
            rows=rows,
            funnel=funnel,
            corrections=standing(nominated.corrections, rows),
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
        """The topics of now, with matcher and scorer prepared for them.

        Where they have changed, this message and those that follow wait until tier 2 is fitted to them: to
        score a message without a topic that is there would give a trace that no state of the files explains.
        """
        topics = tuple(self._source.topics)
        if topics != self._topics:
            names = {topic.name for topic in topics}
            self._matcher.update(topics, {topic.name for topic in self._topics or ()} - names)
            self._scorer.update(topics)
            self._profiles = {name: known for name, known in self._profiles.items() if name in names}
            self._topics = topics
            self._unmatched_ = {}
        return topics

    def _unmatched(self, topics: Sequence[Topic], is_input: bool) -> _Unmatched:
        """What becomes of topics without a hit, by what labels prove now."""
        stamp = None if self._proofs is None else self._proofs.stamp()
        if stamp != self._proved:
            self._unmatched_, self._proved = {}, stamp
        known = self._unmatched_.get(is_input)
        if known is None:
            proofs = {} if self._proofs is None else self._proofs(topics)
            provider = self.gate.provider.name
            alone = {
                topic.name: alone_of(
                    topic,
                    self._watchers,
                    proofs.get(topic.name, NO_PROOF),
                    provider=provider,
                    is_input=is_input,
                )
                for topic in topics
            }
            # Topics with the same row share what becomes of them: there may be thousands.
            rows: dict[object, tuple[float, Step]] = {}
            far = {}
            for topic in topics:
                of = alone[topic.name]
                own = topic.forced, topic.activation, topic.activation_threshold, topic.similarity_threshold
                row = (topic.priority, own, id(of))
                if row not in rows:
                    rows[row] = far_step(topic, self._watchers, alone=of)
                far[topic.name] = rows[row]
            known = self._unmatched_[is_input] = _Unmatched(alone, far)
        return known

    def _profile(self, topic: Topic) -> tuple[str, frozenset[str]]:
        known = self._profiles.get(topic.name)
        if known is None or known[0] != topic:
            profile = profile_of(topic)
            known = self._profiles[topic.name] = (topic, profile, content_words(profile))
        return known[1], known[2]

    def _signals(
        self, message: Message, candidates: Sequence[Candidate], deciding: str
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


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
