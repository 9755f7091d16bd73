"""Whether an agent's reply made use of a topic that was active for the message (spec 5.5, ``was_useful``).

A reply is weak evidence, so the rule rarely decides:

- **Useful** if the reply uses at least three words that only this topic's instructions contain and the
  message does not, and they are at least every 25th of its content words; or if its tool calls touch a file
  that the topic subscribes to and the message did not name.
- **Noise** if the reply has at least 60 content words, and neither they nor the paths occur in the topic.
- Otherwise undecided.

Measured on the sample workspace, 155 exchanges with 15 topics: useful for 6 of the 105 active topics, all
correct on inspection, noise for none; useful for 35 of the 2,220 inactive ones, several of which should have
been active, noise for 2. With the same topics on real sessions about something else: useful for 1 of 150, a
review of a pull request, noise for 2. A laxer rule for noise, no distinctive word in a reply of 40, would
have called 60 % of the active topics noise and 69 % of the others, which says nothing.
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
"""Distinctive words that a reply must use."""
LEAST_SHARE = 1 / 25
"""Share of its content words that they must be."""
LONG_REPLY = 60
"""Content words from which a reply without any word of the topic marks it as noise."""

_COMMON_SHARE = 0.02
_SHORT_WORD = 4
_BETWEEN_WORDS = re.compile(r"[/._-]+")


@dataclass(frozen=True, slots=True)
class TopicWords:
    """The words of one topic."""

    distinctive: frozenset[str]  # words of its instructions that hardly any other topic has
    all: frozenset[str]  # all its content words, names of subscribed files included


def words_of(topics: Sequence[Topic]) -> dict[str, TopicWords]:
    """The words of each topic by name; a distinctive word is in one topic, or in at most 2 % of many."""
    instructions = {topic.name: content_words(topic.instructions) for topic in topics}
    counts = Counter(word for words in instructions.values() for word in words)
    limit = max(1, int(len(topics) * _COMMON_SHARE))
    return {
        topic.name: TopicWords(
            frozenset(
                word
                for word in instructions[topic.name]
                if counts[word] <= limit and len(word) >= _SHORT_WORD and not word.isdigit()
            ),
            instructions[topic.name] | content_words(_whole(topic)),
        )
        for topic in topics
    }


def was_used(
    topic: Topic, words: TopicWords, message: str, reply: str, paths: Sequence[str] = ()
) -> bool | None:
    """Whether a reply shows that an active topic was used; ``None`` if undecided.

    Args:
        paths: Files named in its tool calls.
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
    texts = (topic.title, topic.description, topic.context_notes, *topic.examples, *triggers)
    return " ".join((*texts, _spaced(" ".join((topic.name, *topic.subscriptions)))))


def _spaced(text: str) -> str:
    return _BETWEEN_WORDS.sub(" ", text)
