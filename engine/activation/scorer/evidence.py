"""A topic's triggers as evidence beside what is learned: a person wrote them for this topic.

The regression learns from examples and labels how far each trigger can be trusted, and has no opinion without
them. So a hit also counts by itself: a short message that consists of it, or a strong kind of hit, activates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.activation.signals import content_words, kind_of

if TYPE_CHECKING:
    from engine.activation.trace import TriggerHit
    from engine.topics.model import Topic

LEAST_LOGIT = -3.0
"""Minimum log-odds of a topic with a hit, however dissimilar its text, before the hit counts."""
KINDS = {"word": 2.0, "mark": 3.0, "whole": 4.2}
"""Log-odds of the strongest hit: a word or phrase; a name or code; a property of the whole message."""
COVERING = 1.5
"""Log-odds of hits that cover every content word of the message."""


def weight_of(topic: Topic, hits: Sequence[TriggerHit], message_words: frozenset[str]) -> float:
    """The log-odds that a topic's hits add.

    Args:
        message_words: ``content_words`` of the message.
    """
    # Only hits in the message's direction are passed, so a trigger for the output has fired on output.
    strongest = max(KINDS[kind_of(topic, hit, "output")] for hit in hits)
    covered = frozenset[str]().union(*(content_words(hit.matched) for hit in hits))
    return strongest + (COVERING if message_words <= covered else 0.0)
