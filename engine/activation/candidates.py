"""Topics on their way through the tiers: what tiers 1 and 2 found, and the next step that follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from engine.activation.policy import Step, decide
from engine.activation.proof import Alone
from engine.activation.similarity import Hits, deciding_value
from engine.activation.trace import Direction, Score, TriggerHit
from engine.records import dataclass

if TYPE_CHECKING:
    from engine.settings.model import WatcherSettings
    from engine.topics.model import Topic

EXPLAINED_ROWS = 20
"""Topics nearest to a message whose scores are explained, beside those that it reached."""


@dataclass(frozen=True, slots=True)
class Considered:
    """A topic on its way, and what was found for a message."""

    topic: Topic
    hits: tuple[TriggerHit, ...]  # its tier-1 hits that count for the message's direction
    scores: tuple[Score, ...]
    score: float  # the signal that decides
    step: Step

    @property
    def is_similar(self) -> bool:
        """Whether tier 2 alone would make it a candidate."""
        return self.score > 0 and self.score >= self.step.threshold


def counted_hits(
    topics: Sequence[Topic], hits_of: Hits, direction: Direction
) -> dict[str, tuple[TriggerHit, ...]]:
    """The hits of triggers that watch what goes in a direction; topics without one are left out."""
    if not hits_of:
        return {}
    # The matcher may still know a version of a topic with more triggers.
    counted = {
        topic.name: tuple(
            hit
            for hit in hits_of[topic.name]
            if 0 <= hit.trigger < len(topic.triggers)
            and topic.triggers[hit.trigger].scope in (direction, "both")
        )
        for topic in topics
        if topic.name in hits_of
    }
    return {name: hits for name, hits in counted.items() if hits}


def candidates_of(
    topics: Sequence[Topic],
    counted: Mapping[str, tuple[TriggerHit, ...]],
    scores_of: Mapping[str, tuple[Score, ...]],
    unmatched: Mapping[str, tuple[float, Step]],
    settings: WatcherSettings,
    *,
    deciding: str,
    alone: Mapping[str, Alone],
) -> tuple[Considered, ...]:
    """Every topic with its next step, in order.

    Args:
        counted: The hits that count, by topic.
        scores_of: The signals of tier 2, by topic.
        unmatched: What becomes of each topic without a hit, and the score below which that holds
            (``policy.far_step``): of thousands of topics nearly all are far from a message and need no
            decision of their own.
        deciding: Name of the signal that decides.
        alone: What a score may do without a hit, by topic.
    """
    found = []
    for topic in topics:
        hits = counted.get(topic.name, ())
        scores = scores_of.get(topic.name, ())
        score = deciding_value(scores, deciding)
        mark, step = unmatched[topic.name]
        if hits or score >= mark:
            step = decide(topic, hits, score, settings, alone=alone[topic.name])
        found.append(Considered(topic, hits, scores, score, step))
    return tuple(found)


def telling(candidates: Sequence[Considered]) -> list[str]:
    """The names of the topics whose scores are worth explaining: those that the message reached and, a name
    may stand twice, those nearest to it.
    """
    near = sorted((c for c in candidates if c.score > 0), key=lambda c: (-c.score, c.topic.name))
    reached = [c.topic.name for c in candidates if c.hits or c.step.kind != "drop"]
    return [*reached, *(c.topic.name for c in near[:EXPLAINED_ROWS])]
