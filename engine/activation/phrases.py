"""Keywords, names and urgency words: whole words in a message, in any script (spec 4.2)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from engine.activation.scan import Scan, compose, fold
from engine.topics.fields import word_set

_WORD = re.compile(r"[^\W_]+(?:_+[^\W_]+)*")
_JOINED = re.compile(r"\s+|[-‐‑–]")
# Scripts that put no space between words: there "whole word" means nothing, and any occurrence counts.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_NO_PLURAL = word_set("news its is us as has was this his yes bus gas plus thus hers ours")
_NOT = word_set(
    "not no never nothing isn isnt aren arent wasn wasnt hardly nor without neither nicht kein keine "
    "keinen nichts nie weder ohne pas sans non sin nunca niet geen"
)
# First names that are also everyday English words: only these mind the case.
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
    """A word or several in a row, as it is looked for in a message.

    Attributes:
        text: As it was written.
        words: The folded words; empty when the phrase has none that could be told apart from its
            surroundings (``!!!``, an emoji, Chinese) and any occurrence counts.
        between: What stands between the words: ``" "`` for white space or a hyphen, else exactly that.
        before: What must stand directly before the first word (``@``, ``.``).
        after: What must stand directly after the last word (``++``).
        last: Forms in which the last word counts: itself, and its plural or singular.
        exact: How the words must be cased; empty when case does not matter.
        is_name: Whether it is a name: not one within an e-mail address or a longer handle.
    """

    text: str
    words: tuple[str, ...]
    between: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    last: frozenset[str] = frozenset()
    exact: str = ""
    is_name: bool = False

    @property
    def keys(self) -> frozenset[str]:
        """The folded words of which one must be in a message for the phrase to be in it."""
        return self.last if len(self.words) == 1 else frozenset(self.words[:1])

    def spans(self, scan: Scan) -> Iterator[tuple[int, int]]:
        """Where the phrase occurs in ``scan.text``."""
        if not self.words:
            yield from self._occurrences(scan)
            return
        for key in sorted(self.keys):
            for index in scan.places.get(key, ()):
                span = self._at(scan, index)
                if span is not None:
                    yield span

    def _occurrences(self, scan: Scan) -> Iterator[tuple[int, int]]:
        wanted = fold(self.text)
        text = scan.folded if len(scan.folded) == len(scan.text) else scan.text.lower()
        if len(text) != len(scan.text):
            text, wanted = scan.text, self.text
        at = text.find(wanted)
        while at >= 0:
            yield at, at + len(wanted)
            at = text.find(wanted, at + len(wanted))

    def _at(self, scan: Scan, index: int) -> tuple[int, int] | None:
        words, text = scan.words, scan.text
        final = index + len(self.words) - 1
        if final >= len(words) or words[final][0] not in self.last:
            return None
        for step, separator in enumerate(self.between):
            if step and words[index + step][0] != self.words[step]:
                return None
            gap = text[words[index + step][2] : words[index + step + 1][1]]
            if not (_JOINED.fullmatch(gap) if separator == " " else gap == separator):
                return None
        start, end = words[index][1], words[final][2]
        if self.before and text[max(0, start - len(self.before)) : start] != self.before:
            return None
        if self.after and not text.startswith(self.after, end):
            return None
        if not self.after and len(self.words[-1]) == 1 and text[end : end + 1] in ("+", "#"):
            return None
        if self.exact and not _cased_as(text[start:end], self.exact):
            return None
        if self.is_name and not self._is_free(text, start, end):
            return None
        return start - len(self.before), end + len(self.after)

    def _is_free(self, text: str, start: int, end: int) -> bool:
        if text[end : end + 1] == "@":
            return False
        if not self.before:
            return True
        # "@silas" is neither in "me@silas" nor in "@silas-bot".
        outside = text[start - len(self.before) - 1 : start - len(self.before)]
        longer = text[end : end + 1] in ("-", ".") and text[end + 1 : end + 2].isalnum()
        return not (outside.isalnum() or outside in ("_", ".")) and not longer


def keyword(text: str) -> Phrase | None:
    """The phrase of a keyword; ``None`` for an empty one.

    Case does not matter; a simple English plural of the last word counts as well, and the singular of a
    plural.
    """
    phrase = _phrase(text)
    if phrase is None or not phrase.words or phrase.after:
        return phrase
    return _replace(phrase, last=_forms(phrase.words[-1], written=phrase.text))


def name(text: str) -> Phrase | None:
    """The phrase of a name or an ``@`` handle; ``None`` for an empty one.

    Case does not matter, except for first names that are also words: "Will" is not in "will do".
    """
    phrase = _phrase(text)
    if phrase is None or not phrase.words:
        return phrase
    exact = ""
    if len(phrase.words) == 1 and phrase.words[0] in _ALSO_WORDS and not phrase.before:
        exact = phrase.text
    return _replace(phrase, last=phrase.last, exact=exact, is_name=True)


def is_denied(scan: Scan, start: int) -> bool:
    """Whether one of the two words before an offset denies what follows, as in "nothing very urgent"."""
    text = scan.text[max(0, start - 40) : start]
    sentence = re.split(r"[.!?;:\n]", text)[-1]
    nearest = [fold(word) for word in _WORD.findall(sentence)[-3:]]
    return any(word in _NOT for word in nearest[-2:]) or (nearest[-1:] == ["t"] and len(nearest) > 1)


def _phrase(text: str) -> Phrase | None:
    text = compose(text).strip()
    if not text:
        return None
    found = list(_WORD.finditer(text))
    if not found or _UNSPACED.search(text):
        return Phrase(text, ())
    words = tuple(fold(match[0]) for match in found)
    gaps = [text[left.end() : right.start()] for left, right in pairwise(found)]
    return Phrase(
        text=text,
        words=words,
        between=tuple(" " if _JOINED.fullmatch(gap) else gap for gap in gaps),
        before=text[: found[0].start()],
        after=text[found[-1].end() :],
        last=frozenset(words[-1:]),
    )


def _replace(phrase: Phrase, *, last: frozenset[str], exact: str = "", is_name: bool = False) -> Phrase:
    return Phrase(
        phrase.text, phrase.words, phrase.between, phrase.before, phrase.after, last, exact, is_name
    )


def _forms(word: str, *, written: str) -> frozenset[str]:
    """A word with its simple English plural, or a plural with its singular."""
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


def _cased_as(found: str, written: str) -> bool:
    return found == written or (found.isupper() and len(found) > 1) or not written[:1].isupper()
