"""What tier 2 reads from messages and hits: content words, and the kinds of hits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from engine.activation.trace import Direction, TriggerHit
from engine.search.query import STOP_WORDS
from engine.search.talk import TALK
from engine.startup.lazy import expression

if TYPE_CHECKING:
    from engine.topics.model import Topic


CALIBRATED = "probability"
"""Name of the deciding score if tier 2 is calibrated (``Trace.deciding``)."""
TRIGGER_SIGNAL = "trigger"
"""Name of the tier-1 hits among a topic's contributions."""

_WHOLE = frozenset({"language", "sentiment", "url", "glob", "webhook", "cron"})
_MARK = frozenset({"mention", "code"})
_WORDS_READ = 20_000

_TOKEN = expression(r"\w\w+")


def content_words(text: str) -> frozenset[str]:
    """The distinct content words in the first 20,000 characters of a text, in lower case without plural s.

    Small words are those that a search leaves out, and small talk.
    """
    words = set(_TOKEN.findall(text[:_WORDS_READ].lower())) - STOP_WORDS - TALK
    return frozenset(
        word[:-1] if len(word) > 2 and word.endswith("s") and not word.endswith("ss") else word
        for word in words
    )


def probability_of(logit: float) -> float:
    """The probability with these log-odds."""
    return 1.0 / (1.0 + math.exp(-logit)) if logit > -700 else 0.0


def kind_of(topic: Topic, hit: TriggerHit, direction: Direction) -> str:
    """The kind of a hit: ``mark`` if it is written deliberately (a mention, code), ``whole`` if it is about
    the whole message or its trigger is made for the agent's output, else ``word``.
    """
    made_for_output = (
        direction == "output"
        and 0 <= hit.trigger < len(topic.triggers)
        and topic.triggers[hit.trigger].scope == "output"
    )
    if made_for_output or hit.type in _WHOLE:
        return "whole"
    return "mark" if hit.type in _MARK else "word"
