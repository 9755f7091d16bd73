"""Tier 2: how much a message is like a topic, without asking anybody (spec 4.2, design 4).

Everything about the topics is prepared when they change; scoring a message only walks the postings of the
words it contains.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from engine.activation.trace import Contribution, Score, Span, TriggerHit
from engine.records import dataclass

if TYPE_CHECKING:
    from engine.topics.model import Topic

Hits = Mapping[str, Sequence[TriggerHit]]
"""The tier-1 hits of a message by topic name; topics without one are left out."""

MAX_FEATURES = 5000
"""Size of the vocabulary the specification fixes: the most frequent terms over all topics."""

SCORED_CHARS = 200_000
"""Characters of a message that tier 2 reads; of a longer one the first and the last half of that."""

_TOKEN = re.compile(r"\b\w\w+\b")
_NO_HITS: Hits = {}
UNGUARDED: AbstractContextManager[object] = nullcontext()
"""For ``Scorer.relearn`` where one thread does everything."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What made a topic's deciding score: see ``TopicTrace.contributions`` and ``TopicTrace.words``."""

    contributions: tuple[Contribution, ...] = ()
    words: tuple[Span, ...] = ()


class Scorer(Protocol):
    """A way to score messages against topics."""

    @property
    def deciding(self) -> str:
        """Name of the signal that the policy uses."""
        ...

    def update(self, topics: Sequence[Topic]) -> None:
        """Prepare for these topics; cheap where little changed. Safe while another thread scores."""
        ...

    def relearn(self, guard: AbstractContextManager[object] = UNGUARDED) -> bool:
        """Takes over what people have said of decisions since ``update``; whether scores change by it.

        Others may score and ``update`` meanwhile; what ``update`` brings is never lost. What is said during
        the call may be left to the next one.

        Args:
            guard: Entered for the moment in which what was learned replaces what was known, so that a holder
                never sees both.
        """
        ...

    def score(self, text: str, hits: Hits) -> dict[str, tuple[Score, ...]]:
        """Every signal of every topic by topic name, each 0 to 1, always in the same order.

        Args:
            hits: Its tier-1 hits, for a scorer that weighs them.
        """
        ...

    def explain(self, text: str, hits: Hits, names: Sequence[str]) -> dict[str, Explanation]:
        """What made the deciding scores of some topics; those it can say nothing about are left out."""
        ...


def deciding_value(scores: Sequence[Score], name: str) -> float:
    """The value of one signal, 0 where it is missing."""
    if scores and scores[0].name == name:
        return scores[0].value
    return next((score.value for score in scores if score.name == name), 0.0)


def scored_part(text: str) -> str:
    """The part of a message that tier 2 reads: all of it, or its two ends."""
    if len(text) <= SCORED_CHARS:
        return text
    half = SCORED_CHARS // 2
    return f"{text[:half]} {text[-half:]}"


def readable(explained: Mapping[str, Explanation], scored: str) -> Mapping[str, Explanation]:
    """Explanations of what was scored without words whose places need not be those in the message: behind the
    first half of what is read of a long one.
    """
    end = SCORED_CHARS // 2
    if len(scored) <= end:
        return explained
    return {
        name: replace(of, words=tuple(span for span in of.words if span.end <= end))
        for name, of in explained.items()
    }


@dataclass(frozen=True, slots=True)
class _Fit:
    """What is known of one set of topics: per term its idf, the topics it occurs in and its weight there."""

    names: tuple[str, ...]
    texts: tuple[str, ...]
    postings: Mapping[str, tuple[float, tuple[tuple[int, float], ...]]]


class TfidfScorer:
    """The specification's tier 2: cosine of TF-IDF vectors over the topics' instructions.

    The values are those of scikit-learn's ``TfidfVectorizer(max_features=5000)``, fitted on the instructions
    of all topics in order, with ``cosine_similarity``; scikit-learn itself, which takes a second to import,
    is not needed. Three corners:

    - Where the vocabulary is cut, terms of equal frequency at the cut are chosen by numpy's default sort, as
      scikit-learn does, so the choice is that of the numpy at hand. Numpy is imported in that case only.
    - Topics without a single word of two letters make scikit-learn refuse; here every score is 0.
    - A topic or a message without known words scores 0.
    """

    deciding = "tfidf"

    def __init__(self, topics: Sequence[Topic] = (), *, max_features: int = MAX_FEATURES) -> None:
        self._max_features = max_features
        self._counts: dict[str, Counter[str]] = {}
        self._fit = _Fit((), (), {})
        self.update(topics)

    def update(self, topics: Sequence[Topic]) -> None:
        """Fit the vocabulary and weights to these topics.

        Only changed instructions are read again; nothing happens when names and instructions are the same.
        """
        names = tuple(topic.name for topic in topics)
        texts = tuple(topic.instructions for topic in topics)
        if (names, texts) == (self._fit.names, self._fit.texts):
            return
        counts = {text: self._counts.get(text) or _count(text) for text in texts}
        postings = _postings([counts[text] for text in texts], self._max_features)
        self._counts = counts
        self._fit = _Fit(names, texts, postings)

    def relearn(self, guard: AbstractContextManager[object] = UNGUARDED) -> bool:
        """Nothing: the specification's tier 2 does not learn."""
        return False

    def score(self, text: str, hits: Hits = _NO_HITS) -> dict[str, tuple[Score, ...]]:
        """The cosine of every topic with the message, under the name ``tfidf``; hits play no part in it."""
        fit = self._fit
        sums: dict[int, float] = {}
        squares = 0.0
        for term, count in _count(text).items():
            posting = fit.postings.get(term)
            if posting is None:
                continue
            idf, occurrences = posting
            weight = count * idf
            squares += weight * weight
            for index, topic_weight in occurrences:
                sums[index] = sums.get(index, 0.0) + weight * topic_weight
        scores: dict[str, tuple[Score, ...]] = dict.fromkeys(fit.names, _NOTHING)
        if squares > 0:
            length = math.sqrt(squares)
            for index, total in sums.items():
                scores[fit.names[index]] = (Score("tfidf", min(1.0, total / length)),)
        return scores

    def explain(self, text: str, hits: Hits, names: Sequence[str]) -> dict[str, Explanation]:
        """The words of the message that the topics' instructions hold, by their part in the cosine."""
        fit = self._fit
        wanted = {index: name for index, name in enumerate(fit.names) if name in set(names)}
        found: dict[str, list[tuple[int, int, float]]] = {name: [] for name in wanted.values()}
        for match in _TOKEN.finditer(text):
            posting = fit.postings.get(match[0].lower())
            for index, weight in posting[1] if posting else ():
                if index in wanted:
                    found[wanted[index]].append((match.start(), match.end(), weight))
        return {name: Explanation(words=spans(parts)) for name, parts in found.items() if parts}


def spans(parts: Sequence[tuple[int, int, float]]) -> tuple[Span, ...]:
    """Words, given by start, end and weight in order, as spans of which the strongest has weight 1."""
    strongest = max((weight for *_, weight in parts), default=0.0)
    if strongest <= 0:
        return ()
    return tuple(Span(start, end, weight / strongest) for start, end, weight in parts)


_NOTHING = (Score("tfidf", 0.0),)


def _count(text: str) -> Counter[str]:
    return Counter(_TOKEN.findall(text.lower()))


def _postings(
    documents: Sequence[Counter[str]], limit: int
) -> dict[str, tuple[float, tuple[tuple[int, float], ...]]]:
    occurrences: dict[str, list[tuple[int, int]]] = {}
    for index, document in enumerate(documents):
        for term, count in document.items():
            occurrences.setdefault(term, []).append((index, count))
    if len(occurrences) > limit:
        kept = _most_frequent(
            {term: sum(c for _, c in places) for term, places in occurrences.items()}, limit
        )
        occurrences = {term: places for term, places in occurrences.items() if term in kept}
    total = 1 + len(documents)
    idfs = {term: math.log(total / (1 + len(places))) + 1 for term, places in occurrences.items()}
    squares = [0.0] * len(documents)
    for term, places in occurrences.items():
        for index, count in places:
            squares[index] += (count * idfs[term]) ** 2
    lengths = [math.sqrt(square) for square in squares]
    return {
        term: (idfs[term], tuple((index, count * idfs[term] / lengths[index]) for index, count in places))
        for term, places in occurrences.items()
    }


def _most_frequent(totals: Mapping[str, int], limit: int) -> frozenset[str]:
    import numpy as np  # noqa: PLC0415 — 100 ms that only vocabularies beyond the limit pay for

    terms = sorted(totals)
    # The element type decides which of several equal terms the sort leaves in front, so it is scikit-learn's.
    frequencies = np.array([totals[term] for term in terms], dtype=np.float64)
    return frozenset(terms[index] for index in (-frequencies).argsort()[:limit].tolist())
