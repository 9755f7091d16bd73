"""Whether an agent's reply made use of a topic that was active for the message (spec 5.5, ``was_useful``).

A reply is weak evidence, so the rule rarely decides: a topic was useful if the reply uses at least three
words that only this topic's instructions contain and the message does not, and they are at least every 25th
of its content words; or if its tool calls touch a file that the topic subscribes to and the message did not
name. That a reply uses nothing of a topic says nothing.

Measured on the sample workspace, 155 exchanges with 15 topics: useful for 6 of the 105 active topics, all
correct on inspection; useful for 35 of the 2,220 inactive ones, several of which should have been active.
With the same topics on real sessions about something else: useful for 1 of 150, a review of a pull request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.activation.signals import content_words

if TYPE_CHECKING:
    from engine.topics.model import Topic

LEAST_TERMS = 3
"""Distinctive words that a reply must use."""
LEAST_SHARE = 1 / 25
"""Share of its content words that they must be."""
_COMMON_SHARE = 0.02
_SHORT_WORD = 4


def words_of(topics: Sequence[Topic]) -> dict[str, frozenset[str]]:
    """The distinctive words of each topic by name: those of its instructions that are in one topic, or in at
    most 2 % of many.
    """
    instructions = {topic.name: content_words(topic.instructions) for topic in topics}
    counts = Counter(word for words in instructions.values() for word in words)
    limit = max(1, int(len(topics) * _COMMON_SHARE))
    return {
        name: frozenset(
            word
            for word in words
            if counts[word] <= limit and len(word) >= _SHORT_WORD and not word.isdigit()
        )
        for name, words in instructions.items()
    }


def was_used(
    topic: Topic, distinctive: frozenset[str], message: str, reply: str, paths: Sequence[str] = ()
) -> bool:
    """Whether a reply shows that an active topic was used.

    Args:
        distinctive: The topic's words by ``words_of``.
        paths: Files named in its tool calls.
    """
    touched = (path for path in topic.subscriptions if path not in message)
    if any(f"/{found}".endswith(f"/{path}") for path in touched for found in paths):
        return True
    written = content_words(reply)
    taken_up = (distinctive & written) - content_words(message)
    return len(taken_up) >= max(LEAST_TERMS, LEAST_SHARE * len(written))
