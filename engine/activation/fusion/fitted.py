"""The fit of tier 2 to a set of topics, as arrays: computed when topics change, used for each message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Protocol

import numpy

from engine.activation.fusion.classifiers import own_similarity, train_classifiers
from engine.activation.fusion.postings import index_grams, index_words
from engine.activation.fusion.words import SIGNATURE_LENGTH, signature_of, words_of
from engine.startup.lazy import expression
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.activation.labelled import Labelled
    from engine.topics.model import Topic

    Floats = NDArray[numpy.float32]
    Integers = NDArray[numpy.int32]

_HAPPY = (
    "great thanks perfect love wonderful nice happy excellent awesome glad good pleased brilliant works well "
    "amazing fantastic enjoy beautiful appreciate delighted"
)
_UNHAPPY = (
    "terrible angry hate broken awful annoying wrong fail urgent worst bad furious useless horrible sucks "
    "disappointed frustrated stupid crash unacceptable"
)


EXAMPLES_LIMIT = 64
"""Maximum number of examples of one topic: the written ones, then the latest labelled ones."""
ABOUT_LIMIT = 4_000
"""Maximum number of characters of instructions and headings."""

_SEPARATORS = expression(r"[-_./]+")


class Embedding(Protocol):
    """Computes vectors of texts, such as ``TokenVectors``."""

    version: str

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Floats: ...


@dataclass(frozen=True, slots=True)
class TopicTexts:
    """The texts of a topic used for matching."""

    name: str
    label: str  # title and description as one text
    about: str = ""  # instructions and headings
    examples: tuple[str, ...] = ()  # messages that should activate it
    against: tuple[str, ...] = ()  # similar messages that should not


def texts_of(topic: Topic, labelled: Labelled | None = None, headings: Sequence[str] = ()) -> TopicTexts:
    """The texts of a topic: name, title and description; instructions and headings of subscriptions;
    examples; and labelled messages, oldest first.
    """
    names = (_SEPARATORS.sub(" ", topic.name), topic.title, topic.description)
    label = ". ".join(dict.fromkeys(part.strip() for part in names if part.strip()))
    useful = labelled.useful if labelled is not None else ()
    noise = labelled.noise if labelled is not None else ()
    examples = list(dict.fromkeys((*topic.examples, *reversed(useful))))[:EXAMPLES_LIMIT]
    against = [text for text in dict.fromkeys(reversed(noise)) if text not in examples][:EXAMPLES_LIMIT]
    about = "\n".join((topic.instructions, *headings))[:ABOUT_LIMIT]
    return TopicTexts(topic.name, label, about, tuple(examples), tuple(against))


@dataclass(frozen=True, slots=True)
class Fitted:
    """The arrays; ``T`` topics, ``N`` entries.

    An entry is an example of a topic, or its label if it has no examples. Entries are ordered by topic,
    followed by one row per topic for all of its text.
    """

    names: tuple[str, ...]  # the topics in order
    starts: Integers  # int32 ``[T + 1]``: the first entry of each topic
    grams: NDArray[numpy.uint32]  # uint32, sorted: the CRC-32 of each known n-gram
    idf: Floats  # float32, per n-gram
    offsets: Integers  # int32 ``[len(grams) + 1]``: start of each n-gram's postings
    rows: Integers  # int32: the entries and topic rows in which it occurs
    weights: Floats  # float32: its weight there, of rows of length 1
    words: NDArray[numpy.uint32]  # uint32, sorted: the CRC-32 of each known word
    word_idf: Floats  # float32, per word, BM25's
    word_offsets: Integers  # int32: start of each word's postings
    word_topics: Integers  # int32: the topics in whose text it occurs
    word_weights: Floats  # float32: its BM25 weight there
    entry_words: Integers  # int32 ``[N]``: number of distinct words of each entry
    word_entry_offsets: Integers  # int32: start of each word's entries
    word_entries: Integers  # int32: the entries in which it occurs
    entry_vectors: Floats  # float32 ``[N, D]``
    label_vectors: Floats  # float32 ``[T, D]``
    centroids: Floats  # float32 ``[T, D]``: the mean of the entries' vectors, of length 1
    signatures: NDArray[numpy.uint32]  # uint32 ``[N, SIGNATURE_LENGTH]``
    mood_axis: Floats  # float32 ``[D]``: the direction from unhappy to happy words; see ``mood_of``
    moods: Floats  # float32 ``[T]``: mean mood of the entries, −1 to 1
    own_vectors: Floats
    """float32 ``[T]``: similarity of the topic's own entries, as the mean over entries of the similarity to
    the three nearest others; −1 with a single entry."""
    own_grams: Floats  # the same by n-grams
    classifiers: Floats  # the ``weights`` of ``Classifiers``
    own_classified: Floats  # its ``own``, and so on
    rivals_classified: Floats
    spread_classified: Floats
    against_vectors: Floats  # float32 ``[A, D]``
    against_topics: Integers  # int32 ``[A]``: the topic of each counter-example

    @classmethod
    def array_names(cls) -> tuple[str, ...]:
        """The fields that are arrays."""
        return tuple(item.name for item in fields(cls) if item.name != "names")


def mood_of(vectors: Floats, axis: Floats) -> Floats:
    """The mood of texts from unhappy −1 to happy 1, for each row of ``vectors``."""
    moods: Floats = numpy.clip(3 * (vectors @ axis), -1, 1)
    return moods


def fit(topics: Sequence[TopicTexts], vectors: Embedding) -> Fitted:
    """Fits topics, in their given order; equal topics give equal arrays in every process."""
    entries = [topic.examples or (topic.label,) for topic in topics]
    starts = numpy.cumsum([0, *map(len, entries)]).astype(numpy.int32)
    texts = [text for of_topic in entries for text in of_topic]
    words = [words_of(text) for text in texts]
    abouts = [words_of(f"{topic.label}\n{topic.about}") for topic in topics]
    index = index_grams([*words, *abouts])
    entry_vectors = vectors.embed(texts)
    label_vectors = vectors.embed([topic.label for topic in topics])
    has_examples = numpy.array([bool(topic.examples) for topic in topics], dtype=bool)
    trained = train_classifiers(starts, index, entry_vectors, label_vectors, has_examples)
    own_vectors, own_grams = own_similarity(starts, index, entry_vectors)
    axis = vectors.embed([_HAPPY])[0] - vectors.embed([_UNHAPPY])[0]
    against = [(text, place) for place, topic in enumerate(topics) for text in topic.against]
    return Fitted(
        names=tuple(topic.name for topic in topics),
        starts=starts,
        **index,
        **index_words(_documents(topics, abouts, words), words),
        entry_vectors=entry_vectors,
        label_vectors=label_vectors,
        centroids=_centroids(entry_vectors, starts),
        signatures=numpy.array([signature_of(of) for of in words], dtype=numpy.uint32).reshape(
            len(texts), SIGNATURE_LENGTH
        ),
        mood_axis=axis,
        moods=_means(mood_of(entry_vectors, axis), starts),
        own_vectors=own_vectors,
        own_grams=own_grams,
        classifiers=trained.weights,
        own_classified=trained.own,
        rivals_classified=trained.rivals,
        spread_classified=trained.spread,
        against_vectors=vectors.embed([text for text, _ in against]),
        against_topics=numpy.array([place for _, place in against], dtype=numpy.int32),
    )


def _documents(
    topics: Sequence[TopicTexts], abouts: Sequence[Sequence[str]], words: Sequence[Sequence[str]]
) -> list[Counter[str]]:
    """Word counts of each topic's text and examples."""
    documents = [Counter(about) for about in abouts]
    entries = iter(words)
    for topic, document in zip(topics, documents, strict=True):
        for _ in topic.examples:
            document.update(next(entries))
        if not topic.examples:
            next(entries)  # the label, which is part of the topic's text
    return documents


def _centroids(vectors: Floats, starts: Integers) -> Floats:
    if len(starts) < 2:
        return numpy.zeros((0, vectors.shape[1]), dtype=numpy.float32)
    sums = numpy.add.reduceat(vectors, starts[:-1], axis=0)
    lengths = numpy.linalg.norm(sums, axis=1, keepdims=True)
    means: Floats = (sums / numpy.maximum(lengths, 1e-9)).astype(numpy.float32)
    return means


def _means(values: Floats, starts: Integers) -> Floats:
    if len(starts) < 2:
        return numpy.zeros(0, dtype=numpy.float32)
    means: Floats = (numpy.add.reduceat(values, starts[:-1]) / numpy.diff(starts)).astype(numpy.float32)
    return means
