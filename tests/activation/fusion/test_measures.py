"""The raw signals of a message: what each measures, also with odd texts and many topics."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy
import pytest

from engine.activation.fusion import classifiers, measures
from engine.activation.fusion.fitted import Fitted, TopicTexts, fit
from engine.activation.fusion.measures import RAW, Measured, measure
from engine.activation.fusion.postings import count_grams
from engine.activation.fusion.words import WORDS_READ, words_of
from engine.meaning.vectors import tokens_of
from tests.activation.fusion.support import REFUND, FakeVectors, three_texts
from tests.activation.fusion.test_fitted import sets_of_topics
from tests.cases import each_case

MESSAGES = (
    "where is my money",
    "a",
    "退款",
    "我想退款",
    "أريد استرداد المبلغ",
    "кино",
    "lone \ud83d",
    "x" * 5_000,
    "order " * 3_000,
    " ".join(f"w{number}" for number in range(3_000)),
)


@cache
def known(topics: tuple[TopicTexts, ...], classified: int) -> Fitted:
    """The fit for some topics, cached per classifier limit."""
    return fit(topics, FakeVectors())


def found(text: str, topics: tuple[TopicTexts, ...]) -> Measured:
    measured = measure(text, known(topics, classifiers.CLASSIFIED_ENTRIES), FakeVectors())
    assert measured is not None
    return measured


def signals(text: str, topics: tuple[TopicTexts, ...]) -> dict[str, dict[str, float]]:
    """Signals by name, by topic."""
    measured = found(text, topics)
    rows = measured.values.tolist()
    return {
        topics[topic].name: dict(zip(RAW, row, strict=True))
        for topic, row in zip(measured.topics.tolist(), rows, strict=True)
    }


@each_case("text", ["", "  \n", "😀 🎉", "…!?", "\ud800"])
def test_a_message_without_words_is_not_measured(text: str) -> None:
    assert measure(text, fit(three_texts(), FakeVectors()), FakeVectors()) is None


def test_without_topics_there_is_nothing_to_measure() -> None:
    assert measure("a message", fit((), FakeVectors()), FakeVectors()) is None


@each_case("name", [name for name in sets_of_topics() if name != "none"])
@each_case("text", MESSAGES)
def test_every_message_is_measured(text: str, name: str) -> None:
    topics = sets_of_topics()[name]
    measured = found(text, topics)
    assert measured.values.shape == (len(topics), len(RAW))
    assert measured.values.dtype == numpy.float32
    assert numpy.isfinite(measured.values).all()
    unbounded = {"classifier", "bm25"}
    bounded = measured.values[:, [place for place, raw in enumerate(RAW) if raw not in unbounded]]
    assert numpy.all(numpy.abs(bounded) <= 1.0001)
    assert 0 <= measured.coverage <= 1


def test_an_example_as_message_has_maximum_similarity() -> None:
    of = signals(REFUND[1], three_texts())
    for raw in ("vectors_max", "words_max", "jaccard", "minhash"):
        assert of["refund"][raw] == pytest.approx(1, abs=1e-4)
        assert of["deploy"][raw] < 0.5
    for raw in (
        "vectors_top",
        "vectors_mean",
        "words_top",
        "words_mean",
        "words_about",
        "bm25",
        "classifier",
    ):
        assert of["refund"][raw] > of["deploy"][raw] + 0.05


def test_jaccard_is_the_share_of_common_distinct_words() -> None:
    topics = (TopicTexts("a", "a", "", ("send my parcel today", "lost")), TopicTexts("b", "b"))
    assert signals("send send the parcel", topics)["a"]["jaccard"] == pytest.approx(2 / 5)


def test_top_is_the_mean_of_the_three_highest() -> None:
    topics = (
        TopicTexts("a", "a", "", ("red", "green", "blue", "black", "red red")),
        TopicTexts("b", "b", "", ("white",)),
    )
    vectors = FakeVectors()
    near = (vectors.embed(topics[0].examples) @ vectors.embed(["red"])[0]).tolist()
    of = signals("red", topics)
    assert of["a"]["vectors_top"] == pytest.approx(sum(sorted(near)[-3:]) / 3, abs=1e-5)
    assert of["b"]["vectors_top"] == pytest.approx(of["b"]["vectors_max"], abs=1e-5)


def test_a_counter_example_counts_only_against_its_topic() -> None:
    topics = three_texts()
    topics = (*topics[:2], replace(topics[2], against=("set my alarm for six", "never mind")))
    of = signals("set an alarm for six", topics)
    assert of["holiday"]["against"] > 0.5
    assert of["refund"]["against"] == of["deploy"]["against"] == 0


def test_coverage_is_the_share_of_known_words() -> None:
    topics = three_texts()
    assert found("refund the order", topics).coverage == 1
    assert found("zebras yawn", topics).coverage == 0
    assert 0 < found("refund zebras", topics).coverage < 1


def test_languages_without_spaces_are_compared_by_their_characters() -> None:
    topics = (
        TopicTexts("refund", "退款", "", ("怎么退款", "我想申请退款")),
        TopicTexts("holiday", "休假", "", ("怎么申请休假", "七月请假")),
    )
    of = signals("你好，请问退款要怎么办理", topics)
    assert of["refund"]["words_max"] > of["holiday"]["words_max"] + 0.1
    assert of["refund"]["bm25"] > of["holiday"]["bm25"]


def many_topics(count: int) -> tuple[TopicTexts, ...]:
    things = [f"thing{number}" for number in range(count)]
    return tuple(
        TopicTexts(
            thing, f"about {thing}", "", tuple(f"{thing} and {things[place - n]}" for n in range(place % 4))
        )
        for place, thing in enumerate(things)
    )


@pytest.mark.parametrize("classified", [True, False])
def test_a_shortlist_changes_no_value(classified: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    topics = tuple(
        replace(topic, against=(f"{topic.name} or not",)) if place % 5 == 0 else topic
        for place, topic in enumerate(many_topics(60))
    )
    if not classified:
        monkeypatch.setattr("engine.activation.fusion.classifiers.CLASSIFIED_ENTRIES", 10)
    text = "is thing7 like thing8 or thing9"
    whole = found(text, topics)
    monkeypatch.setattr(measures, "ALL_TOPICS", 59)
    monkeypatch.setattr(measures, "SHORTLIST", 12)
    short = found(text, topics)
    assert short.topics.tolist() == sorted(short.topics.tolist())
    assert len(short.topics) == 12
    assert {7, 8, 9} <= set(short.topics.tolist())
    assert short.classified == whole.classified == classified
    assert short.background == pytest.approx(whole.background, abs=1e-6)
    assert numpy.allclose(short.values, whole.values[short.topics], atol=1e-5)


def test_from_401_topics_a_shortlist_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classifiers, "CLASSIFIED_ENTRIES", 0)
    assert len(found("thing17 and thing18", many_topics(400)).topics) == 400
    listed = found("thing17 and thing18", many_topics(401))
    assert len(listed.topics) == measures.SHORTLIST
    assert {17, 18} <= set(listed.topics.tolist())


@each_case("word", ["word", "x" * 60, "退款办理", "\ud800a"])
def test_work_is_bounded_however_long_a_message_is(word: str) -> None:
    text = " ".join(f"{word}{number}" for number in range(200_000 // len(word)))
    words = words_of(text)
    assert len(words) <= WORDS_READ
    _, codes, _ = count_grams([words])
    assert len(codes) <= 118 * WORDS_READ + WORDS_READ - 1
    assert len(tokens_of(text)) <= 256


def test_sparse_products_equal_the_matrix_product() -> None:
    matrix: Any = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
    vector: Any = numpy.array([1, 0, 2, -1], dtype=numpy.float32)
    assert measures._products(matrix, vector).tolist() == (matrix @ vector).tolist()
