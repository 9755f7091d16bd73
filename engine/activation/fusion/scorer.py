"""Tier 2 of the ``calibrated`` preset: every signal, and the probability that a topic applies (design 4)."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy

from engine.activation.fusion.combiner import MOST_LOGIT, Combiner, features, probability_of
from engine.activation.fusion.evidence import counter_evidence, with_hits
from engine.activation.fusion.fitted import Embedding, Fitted, TopicTexts, fit, texts_of
from engine.activation.fusion.highlight import telling_words
from engine.activation.fusion.measures import RAW, measure
from engine.activation.fusion.store import FitStore, fingerprint
from engine.activation.signals import content_words
from engine.activation.similarity import UNGUARDED, Explanation, Hits
from engine.activation.trace import Contribution, Score, Span
from engine.meaning.vectors import TokenVectors
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.activation.labelled import Labelled
    from engine.topics.model import Topic

    Floats = NDArray[numpy.float32]

SHOWN = {
    "words": "words_top",
    "bm25": "bm25",
    "jaccard": "jaccard",
    "minhash": "minhash",
    "sentiment": "sentiment",
    "vectors": "vectors_top",
    "classifier": "classifier",
}
"""The raw signals that a trace shows besides the probability, with their columns in ``RAW``."""
DETAILED = 60
"""Number of the most probable topics whose raw signals are given."""
SMALLEST = 0.05
"""Log-odds below which a contribution is not shown."""
FAR = Score("probability", 0.0)


_COLUMNS = tuple(RAW.index(column) for column in SHOWN.values())


@dataclass(frozen=True, slots=True)
class _Known:
    """The topics and the fit of their texts."""

    topics: Mapping[str, Topic]
    texts: tuple[TopicTexts, ...]
    fitted: Fitted


@dataclass(frozen=True, slots=True)
class _Last:
    """The results for the last message, which is needed twice: for scores and for explanations.

    ``topics`` are the indices of the measured topics, in the order of the rows; ``places`` are the rows by
    topic name.
    """

    text: str
    fitted: Fitted
    topics: Any
    values: Floats
    rows: Floats
    taken: Floats
    logits: Floats
    places: Mapping[str, int]


class CalibratedScorer:
    """Fuses n-gram TF-IDF, BM25, Jaccard, MinHash, sentiment, local embeddings and per-topic classifiers.

    Thread-safe.

    Args:
        vectors, combiner: By default the shipped ones.
        store: Keeps the fit between processes.
        labelled: Returns labelled messages by topic, which count as examples.
        headings: Returns the headings of subscribed files by topic.
    """

    deciding = "probability"

    def __init__(
        self,
        *,
        vectors: Embedding | None = None,
        combiner: Combiner | None = None,
        store: FitStore | None = None,
        labelled: Callable[[], Mapping[str, Labelled]] | None = None,
        headings: Callable[[Sequence[Topic]], Mapping[str, Sequence[str]]] | None = None,
    ) -> None:
        self._vectors: Embedding = vectors or TokenVectors()
        self._combiner = combiner or Combiner.load()
        self._store = store
        self._labelled = labelled
        self._headings = headings
        self._known: _Known | None = None
        self._last: _Last | None = None
        self._updating = threading.Lock()
        self._relearning = threading.Lock()
        self._replacing = threading.Lock()

    def update(self, topics: Sequence[Topic]) -> None:
        """Fits the topics, unless there is already a fit of exactly these texts.

        Until it is done, messages are scored with the previous fit.
        """
        by_name = {topic.name: topic for topic in topics}
        with self._updating:
            while not self._replaced(self._known, by_name, self._texts(by_name), UNGUARDED):
                pass

    def relearn(self, guard: AbstractContextManager[object] = UNGUARDED) -> bool:
        """Learns from added and removed labels; returns whether there were any.

        Until it is done, messages are scored with the previous fit. If topics change before that, the new fit
        is dropped and the new topics are used. Calls run one after the other: a later one knows every label
        given before it, and repeats no fit. ``guard`` is held while the new fit replaces the old one.
        """
        with self._relearning:
            before = known = self._known
            while known is not None:
                texts = self._texts(known.topics)
                if texts == known.texts or self._replaced(known, known.topics, texts, guard):
                    break
                known = self._known
            after = self._known
        return before is not None and after is not None and after.texts != before.texts

    def score(self, text: str, hits: Hits) -> dict[str, tuple[Score, ...]]:
        """The probability of every topic, followed by the raw signals of the most probable ones."""
        known = self._known
        if known is None:
            return {}
        found = self._find(text, known.fitted)
        logits = {} if found is None else dict(zip(found.places, found.logits.tolist(), strict=True))
        words = content_words(text) if hits else frozenset()
        for name, of_topic in hits.items():
            if name in known.topics:
                logits[name] = with_hits(logits.get(name, -MOST_LOGIT), known.topics[name], of_topic, words)
        scores: dict[str, tuple[Score, ...]] = dict.fromkeys(known.fitted.names, (FAR,))
        for name, logit in logits.items():
            scores[name] = (Score("probability", probability_of(logit)),)
        if found is not None:
            nearest = heapq.nlargest(DETAILED, found.places, key=lambda name: logits[name])
            values = found.values[[found.places[name] for name in nearest]][:, _COLUMNS]
            for name, shown in zip(nearest, values.clip(0, 1).tolist(), strict=True):
                scores[name] += tuple(map(Score, SHOWN, shown))
        return scores

    def explain(self, text: str, hits: Hits, names: Sequence[str]) -> dict[str, Explanation]:
        """The effect of each signal on the probability, and the words in favour of the topic."""
        known = self._known
        if known is None:
            return {}
        found = self._find(text, known.fitted)
        parts: dict[str, dict[str, float]] = {}
        telling: dict[str, tuple[Span, ...]] = {}
        logits: dict[str, float] = {}
        if found is not None:
            measured = [name for name in dict.fromkeys(names) if name in found.places]
            places = [found.places[name] for name in measured]
            logits = dict(zip(measured, found.logits[places].tolist(), strict=True))
            parts = dict(zip(measured, self._combiner.contributions(found.rows[places]), strict=True))
            for name, taken in zip(measured, found.taken[places].tolist(), strict=True):
                parts[name]["counter-examples"] += taken
            telling = dict(
                zip(measured, telling_words(text, known.fitted, found.topics[places].tolist()), strict=True)
            )
        words = content_words(text) if hits else frozenset()
        for name in names:
            if name in hits and name in known.topics:
                logit = logits.get(name, -MOST_LOGIT)
                lifted = with_hits(logit, known.topics[name], hits[name], words)
                parts.setdefault(name, {})["trigger"] = lifted - logit
        return {name: Explanation(_shown(of), telling.get(name, ())) for name, of in parts.items()}

    def _texts(self, topics: Mapping[str, Topic]) -> tuple[TopicTexts, ...]:
        """The current texts of the topics, including labels and the headings of subscriptions."""
        labelled = self._labelled() if self._labelled is not None else {}
        headings = self._headings(tuple(topics.values())) if self._headings is not None else {}
        return tuple(
            texts_of(topic, labelled.get(name), headings.get(name, ())) for name, topic in topics.items()
        )

    def _replaced(
        self,
        known: _Known | None,
        topics: Mapping[str, Topic],
        texts: tuple[TopicTexts, ...],
        guard: AbstractContextManager[object],
    ) -> bool:
        """Replaces the known state by topics and a fit of their texts, unless it is no longer ``known``;
        returns whether it did. No message waits for the fit.
        """
        if known is not None and known.texts == texts:
            fitted, is_new = known.fitted, False
        else:
            fitted, is_new = self._fit(texts)
        with guard, self._replacing:
            if self._known is not known:
                return False
            self._known = _Known(topics, texts, fitted)
        # Only a fit in use is saved: one that came too late must not overwrite it.
        if is_new and self._store is not None:
            self._store.save(fingerprint(texts, self._vectors.version), fitted)
        return True

    def _fit(self, texts: Sequence[TopicTexts]) -> tuple[Fitted, bool]:
        """The fit of texts, and whether it is new."""
        if self._store is not None:
            name = fingerprint(texts, self._vectors.version)
            kept = self._store.load(name, self._vectors.dimensions)
            if kept is not None:
                return kept, False
        return fit(texts, self._vectors), True

    def _find(self, text: str, fitted: Fitted) -> _Last | None:
        last = self._last
        if last is not None and last.text == text and last.fitted is fitted:
            return last
        measured = measure(text, fitted, self._vectors)
        if measured is None:
            return None
        rows = features(measured, fitted)
        places = {fitted.names[topic]: place for place, topic in enumerate(measured.topics.tolist())}
        values = measured.values
        taken = counter_evidence(values[:, RAW.index("against")], values[:, RAW.index("vectors_max")])
        logits = (self._combiner.logits(rows) + taken).clip(-MOST_LOGIT, MOST_LOGIT)
        self._last = last = _Last(text, fitted, measured.topics, values, rows, taken, logits, places)
        return last


def _shown(parts: Mapping[str, float]) -> tuple[Contribution, ...]:
    """The contributions worth showing, strongest first."""
    shown = [Contribution(signal, weight) for signal, weight in parts.items() if abs(weight) >= SMALLEST]
    return tuple(sorted(shown, key=lambda part: (-abs(part.weight), part.signal)))
