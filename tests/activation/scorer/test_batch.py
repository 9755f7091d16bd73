"""Many messages at once have the scores that they have one by one, and labels those of fits without them."""

from __future__ import annotations

import numpy as np
import pytest

from engine.activation.labelled import Labelled
from engine.activation.scorer.scorer import CalibratedScorer
from engine.activation.trace import TriggerHit
from tests.activation.support import pr_topic, topic

TOPICS = (
    pr_topic(examples=("look at my pull request", "is this diff fine?", "review what I pushed")),
    topic("lunch", "Find a table for lunch and book it.", examples=("where do we eat", "book a table")),
)
NAMES = [known.name for known in TOPICS]
TABLE = "sort the table of stations by date"
HIT = {"github-pr-review": (TriggerHit(0, "pattern", "review", 0, 6),)}
MESSAGES = [
    ("review this", HIT),
    ("where shall we eat today", {}),
    (TABLE, {}),
    ("", {}),
    ("日本語のレビュー ½ Straße", {}),
]


def scorer(**labelled: Labelled) -> CalibratedScorer:
    made = CalibratedScorer(labelled=lambda: labelled)
    made.update(TOPICS)
    return made


def test_scores_are_those_of_single_messages() -> None:
    single = scorer()
    found, held_out = single.batch().score(NAMES, MESSAGES)
    assert held_out, "there is nothing to hold out"
    for row, (text, hits) in zip(found, MESSAGES, strict=True):
        one = single.score(text, hits)
        assert row == pytest.approx([one[name] for name in NAMES], abs=1e-5)
    assert single.batch().score(["lunch", "gone"], MESSAGES)[0][:, 1].tolist() == [0] * len(MESSAGES)
    assert single.batch().score(NAMES, [])[0].shape == (0, 2)


def test_fits_without_labels_are_kept_until_labels_change(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = scorer(lunch=Labelled(noise=(TABLE,))).batch()
    batch.prepare(MESSAGES)
    known = batch.score(NAMES, MESSAGES)[0]
    fits: list[object] = []
    monkeypatch.setattr(CalibratedScorer, "_fit", lambda *given: fits.append(given))
    batch.prepare(MESSAGES)
    assert np.array_equal(batch.score(NAMES, MESSAGES)[0], known) and not fits
