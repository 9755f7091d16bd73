"""Tier 2 for an activation benchmark: as a scorer, and taught by labels.

``make`` and its like give the scores of tier 2 themselves, which no policy thresholds: figures of them are
those of ``watchers.similarity_alone: always``. A benchmark that goes through the engine measures the default,
``proven``, unless its settings say otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

from engine.activation.fusion.combiner import MINILM_WEIGHTS, Combiner
from engine.activation.fusion.minilm import JoinedVectors
from engine.activation.fusion.scorer import CalibratedScorer
from engine.activation.similarity import Scorer, TfidfScorer, deciding_value
from engine.topics.model import Topic

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

    from engine.engine import Engine


class Profile(TypedDict):
    """What is known of a topic: its name in words, and messages that should activate it."""

    name: str
    utterances: Sequence[str]


class ActivationScorer:
    """The product's topics and one of its scorers.

    Attributes:
        topics: In the order of the score columns: sorted by name.
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
                scores[row, column] = deciding_value(found[topic.name], self._scorer.deciding)
        return scores


def make(profiles: Mapping[str, Profile]) -> ActivationScorer:
    """The ``calibrated`` preset with what ships."""
    return ActivationScorer(_topics(profiles), CalibratedScorer())


def make_minilm(profiles: Mapping[str, Profile]) -> ActivationScorer:
    """The ``calibrated`` preset with the transformer of the ``minilm`` extra."""
    scorer = CalibratedScorer(vectors=JoinedVectors(), combiner=Combiner.load(MINILM_WEIGHTS))
    return ActivationScorer(_topics(profiles), scorer)


def teach(engine: Engine, pool: Sequence[str], ask: Callable[[str], set[str]], count: int) -> None:
    """Labels messages through the engine as a person would who goes through what was said.

    Every topic that the person names is labelled useful, and every other one that came as near as those
    noise.

    Args:
        engine: The workspace.
        pool: Messages that may be asked about.
        ask: The topics that a person names for a message.
        count: How many messages are asked about, spread over the pool.
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
    """The ``spec`` preset, which knows instructions only: name and examples stand there."""
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
