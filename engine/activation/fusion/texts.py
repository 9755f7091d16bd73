"""Which of a topic's texts say what it is for, and what people's labels add to them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.activation.fusion.fitted import TopicTexts

if TYPE_CHECKING:
    from engine.activation.labelled import Labelled
    from engine.topics.model import Topic

EXAMPLES_LIMIT = 64
"""Examples of one topic that count; of more, the written ones and then the latest labelled ones."""
ABOUT_LIMIT = 4_000
"""Characters of the instructions and headings that count."""

_SEPARATORS = re.compile(r"[-_./]+")


def texts_of(topic: Topic, labelled: Labelled | None = None, headings: Sequence[str] = ()) -> TopicTexts:
    """The texts by which a topic is known: name, title and description; instructions and the headings of what
    it subscribes to; examples in its header; and messages that people labelled.

    Labelled messages come oldest first.
    """
    names = (_SEPARATORS.sub(" ", topic.name), topic.title, topic.description)
    label = ". ".join(dict.fromkeys(part.strip() for part in names if part.strip()))
    useful = labelled.useful if labelled is not None else ()
    noise = labelled.noise if labelled is not None else ()
    examples = list(dict.fromkeys((*topic.examples, *reversed(useful))))[:EXAMPLES_LIMIT]
    against = [text for text in dict.fromkeys(reversed(noise)) if text not in examples][:EXAMPLES_LIMIT]
    about = "\n".join((topic.instructions, *headings))[:ABOUT_LIMIT]
    return TopicTexts(topic.name, label, about, tuple(examples), tuple(against))
