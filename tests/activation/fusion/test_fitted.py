"""What is prepared for a set of topics, whatever the set looks like."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from engine.activation.fusion import classifiers, postings
from engine.activation.fusion.fitted import Fitted, TopicTexts, fit
from tests.activation.fusion.support import MadeVectors, three_texts
from tests.activation.fusion.test_postings import postings_of
from tests.cases import each_case

KINDS = {numpy.dtype("float32"), numpy.dtype("int32"), numpy.dtype("uint32")}


def arrays(fitted: Fitted) -> dict[str, Any]:
    return {name: getattr(fitted, name) for name in Fitted.array_names()}


def sets_of_topics() -> dict[str, tuple[TopicTexts, ...]]:
    """Sets that have broken something somewhere."""
    many = tuple(f"message number {number}" for number in range(64))
    return {
        "none": (),
        "one": (TopicTexts("only", "one topic", "", ("an example",)),),
        "one with nothing": (TopicTexts("only", ""),),
        "no words": (TopicTexts("party", "🎉", "🎊", ("🥳", "")), TopicTexts("sad", "😢", "", (), ("…",))),
        "64 beside none": (TopicTexts("much", "much", "", many), TopicTexts("little", "little")),
        "equal": (TopicTexts("a", "x", "", ("the same",)), TopicTexts("b", "x", "", ("the same",))),
        "scripts": (
            TopicTexts("退款", "退款", "怎么退款", ("我想退款",)),
            TopicTexts("مال", "استرداد", "", ("أريد المبلغ",), ("кино",)),
            TopicTexts("\ud800", "\udfff lone", "", ("lone \ud83d",)),
        ),
        "three": three_texts(),
    }


@each_case("name", sets_of_topics())
def test_every_set_of_topics_is_fitted(name: str) -> None:
    topics = sets_of_topics()[name]
    fitted = fit(topics, MadeVectors())
    assert fitted.names == tuple(topic.name for topic in topics)
    assert numpy.diff(fitted.starts).tolist() == [len(topic.examples) or 1 for topic in topics]
    assert {array.dtype for array in arrays(fitted).values()} <= KINDS
    assert all(numpy.isfinite(array).all() for array in arrays(fitted).values())
    assert len(fitted.against_topics) == sum(len(topic.against) for topic in topics)


def test_equal_topics_give_equal_arrays() -> None:
    once, again = (arrays(fit(three_texts(), MadeVectors())) for _ in range(2))
    assert all(numpy.array_equal(once[name], again[name]) for name in once)


def test_a_topic_without_examples_is_known_by_its_label() -> None:
    fitted = fit((TopicTexts("a", "lost parcels", "what to do"), *three_texts()), MadeVectors())
    assert fitted.starts[1] == 1
    assert numpy.allclose(fitted.entry_vectors[0], fitted.label_vectors[0])
    assert fitted.own_vectors[0] == fitted.own_grams[0] == -1
    # In what is written about it the label's words count once, though the label is the entry as well.
    alone = fit((TopicTexts("a", "lost parcels", "what to do"),), MadeVectors())
    assert numpy.allclose(alone.word_weights, alone.word_idf)


def test_own_similarity_is_that_to_the_three_nearest() -> None:
    examples = ("send the parcel", "send the parcel", "send my parcel", "send her parcel", "lost", "found")
    texts = (TopicTexts("a", "a", "", examples), TopicTexts("b", "b"))
    fitted = fit(texts, MadeVectors())
    vectors = fitted.entry_vectors[:6]
    expected = []
    for row in range(6):
        others = sorted((float(vectors[row] @ vectors[o]) for o in range(6) if o != row), reverse=True)
        expected.append(sum(others[:3]) / 3)
    assert fitted.own_vectors[0] == pytest.approx(sum(expected) / 6, abs=1e-5)
    grams = postings_of(arrays(fitted))
    expected = []
    for row in range(6):
        alike: list[float] = sorted((dot(grams[row], grams[o]) for o in range(6) if o != row), reverse=True)
        expected.append(sum(alike[:3]) / 3)
    assert fitted.own_grams[0] == pytest.approx(sum(expected) / 6, abs=1e-5)


def dot(left: dict[int, float], right: dict[int, float]) -> float:
    return sum(weight * right.get(term, 0.0) for term, weight in left.items())


def kernel_of(fitted: Fitted, titled: list[int]) -> Any:
    """Likeness among entries and the titles of some topics, one pair after the other."""
    grams = postings_of(arrays(fitted))
    size = int(fitted.starts[-1])
    every = numpy.concatenate([fitted.entry_vectors, fitted.label_vectors[titled]])
    kernel = numpy.exp(3 * (every @ every.T - 1)).astype(float)
    for one in range(size):
        for other in range(size):
            kernel[one, other] += 0.2 * dot(grams[one], grams[other])
    return kernel


def solved(kernel: Any, owners: list[int]) -> Any:
    aims = numpy.full((len(owners), 3), -1 / 3)
    aims[range(len(owners)), owners] = 1
    return numpy.linalg.solve(kernel + 0.2 * numpy.eye(len(owners)), aims)


@pytest.mark.parametrize(("common", "columns", "pairs"), [(1, 3, 10), (4, 1, 10), (64, 2_000, 1_000_000)])
def test_classifiers_are_ridge_regression_over_similarity(
    common: int, columns: int, pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the n-grams are compared: as columns of a matrix or pair by pair."""
    monkeypatch.setattr(classifiers, "_COMMON", common)
    monkeypatch.setattr(classifiers, "_COLUMNS", columns)
    monkeypatch.setattr(classifiers, "_PAIRS", pairs)
    texts = (*three_texts()[:2], TopicTexts("c", "only a title"))
    fitted = fit(texts, MadeVectors())
    size = int(fitted.starts[-1])
    owners = [topic for topic in range(3) for _ in range(fitted.starts[topic], fitted.starts[topic + 1])]
    expected = solved(kernel_of(fitted, [0, 1]), [*owners, 0, 1])
    assert numpy.allclose(fitted.classifiers[: size + 2], expected, atol=1e-5)
    assert not fitted.classifiers[size + 2].any()  # its title is its entry already


def test_what_classifiers_give_unseen_entries_is_as_if_they_had_been_trained_without_them() -> None:
    fitted = fit(three_texts(), MadeVectors())
    size = int(fitted.starts[-1])
    owners = [topic for topic in range(3) for _ in range(fitted.starts[topic], fitted.starts[topic + 1])]
    owners += range(3)
    kernel = kernel_of(fitted, [0, 1, 2])
    unseen = []
    for entry in range(size):
        others = [place for place in range(len(owners)) if place != entry]
        weights = solved(kernel[numpy.ix_(others, others)], [owners[place] for place in others])
        unseen.append(kernel[entry, others] @ weights)
    given = [unseen[entry][owners[entry]] for entry in range(size)]
    middle = sum(given) / size
    assert fitted.spread_classified[0] == pytest.approx(numpy.std(given), abs=1e-4)
    for topic in range(3):
        mine = [given[entry] for entry in range(size) if owners[entry] == topic]
        own = (sum(mine) + 5 * middle) / (len(mine) + 5)
        assert fitted.own_classified[topic] == pytest.approx(own, abs=1e-4)
        rivals = sorted((unseen[e][topic] for e in range(size) if owners[e] != topic), reverse=True)
        nearest = sum(rivals[: size // 2]) / (size // 2)
        assert fitted.rivals_classified[topic] == pytest.approx(nearest, abs=1e-4)


def test_large_triangles_are_inverted_by_halves() -> None:
    random = numpy.random.RandomState(3)
    lower = numpy.tril(random.normal(size=(301, 301), scale=0.02)).astype(numpy.float32)
    lower[numpy.diag_indices(301)] = 1
    inverse = classifiers._inverse_of_triangle(lower)
    assert numpy.allclose(inverse @ lower, numpy.eye(301), atol=1e-5)
    assert not numpy.triu(inverse, 1).any()


def test_titles_alone_say_nothing_about_how_high_a_classifier_goes() -> None:
    fitted = fit(tuple(TopicTexts(name, f"about {name}") for name in "abc"), MadeVectors())
    assert not fitted.own_classified.any()
    assert fitted.spread_classified[0] == 0


def test_too_many_entries_or_one_topic_have_no_classifiers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fit(three_texts()[:1], MadeVectors()).classifiers.shape == (0, 0)
    monkeypatch.setattr(classifiers, "CLASSIFIED_ENTRIES", 11)
    assert fit(three_texts(), MadeVectors()).classifiers.shape == (0, 0)
    monkeypatch.setattr(classifiers, "CLASSIFIED_ENTRIES", 12)
    assert fit(three_texts(), MadeVectors()).classifiers.shape == (12, 3)


def test_a_limit_of_postings_leaves_a_usable_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postings, "POSTINGS_LIMIT", 1)
    fitted = fit(three_texts(), MadeVectors())
    assert numpy.diff(fitted.offsets).max() == 1
    assert numpy.isfinite(fitted.classifiers).all()


def test_moods_follow_the_words() -> None:
    fitted = fit(
        (
            TopicTexts("praise", "praise", "", ("great thanks perfect love wonderful",)),
            TopicTexts("complaint", "complaint", "", ("terrible angry hate broken awful",)),
        ),
        MadeVectors(),
    )
    assert fitted.moods[0] > 0 > fitted.moods[1]
