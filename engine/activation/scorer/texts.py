"""What is known of a topic's situation in words: the rows of the regression (design 4)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from engine.startup.lazy import expression
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from engine.activation.labelled import Labelled
    from engine.topics.model import Topic

EXAMPLES_LIMIT = 64
"""Maximum number of examples of one topic: the latest labelled ones, then the written ones."""
ROWS_LIMIT = 4_000
"""Maximum number of rows of all topics; with more, each topic has fewer examples."""
ABOUT_LIMIT = 1_000
"""Maximum number of characters of instructions."""
WRITTEN, OPENED, LABELLED, REFUSED = 0.5, 0.25, 1.0, 2.0
"""Weights of rows: what a topic's file says or this package says to ask for nothing, a message on which the
agent opened the topic, one that a person labelled useful, or as noise."""

_SEPARATORS = expression(r"[-_./]+")
_NOTHING_FILE = Path(__file__).parent / "data" / "nothing.txt"


@dataclass(frozen=True, slots=True)
class TopicTexts:
    """The texts of a topic."""

    name: str
    label: str  # name, title and description as one text
    about: str = ""  # the instructions
    examples: tuple[str, ...] = ()  # messages written in its file
    useful: tuple[str, ...] = ()  # messages labelled useful, latest first
    noise: tuple[str, ...] = ()  # messages labelled noise, latest first
    opened: tuple[str, ...] = ()  # messages on which the agent opened it, latest first
    triggers: object = ()  # what tier 1 looks for; a change asks for another fit


class Row(NamedTuple):
    """One text that should activate a topic, or none."""

    text: str
    topic: int | None  # index of the topic
    weight: float


def texts_of(topic: Topic, labelled: Labelled | None = None) -> TopicTexts:
    """The texts of a topic and of the messages labelled for it."""
    names = (_SEPARATORS.sub(" ", topic.name), topic.title, topic.description)
    label = ". ".join(dict.fromkeys(part.strip() for part in names if part.strip()))
    useful = tuple(dict.fromkeys(reversed(labelled.useful))) if labelled is not None else ()
    noise = tuple(dict.fromkeys(reversed(labelled.noise))) if labelled is not None else ()
    return TopicTexts(
        topic.name,
        label,
        topic.instructions[:ABOUT_LIMIT],
        tuple(dict.fromkeys(topic.examples)),
        useful[:EXAMPLES_LIMIT],
        tuple(text for text in noise if text not in useful)[:EXAMPLES_LIMIT],
        tuple(reversed(labelled.opened)) if labelled is not None else (),
        topic.triggers,
    )


def rows_of(topics: Sequence[TopicTexts]) -> list[Row]:
    """What speaks for each topic, and what asks for nothing, in order."""
    found = [Row(text, None, WRITTEN) for text in nothing()]
    limit = max(2, min(EXAMPLES_LIMIT, ROWS_LIMIT // max(1, len(topics)) - 2))
    for index, topic in enumerate(topics):
        found.append(Row(topic.label, index, WRITTEN))
        if topic.about:
            found.append(Row(topic.about, index, WRITTEN))
        found += [Row(text, index, LABELLED) for text in topic.useful[:limit]]
        written = [Row(text, index, WRITTEN) for text in topic.examples if text not in topic.useful]
        opened = [Row(text, index, OPENED) for text in topic.opened if text not in topic.examples]
        found += [*written, *opened][: max(0, limit - len(topic.useful))]
    return found


def refused_in(topics: Sequence[TopicTexts]) -> dict[str, set[int]]:
    """The topics for which each message was labelled as noise, if it was useful for no topic."""
    useful = {text for topic in topics for text in topic.useful}
    found: dict[str, set[int]] = {}
    for index, topic in enumerate(topics):
        for text in topic.noise:
            if text not in useful:
                found.setdefault(text, set()).add(index)
    return found


@lru_cache(maxsize=1)
def nothing() -> tuple[str, ...]:
    """Messages that ask for nothing a playbook could help with."""
    return tuple(line for line in _NOTHING_FILE.read_text("utf-8").splitlines() if line.strip())
