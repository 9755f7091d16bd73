"""Similarity of sentences, and contradictions between them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

from engine.rules import words

SAME = 0.45
"""Similarity from which two sentences count as one rule."""

_BEFORE, _SEEN = 200, 2
"""Pseudo-counts: sentences, and sentences with a given stem. Without them a few sentences would make the
stems they share look common."""

_WORD = re.compile(r"[^\W_]+")
_ENDINGS = ("ations", "ation", "ating", "ing", "ies", "ied", "es", "ed", "s", "e")
_OFF = re.compile(
    r"\b(?:do(?:n['’]?t| not)|never|no longer|stop|without|avoid|not|isn['’]t|shouldn['’]t|nie(?:mals)?|nicht"
    r"|kein\w*|jamais|nunca|non|niet|nooit)\b",
    re.IGNORECASE,
)


def stem(word: str) -> str:
    """A lower-case word without its ending."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def stem_sequence(text: str) -> list[str]:
    """The stem of each word of a text, in order; empty for words that say nothing of what it is about."""
    found = _WORD.findall(text.casefold())
    return ["" if word in words.SMALL or len(word) == 1 else stem(word) for word in found]


@lru_cache(maxsize=16_384)
def stems(text: str) -> frozenset[str]:
    """The stems of a text's content words."""
    return frozenset(filter(None, stem_sequence(text)))


_SYNONYMS = {"respond": "reply", "writ": "add", "creat": "add", "repl": "reply"}
_CORE = {stem(word) for word in f"{words.HOW_WORDS} {words.EITHER_WORDS} {words.MANNERS}".split()} | {
    "writ",
    "write",
    "add",
    "reply",
    "respond",
    "use",
    "keep",
}


@lru_cache(maxsize=16_384)
def core(text: str) -> frozenset[str]:
    """The stems of a text that are about ways of working; synonyms are merged."""
    return frozenset(_SYNONYMS.get(each, each) for each in stems(text) if each in _CORE or each in _SYNONYMS)


class Rarity:
    """Inverse document frequency of stems."""

    def __init__(self, texts: Iterable[str]) -> None:
        # Each wording once: repetition must not lower the weight.
        sets = {stems(text) for text in texts}
        self._count: Mapping[str, int] = Counter(each for found in sets for each in found)
        self._all = len(sets) + _BEFORE

    def of(self, found: Iterable[str]) -> float:
        """The total weight of some stems."""
        return sum(math.log(1 + self._all / (self._count.get(each, 0) + _SEEN)) for each in found)

    def similarity(self, one: str, other: str) -> float:
        """Weighted overlap of two sentences, 0 to 1."""
        left, right = stems(one), stems(other)
        either = self.of(left | right)
        found = self.of(left & right) / either if either else 0.0
        mine = core(one)
        return max(found, SAME + 0.01) if len(mine) >= 2 and mine == core(other) else found


def contradicts(new: str, old: str) -> bool:
    """Whether a rule reverses an older one: it forbids what that one asked for or vice versa, or picks
    another of several alternatives.
    """
    mine, theirs = _words(new), _words(old)
    for choice in words.CHOICES:
        one = [option for option in choice if option & mine]
        other = [option for option in choice if option & theirs]
        if len(one) == len(other) == 1 and one != other:
            return bool((stems(new) & stems(old)) - {stem(each) for option in choice for each in option}) or (
                min(len(stems(new)), len(stems(old))) <= 4
            )
    both, either = stems(new) & stems(old), stems(new) | stems(old)
    is_flipped = bool(_OFF.search(new)) != bool(_OFF.search(old))
    return is_flipped and len(both) >= 2 and len(both) >= 0.6 * len(either - {stem("instead"), "always"})


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[\w/-]+", text.casefold()))
