"""Inverted indexes: the texts in which n-grams and words occur, with their weights."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Codes = NDArray[numpy.uint32]
    Floats = NDArray[numpy.float32]
    Integers = NDArray[Any]

POSTINGS_LIMIT = 2_000
"""Maximum number of texts of an n-gram; those with the largest weights are kept."""
BM25_K1, BM25_B = 1.2, 0.75

_CHAR_SIZES = (3, 4, 5)
_BLOCK = 1_000
"""Number of texts counted at once, to bound the memory."""


def codes_of(terms: Iterable[str], count: int) -> Codes:
    """The codes of terms: CRC-32, uint32 ``[count]``."""
    found = (zlib.crc32(term.encode("utf-8", "surrogatepass")) for term in terms)
    return numpy.fromiter(found, dtype=numpy.uint32, count=count)


@lru_cache(maxsize=20_000)
def codes_in(word: str) -> Codes:
    """The codes of a word and of its character 3- to 5-grams, at most 118 in all.

    N-grams include a space at either end of the word. They start with ``#``, unlike words.
    """
    framed = f" {word} "
    grams = [
        f"#{framed[start : start + size]}" for size in _CHAR_SIZES for start in range(len(framed) - size + 1)
    ]
    codes = codes_of((word, *grams), 1 + len(grams))
    codes.flags.writeable = False
    return codes


def count_grams(documents: Sequence[Sequence[str]]) -> tuple[Integers, Codes, Floats]:
    """Counts n-grams in texts given by their words: ``codes_in`` words, and pairs of adjacent words.

    Returns:
        The number of the text, int32, ascending; the n-gram's code; and its count there, float32.
    """
    rows, codes, counts = [], [], []
    for start in range(0, len(documents), _BLOCK):
        keys, totals = _counted(documents[start : start + _BLOCK])
        rows.append((keys >> 32).astype(numpy.int32) + numpy.int32(start))
        codes.append((keys & 0xFFFFFFFF).astype(numpy.uint32))
        counts.append(totals.astype(numpy.float32))
    return _joined(rows, numpy.int32), _joined(codes, numpy.uint32), _joined(counts, numpy.float32)


def places_in(known: Codes, codes: Codes) -> tuple[Integers, NDArray[numpy.bool_]]:
    """Looks up codes among known ones, which are sorted.

    Returns:
        The indices of the known codes, in order, and for each code whether it is known.
    """
    if not len(known):
        return numpy.zeros(0, dtype=numpy.int64), numpy.zeros(len(codes), dtype=bool)
    places = numpy.minimum(numpy.searchsorted(known, codes), len(known) - 1)
    is_known = known[places] == codes
    return places[is_known], is_known


def gathered(offsets: Integers, places: Integers, *columns: Any) -> tuple[Integers, tuple[Any, ...]]:
    """The concatenated postings of some terms.

    Args:
        offsets: Start of the postings of each term.
        columns: Values of each posting.

    Returns:
        The number of postings of each term, and the parts of the columns.
    """
    firsts, lasts = offsets[places], offsets[places + 1]
    pieces = [slice(first, last) for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True)]
    found = tuple(numpy.concatenate([column[:0], *(column[piece] for piece in pieces)]) for column in columns)
    return lasts - firsts, found


def index_grams(documents: Sequence[Sequence[str]]) -> dict[str, Any]:
    """The n-grams of texts, given by their words, with sublinear TF-IDF weights, normalized.

    Returns:
        ``grams``, ``idf``, ``offsets``, ``rows`` and ``weights`` of ``Fitted``.
    """
    rows, codes, counts = count_grams(documents)
    order = numpy.argsort(codes, kind="stable")
    rows, codes, counts = rows[order], codes[order], counts[order]
    is_first = numpy.ones(len(codes), dtype=bool)
    is_first[1:] = codes[1:] != codes[:-1]
    frequency = numpy.diff(numpy.append(numpy.flatnonzero(is_first), len(codes)))
    idf = (numpy.log((1 + len(documents)) / (1 + frequency)) + 1).astype(numpy.float32)
    weights = (1 + numpy.log(counts)) * numpy.repeat(idf, frequency)
    lengths = numpy.sqrt(numpy.bincount(rows, weights=weights * weights, minlength=len(documents)))
    weights = (weights / numpy.maximum(lengths, 1e-9)[rows]).astype(numpy.float32)
    is_kept = _heaviest(frequency, weights)
    return {
        "grams": codes[is_first],
        "idf": idf,
        "offsets": _offsets(numpy.minimum(frequency, POSTINGS_LIMIT)),
        "rows": rows[is_kept],
        "weights": weights[is_kept],
    }


def index_words(documents: Sequence[Mapping[str, int]], entries: Sequence[Sequence[str]]) -> dict[str, Any]:
    """BM25 weights of the words in each topic's text, and the entries in which each of them occurs.

    Args:
        documents: Word counts of each topic's text.
        entries: The words of each entry.

    Returns:
        ``words``, ``word_idf``, ``word_offsets``, ``word_topics``, ``word_weights``, ``entry_words``,
        ``word_entry_offsets`` and ``word_entries`` of ``Fitted``.
    """
    codes = [codes_of(document, len(document)) for document in documents]
    known, places = numpy.unique(_joined(codes, numpy.uint32), return_inverse=True)
    topics = _owners(codes)
    counts = numpy.array([n for document in documents for n in document.values()], dtype=numpy.float32)
    sizes = numpy.bincount(topics, weights=counts, minlength=len(documents))
    frequency = numpy.bincount(places, minlength=len(known))
    idf = numpy.log(1 + (len(documents) - frequency + 0.5) / (frequency + 0.5)).astype(numpy.float32)
    relative = sizes / max(float(sizes.mean()), 1e-9) if len(documents) else sizes
    damped = counts + BM25_K1 * (1 - BM25_B + BM25_B * relative[topics])
    weight = (idf[places] * counts * (BM25_K1 + 1) / damped).astype(numpy.float32)
    order = numpy.argsort(places, kind="stable")
    sets = [numpy.unique(codes_of(words, len(words))) for words in entries]
    place, is_known = places_in(known, _joined(sets, numpy.uint32))
    entry = _owners(sets)[is_known]
    return {
        "words": known,
        "word_idf": idf,
        "word_offsets": _offsets(frequency),
        "word_topics": topics[order],
        "word_weights": weight[order],
        "entry_words": numpy.array([len(of) for of in sets], dtype=numpy.int32),
        "word_entry_offsets": _offsets(numpy.bincount(place, minlength=len(known))),
        "word_entries": entry[numpy.argsort(place, kind="stable")],
    }


def _counted(documents: Sequence[Sequence[str]]) -> tuple[NDArray[numpy.uint64], NDArray[Any]]:
    """The n-grams of texts as text number times 2³² plus code, ascending, and their counts."""
    parts: list[Codes] = []
    counts: list[int] = []
    owners: list[int] = []
    for row, words in enumerate(documents):
        different = Counter(words)
        parts += map(codes_in, different)
        counts += different.values()
        parts.append(codes_of((f"{a} {b}" for a, b in pairwise(words)), max(0, len(words) - 1)))
        counts.append(1)
        owners += [row] * (len(different) + 1)
    sizes = [len(part) for part in parts]
    keys = numpy.repeat(numpy.array(owners, dtype=numpy.uint64) << numpy.uint64(32), sizes)
    keys |= numpy.concatenate(parts)
    different_keys, places = numpy.unique(keys, return_inverse=True)
    return different_keys, numpy.bincount(places, weights=numpy.repeat(counts, sizes))


def _heaviest(frequency: Integers, weights: Floats) -> NDArray[numpy.bool_]:
    """A mask of the postings to keep, at most ``POSTINGS_LIMIT`` of each term; the first of equal ones."""
    is_kept = numpy.ones(len(weights), dtype=bool)
    ends = numpy.cumsum(frequency)
    for term in numpy.flatnonzero(frequency > POSTINGS_LIMIT).tolist():
        first, last = int(ends[term] - frequency[term]), int(ends[term])
        order = numpy.argsort(-weights[first:last], kind="stable")
        is_kept[first + order[POSTINGS_LIMIT:]] = False
    return is_kept


def _owners(parts: Sequence[Any]) -> Integers:
    """For each element of concatenated arrays, the number of its array: int32."""
    lengths = numpy.array([len(part) for part in parts], dtype=numpy.int64)
    owners: Integers = numpy.repeat(numpy.arange(len(parts), dtype=numpy.int32), lengths)
    return owners


def _joined(parts: Sequence[Any], kind: Any) -> Any:
    return numpy.concatenate([*parts, numpy.zeros(0, dtype=kind)])


def _offsets(frequency: Integers) -> Integers:
    return numpy.concatenate([[0], numpy.cumsum(frequency)]).astype(numpy.int32)
