"""Many messages at once have the scores that they have one by one, and labels those of fits without them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.activation.labelled import Labelled
from engine.activation.scorer.batch import CalibratedBatch
from engine.activation.scorer.scorer import CalibratedScorer
from engine.activation.scorer.store import HELD_OUT_PATH, FitStore
from engine.activation.trace import TriggerHit
from tests.activation.support import pr_topic, topic, workspace_files

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


def scorer(store: FitStore | None = None, **labelled: Labelled) -> CalibratedScorer:
    made = CalibratedScorer(store=store, labelled=lambda: labelled)
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


def test_fits_without_labels_are_kept_until_labels_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = workspace_files(tmp_path)
    first = scorer(FitStore(files), lunch=Labelled(noise=(TABLE,))).batch()
    first.prepare(MESSAGES)
    known = first.score(NAMES, MESSAGES)[0]
    assert (tmp_path / HELD_OUT_PATH).exists()
    fits: list[object] = []
    monkeypatch.setattr(CalibratedScorer, "_fit", lambda *given: fits.append(given))
    again = scorer(FitStore(files), lunch=Labelled(noise=(TABLE,))).batch()
    again.prepare(MESSAGES)
    assert np.array_equal(again.score(NAMES, MESSAGES)[0], known) and not fits
    monkeypatch.undo()
    (tmp_path / HELD_OUT_PATH).write_bytes(b"damaged")
    other: CalibratedBatch = scorer(FitStore(files), lunch=Labelled(noise=(TABLE,))).batch()
    other.prepare(MESSAGES)
    assert other.score(NAMES, MESSAGES)[0] == pytest.approx(known, abs=1e-4)
