"""Tier 2 computes the same numbers as scikit-learn without importing it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.activation.similarity import TfidfScorer
from tests.activation.support import PR_INSTRUCTIONS, topic

SCRIPTS = "Grüße an die Straße: Überprüfe die Größe. İstanbul ISTANBUL ıstanbul ΣΊΣΥΦΟΣ 日本語 развёртывание"
ODD = "a b c 1 2 x snake_case camelCase 3.14 v2.0 don't e-mail user@example.com #42 C++ __init__ \x00 \ud800"


def reference(texts: list[str], message: str, max_features: int = 5000) -> list[float]:
    """The specification's own implementation."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics.pairwise import cosine_similarity

    vectorizer = TfidfVectorizer(max_features=max_features)
    matrix = vectorizer.fit_transform(texts)
    return [float(value) for value in cosine_similarity(vectorizer.transform([message]), matrix)[0]]


def ours(texts: list[str], message: str, max_features: int = 5000) -> list[float]:
    topics = [topic(f"t{index}", text) for index, text in enumerate(texts)]
    scores = TfidfScorer(topics, max_features=max_features).score(message)
    assert list(scores) == [known.name for known in topics]
    return [scores[known.name] for known in topics]


def test_the_most_frequent_words_are_kept_of_a_large_vocabulary() -> None:
    texts = ["deploy deploy deploy now", "review review then"]
    for message in ("deploy the review", "now then"):
        assert ours(texts, message, 2) == pytest.approx(reference(texts, message, 2), abs=1e-12)


words = st.sampled_from([*PR_INSTRUCTIONS.split(), *SCRIPTS.split(), *ODD.split(" "), "ﬁ"])
texts_of_words = st.lists(words, max_size=12).map(" ".join)


@given(st.lists(texts_of_words, max_size=6), texts_of_words | st.text(max_size=40))
@example([PR_INSTRUCTIONS, SCRIPTS, ODD], "Can you review the PR that just came in?")
@example([PR_INSTRUCTIONS, SCRIPTS, ODD], f"DEPLOY ΣΊΣΥΦΟΣ überprüfe İSTANBUL, {'x' * 10_000} {ODD}")
def test_scores_of_any_topics_and_message_equal_scikit_learn(texts: list[str], message: str) -> None:
    texts = [PR_INSTRUCTIONS, *texts]  # scikit-learn refuses texts without any word
    assert ours(texts, message) == pytest.approx(reference(texts, message), abs=1e-12)


def test_topics_without_words_score_zero() -> None:
    assert ours(["", "a b c", "?!"], "review") == [0, 0, 0]
    assert TfidfScorer().score("review") == {}


def test_an_update_gives_the_same_scores_as_a_new_scorer() -> None:
    scorer = TfidfScorer([topic("a", PR_INSTRUCTIONS), topic("b", "Sort the inbox."), topic("c", SCRIPTS)])
    changed = [topic("b", "Sort the inbox."), topic("a", f"{PR_INSTRUCTIONS} deploy"), topic("d", "deploy")]
    scorer.update(changed)
    assert scorer.score("deploy the inbox") == TfidfScorer(changed).score("deploy the inbox")
    scorer.update([])
    assert scorer.score("deploy") == {}
