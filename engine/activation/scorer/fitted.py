"""The regression as arrays: from a message's terms to the log-odds of each topic, and its telling words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy

from engine.activation.scorer.words import Terms, code_of, parts_of, places_of, terms_of
from engine.activation.signals import content_words, kind_of
from engine.activation.similarity import spans
from engine.startup.lazy import expression
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.activation.scorer.texts import TopicTexts
    from engine.activation.scorer.words import Codes, Floats
    from engine.activation.similarity import Hits
    from engine.activation.trace import Span, TriggerHit
    from engine.topics.model import Topic

    Doubles = NDArray[numpy.float64]
    Integers = NDArray[Any]


LEAST_LOGIT = -3.0
"""Minimum log-odds of a topic with a hit, however dissimilar its text, before the hit counts."""
KINDS = {"word": 2.0, "mark": 3.0, "whole": 4.2}
"""Log-odds of the strongest hit: a word or phrase; a name or code; a property of the whole message."""
COVERING = 1.5
"""Log-odds of hits that cover every content word of the message."""
FEW, MANY = 5, 20
"""Up to so many messages taught the hits count in full, from so many on only what the regression learnt."""
AGAINST = 10
"""So many of them is a message that a person labelled as noise: it may have been a trigger's mistake."""
HEAD_WORDS = 5
"""Words before a hit in its clause, at most, for the clause to be about it: "please deploy the app"."""
IN_PASSING = 0.5
"""Value of a trigger that is only mentioned later in a clause: "the page that came up after the deploy"."""

_CLAUSE_END = expression(r"[.!?\n,;:—()\"“。！？，、；：]")
_BEFORE = 200


def with_hits(
    before: float,
    rest: float,
    topic: Topic,
    hits: Sequence[TriggerHit],
    message_words: frozenset[str],
    taught: float,
) -> float:
    """The log-odds of a topic, up to a constant, with its hits: a person wrote its triggers for this topic.

    The regression learns from examples and labels how far each trigger can be trusted, and has no opinion
    without them. So a hit also counts by itself: a short message that consists of it, or a strong kind of
    hit, activates. The more messages a topic was taught with, the less that counts.

    Args:
        before: The same without them.
        rest: The same of everything else together.
        message_words: ``content_words`` of the message.
        taught: As ``Fitted.taught``.
    """
    share = min(1.0, max(0.0, (MANY - taught) / (MANY - FEW)))
    lifted = before + share * max(0.0, rest + LEAST_LOGIT - before)
    # Only hits in the message's direction are passed, so a trigger for the output has fired on output.
    strongest = max(KINDS[kind_of(topic, hit, "output")] for hit in hits)
    covered = frozenset[str]().union(*(content_words(hit.matched) for hit in hits))
    return lifted + share * (strongest + (COVERING if message_words <= covered else 0.0))


def directness_of(text: str, hits: Iterable[TriggerHit]) -> float:
    """How much a topic's hits are what a message is about: 1, or ``IN_PASSING``.

    A request names its matter near the start of a clause, a report somewhere in it.
    """
    return 1.0 if any(_is_direct(text, hit.start) for hit in hits) else IN_PASSING


def _is_direct(text: str, start: int) -> bool:
    if start < 0:
        return True
    clause = _CLAUSE_END.split(text[max(0, start - _BEFORE) : start])[-1]
    return len(clause.split()) <= HEAD_WORDS


PARTS_SHARE = 0.7
"""Length of the vector of a text's parts of words; that of its words has length 1."""
MEANING_SHARE = 0.7
"""Length of its embedding."""
LEAST_SHOWN = 0.2
"""Share of the strongest word's weight below which a word is not shown."""

_CERTAIN = 16.0
_UNKNOWN = -5.0
"""Log-odds, against a message that asks for nothing, of a topic that is not fitted yet."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Weights for ``T`` topics and, after them, for messages that ask for nothing; ``F`` terms.

    The log-odds of the classes of a message are ``base``, plus for each of its terms the term's value times
    the weights at ``offsets``, plus its embedding times ``vectors``. A trigger is a term, too.
    """

    names: tuple[str, ...]  # the topics in order
    codes: Codes  # uint32 ``[F]``, sorted
    idf: Floats  # float32 ``[F]``
    offsets: Integers  # int32 ``[F + 1]``: the weights of each term
    classes: Integers  # int32: the class of each weight
    weights: Floats  # float32
    vectors: Floats  # float32 ``[D, T + 1]``
    base: Floats  # float32 ``[T + 1]``
    taught: Floats  # float32 ``[T]``: messages each topic was taught with, a noise label for ``AGAINST``


def layout(topics: int, terms: int, weights: int, dimensions: int) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The type of the elements and the shape of each array of a fit."""
    return {
        "codes": ("uint32", (terms,)),
        "idf": ("float32", (terms,)),
        "offsets": ("int32", (terms + 1,)),
        "classes": ("int32", (weights,)),
        "weights": ("float32", (weights,)),
        "vectors": ("float32", (dimensions, topics + 1)),
        "base": ("float32", (topics + 1,)),
        "taught": ("float32", (topics,)),
    }


_EMPTY = layout(0, 0, 0, 0)
ARRAYS = tuple(_EMPTY)
"""The names of the arrays, in order."""
NO_FIT = Fitted((), **{name: numpy.zeros(shape, kind) for name, (kind, shape) in _EMPTY.items()})
"""The fit of no topic."""


@dataclass(frozen=True, slots=True)
class Known:
    """The state of a scorer: the topics, and the fit of their texts."""

    topics: Mapping[str, Topic]
    texts: tuple[TopicTexts, ...]
    fitted: Fitted
    places: Mapping[str, int]  # of the topics in the fit


@dataclass(frozen=True, slots=True)
class Parts:
    """What a message's terms, embedding and triggers add to the log-odds of each class.

    Each is float32 ``[T + 1]``; their sum, with ``base``, is the log-odds.
    """

    base: Floats
    words: Floats
    letters: Floats
    vectors: Floats
    trigger: Floats

    @property
    def total(self) -> Floats:
        """The log-odds of each class, up to a constant."""
        total: Floats = self.base + self.words + self.letters + self.vectors + self.trigger
        return total


def parts_of_message(terms: Terms, vector: Floats, triggers: Mapping[str, float], fitted: Fitted) -> Parts:
    """The parts of the log-odds of a message.

    Args:
        vector: Its embedding, float32 ``[D]``.
        triggers: The topics whose triggers fired, with ``directness_of`` their hits.
    """
    fired = numpy.array([trigger_code(name) for name in triggers], dtype=numpy.uint32)
    words = _values_of(terms.words, terms.word_counts, fitted)
    letters = PARTS_SHARE * _values_of(terms.parts, terms.part_counts, fitted)
    return Parts(
        fitted.base,
        _summed(terms.words, words, fitted),
        _summed(terms.parts, letters, fitted),
        MEANING_SHARE * (vector @ fitted.vectors),
        _summed(fired, numpy.array([*triggers.values()], dtype=numpy.float32), fitted),
    )


def trigger_code(topic: str) -> int:
    """The code of the term that a topic's triggers are."""
    return code_of(f"!{topic}")


def _values_of(codes: Codes, counts: Floats, fitted: Fitted) -> Floats:
    """The values of the terms of a text: sublinear TF-IDF of length 1; 0 for unknown terms."""
    places, known = _places_in(fitted.codes, codes)
    values = numpy.zeros(len(codes), dtype=numpy.float32)
    values[known] = (1 + numpy.log(counts[known])) * fitted.idf[places]
    length = float(numpy.sqrt(values @ values))
    return values / length if length > 0 else values


def _places_in(known: Codes, codes: Codes) -> tuple[Integers, NDArray[numpy.bool_]]:
    """Looks codes up in sorted ones: the places of those found, in order, and for each whether it is."""
    if not len(known):
        return numpy.zeros(0, dtype=numpy.int64), numpy.zeros(len(codes), dtype=bool)
    places = numpy.minimum(numpy.searchsorted(known, codes), len(known) - 1)
    is_known = known[places] == codes
    return places[is_known], is_known


def _summed(codes: Codes, values: Floats, fitted: Fitted) -> Floats:
    """The sum of terms' weights times their values, float32 ``[T + 1]``."""
    places, known = _places_in(fitted.codes, codes)
    sizes, classes, weights = _gathered(places, fitted)
    whole = numpy.bincount(
        classes, weights=weights * numpy.repeat(values[known], sizes), minlength=len(fitted.base)
    )
    return whole.astype(numpy.float32)


def _gathered(places: Integers, fitted: Fitted) -> tuple[Integers, Integers, Floats]:
    """The number of weights of each of some terms, and their classes and weights, one after the other."""
    firsts = fitted.offsets[places]
    sizes = fitted.offsets[places + 1] - firsts
    # The places of all their weights: each term's first, counted on.
    ends = numpy.cumsum(sizes)
    at = numpy.repeat(firsts - (ends - sizes), sizes) + numpy.arange(ends[-1] if len(ends) else 0)
    return sizes, fitted.classes[at], fitted.weights[at]


def fired_by(text: str, hits: Hits) -> dict[str, float]:
    """The topics whose triggers fired, with ``directness_of`` their hits."""
    return {name: directness_of(text, hits[name]) for name in sorted(hits)}


def logits_of(total: Floats, text: str, hits: Hits, known: Known) -> tuple[Doubles, dict[str, float]]:
    """The log-odds of each topic for a message, in order, and what its hits add to some of them.

    Args:
        total: Those of the classes of the fit, up to a constant.
    """
    classes = total.astype(numpy.float64)
    nothing, places = classes[-1], [known.places.get(name, -1) for name in known.topics]
    values = numpy.append([classes[at] if at >= 0 else nothing + _UNKNOWN for at in places], nothing)
    before, added = values.copy(), {}
    words = content_words(text) if hits else frozenset()
    for index, name in enumerate(known.topics if hits else ()):
        if name in hits:
            rest = float(numpy.logaddexp.reduce(numpy.delete(before, index)))
            taught = float(known.fitted.taught[places[index]]) if places[index] >= 0 else 0.0
            topic = known.topics[name]
            values[index] = with_hits(before[index], rest, topic, hits[name], words, taught)
            added[name] = float(values[index] - before[index])
    shares = numpy.exp(values - values.max())
    others = numpy.maximum(shares.sum() - shares, 1e-12)
    with numpy.errstate(divide="ignore"):
        found: Doubles = numpy.clip(numpy.log(shares / others), -_CERTAIN, _CERTAIN)[:-1]
    return found, added


def telling_words(text: str, fitted: Fitted, topics: Sequence[int]) -> list[tuple[Span, ...]]:
    """For each topic index the content words that speak for it, weighted by what they and their parts add to
    its log-odds; in order and not overlapping. A pair of words counts half for each.
    """
    places = places_of(text)
    if not places or not topics:
        return [()] * len(topics)
    terms = terms_of([word for word, _, _ in places])
    adds = _added(terms.words, _values_of(terms.words, terms.word_counts, fitted), fitted, topics)
    adds |= _added(
        terms.parts, PARTS_SHARE * _values_of(terms.parts, terms.part_counts, fitted), fitted, topics
    )
    nothing = numpy.zeros(len(topics), dtype=numpy.float32)
    of_word: dict[str, Any] = {}
    for word in {word for word, _, _ in places}:
        known = [adds[code] for code in (code_of(word), *parts_of(word).tolist()) if code in adds]
        of_word[word] = sum(known, nothing)
    for (first, _, _), (second, _, _) in pairwise(places):
        pair = adds.get(code_of(f"{first} {second}"))
        if pair is not None:
            of_word[first], of_word[second] = of_word[first] + pair / 2, of_word[second] + pair / 2
    telling = {word for word, _, _ in places if content_words(word)}
    found: list[tuple[Span, ...]] = []
    for index in range(len(topics)):
        parts = [(start, end, float(of_word[word][index])) for word, start, end in places if word in telling]
        least = LEAST_SHOWN * max((weight for *_, weight in parts), default=0.0)
        found.append(spans(_joined([part for part in parts if part[2] > max(0.0, least)])))
    return found


def _added(codes: Codes, values: Floats, fitted: Fitted, topics: Sequence[int]) -> dict[int, Floats]:
    """What each known term adds to the log-odds of some topics, by its code."""
    places, known = _places_in(fitted.codes, codes)
    sizes, classes, weights = _gathered(places, fitted)
    row = numpy.repeat(numpy.arange(len(places)), sizes)
    table = numpy.zeros((len(places), len(fitted.base)), dtype=numpy.float32)
    table[row, classes] = weights * numpy.repeat(values[known], sizes)
    return dict(zip(codes[known].tolist(), table[:, list(topics)], strict=True))


def _joined(parts: list[tuple[int, int, float]]) -> list[tuple[int, int, float]]:
    """Parts with overlapping ones merged, as in texts without spaces."""
    joined: list[tuple[int, int, float]] = []
    for start, end, weight in parts:
        if joined and start < joined[-1][1]:
            first, before, strongest = joined[-1]
            joined[-1] = (first, max(before, end), max(strongest, weight))
        else:
            joined.append((start, end, weight))
    return joined
