"""Knowledge that is already there, in the same words or nearly the same.

A lost fact is worse than a duplicate. So two texts are one only when everything that could tell them apart
agrees (``engine.knowledge.signs``), they are near each other in meaning by the vectors that the search ships
with, and they share most of their words in much the same order. ``tests/knowledge/test_similarity.py``
measures it and prints the table from which the threshold was chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

from engine.knowledge.category_files import Entry
from engine.knowledge.item import normalised
from engine.knowledge.signs import COMMON, READ, Signs, difference, signs_of

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Floats = NDArray[numpy.float32]

SAME = 0.85
"""Similarity from which two texts count as one."""

MEANING = 0.6
"""Share of a similarity that is the vectors'; the rest is the words'."""

LEAST_ORDER = 0.75
"""Share of pairs of words that stand in the same order: "A before B" is not "B before A"."""

_LOOKED_AT = 12
_FEWEST_WORDS = 3
_LONG = 6


@dataclass(frozen=True, slots=True)
class Match:
    """An entry that says what was asked about."""

    entry: Entry
    similarity: float  # 0 to 1; 1 for the same words


class SimilarEntries:
    """The entries of one kind, by what they say."""

    def __init__(self, entries: Sequence[Entry] = ()) -> None:
        self._entries: list[Entry] = []
        self._table: Floats | None = None
        self._equal: dict[str, Entry] = {}
        for entry in entries:
            self.add(entry)

    def add(self, entry: Entry) -> None:
        """Adds an entry."""
        self._equal.setdefault(normalised(entry.text), entry)
        self._entries.append(entry)
        self._table = None

    def find(self, text: str) -> Match | None:
        """The entry that says the same as a text: the first with the same words, else the most similar."""
        same = self._equal.get(normalised(text))
        if same is not None:
            return Match(same, 1.0)
        if len(text) > READ:
            return None
        best: Match | None = None
        for entry, meaning in self.nearest(text):
            if len(entry.text) > READ:
                continue
            found = similarity(signs_of(text), signs_of(entry.text), meaning)
            if found >= SAME and (best is None or found > best.similarity):
                best = Match(entry, found)
        return best

    def nearest(self, text: str, most: int = _LOOKED_AT) -> list[tuple[Entry, float]]:
        """The entries that are nearest in meaning, with their cosines, nearest first."""
        if not self._entries:
            return []
        import numpy  # noqa: PLC0415 — slow to import, and reading entries does without

        if self._table is None:
            self._table = vectors().embed([entry.text for entry in self._entries])
        near = self._table @ vectors().embed([text])[0]
        order = numpy.argsort(-near, kind="stable")[:most]
        return [(self._entries[at], float(near[at])) for at in order]


REMEMBERED = 10_000
"""Texts whose vectors are kept; beyond, all are made anew."""


class RememberedVectors:
    """Vectors that are made once for each text, however often it is compared."""

    def __init__(self, embed: Callable[[Sequence[str]], Floats]) -> None:
        self._embed = embed
        self._rows: dict[str, Floats] = {}

    def embed(self, texts: Sequence[str]) -> Floats:
        """float32 ``[len(texts), D]``, rows of length 1 or of zeros."""
        import numpy  # noqa: PLC0415 — slow to import, and reading entries does without

        rows = self._rows if len(self._rows) <= REMEMBERED else {}
        new = list(dict.fromkeys(text for text in texts if text not in rows))
        if new:
            rows.update(zip(new, self._embed(new), strict=True))
        self._rows = rows
        return numpy.stack([rows[text] for text in texts])


@cache
def vectors() -> RememberedVectors:
    """The vectors that ship with the product: a harvest compares with the same lines again and again."""
    from engine.search.embeddings import LocalEmbedder  # noqa: PLC0415 — brings numpy with its first text

    return RememberedVectors(LocalEmbedder().embed)


def similarity(item: Signs, entry: Signs, meaning: float) -> float:
    """How similar a new text and one that is there are, 0 to 1; 0 as soon as anything tells them apart.

    The new one may say nothing that the other does not say; the other, if it is long, one word more.

    ``meaning`` is the cosine of their vectors.
    """
    if difference(item, entry):
        return 0.0
    said = [word for word in item.words if word not in COMMON]
    there = [word for word in entry.words if word not in COMMON]
    more = len({*there} - {*said})
    if {*said} - {*there} or more > (len({*said}) >= _LONG) or len(said) + len(item.exact) < _FEWEST_WORDS:
        return 0.0
    turned = _turned(item, said, there), _turned(entry, there, said)
    if item.is_passive != entry.is_passive and turned == (said, there):
        return 0.0  # "it is called by the gateway" is not "it calls the gateway"
    said, there = turned
    if order(said, there) < LEAST_ORDER or _are_exchanged(said, there):
        return 0.0
    return MEANING * max(meaning, 0.0) + (1 - MEANING) * overlap(said, there)


def _turned(signs: Signs, words: list[str], other: Sequence[str]) -> list[str]:
    """Words in the order in which the other text has them, where the grammar says that it means the same.

    "On every machine the tests run" is "the tests run on every machine": a text that begins with a
    preposition may have that phrase at its end. "The queue is drained by workers" is "workers drain the
    queue": what stands behind "by" may stand in front, and "the queue drains workers" is another sentence.
    """
    if signs.words and signs.words[0] in _PREPOSITIONS:
        for cut in range(1, len(words)):
            if words[cut:] + words[:cut] == list(other):
                return words[cut:] + words[:cut]
    if signs.is_passive and "by" in signs.words:
        at = signs.words.index("by")
        before = [word for word in signs.words[:at] if word not in COMMON]
        behind = [word for word in signs.words[at:] if word not in COMMON]
        if len(behind) and before and before + behind == words:
            for verb in range(1, len(before) + 1):
                # The agent, the verb, and what it is done to.
                for end in range(1, len(behind) + 1):
                    turned = behind[:end] + before[verb - 1 : verb] + before[: verb - 1]
                    turned += before[verb:] + behind[end:]
                    if turned == list(other):
                        return turned
    return words


_PREPOSITIONS = frozenset({"on", "in", "at", "for", "from", "with", "as", "during", "via"})


def overlap(first: Sequence[str], second: Sequence[str]) -> float:
    """Share of the words that two texts have in common, 0 to 1."""
    here, there = Counter(first), Counter(second)
    total = here.total() + there.total()
    return 2 * (here & there).total() / total if total else 0.0


def order(first: Sequence[str], second: Sequence[str]) -> float:
    """Share of the pairs of common words that stand in the same order; 1 where there is no pair."""
    places = {word: at for at, word in reversed(list(enumerate(second)))}
    seen = dict.fromkeys(word for word in first if word in places)
    pairs = [places[before] < places[behind] for before, behind in combinations(seen, 2)]
    return sum(pairs) / len(pairs) if pairs else 1.0


def _are_exchanged(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether two words that are not neighbours have changed places and nothing else has."""
    here = list(dict.fromkeys(word for word in first if word in second))
    there = list(dict.fromkeys(word for word in second if word in here))
    apart = [at for at, (one, other) in enumerate(zip(here, there, strict=True)) if one != other]
    return len(apart) == 2 and apart[1] - apart[0] > 1
