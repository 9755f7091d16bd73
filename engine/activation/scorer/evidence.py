"""A topic's triggers as evidence beside what is learned: a person wrote them for this topic.

The regression learns from examples and labels how far each trigger can be trusted, and has no opinion without
them. So a hit also counts by itself: a short message that consists of it, or a strong kind of hit, activates.
The more messages a topic was taught with, the less that counts, since the regression then knows better.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from engine.activation.signals import content_words, kind_of
from engine.startup.lazy import expression

if TYPE_CHECKING:
    from engine.activation.trace import TriggerHit
    from engine.topics.model import Topic

LEAST_LOGIT = -3.0
"""Minimum log-odds of a topic with a hit, however dissimilar its text, before the hit counts."""
KINDS = {"word": 2.0, "mark": 3.0, "whole": 4.2}
"""Log-odds of the strongest hit: a word or phrase; a name or code; a property of the whole message."""
COVERING = 1.5
"""Log-odds of hits that cover every content word of the message."""
FEW, MANY = 5, 20
"""Up to so many messages taught the hits count in full, from so many on only what the regression learnt."""
AGAINST = 10
"""So many of them is a message that a person labelled as noise: it may have been a trigger's mistake."""
HEAD_WORDS = 5
"""Words before a hit in its clause, at most, for the clause to be about it: "please deploy the app"."""
IN_PASSING = 0.5
"""Value of a trigger that is only mentioned later in a clause: "the page that came up after the deploy"."""

_CLAUSE_END = expression(r"[.!?\n,;:—()\"“。！？，、；：]")
_BEFORE = 200


def with_hits(
    before: float,
    rest: float,
    topic: Topic,
    hits: Sequence[TriggerHit],
    message_words: frozenset[str],
    taught: float,
) -> float:
    """The log-odds of a topic, up to a constant, with its hits.

    Args:
        before: The same without them.
        rest: The same of everything else together.
        message_words: ``content_words`` of the message.
        taught: As ``Fitted.taught``.
    """
    share = min(1.0, max(0.0, (MANY - taught) / (MANY - FEW)))
    lifted = before + share * max(0.0, rest + LEAST_LOGIT - before)
    # Only hits in the message's direction are passed, so a trigger for the output has fired on output.
    strongest = max(KINDS[kind_of(topic, hit, "output")] for hit in hits)
    covered = frozenset[str]().union(*(content_words(hit.matched) for hit in hits))
    return lifted + share * (strongest + (COVERING if message_words <= covered else 0.0))


def directness_of(text: str, hits: Iterable[TriggerHit]) -> float:
    """How much a topic's hits are what a message is about: 1, or ``IN_PASSING``.

    A request names its matter near the start of a clause, a report somewhere in it.
    """
    return 1.0 if any(_is_direct(text, hit.start) for hit in hits) else IN_PASSING


def _is_direct(text: str, start: int) -> bool:
    if start < 0:
        return True
    clause = _CLAUSE_END.split(text[max(0, start - _BEFORE) : start])[-1]
    return len(clause.split()) <= HEAD_WORDS
