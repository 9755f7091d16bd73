"""What people have said goes before what was learned: a topic's triggers, and messages labelled as noise.

How good a trigger is cannot be known before it has been used, so its weight is a fixed rule, not learned: a
person wrote it for this topic, which is worth more than any similarity. A hit lifts a topic at least to where
the gate is asked; a short message that consists of it, or a strong kind of hit, activates.

The combiner has seen counter-examples, but none that are the message itself. A message that is the same as
one labelled as noise, or close to it, and closer than to any example, is held against the
topic.
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
"""Log-odds below which a topic with a hit is not taken to be, however unlike the message its text is."""
KINDS = {"word": 2.4, "mark": 3.4, "whole": 4.6}
"""Log-odds of the strongest hit: a word or phrase; a name or code; a fact about the message as a whole."""
FURTHER = 0.8
"""Of each further different text that matched, of which two count."""
COVERING = 1.5
"""Of hits that cover every content word of the message; in proportion where they cover fewer."""


ALIKE = 0.75
"""Similarity of a message to a counter-example from which it is held against the topic; in full at 1."""
REFUSED = 8.0
"""Log-odds that a counter-example takes away which is the message itself."""


def held_against(similarity: Floats, examples: Floats) -> Floats:
    """The log-odds that counter-examples take from each topic, float32 ``[n]``, none above 0.

    Args:
        similarity: Similarity of the message to the nearest counter-example of each topic; 0 where there is
            none.
        examples: Its similarity to the nearest example.
    """
    nearer = similarity > examples
    share = numpy.clip((similarity - ALIKE) / (1 - ALIKE), 0, 1) * nearer
    taken: Floats = (-REFUSED * share).astype(numpy.float32)
    return taken


def with_hits(logit: float, topic: Topic, hits: Sequence[TriggerHit], message_words: frozenset[str]) -> float:
    """The log-odds of a topic once its hits are counted.

    Args:
        logit: The log-odds from the message's text.
        hits: Its tier-1 hits; without one the log-odds stay as they are.
        message_words: ``content_words`` of the message.
    """
    if not hits:
        return logit
    # Hits that do not count for the message's direction have been left out, so a trigger made for the output
    # has fired on output.
    strongest = max(KINDS[kind_of(topic, hit, "output")] for hit in hits)
    texts = {" ".join(hit.matched.lower().split()) for hit in hits}
    covered = frozenset[str]().union(*(content_words(text) for text in texts)) & message_words
    density = len(covered) / len(message_words) if message_words else 1.0
    return max(logit, LEAST_LOGIT) + strongest + FURTHER * min(2, len(texts) - 1) + COVERING * density
