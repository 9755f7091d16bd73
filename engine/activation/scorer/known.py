"""The state of the scorer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from engine.startup.records import dataclass

if TYPE_CHECKING:
    from engine.activation.scorer.fitted import Fitted
    from engine.activation.scorer.texts import TopicTexts
    from engine.topics.model import Topic


@dataclass(frozen=True, slots=True)
class Known:
    """The topics and the fit of their texts."""

    topics: Mapping[str, Topic]
    texts: tuple[TopicTexts, ...]
    fitted: Fitted
    places: Mapping[str, int]  # of the topics in the fit
