"""Converts between a pair of thresholds and what a topic's file says (spec 2.3, 5.4 and 5.5).

Only ``engine.activation.policy`` decides which score activates, asks or drops. To see the effect of other
thresholds, tuning applies it to the same topic with other numbers in its file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.activation.policy import Thresholds, thresholds_of
from engine.errors import TopicError
from engine.store import documents
from engine.topics.loader import load_topic

if TYPE_CHECKING:
    from engine.settings.model import WatcherSettings
    from engine.topics.model import Topic

_DIGITS = 4
_KEYS = ("similarity_threshold", "activation_threshold")


@dataclass(frozen=True, slots=True)
class OwnThresholds:
    """The thresholds in a topic's file."""

    similarity_threshold: float | None = None
    """The lower threshold; ``None`` if the table's applies."""
    activation_threshold: float | None = None  # the upper threshold, likewise

    @classmethod
    def of(cls, topic: Topic) -> OwnThresholds:
        return cls(topic.similarity_threshold, topic.activation_threshold)

    def on(self, topic: Topic) -> Topic:
        """The topic with these thresholds in its file."""
        return replace(
            topic,
            similarity_threshold=self.similarity_threshold,
            activation_threshold=self.activation_threshold,
        )


def today(topic: Topic, settings: WatcherSettings) -> Thresholds:
    """The two effective thresholds of a topic that its file can change.

    With the ``calibrated`` preset they are those of a message without a match. With ``spec`` the lower one
    applies to messages without a match, and to matched ones if it is above their row's; the upper one applies
    to matched ones only, and is “never” if a match needs no score.
    """
    thresholds = thresholds_of(topic, settings, matched=False)
    if settings.preset == "calibrated":
        return thresholds
    if topic.activation_threshold is not None:
        return Thresholds(thresholds.gate, topic.activation_threshold)
    activate = settings.row(topic.priority).activate
    above = activate is not None and (thresholds.gate is None or activate > thresholds.gate)
    return Thresholds(thresholds.gate, activate if above else None)


def own_thresholds(topic: Topic, settings: WatcherSettings, thresholds: Thresholds) -> OwnThresholds:
    """What a topic's file must say to make ``thresholds`` effective.

    An effective threshold stays as written, and one equal to the table's needs no line. A file cannot say
    “never” where the table has a number, so it says 1, which only a score of 1 reaches; “never asked” is a
    lower threshold equal to the upper one.
    """
    now, table = today(topic, settings), today(OwnThresholds().on(topic), settings)
    upper = thresholds.activate
    if upper == now.activate:
        own_upper = topic.activation_threshold
    else:
        own_upper = None if upper == table.activate else 1.0 if upper is None else upper
    lower = thresholds.gate
    if lower == now.gate:
        own_lower = topic.similarity_threshold
    elif lower == table.gate:
        own_lower = None
    else:
        own_lower = lower if lower is not None else 1.0 if upper is None else upper
    own = OwnThresholds(own_lower, own_upper)
    if upper is not None and today(own.on(topic), settings).activate != upper:
        # The table's upper threshold only applies above its own lower threshold.
        return OwnThresholds(own_lower, upper)
    return own


def rounded(value: float | None) -> float | None:
    """A threshold rounded for a file: at most four digits."""
    return None if value is None else round(value, _DIGITS)


def thresholds_in(data: bytes, path: str) -> OwnThresholds:
    """The thresholds in a topic's file.

    Raises:
        TopicError: It is not a valid topic.
    """
    topic, problems = load_topic(documents.parse(data, path))
    if topic is None:
        reason = f": {problems[0].what}" if problems else ""
        raise TopicError(f"not a valid topic{reason}", where=path, hint="see: autopoiesis topics check")
    return OwnThresholds.of(topic)


def with_thresholds(data: bytes, topic: Topic, thresholds: OwnThresholds) -> bytes:
    """A topic's file with other thresholds; comments, order, line ends and everything else are kept.

    Raises:
        DocumentError: The header cannot be edited.
        TopicError: The file would still have other thresholds, since it has them in more than one place.
    """
    before = thresholds_in(data, topic.path)
    wanted = {key: getattr(thresholds, key) for key in _KEYS}
    changes = {key: value for key, value in wanted.items() if value != getattr(before, key)}
    new = documents.edit_header(data, changes, topic.path)
    if thresholds_in(new, topic.path) != thresholds:
        raise TopicError(
            "has its thresholds in a place that cannot be edited",
            where=topic.path,
            hint=f"move {' and '.join(changes)} to the left margin of the header",
        )
    return new
