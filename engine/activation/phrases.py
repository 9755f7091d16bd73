"""Keywords, names and urgency words: whole words in a message, in any script (spec 4.2).

A phrase is consecutive words, with white space or a hyphen between them, or with exactly the signs that it is
written with (``ci/cd``, ``node.js``). Case and full width do not matter, and apostrophes may be curly.

Limits: the only inflection known is the simple English plural; ``roll back`` does not match "rolled back",
nor ``deploy`` "deployed". Scripts such as Chinese, Japanese, Korean and Thai separate words little or not at
all, so keywords in them also match inside longer words. First names that are everyday English words count if
they are capitalized, which proves nothing at the beginning of a sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from engine.activation.scan import Scan, fold, is_unspaced, split
from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.store.spelling import composed
from engine.topics.fields import word_set

_JOINED = expression(r"\s+|[-‐‑–]")
_APOSTROPHES = str.maketrans("’ʼ‘´`＠", "'''''@")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
_NO_PLURAL = word_set("news its is us as has was this his yes bus gas plus thus hers ours")
# First names that are also everyday English words: case matters only for these.
_ALSO_WORDS = word_set(
    "amber angel april art august autumn bill bob brook chance chase chip christian chuck clay cliff "
    "colt dale dash dawn dean dick don drew earl faith forest frank gene glen grace grant guy harmony "
    "hazel heath holly hope hunter iris ivy jack jade jay jean jet jo joy june king lance love mark "
    "mason matt max may mercy merry miles nick norm olive page parker pat pearl penny peg pierce poppy "
    "prince ray reed rich rick rob robin rock rod rose ruby rusty sage sandy skip sky star stone sue "
    "summer sunny teddy tommy trace trip violet wade will willow wood woody"
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A word or several consecutive words to find in a message."""

    text: str  # as it was written
    words: tuple[str, ...]
    """The folded words; empty if the phrase has no separable words (``!!!``, an emoji, Chinese), so that any
    occurrence counts."""
    between: tuple[str, ...] = ()
    """The separators of the words: ``" "`` for white space or a hyphen, else the exact text."""
    before: str = ""  # required directly before the first word (``@``, ``.``)
    after: str = ""  # required directly after the last word (``++``)
    last: frozenset[str] = frozenset()
    """Accepted forms of the last word: itself, and its plural or singular."""
    exact: str = ""  # required case of the words; empty if case does not matter
    is_name: bool = False  # whether it is a name, which is not part of an e-mail address or a longer handle

    @property
    def keys(self) -> frozenset[str]:
        """Texts of which the folded text of a message with the phrase contains one."""
        if not self.words:
            return frozenset((fold(self.text),))
        longest = max(self.words, key=len)
        return self.last if longest == self.words[-1] else frozenset((longest,))

    def spans(self, scan: Scan) -> Iterator[tuple[int, int]]:
        """The spans of the phrase in ``scan.text``."""
        if not self.words:
            yield from (found.span() for found in re.finditer(re.escape(self.text), scan.text, re.IGNORECASE))
            return
        for key in self.last if len(self.words) == 1 else self.words[:1]:
            for index in scan.places.get(key, ()):
                span = self._at(scan, index)
                if span is not None:
                    yield span

    def _at(self, scan: Scan, index: int) -> tuple[int, int] | None:
        words, text = scan.words, scan.text
        final = index + len(self.words) - 1
        if final >= len(words) or words[final][0] not in self.last:
            return None
        for step, separator in enumerate(self.between):
            if step and words[index + step][0] != self.words[step]:
                return None
            gap = text[words[index + step][2] : words[index + step + 1][1]]
            if not (_joins(gap) if separator == " " else _plain(gap) == separator):
                return None
        start, end = words[index][1], words[final][2]
        if self.before and _plain(text[max(0, start - len(self.before)) : start]) != self.before:
            return None
        if self.after and not text.startswith(self.after, end):
            return None
        if not self.after and len(self.words[-1]) == 1 and text[end : end + 1] in ("+", "#"):
            return None
        found, exact = text[start:end], self.exact
        if exact[:1].isupper() and found != exact and not (found.isupper() and len(found) > 1):
            return None
        if self.is_name and not self._is_free(scan, start, end):
            return None
        return start - len(self.before), end + len(self.after)

    def _is_free(self, scan: Scan, start: int, end: int) -> bool:
        """Whether a name is not part of a link, an e-mail address, a path or a longer handle."""
        text = scan.text
        start -= len(self.before)
        outside, behind = text[start - 1 : start], text[end : end + 1]
        if behind == "@" or (outside in ("/", "\\") and behind in ("/", "\\") and outside):
            return False
        if "@" not in self.text[1:] and any(first <= start and end <= last for first, last in scan.addresses):
            return False
        if not self.before:
            return True
        # "@silas" is neither in "me@silas" nor in "@silas-bot"; "@silas/core" is a package.
        longer = behind in ("-", ".", "/") and text[end + 1 : end + 2].isalnum()
        joined = outside in ("_", ".", "@") or (outside.isalnum() and not is_unspaced(outside))
        return not (joined and outside) and not longer


def _joins(gap: str) -> bool:
    return gap == " " or _JOINED.fullmatch(gap) is not None


def _plain(signs: str) -> str:
    return signs if signs.isascii() else signs.translate(_APOSTROPHES)


def keyword(text: str) -> Phrase | None:
    """The phrase of a keyword in any case, with the English plural or singular of its last word; ``None`` if
    empty.
    """
    phrase = _phrase(text)
    if phrase is None or not phrase.words or phrase.after:
        return phrase
    return replace(phrase, last=_forms(phrase.words[-1], written=phrase.text))


def names(text: str) -> tuple[Phrase, ...]:
    """The phrases of a name or an ``@`` handle; none for an empty one.

    Case does not matter, except for first names that are also words: "Will" does not match "will do". A name
    with accented letters is also found without them (``José`` as "Jose", ``Müller`` as "Mueller"), and a
    single name with the ``s`` of the German genitive ("Davids").
    """
    phrase = _phrase(text)
    if phrase is None:
        return ()
    if not phrase.words:
        return (phrase,)
    is_single = len(phrase.words) == 1 and not phrase.before and not phrase.after
    is_word = is_single and phrase.words[0] in _ALSO_WORDS
    found = [replace(phrase, exact=phrase.text if is_word else "", is_name=True)]
    for variant in _without_accents(phrase.text):
        other = _phrase(variant)
        if other is not None and other.words and other.words != phrase.words:
            found.append(replace(other, is_name=True))
    genitive = _phrase(f"{phrase.text}s") if is_single and not is_word and _takes_s(phrase.text) else None
    if genitive is not None:
        found.append(replace(genitive, exact=genitive.text, is_name=True))
    return tuple(found)


def _without_accents(name: str) -> list[str]:
    """A name without its accents, and with German umlauts spelled out."""
    if name.isascii():
        return []
    bare = "".join(c for c in unicodedata.normalize("NFD", name) if not unicodedata.combining(c))
    return [variant for variant in (bare, name.translate(_UMLAUTS)) if variant.isascii()]


def _takes_s(name: str) -> bool:
    return len(name) >= 3 and name.isalpha() and name[0].isupper() and name[-1].lower() not in "sßxz"


def _phrase(text: str) -> Phrase | None:
    text = composed(text).strip()
    if not text:
        return None
    # Without word separators "whole word" is meaningless, and any occurrence counts.
    found = [] if is_unspaced(text) else split(text)
    if not found:
        return Phrase(text, ())
    words = tuple(word for word, _, _ in found)
    gaps = [text[left[2] : right[1]] for left, right in pairwise(found)]
    return Phrase(
        text=text,
        words=words,
        between=tuple(" " if _joins(gap) else _plain(gap) for gap in gaps),
        before=_plain(text[: found[0][1]]),
        after=text[found[-1][2] :],
        last=frozenset(words[-1:]),
    )


def _forms(word: str, *, written: str) -> frozenset[str]:
    """A word with its simple English plural and singular."""
    forms = {word}
    is_short = len(word) < 3 and not (len(word) == 2 and written.isupper())
    if not is_short and word.isalpha():
        if word.endswith(("s", "x", "z", "ch", "sh")):
            forms.add(word + "es")
        elif word.endswith("y") and word[-2] not in "aeiou":
            forms.add(word[:-1] + "ies")
        else:
            forms.add(word + "s")
        forms |= _singulars(word)
    return frozenset(form for form in forms if form == word or form not in _NO_PLURAL)


def _singulars(word: str) -> set[str]:
    if len(word) < 4 or word in _NO_PLURAL or word.endswith(("ss", "us", "is")):
        return set()
    if word.endswith("ies") and len(word) > 4:
        return {word[:-3] + "y"}
    if word.endswith(("sses", "xes", "zes", "ches", "shes")):
        return {word[:-2]}
    return {word[:-1]} if word.endswith("s") else set()
