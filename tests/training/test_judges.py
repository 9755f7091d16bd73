"""The program that fits the judges of sentences."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

from engine.meaning.wording import SentenceModel
from tests.cases import each_case
from tests.training.judges import JUDGES, fitted, read

WORK = ("test", "lint", "format", "build")
ROWS = {
    "rules": [
        {"text": text.format(what), "label": label}
        for what in WORK
        for text, label in (
            ("always {} before you commit", "standing"),
            ("please {} it now", "once"),
            ("the {} was red yesterday", "other"),
        )
    ],
    "replies": [
        {"text": text.format(what), "label": label}
        for what in WORK
        for text, label in (
            ("I added the {} to the pipeline.", "done"),
            ("The {} fails because the path is relative.", "found"),
            ("Let me look at the {}:", "other"),
        )
    ],
}
UNSEEN = {
    "rules": {"always review before you commit": "standing", "please review it now": "once"},
    "replies": {
        "I added the review to the pipeline.": "done",
        "The review fails because the path is relative.": "found",
        "Let me look at the review:": "other",
    },
}


@each_case("name", JUDGES)
def test_a_fitted_judge_goes_by_what_it_was_shown(name: str, tmp_path: Path) -> None:
    path = tmp_path / "judge.json"
    path.write_text(json.dumps(fitted(ROWS[name], JUDGES[name])))
    what = replace(JUDGES[name], model=SentenceModel(path))
    for text, label in UNSEEN[name].items():
        scores = what.model.probabilities(what.features({"text": text}))
        assert math.isclose(sum(scores), 1.0)
        assert what.kinds[scores.index(max(scores))] == label


@each_case(("name", "least"), [("rules", 5_000), ("replies", 1_000)])
def test_the_sentences_have_known_labels_and_none_twice(name: str, least: int) -> None:
    rows = read([JUDGES[name].sentences])
    assert {row["label"] for row in rows} == set(JUDGES[name].kinds)
    assert len({row["text"].casefold() for row in rows}) == len(rows) > least


@each_case("name", JUDGES)
def test_a_judge_has_a_weight_of_each_kind_for_every_feature(name: str) -> None:
    what = JUDGES[name]
    tree = json.loads(what.model.path.read_bytes())
    assert len(tree["base"]) == len(what.kinds) and len(tree["weights"]) > 1_000
    assert all(len(each) == len(what.kinds) for each in tree["weights"].values())
    assert all(map(math.isfinite, (weight for each in tree["weights"].values() for weight in each)))
