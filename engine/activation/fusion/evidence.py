"""Evidence from people that overrides what was learned: a topic's triggers, and messages labelled as noise.

The quality of a trigger is unknown before it has been used, so its weight is fixed instead of learned: a
person wrote it for this topic, which is worth more than any similarity. A hit raises a topic at least to
where the gate is asked; a short message that consists of it, or a strong kind of hit, activates.

The combiner was trained with counter-examples, but not with the message itself among them. A message that
equals one labelled as noise, or is close to it and closer than to any example, counts against the topic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy

from engine.activation.signals import content_words, kind_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.activation.trace import TriggerHit
    from engine.topics.model import Topic

    Floats = NDArray[numpy.float32]

LEAST_LOGIT = -3.0
"""Minimum log-odds of a topic with a hit, however dissimilar its text."""
KINDS = {"word": 2.4, "mark": 3.4, "whole": 4.6}
"""Log-odds of the strongest hit: a word or phrase; a name or code; a property of the whole message."""
FURTHER = 0.8
"""Log-odds of each further distinct match, at most two."""
COVERING = 1.5
"""Log-odds of hits that cover every content word of the message, or in proportion."""


ALIKE = 0.75
"""Similarity to a counter-example from which it counts against the topic; fully at 1."""
REFUSED = 8.0
"""Log-odds removed by a counter-example that equals the message."""


def counter_evidence(similarity: Floats, examples: Floats) -> Floats:
    """The (negative) log-odds from counter-examples of each topic, float32 ``[n]``.

    Args:
        similarity: Of the message to the closest counter-example of each topic; 0 without one.
        examples: Of the message to the closest example.
    """
    nearer = similarity > examples
    share = numpy.clip((similarity - ALIKE) / (1 - ALIKE), 0, 1) * nearer
    taken: Floats = (-REFUSED * share).astype(numpy.float32)
    return taken


def with_hits(logit: float, topic: Topic, hits: Sequence[TriggerHit], message_words: frozenset[str]) -> float:
    """The log-odds of a topic including its hits.

    Args:
        logit: The log-odds from the text.
        message_words: ``content_words`` of the message.
    """
    if not hits:
        return logit
    # Only hits in the message's direction are passed, so a trigger for the output has fired on output.
    strongest = max(KINDS[kind_of(topic, hit, "output")] for hit in hits)
    texts = {" ".join(hit.matched.lower().split()) for hit in hits}
    covered = frozenset[str]().union(*(content_words(text) for text in texts)) & message_words
    density = len(covered) / len(message_words) if message_words else 1.0
    return max(logit, LEAST_LOGIT) + strongest + FURTHER * min(2, len(texts) - 1) + COVERING * density
