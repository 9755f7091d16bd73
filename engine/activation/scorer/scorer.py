"""Tier 2 of the ``calibrated`` preset: the probability that a topic applies (spec 4.2, design 4)."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import numpy

from engine.activation.scorer.fitted import (
    NO_FIT,
    Fitted,
    Known,
    Parts,
    fired_by,
    logits_of,
    parts_of_message,
    telling_words,
)
from engine.activation.scorer.store import FitStore, fingerprint
from engine.activation.scorer.texts import TopicTexts, texts_of
from engine.activation.scorer.words import terms_of, words_of
from engine.activation.signals import CALIBRATED, TRIGGER_SIGNAL, probability_of
from engine.activation.similarity import Explanation, Hits
from engine.activation.trace import Contribution
from engine.meaning.vectors import TokenVectors
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from engine.activation.labelled import Labelled
    from engine.activation.scorer.batch import CalibratedBatch
    from engine.topics.model import Topic

Fired = Callable[[str], Mapping[str, float]]
"""Returns the topics whose triggers fire on a text, with ``directness_of`` their hits."""

OTHERS = "other topics"
SIGNALS = ("base", "words", "letters", "vectors", TRIGGER_SIGNAL)
"""What a trace calls the attributes of ``Parts``."""
SMALLEST = 0.05
"""Log-odds below which a contribution is not shown."""


@dataclass(frozen=True, slots=True)
class _Last:
    """The results for the last message, which is needed twice: for scores and for explanations."""

    text: str
    hits: Hits
    known: Known
    parts: Parts
    added: Mapping[str, float]  # to the log-odds of topics with a hit
    logits: Mapping[str, float]  # the log-odds of each topic


class CalibratedScorer:
    """A logistic regression on words, pairs of words, parts of words, local embeddings and trigger hits, with
    a class for messages that ask for nothing. Thread-safe.

    Args:
        vectors: By default the shipped ones.
        store: Keeps the fit between processes.
        labelled: Returns labelled messages by topic, which weigh more than examples.
        matching: Returns a function that applies the triggers of some topics to a text.
        patient: If false, a missing fit is left to a later ``relearn``: until then the last stored one is
            used, or none, and topics that are not in it are scored by their triggers alone.
    """

    deciding = CALIBRATED

    def __init__(
        self,
        *,
        vectors: TokenVectors | None = None,
        store: FitStore | None = None,
        labelled: Callable[[], Mapping[str, Labelled]] = dict,
        matching: Callable[[Sequence[Topic]], Fired] = lambda _topics: lambda _text: {},
        patient: bool = True,
    ) -> None:
        self._vectors = vectors or TokenVectors()
        self._store = store
        self._labelled = labelled
        self._matching = matching
        self._patient = patient
        self._known = Known({}, (), NO_FIT, {})
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
            while not self._replaced(self._known, by_name, self._texts(by_name), patient=self._patient):
                pass

    def relearn(self) -> bool:
        """Learns from added and removed labels; returns whether there were any.

        Until it is done, messages are scored with the previous fit. If topics change before that, the new fit
        is dropped and the new topics are used. Calls run one after the other: a later one knows every label
        given before it, and repeats no fit.

        One that is not patient leaves it to another process that is at it, and finds its fit next time.
        """
        with self._relearning:
            before = known = self._known
            while (texts := self._texts(known.topics)) != known.texts:
                with self._fitting() as is_alone:
                    is_left = not (is_alone or self._patient)
                    if is_left or self._replaced(known, known.topics, texts):
                        break
                known = self._known
            return self._known.texts != before.texts

    def score(self, text: str, hits: Hits) -> dict[str, float]:
        """The probability of every topic."""
        known = self._known
        logits = self._find(text, hits, known).logits
        return {name: probability_of(logits[name]) for name in known.topics}

    def explain(self, text: str, hits: Hits, names: Sequence[str]) -> dict[str, Explanation]:
        """What adds up to the log-odds of some topics, and the words in their favour.

        ``other topics`` is what is lost to topics that apply as well, and to nothing. Of the message that was
        scored last, that is by the fit that scored it.
        """
        found = self._last
        if found is None or found.text != text or found.hits != hits:
            found = self._find(text, hits, self._known)
        known = found.known
        wanted = [name for name in dict.fromkeys(names) if name in found.logits]
        places = {name: known.places[name] for name in wanted if name in known.places}
        telling = dict(zip(places, telling_words(text, known.fitted, [*places.values()]), strict=True))
        explained = {}
        for name in wanted:
            parts = dict.fromkeys(SIGNALS, 0.0)
            if name in places:
                parts = {signal: float(getattr(found.parts, signal)[places[name]]) for signal in SIGNALS}
            parts[TRIGGER_SIGNAL] += found.added.get(name, 0.0)
            parts[OTHERS] = found.logits[name] - sum(parts.values())
            explained[name] = Explanation(_shown(parts), telling.get(name, ()))
        return explained

    def _fitting(self) -> AbstractContextManager[bool]:
        return contextlib.nullcontext(True) if self._store is None else self._store.fitting()

    def _texts(self, topics: Mapping[str, Topic]) -> tuple[TopicTexts, ...]:
        """The current texts of the topics, including labels."""
        labelled = self._labelled()
        return tuple(texts_of(topic, labelled.get(name)) for name, topic in topics.items())

    def _replaced(
        self,
        known: Known,
        topics: Mapping[str, Topic],
        texts: tuple[TopicTexts, ...],
        *,
        patient: bool = True,
    ) -> bool:
        """Replaces the known state by topics and a fit of their texts, unless it is no longer ``known``;
        returns whether it did. No message waits for the fit.
        """
        key, fitted, is_new = "", known.fitted, False
        if known.texts != texts:
            key = fingerprint(texts, self._vectors.version)
            stored = self._stored(key)
            if stored is not None:
                fitted = stored
            elif patient:
                fitted, is_new = self._fit(topics, texts), True
            else:
                texts = ()  # not these texts: ``relearn`` fits them
                if not fitted.names:
                    fitted = self._stored("") or NO_FIT
        with self._replacing:
            if self._known is not known:
                return False
            self._known = Known(
                topics, texts, fitted, {name: place for place, name in enumerate(fitted.names)}
            )
        # Only a fit in use is saved: one that came too late must not overwrite it.
        if is_new and self._store is not None:
            self._store.save(key, fitted)
        return True

    def batch(self) -> CalibratedBatch:
        """Scores many messages at once."""
        from engine.activation.scorer.batch import CalibratedBatch  # noqa: PLC0415 — only for many messages

        return CalibratedBatch(lambda: self._known, self._fit, self._vectors)

    def _fit(self, topics: Mapping[str, Topic], texts: Sequence[TopicTexts]) -> Fitted:
        if not texts:
            return NO_FIT
        from engine.activation.scorer.fit import fit  # noqa: PLC0415 — imports scikit-learn

        return fit(texts, self._vectors, self._matching(tuple(topics.values())))

    def _stored(self, key: str) -> Fitted | None:
        return None if self._store is None else self._store.load(key, self._vectors.dimensions)

    def _find(self, text: str, hits: Hits, known: Known) -> _Last:
        last = self._last
        if last is not None and last.text == text and last.hits == hits and last.known is known:
            return last
        vector = self._vectors.embed([text])[0] if known.places else numpy.zeros(0, dtype=numpy.float32)
        parts = parts_of_message(terms_of(words_of(text)), vector, fired_by(text, hits), known.fitted)
        logits, added = logits_of(parts.total, text, hits, known)
        found = dict(zip(known.topics, logits.tolist(), strict=True))
        self._last = last = _Last(text, dict(hits), known, parts, added, found)
        return last


def _shown(parts: Mapping[str, float]) -> tuple[Contribution, ...]:
    """The contributions worth showing, strongest first."""
    shown = [Contribution(signal, weight) for signal, weight in parts.items() if abs(weight) >= SMALLEST]
    return tuple(sorted(shown, key=lambda part: (-abs(part.weight), part.signal)))
