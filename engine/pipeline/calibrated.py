"""Creates tier 2 of the ``calibrated`` preset. Imports numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from engine.activation.candidates import counted_hits
from engine.activation.labelled import LabelledMessages
from engine.activation.patterns import PatternMatcher
from engine.activation.scorer.fitted import fired_by
from engine.activation.scorer.scorer import CalibratedScorer, Fired
from engine.activation.scorer.store import FitStore
from engine.activation.trace import Message

if TYPE_CHECKING:
    from engine.activation.decisions import DecisionLog
    from engine.settings.model import WatcherSettings
    from engine.store.files import Files
    from engine.topics.model import Topic


def calibrated_scorer(
    settings: WatcherSettings, files: Files, decisions: DecisionLog, *, patient: bool = True
) -> CalibratedScorer:
    """The scorer of a workspace; labels in the log count as examples.

    Args:
        patient: Whether a message may wait for a fit, which takes seconds.
    """

    def matching(topics: Sequence[Topic]) -> Fired:
        matcher = PatternMatcher(topics, settings)

        def fired(text: str) -> Mapping[str, float]:
            return fired_by(text, counted_hits(matcher.match(Message(text))))

        return fired

    return CalibratedScorer(
        store=FitStore(files),
        labelled=LabelledMessages(decisions, files),
        matching=matching,
        patient=patient,
    )
