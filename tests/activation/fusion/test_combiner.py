"""The features, and the network that combines them into one probability."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy
import pytest

from engine.activation.fusion import combiner
from engine.activation.fusion.combiner import (
    FEATURES,
    GROUPS,
    MOST_LOGIT,
    WEIGHTS,
    Combiner,
    features,
    probability_of,
)
from engine.activation.fusion.fitted import TopicTexts, fit
from engine.activation.fusion.measures import RAW, measure
from engine.errors import AutopoiesisError
from tests.activation.fusion.support import REFUND, FakeVectors, linear_combiner, three_texts


def rows_of(text: str, topics: tuple[TopicTexts, ...]) -> list[dict[str, float]]:
    """The features of every topic, by name."""
    vectors = FakeVectors()
    fitted = fit(topics, vectors)
    measured = measure(text, fitted, vectors)
    assert measured is not None
    found = features(measured, fitted)
    assert found.dtype == numpy.float32
    assert found.shape == (len(topics), len(FEATURES))
    return [dict(zip(FEATURES, row, strict=True)) for row in found.tolist()]


def test_features_of_the_nearest_topic_and_of_another() -> None:
    refund, deploy, holiday = rows_of(REFUND[0], three_texts())
    best_other = max(deploy["words_top"], holiday["words_top"])
    assert refund["words_top_lead"] == pytest.approx(refund["words_top"] - best_other, abs=1e-6)
    assert deploy["words_top_lead"] == pytest.approx(deploy["words_top"] - refund["words_top"], abs=1e-6)
    mean = (refund["bm25"] + deploy["bm25"] + holiday["bm25"]) / 3
    assert refund["bm25_above"] == pytest.approx(refund["bm25"] - mean, abs=1e-6)
    assert refund["owned"] in (0, 1)
    assert refund["against_lead"] == 1
    similarity = [row["vectors_mean"] for row in (refund, deploy, holiday)]
    assert refund["background"] == pytest.approx(sum(similarity) / 3, abs=1e-6)


def test_the_lead_of_a_single_topic_is_its_own_value() -> None:
    (only,) = rows_of("a refund please", three_texts()[:1])
    assert only["words_top_lead"] == pytest.approx(only["words_top"])
    assert only["words_top_above"] == pytest.approx(0)


def test_equal_topics_have_no_lead() -> None:
    first, second = rows_of(
        "the same", (TopicTexts("a", "x", "", ("the same",)), TopicTexts("b", "x", "", ("the same",)))
    )
    assert first == pytest.approx(second, abs=1e-4)
    assert first["vectors_max_lead"] == 0


def test_classifier_features_compare_with_held_out_entries() -> None:
    topics = three_texts()
    fitted = fit(topics, FakeVectors())
    for place, row in enumerate(rows_of("a refund please", topics)):
        own, rivals = float(fitted.own_classified[place]), float(fitted.rivals_classified[place])
        assert row["classifier_own"] == pytest.approx(row["classifier"] - own, abs=1e-6)
        assert row["classifier_rivals"] == pytest.approx(row["classifier"] - rivals, abs=1e-6)
        assert row["classifier_part"] == pytest.approx(
            min(max(row["classifier"] / max(own, 0.1), -2), 3), abs=1e-5
        )
        assert row["classifier_level"] == pytest.approx(own, abs=1e-6)
        assert row["classifier_spread"] == pytest.approx(float(fitted.spread_classified[0]), abs=1e-6)
    untold = rows_of("a refund please", tuple(replace(topic, examples=()) for topic in topics))
    assert {row["classifier_own"] for row in untold} == {0}
    assert all(row["classifier"] for row in untold)


def test_a_topic_with_one_entry_has_no_own_similarity() -> None:
    (row, _) = rows_of("lost parcels", (TopicTexts("a", "lost parcels"), TopicTexts("b", "found keys")))
    assert (row["owned"], row["vectors_own"], row["words_own"]) == (0, 0, 0)


def test_log_odds_are_clipped() -> None:
    rows = numpy.zeros((2, len(FEATURES)), dtype=numpy.float32)
    assert linear_combiner(bias=50).logits(rows).tolist() == [MOST_LOGIT] * 2
    assert linear_combiner(bias=-50).logits(rows).tolist() == [-MOST_LOGIT] * 2


def test_extreme_features_are_clipped() -> None:
    rows = numpy.zeros((1, len(FEATURES)), dtype=numpy.float32)
    rows[0, FEATURES.index("bm25")] = 1e6
    assert linear_combiner(bias=0, bm25=1).logits(rows).tolist() == [6]


def test_a_batch_gives_the_same_log_odds_as_single_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    random: Any = numpy.random.RandomState(0)
    rows = random.normal(size=(50, len(FEATURES))).astype(numpy.float32)
    weights = Combiner.load()
    whole = weights.logits(rows)
    monkeypatch.setattr(combiner, "_ALONE", 1)
    assert numpy.allclose(weights.logits(rows), whole, atol=1e-4)


def test_a_contribution_is_the_change_caused_by_a_signal() -> None:
    weights = linear_combiner(words_top=2, words_max_lead=1, bm25=3, against=-2, against_lead=1, length=5)
    nothing = dict.fromkeys(FEATURES, 0.0) | {"against_lead": 1.0}
    row = nothing | {"words_top": 0.5, "words_max_lead": 0.25, "bm25": 0.5, "length": 0.1}
    countered = row | {"against": 0.5, "against_lead": 0.25}
    rows = numpy.array([list(each.values()) for each in (row, nothing, countered)], dtype=numpy.float32)
    first, second, third = weights.contributions(rows)
    assert list(first) == list(GROUPS)
    assert first == pytest.approx(dict.fromkeys(GROUPS, 0.0) | {"words": 1.25, "bm25": 1.5}, abs=1e-5)
    assert second == pytest.approx(dict.fromkeys(GROUPS, 0.0))
    assert third == pytest.approx({**first, "counter-examples": -1.75}, abs=1e-5)
    assert weights.contributions(rows[:0]) == []


def test_contributions_add_up_to_the_difference_in_log_odds() -> None:
    """Also in a nonlinear network, with features beyond the clipping range."""
    random: Any = numpy.random.RandomState(1)
    sizes = (len(FEATURES), 8, 4, 1)
    layers = tuple(
        (random.normal(size=(a, b), scale=0.4).astype(numpy.float32), numpy.zeros(b, dtype=numpy.float32))
        for a, b in pairwise(sizes)
    )
    one, nothing = (
        numpy.ones(len(FEATURES), dtype=numpy.float32),
        numpy.zeros(len(FEATURES), dtype=numpy.float32),
    )
    typical = nothing.copy()
    typical[FEATURES.index("against_lead")] = 1
    weights = Combiner("made", nothing, one, layers, typical)
    rows = random.normal(size=(30, len(FEATURES))).astype(numpy.float32)
    hidden = [FEATURES.index(name) for name in ("owned", "length", "entries", "topics", "classified")]
    rows[:, hidden] = 0
    rows[0, FEATURES.index("bm25")] = 8
    differences = weights.logits(rows) - weights.logits(typical[None, :])
    for difference, parts in zip(differences.tolist(), weights.contributions(rows), strict=True):
        assert sum(parts.values()) == pytest.approx(difference, abs=0.3)


def test_every_signal_belongs_to_one_group() -> None:
    members = [name for of in GROUPS.values() for name in of]
    assert len(set(members)) == len(members)
    assert set(members) <= set(FEATURES)
    assert set(RAW) <= set(members)


def test_log_odds_convert_to_probabilities() -> None:
    assert probability_of(0) == 0.5
    assert probability_of(-1e9) == 0
    assert probability_of(1e9) == 1
    assert probability_of(2) == pytest.approx(1 - probability_of(-2))


def test_the_shipped_weights_match_the_features() -> None:
    loaded = Combiner.load()
    assert loaded.mean.shape == loaded.scale.shape == loaded.typical.shape == (len(FEATURES),)
    assert loaded.layers[0][0].shape[0] == len(FEATURES)
    assert loaded.layers[-1][0].shape[1] == 1


def test_unusable_weights_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "combiner.json"
    shipped = json.loads(WEIGHTS.read_text())
    for text in (
        None,
        "",
        WEIGHTS.read_text()[:1000],
        "[]",
        json.dumps({**shipped, "features": list(reversed(FEATURES))}),
        json.dumps({**shipped, "layers": [{"weights": [[1], [1, 2]], "bias": [0]}]}),
        json.dumps({key: value for key, value in shipped.items() if key != "typical"}),
    ):
        if text is not None:
            path.write_text(text)
        with pytest.raises(AutopoiesisError) as raised:
            Combiner.load(path)
        assert raised.value.where == str(path)
        assert "reinstall" in raised.value.hint
