"""Tier 2: the local similarity of a message to topics (spec 4.2, design 4).

Everything about topics is prepared when they change; scoring a message only reads the postings of its words.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from engine.activation.trace import Contribution, Span, TriggerHit
from engine.meaning.text import CHARACTERS_READ, ends_of
from engine.startup.lazy import expression
from engine.startup.records import dataclass

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from engine.topics.model import Topic

Hits = Mapping[str, Sequence[TriggerHit]]
"""The tier-1 hits of a message by topic; topics without one are left out."""

MAX_FEATURES = 5000
"""Size of the vocabulary in the specification: the most frequent terms of all topics."""

_TOKEN = expression(r"\b\w\w+\b")
_NO_HITS: Hits = {}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Explains a topic's deciding score: see ``TopicTrace.contributions`` and ``TopicTrace.words``."""

    contributions: tuple[Contribution, ...] = ()
    words: tuple[Span, ...] = ()


class Scorer(Protocol):
    """Scores messages against topics.

    Attributes:
        deciding: Name of the deciding signal.
    """

    deciding: str

    def update(self, topics: Sequence[Topic]) -> None:
        """Prepares for these topics; cheap if little has changed. Safe while another thread scores."""
        ...

    def relearn(self) -> bool:
        """Learns from labels given since ``update``; returns whether scores change.

        Other threads may score and ``update`` during the call, and no update is lost. Labels given during it
        may be left to the next call.
        """
        return False

    def score(self, text: str, hits: Hits) -> dict[str, float]:
        """The deciding score of every topic by name, 0 to 1."""
        ...

    def explain(self, text: str, hits: Hits, names: Sequence[str]) -> dict[str, Explanation]:
        """Explanations of the deciding scores of some topics for the message scored last, where possible."""
        return {}

    def batch(self) -> Batch:
        """Scores many messages at once."""
        return Batch(self)


class Batch:
    """Scores many messages one by one; there is nothing to hold out where tier 2 does not learn."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer

    def score(
        self, topics: Sequence[str], messages: Sequence[tuple[str, Hits]]
    ) -> tuple[NDArray[numpy.float32], bool]:
        """The deciding score of each topic for each message, given by text and hits, ``[messages, topics]``,
        and whether none is of a message that it was learned from.
        """
        import numpy as np  # noqa: PLC0415 — only for tuning

        found = np.zeros((len(messages), len(topics)), dtype=np.float32)
        for row, (text, hits) in enumerate(messages):
            scores = self._scorer.score(text, hits)
            found[row] = [scores.get(name, 0.0) for name in topics]
        return found, True

    def prepare(self, messages: Sequence[tuple[str, Hits]]) -> None:
        """Does what ``score`` needs for the latter, which may take seconds."""


class TfidfScorer(Scorer):
    """The specification's tier 2: cosine of TF-IDF vectors over the topics' instructions.

    The values are those of scikit-learn's ``TfidfVectorizer(max_features=5000)``, fitted to the instructions
    of all topics in order, with ``cosine_similarity``, without importing scikit-learn, which takes a second;
    only which of equally frequent terms are left out of a cut vocabulary is its own choice. A topic or a
    message without known words scores 0. Of a long message its two ends are read.
    """

    deciding = "tfidf"

    def __init__(self, topics: Sequence[Topic] = (), *, max_features: int = MAX_FEATURES) -> None:
        self._max_features = max_features
        self._texts: dict[str, str] = {}
        # The idf of each known term, and the weights of each topic, of length 1.
        self._fit: tuple[dict[str, float], dict[str, dict[str, float]]] = {}, {}
        self.update(topics)

    def update(self, topics: Sequence[Topic]) -> None:
        """Fits the vocabulary and weights to these topics."""
        texts = {topic.name: topic.instructions for topic in topics}
        if texts == self._texts:
            return
        counts = {name: _count(text) for name, text in texts.items()}
        totals, documents = Counter[str](), Counter[str]()
        for each in counts.values():
            totals.update(each)
            documents.update(each.keys())
        kept = sorted(totals, key=lambda term: (-totals[term], term))[: self._max_features]
        idfs = {term: math.log((1 + len(texts)) / (1 + documents[term])) + 1 for term in kept}
        self._fit = idfs, {name: _vector(each, idfs) for name, each in counts.items()}
        self._texts = texts

    def score(self, text: str, hits: Hits = _NO_HITS) -> dict[str, float]:
        """The cosine of every topic with the message; hits are ignored."""
        idfs, vectors = self._fit
        vector = _vector(_count(ends_of(text)), idfs)
        return {
            name: min(1.0, sum(weight * of.get(term, 0.0) for term, weight in vector.items()))
            for name, of in vectors.items()
        }

    def explain(self, text: str, hits: Hits, names: Sequence[str]) -> dict[str, Explanation]:
        """The words of the message that are in topics' instructions, weighted by their part in the cosine."""
        found = {}
        for name, of in self._fit[1].items():
            if name in names:
                found_in = _TOKEN.finditer(text[: CHARACTERS_READ // 2])
                places = [(*match.span(), of.get(match[0].lower(), 0.0)) for match in found_in]
                if parts := [place for place in places if place[2]]:
                    found[name] = Explanation(words=spans(parts))
        return found


def spans(parts: Sequence[tuple[int, int, float]]) -> tuple[Span, ...]:
    """Words given by start, end and weight as spans, scaled so that the strongest has weight 1."""
    strongest = max((weight for *_, weight in parts), default=0.0)
    if strongest <= 0:
        return ()
    return tuple(Span(start, end, weight / strongest) for start, end, weight in parts)


def _count(text: str) -> Counter[str]:
    return Counter(_TOKEN.findall(text.lower()))


def _vector(counts: Counter[str], idfs: Mapping[str, float]) -> dict[str, float]:
    """The weights of the known terms of a text, of length 1."""
    weights = {term: count * idfs[term] for term, count in counts.items() if term in idfs}
    length = math.sqrt(sum(weight * weight for weight in weights.values()))
    return {term: weight / length for term, weight in weights.items()}
