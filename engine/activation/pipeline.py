"""The three tiers in order: a message in, a trace out (spec 4, 5 and 10.2, design 4).

The agent's output is watched like its input, with two differences. Only triggers with the scope ``output`` or
``both`` count, and similarity nominates nothing: an agent's long answer is similar to whatever it was about,
which says nothing about what it should read next. Hints from its watchers are in ``Trace.corrections``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from engine.activation.candidates import (
    OFFERING,
    above_chance,
    candidates_of,
    corrections_of,
    counted_hits,
    funnel_of,
    likeliest,
    rows_of,
    worth_explaining,
)
from engine.activation.explain import Candidate, PolicyContext, summary
from engine.activation.gate import Gate, GateQuestion, profile_of, ruled
from engine.activation.signals import CALIBRATED
from engine.activation.similarity import Batch, Hits, Scorer
from engine.activation.trace import Direction, Message, Trace

if TYPE_CHECKING:
    from engine.activation.decisions import DecisionLog
    from engine.activation.patterns import PatternMatcher
    from engine.errors import Problem
    from engine.settings.model import GateSettings, WatcherSettings
    from engine.topics.model import Topic

_LEAST_THRESHOLD = 0.01


class WatcherPipeline:
    """Decides which topics apply to a message.

    The topics are read again for every message, and matcher and scorer are updated if they have changed, so
    both may be constructed without topics. Thread-safe.

    Args:
        topics: Returns the current topics.
        decisions: Where decisions are logged, if anywhere.
    """

    def __init__(
        self,
        topics: Callable[[], Sequence[Topic]],
        matcher: PatternMatcher,
        scorer: Scorer,
        gate: Gate,
        watchers: WatcherSettings,
        gate_settings: GateSettings,
        decisions: DecisionLog | None = None,
    ) -> None:
        self.gate = gate
        self._current = topics
        self._matcher = matcher
        self._scorer = scorer
        self._watchers = watchers
        self._gate_settings = gate_settings
        self._decisions = decisions
        self._topics: tuple[Topic, ...] | None = None
        self._guard = threading.Lock()

    def process(
        self,
        message: Message | str,
        direction: Direction = "input",
        *,
        record: bool = True,
        ask: bool = True,
        explained: bool = True,
    ) -> Trace:
        """The trace of a message; waits for the gate.

        Apart from its times, a trace depends only on the message and the state.

        Args:
            direction: Used if the message is a text.
            ask: If false, only calculated and cached answers count, and every other question fails as not
                asked.
            explained: If false, no row says which words and signals led to its score, which is half the work.
        """
        message = message if isinstance(message, Message) else Message(message, direction)
        is_empty = not message.text.strip() and message.event is None and not (message.paths or message.calls)
        deciding, provider = self._scorer.deciding, self.gate.provider.name
        offers = provider == OFFERING
        context = PolicyContext(message.direction, self._watchers, self._gate_settings.on_failure, offers)
        with self._guard:
            topics = self._refresh()
            started = time.perf_counter()
            hits_of: Hits = {} if is_empty else self._matcher.match(message)
            tier1_ms = _ms_since(started)
            started = time.perf_counter()
            text = "" if is_empty else message.text
            hits = counted_hits(hits_of)
            candidates = candidates_of(topics, hits, self._scorer.score(text, hits), context, hits_of)
            named = worth_explaining(candidates) if explained else []
            explanations = self._scorer.explain(text, hits, named)
            tier2_ms = _ms_since(started)
            if offers:
                candidates = above_chance(candidates, deciding)
            if provider != "local":
                candidates = likeliest(candidates, offers=offers, deciding=deciding)
            uncertain = [candidate for candidate in candidates if candidate.step.kind == "ask"]
            questions = self._questions(message, uncertain)
        started = time.perf_counter()
        outcomes = self.gate.ask(questions, live=ask)
        answers = {c.topic.name: outcome for c, outcome in zip(uncertain, outcomes, strict=True)}
        gate_ms = _ms_since(started) if answers else 0.0
        rows = rows_of(candidates, answers, explanations)
        asked = sum(each.answer != "offered" for each in answers.values())
        funnel = funnel_of(candidates, rows, message.direction, asked=asked)
        trace = Trace(
            message=message,
            rows=rows,
            funnel=funnel,
            corrections=corrections_of(topics, rows) if message.direction == "output" else (),
            tier1_ms=tier1_ms,
            tier2_ms=tier2_ms,
            gate_ms=gate_ms,
            cost_usd=sum(answer.cost_usd for answer in answers.values()),
            why=summary(rows, funnel, empty=is_empty),
            deciding=deciding,
        )
        if record and self._decisions is not None:
            self._decisions.record(trace)
        return trace

    def relearn(self) -> bool:
        """Has tier 2 learn from changed topics and new labels; returns whether its scores have changed.

        Until it is done, messages are scored with the previous fit.
        """
        with self._guard:
            self._refresh()
        return self._scorer.relearn()

    def batch(self) -> Batch:
        """Scores many messages at once by tier 2, for the topics of the last message or ``relearn``."""
        return self._scorer.batch()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Patterns that proved unusable while matching messages."""
        return tuple(self._matcher.problems)

    def close(self) -> None:
        """Stops the gate's thread and writes pending decisions."""
        self.gate.close()
        if self._decisions is not None:
            self._decisions.flush()

    def _questions(self, message: Message, asked: Sequence[Candidate]) -> list[GateQuestion]:
        questions = []
        for each in asked:
            topic, profile, probability = each.topic, profile_of(each.topic), each.score
            if self._scorer.deciding != CALIBRATED:
                similarity = each.score / max(each.step.threshold, _LEAST_THRESHOLD)
                probability = ruled(each.hits, similarity)
            questions.append(
                GateQuestion(
                    message.text, topic.name, topic.description, profile, probability, message.session_id
                )
            )
        return questions

    def _refresh(self) -> tuple[Topic, ...]:
        """The current topics, with matcher and scorer updated to them.

        After a change, messages wait until tier 2 is fitted: scoring one without a topic that exists would
        give a trace that no state of the files explains.
        """
        topics = tuple(self._current())
        if topics != self._topics:
            self._matcher.update(topics)
            self._scorer.update(topics)
            self._topics = topics
        return topics


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
