"""Tier 2 computes the same numbers as scikit-learn without importing it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.activation.similarity import TfidfScorer
from tests.activation.support import PR_INSTRUCTIONS, topic
from tests.cases import each_case

TEXTS = (
    PR_INSTRUCTIONS,
    "Sort the inbox: urgent, actionable, informational, spam. Draft replies to the actionable e-mails.",
    "Deploy to production only after the canary has run for an hour; roll back on errors. Deploy, deploy!",
    "",
    "Grüße an die Straße: Überprüfe die Größe. İstanbul ISTANBUL ıstanbul ΣΊΣΥΦΟΣ",
    "日本語のテキスト 日本語 テスト и немного русского текста про развёртывание",
    "a b c 1 2 x",
    "snake_case camelCase 3.14 v2.0 don't e-mail user@example.com #42 C++ __init__",
    "deploy the the the the review review",
)
MESSAGES = (
    "Can you review the PR that just came in?",
    "",
    "   \n\t ",
    "deploy",
    "DEPLOY to PRODUCTION, please deploy the deploy",
    "ΣΊΣΥΦΟΣ überprüfe İSTANBUL",
    "日本語 тест развёртывание",
    "nothing of this occurs zzzz qqqq",
    "x" * 10_000,
    "don't __init__ v2 42 \x00 \ud800",
    " ".join(TEXTS),
)


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


@each_case("message", MESSAGES)
def test_scores_are_those_of_scikit_learn(message: str) -> None:
    texts = list(TEXTS)
    assert ours(texts, message) == pytest.approx(reference(texts, message), abs=1e-12)


def test_the_most_frequent_words_are_kept_of_a_large_vocabulary() -> None:
    texts = ["deploy deploy deploy now", "review review then"]
    for message in ("deploy the review", "now then"):
        assert ours(texts, message, 2) == pytest.approx(reference(texts, message, 2), abs=1e-12)


words = st.sampled_from(
    ["review", "deploy", "Größe", "größe", "the", "a", "zz", "日本", "x1", "don't", "ﬁ", "İ"]
)
texts_of_words = st.lists(words, max_size=12).map(" ".join)


@given(
    st.lists(texts_of_words, min_size=1, max_size=6).filter(lambda texts: any("review" in t for t in texts)),
    texts_of_words | st.text(max_size=40),
)
def test_scores_of_any_topics_and_message_equal_scikit_learn(texts: list[str], message: str) -> None:
    assert ours(texts, message) == pytest.approx(reference(texts, message), abs=1e-12)


def test_topics_without_words_score_zero() -> None:
    assert ours(["", "a b c", "?!"], "review") == [0, 0, 0]
    assert TfidfScorer().score("review") == {}


def test_an_update_gives_the_same_scores_as_a_new_scorer() -> None:
    scorer = TfidfScorer([topic("a", TEXTS[0]), topic("b", TEXTS[1]), topic("c", TEXTS[2])])
    changed = [topic("b", TEXTS[1]), topic("a", TEXTS[0] + " deploy"), topic("d", TEXTS[4])]
    scorer.update(changed)
    assert scorer.score("deploy the inbox") == TfidfScorer(changed).score("deploy the inbox")
    scorer.update([])
    assert scorer.score("deploy") == {}
