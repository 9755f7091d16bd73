"""The data fitted for a set of topics, for any kind of set."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from engine.activation.fusion import classifiers, postings
from engine.activation.fusion.fitted import Fitted, TopicTexts, fit
from tests.activation.fusion.support import FakeVectors, three_texts
from tests.activation.fusion.test_postings import postings_of
from tests.cases import each_case

KINDS = {numpy.dtype("float32"), numpy.dtype("int32"), numpy.dtype("uint32")}


def arrays(fitted: Fitted) -> dict[str, Any]:
    return {name: getattr(fitted, name) for name in Fitted.array_names()}


def sets_of_topics() -> dict[str, tuple[TopicTexts, ...]]:
    """Edge-case sets of topics."""
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
    fitted = fit(topics, FakeVectors())
    assert fitted.names == tuple(topic.name for topic in topics)
    assert numpy.diff(fitted.starts).tolist() == [len(topic.examples) or 1 for topic in topics]
    assert {array.dtype for array in arrays(fitted).values()} <= KINDS
    assert all(numpy.isfinite(array).all() for array in arrays(fitted).values())
    assert len(fitted.against_topics) == sum(len(topic.against) for topic in topics)


def test_equal_topics_give_equal_arrays() -> None:
    once, again = (arrays(fit(three_texts(), FakeVectors())) for _ in range(2))
    assert all(numpy.array_equal(once[name], again[name]) for name in once)


def test_a_topic_without_examples_uses_its_label_as_entry() -> None:
    fitted = fit((TopicTexts("a", "lost parcels", "what to do"), *three_texts()), FakeVectors())
    assert fitted.starts[1] == 1
    assert numpy.allclose(fitted.entry_vectors[0], fitted.label_vectors[0])
    assert fitted.own_vectors[0] == fitted.own_grams[0] == -1
    # In the description the label's words count once, although the label is also the entry.
    alone = fit((TopicTexts("a", "lost parcels", "what to do"),), FakeVectors())
    assert numpy.allclose(alone.word_weights, alone.word_idf)


def test_own_similarity_is_the_mean_of_the_three_nearest() -> None:
    examples = ("send the parcel", "send the parcel", "send my parcel", "send her parcel", "lost", "found")
    texts = (TopicTexts("a", "a", "", examples), TopicTexts("b", "b"))
    fitted = fit(texts, FakeVectors())
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
    """Pairwise similarity of entries and the titles of some topics."""
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
    """Whether n-grams are compared as columns of a matrix or pair by pair."""
    monkeypatch.setattr(classifiers, "_COMMON", common)
    monkeypatch.setattr(classifiers, "_COLUMNS", columns)
    monkeypatch.setattr(classifiers, "_PAIRS", pairs)
    texts = (*three_texts()[:2], TopicTexts("c", "only a title"))
    fitted = fit(texts, FakeVectors())
    size = int(fitted.starts[-1])
    owners = [topic for topic in range(3) for _ in range(fitted.starts[topic], fitted.starts[topic + 1])]
    expected = solved(kernel_of(fitted, [0, 1]), [*owners, 0, 1])
    assert numpy.allclose(fitted.classifiers[: size + 2], expected, atol=1e-5)
    assert not fitted.classifiers[size + 2].any()  # its title is already its entry


def test_held_out_classifier_values_equal_leave_one_out_training() -> None:
    fitted = fit(three_texts(), FakeVectors())
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


def test_large_triangular_matrices_are_inverted_in_halves() -> None:
    random = numpy.random.RandomState(3)
    lower = numpy.tril(random.normal(size=(301, 301), scale=0.02)).astype(numpy.float32)
    lower[numpy.diag_indices(301)] = 1
    inverse = classifiers._inverse_of_triangle(lower)
    assert numpy.allclose(inverse @ lower, numpy.eye(301), atol=1e-5)
    assert not numpy.triu(inverse, 1).any()


def test_topics_with_only_titles_have_no_held_out_classifier_values() -> None:
    fitted = fit(tuple(TopicTexts(name, f"about {name}") for name in "abc"), FakeVectors())
    assert not fitted.own_classified.any()
    assert fitted.spread_classified[0] == 0


def test_too_many_entries_or_a_single_topic_get_no_classifiers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fit(three_texts()[:1], FakeVectors()).classifiers.shape == (0, 0)
    monkeypatch.setattr(classifiers, "CLASSIFIED_ENTRIES", 11)
    assert fit(three_texts(), FakeVectors()).classifiers.shape == (0, 0)
    monkeypatch.setattr(classifiers, "CLASSIFIED_ENTRIES", 12)
    assert fit(three_texts(), FakeVectors()).classifiers.shape == (12, 3)


def test_a_postings_limit_leaves_a_usable_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postings, "POSTINGS_LIMIT", 1)
    fitted = fit(three_texts(), FakeVectors())
    assert numpy.diff(fitted.offsets).max() == 1
    assert numpy.isfinite(fitted.classifiers).all()


def test_moods_follow_the_words() -> None:
    fitted = fit(
        (
            TopicTexts("praise", "praise", "", ("great thanks perfect love wonderful",)),
            TopicTexts("complaint", "complaint", "", ("terrible angry hate broken awful",)),
        ),
        FakeVectors(),
    )
    assert fitted.moods[0] > 0 > fitted.moods[1]
