"""Finds existing knowledge that is equal or nearly equal to a text.

A lost fact is worse than a duplicate. Two texts are therefore the same only if all distinguishing details
agree (``engine.knowledge.signs``), they are close in meaning by the built-in vectors, and they share most
words in much the same order. ``tests/knowledge/test_similarity.py`` measures this and prints the table from
which the threshold was chosen.
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
"""Similarity from which two texts count as the same."""

MEANING = 0.6
"""Weight of the vectors in a similarity; the rest is the weight of the words."""

MIN_ORDER = 0.75
"""Minimum share of word pairs in the same order: "A before B" is not "B before A"."""

_NEAREST = 12
_MIN_WORDS = 3
_LONG = 6


@dataclass(frozen=True, slots=True)
class Match:
    """An entry equivalent to a text."""

    entry: Entry
    similarity: float  # 0 to 1; 1 for equal words


class SimilarEntries:
    """Finds entries by similarity."""

    def __init__(self, entries: Sequence[Entry] = ()) -> None:
        self._entries: list[Entry] = []
        self._table: Floats | None = None
        self._equal: dict[str, Entry] = {}
        for entry in entries:
            self.add(entry)

    def add(self, entry: Entry) -> None:
        self._equal.setdefault(normalised(entry.text), entry)
        self._entries.append(entry)
        self._table = None

    def find(self, text: str) -> Match | None:
        """The entry equivalent to a text: the first with equal words, else the most similar."""
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

    def nearest(self, text: str, limit: int = _NEAREST) -> list[tuple[Entry, float]]:
        """The entries nearest in meaning with their cosines, nearest first."""
        if not self._entries:
            return []
        import numpy  # noqa: PLC0415 — slow to import, and not needed to read entries

        if self._table is None:
            self._table = vectors().embed([entry.text for entry in self._entries])
        near = self._table @ vectors().embed([text])[0]
        order = numpy.argsort(-near, kind="stable")[:limit]
        return [(self._entries[at], float(near[at])) for at in order]


MAX_CACHED = 10_000
"""Number of cached vectors beyond which the cache is cleared."""


class CachedVectors:
    """Embeds each text once."""

    def __init__(self, embed: Callable[[Sequence[str]], Floats]) -> None:
        self._embed = embed
        self._rows: dict[str, Floats] = {}

    def embed(self, texts: Sequence[str]) -> Floats:
        """float32 ``[len(texts), D]``, rows of length 1 or of zeros."""
        import numpy  # noqa: PLC0415 — slow to import, and not needed to read entries

        rows = self._rows if len(self._rows) <= MAX_CACHED else {}
        new = list(dict.fromkeys(text for text in texts if text not in rows))
        if new:
            rows.update(zip(new, self._embed(new), strict=True))
        self._rows = rows
        return numpy.stack([rows[text] for text in texts])


@cache
def vectors() -> CachedVectors:
    """The built-in vectors, cached because a harvest compares with the same lines many times."""
    from engine.search.embeddings import LocalEmbedder  # noqa: PLC0415 — imports numpy

    return CachedVectors(LocalEmbedder().embed)


def similarity(item: Signs, entry: Signs, meaning: float) -> float:
    """Similarity of a new text and an existing entry, 0 to 1; 0 if any detail differs.

    The new text may not contain a word that the entry lacks; a long entry may contain one more word.

    ``meaning`` is the cosine of their vectors.
    """
    if difference(item, entry):
        return 0.0
    mine = [word for word in item.words if word not in COMMON]
    there = [word for word in entry.words if word not in COMMON]
    more = len({*there} - {*mine})
    if {*mine} - {*there} or more > (len({*mine}) >= _LONG) or len(mine) + len(item.exact) < _MIN_WORDS:
        return 0.0
    turned = _reordered(item, mine, there), _reordered(entry, there, mine)
    if item.is_passive != entry.is_passive and turned == (mine, there):
        return 0.0  # "it is called by the gateway" is not "it calls the gateway"
    mine, there = turned
    if order(mine, there) < MIN_ORDER or _are_exchanged(mine, there):
        return 0.0
    return MEANING * max(meaning, 0.0) + (1 - MEANING) * overlap(mine, there)


def _reordered(signs: Signs, words: list[str], other: Sequence[str]) -> list[str]:
    """The words reordered like those of the other text, if grammar gives both the same meaning.

    "On every machine the tests run" equals "the tests run on every machine": a leading prepositional phrase
    may move to the end. "The queue is drained by workers" equals "workers drain the queue": the agent after
    "by" may move to the front, whereas "the queue drains workers" means something else.
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
    """Share of words that two texts have in common, 0 to 1."""
    here, there = Counter(first), Counter(second)
    total = here.total() + there.total()
    return 2 * (here & there).total() / total if total else 0.0


def order(first: Sequence[str], second: Sequence[str]) -> float:
    """Share of pairs of common words in the same order; 1 if there are no pairs."""
    places = {word: at for at, word in reversed(list(enumerate(second)))}
    seen = dict.fromkeys(word for word in first if word in places)
    pairs = [places[before] < places[behind] for before, behind in combinations(seen, 2)]
    return sum(pairs) / len(pairs) if pairs else 1.0


def _are_exchanged(first: Sequence[str], second: Sequence[str]) -> bool:
    """True if exactly two words, not adjacent, have changed places."""
    here = list(dict.fromkeys(word for word in first if word in second))
    there = list(dict.fromkeys(word for word in second if word in here))
    apart = [at for at, (one, other) in enumerate(zip(here, there, strict=True)) if one != other]
    return len(apart) == 2 and apart[1] - apart[0] > 1
