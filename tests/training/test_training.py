"""The combiner's training data is built from the sets as documented; on a small set, without a teacher."""

from __future__ import annotations

import json
from pathlib import Path

import numpy

from tests.activation.fusion.support import FakeVectors
from tests.training.sets import SETS, read_sets
from tests.training.workspaces import ROOM, lessons, workspaces

WORDS = ("refund", "deploy", "holiday", "invoice", "printer", "visa", "salary", "parking")


def test_synthetic_workspaces_become_lessons(tmp_path: Path) -> None:
    for name in SETS:
        rows = [[f"{name} asks about {word} number {n}", word] for word in WORDS for n in range(60)]
        tree = {
            "topics": {word: word.title() for word in WORDS},
            "train": rows,
            "val": rows[:1],
            "oos_train": [f"{name} says nothing of the kind {n}" for n in range(300)],
        }
        (tmp_path / f"{name}.json").write_text(json.dumps(tree))
    sets = read_sets(tmp_path)
    assert all(len(each.messages) == 8 * 60 - 1 + 300 for each in sets.values()), (
        "a reserved message was used"
    )
    generic = [f"a sentence about thing {n}" for n in range(100)]
    for made in workspaces(sets, ("clinc150",), generic, 2, seed=1):
        examples = {text for topic in made.topics for text in topic.examples}
        assert not examples & {text for text, _ in made.messages}, (
            "a message is both an example and a training message"
        )
        learned = lessons(made, FakeVectors(), numpy.random.RandomState(0))
        assert learned.rows.shape[:2] == learned.truth.shape == (len(made.messages), ROOM)
        belongs = [bool(topics) for _, topics in made.messages]
        assert learned.truth.any(axis=1).tolist() == belongs and 0 < sum(belongs) < len(belongs)
        assert (learned.weight[learned.truth > 0] > 0).all(), (
            "the right topic is missing from the training data"
        )
