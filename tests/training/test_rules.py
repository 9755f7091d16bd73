"""The program that fits the model of rules."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.rules import judge
from tests.training.rules import ELSEWHERE, SENTENCES, fitted, read, taught

ROWS = [
    *((f"always {what} before you commit", "standing") for what in ("test", "lint", "format", "build")),
    *((f"please {what} it now", "once") for what in ("test", "lint", "format", "build")),
    *((f"the {what} was red yesterday", "other") for what in ("test", "lint", "format", "build")),
]


@pytest.fixture
def use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[dict[str, object]], None]]:
    """Return a function that lets a model judge."""
    monkeypatch.setattr(judge, "DATA", tmp_path / "judge.json")
    monkeypatch.setattr(judge, "_model", judge._model.__wrapped__)

    def write(model: dict[str, object]) -> None:
        judge.DATA.write_text(json.dumps(model))
        judge.judged.cache_clear()

    yield write
    judge.judged.cache_clear()


def scores(text: str) -> tuple[float, float, float]:
    verdict = judge.judged(text)
    return verdict.standing, verdict.once, verdict.other


def test_a_fitted_model_judges_by_what_it_was_shown(use: Callable[[dict[str, object]], None]) -> None:
    use(fitted(ROWS))
    for text, label in (("always review before you commit", 0), ("please review it now", 1)):
        found = scores(text)
        assert math.isclose(sum(found), 1.0) and found.index(max(found)) == label


def test_a_model_is_taught_more_and_judges_as_before_what_it_knew(
    use: Callable[[dict[str, object]], None],
) -> None:
    kept = [text for text, _ in ROWS]
    model = fitted(ROWS)
    use(model)
    before = {text: scores(text) for text in kept}
    new = [(f"vždycky {what}", "standing") for what in ("testuj", "formátuj", "kontroluj", "ukládej")]
    new += [(f"{what} vždycky spadne", "other") for what in ("build", "server", "skript", "nástroj")]
    assert max(map(scores, dict(new)), key=lambda each: each[0])[0] < 0.6
    use(taught(new, kept, model))
    assert scores("vždycky měř")[0] > 0.6 > scores("program vždycky spadne")[0]
    for text in kept:
        assert scores(text) == pytest.approx(before[text], abs=0.05)


def test_the_sentences_have_known_labels_and_none_twice() -> None:
    rows = read([SENTENCES, ELSEWHERE])
    assert {label for _, label in rows} == set(judge.KINDS)
    assert len({text.casefold() for text, _ in rows}) == len(rows) > 5_000
