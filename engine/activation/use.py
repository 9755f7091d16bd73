"""Whether an agent's reply made use of a topic that was active for the message (spec 5.5, ``was_useful``).

A reply is weak evidence, so the rule speaks seldom and is silent in doubt:

- **Useful** where the reply takes up three words or more that of all topics only this one's instructions
  hold and the message did not, and every 25th of its content words is such a word; or where its tool calls
  touch a file that the topic subscribes to and the message did not name.
- **Noise** where the reply has 60 content words or more, and not one of them, nor of the paths, occurs
  anywhere in the topic.
- Otherwise nothing.

Measured on the sample workspace, 155 exchanges with 15 topics: useful for 6 of the 105 topics that were
active, rightly by reading them, noise for none; useful for 35 of the 2,220 that were not, several of which
should have been, noise for 2. With the same topics on real sessions about something else: useful for 1 of
150, which was a review of a pull request, noise for 2. A laxer rule for noise, no distinctive word in a reply
of 40, would have called 60 % of the active topics noise and 69 % of the others, which tells nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.activation.signals import content_words

if TYPE_CHECKING:
    from engine.topics.model import Topic

LEAST_TERMS = 3
"""Distinctive words that a reply must take up."""
LEAST_SHARE = 1 / 25
"""The part of its content words that they must be."""
LONG_REPLY = 60
"""Content words from which a reply without a single word of the topic speaks against it."""

_COMMON_SHARE = 0.02
_SHORT_WORD = 4
_BETWEEN_WORDS = re.compile(r"[/._-]+")


@dataclass(frozen=True, slots=True)
class TopicWords:
    """The words of one topic."""

    distinctive: frozenset[str]  # those of its instructions that hardly any other topic's instructions hold
    all: frozenset[str]  # all its content words, names of subscribed files included


def words_of(topics: Sequence[Topic]) -> dict[str, TopicWords]:
    """The words of each topic, by its name.

    A word is distinctive in at most one topic, or in 2 % of them where there are many.
    """
    instructions = {topic.name: content_words(topic.instructions) for topic in topics}
    counts = Counter(word for words in instructions.values() for word in words)
    most = max(1, int(len(topics) * _COMMON_SHARE))
    return {
        topic.name: TopicWords(
            frozenset(
                word
                for word in instructions[topic.name]
                if counts[word] <= most and len(word) >= _SHORT_WORD and not word.isdigit()
            ),
            instructions[topic.name] | content_words(_whole(topic)),
        )
        for topic in topics
    }


def was_used(
    topic: Topic, words: TopicWords, message: str, reply: str, paths: Sequence[str] = ()
) -> bool | None:
    """Whether a reply shows that a topic was of use.

    Args:
        topic: The topic, which was active for the message.
        paths: Files that its tool calls named.

    Returns:
        ``True``: it was; ``False``: it was not; ``None``: the reply does not tell.
    """
    touched = (path for path in topic.subscriptions if path not in message)
    if any(f"/{found}".endswith(f"/{path}") for path in touched for found in paths):
        return True
    written = content_words(reply)
    taken_up = (words.distinctive & written) - content_words(message)
    if len(taken_up) >= max(LEAST_TERMS, LEAST_SHARE * len(written)):
        return True
    if len(written) >= LONG_REPLY and not words.all & (written | content_words(_spaced(" ".join(paths)))):
        return False
    return None


def _whole(topic: Topic) -> str:
    triggers = (word for trigger in topic.triggers for word in trigger.words)
    told = (topic.title, topic.description, topic.context_notes, *topic.examples, *triggers)
    return " ".join((*told, _spaced(" ".join((topic.name, *topic.subscriptions)))))


def _spaced(text: str) -> str:
    return _BETWEEN_WORDS.sub(" ", text)
