"""Tier 2 as a scorer for an activation benchmark: topics known by a name and example messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

from engine.activation.similarity import Scorer, TfidfScorer, deciding_value
from engine.topics.model import Topic

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray


class Profile(TypedDict):
    """What is known of a topic: its name in words, and messages that should activate it."""

    name: str
    utterances: Sequence[str]


class ActivationScorer:
    """The product's topics and its scorer of the ``spec`` preset.

    Attributes:
        topics: In the order of the score columns: sorted by name.
    """

    def __init__(self, profiles: Mapping[str, Profile]) -> None:
        self.topics = [_topic(name, profiles[name]) for name in sorted(profiles)]
        self._scorer: Scorer = TfidfScorer(self.topics)

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
    """A scorer for topics known by key, name and example messages."""
    return ActivationScorer(profiles)


def _topic(key: str, profile: Profile) -> Topic:
    lines = (profile["name"], *profile["utterances"])
    return Topic(
        name=key,
        path=f"topics/{key}.md",
        title=profile["name"],
        description=profile["name"],
        instructions="\n".join(lines),
    )
