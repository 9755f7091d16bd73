"""Tier 2 for an activation benchmark: as a scorer, and trained by labels.

``make`` and ``make_spec`` return the scores of tier 2, to which no policy is applied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

from engine.activation.scorer.scorer import CalibratedScorer
from engine.activation.similarity import Scorer, TfidfScorer
from engine.topics.model import Topic

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

    from engine.engine import Engine


class Profile(TypedDict):
    """A topic's name in words, and messages that should activate it."""

    name: str
    utterances: Sequence[str]


class ActivationScorer:
    """Topics and one of the product's scorers.

    Attributes:
        topics: In the order of the score columns, sorted by name.
    """

    def __init__(self, topics: Sequence[Topic], scorer: Scorer) -> None:
        self.topics = topics
        self._scorer = scorer
        scorer.update(topics)

    def score_batch(self, messages: Sequence[str]) -> NDArray[float64]:
        """The deciding score of every topic, float64 ``[len(messages), len(topics)]``, each 0 to 1."""
        import numpy

        scores = numpy.zeros((len(messages), len(self.topics)))
        for row, message in enumerate(messages):
            found = self._scorer.score(message, {})
            for column, topic in enumerate(self.topics):
                scores[row, column] = found[topic.name]
        return scores


def make(profiles: Mapping[str, Profile]) -> ActivationScorer:
    """The ``calibrated`` preset with the shipped vectors."""
    return ActivationScorer(_topics(profiles), CalibratedScorer())


def teach(engine: Engine, pool: Sequence[str], ask: Callable[[str], set[str]], count: int) -> None:
    """Label messages through the engine as a user would who reviews past messages.

    Every topic that the user names is labelled useful, and every other one that scored as high is labelled
    noise.

    Args:
        engine: The workspace.
        pool: Messages that may be labelled.
        ask: Returns the topics that the user names for a message.
        count: How many messages are labelled, spread over the pool.
    """
    log = engine.decision_log
    step = max(1, len(pool) // max(1, count))
    for text in pool[::step][:count]:
        wanted, trace = ask(text), engine.trace(text)
        nearest = {row.topic for row in sorted(trace.rows, key=lambda row: -row.score)[:3] if row.score > 0}
        for row in trace.rows:
            if row.topic in wanted or row.active or row.topic in nearest:
                log.label(log.ensure(trace, row.topic), row.topic in wanted)
    engine.labels.learn()


def make_spec(profiles: Mapping[str, Profile]) -> ActivationScorer:
    """The ``spec`` preset, which uses instructions only, so they contain name and examples."""
    topics = [
        Topic(
            name=topic.name,
            path=topic.path,
            title=topic.title,
            description=topic.description,
            instructions="\n".join((topic.title, *topic.examples)),
        )
        for topic in _topics(profiles)
    ]
    return ActivationScorer(topics, TfidfScorer())


def _topics(profiles: Mapping[str, Profile]) -> list[Topic]:
    return [
        Topic(
            name=key,
            path=f"topics/{key}.md",
            title=profiles[key]["name"],
            description=profiles[key]["name"],
            instructions="",
            examples=tuple(profiles[key]["utterances"]),
        )
        for key in sorted(profiles)
    ]
