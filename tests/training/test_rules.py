"""The program that fits the model of rules."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from engine.rules import judge
from tests.training.rules import SENTENCES, fitted, read

ROWS = [
    *((f"always {what} before you commit", "standing") for what in ("test", "lint", "format", "build")),
    *((f"please {what} it now", "once") for what in ("test", "lint", "format", "build")),
    *((f"the {what} was red yesterday", "other") for what in ("test", "lint", "format", "build")),
]


def test_a_fitted_model_judges_by_what_it_was_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "judge.json"
    model.write_text(json.dumps(fitted(ROWS)))
    monkeypatch.setattr(judge, "DATA", model)
    monkeypatch.setattr(judge, "_model", judge._model.__wrapped__)
    judge.judged.cache_clear()
    for text, label in (("always review before you commit", 0), ("please review it now", 1)):
        verdict = judge.judged(text)
        scores = (verdict.standing, verdict.once, verdict.other)
        assert math.isclose(sum(scores), 1.0) and scores.index(max(scores)) == label
    judge.judged.cache_clear()


def test_the_sentences_have_known_labels_and_none_twice() -> None:
    rows = read([SENTENCES])
    assert {label for _, label in rows} == set(judge.KINDS)
    assert len({text.casefold() for text, _ in rows}) == len(rows) > 5_000
