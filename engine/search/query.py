"""Turns a query into a bag of literal words (spec 7.1).

Text from a user or a model is never interpreted as a search expression. It is split into words the same way
the index tokenizes its text, stop words are removed, and the remaining words are quoted and joined by OR.
"""

from __future__ import annotations

import functools
import unicodedata

from engine.search.scripts import words_in
from engine.startup.lazy import expression

MAX_TERMS = 64
"""Maximum number of words to look up; for a longer text, half from its start and half from its end."""

MAX_QUERY_CHARACTERS = 64 * 1024
_MAX_TERM_CHARACTERS = 256

_STOP_WORDS = (
    "a about above after again against all also am an and any are aren as at be because been before being "
    "below between both but by can cannot could couldn d did didn do does doesn doing don down during "
    "each few for from further had hadn has hasn have haven having he her here hers herself him himself "
    "his how i if in into is isn it its itself just ll let m ma me might more most must mustn my myself "
    "need no nor not now o of off on once only or other our ours ourselves out over own please re s same "
    "shan she should shouldn so some such t than that the their theirs them themselves then there these "
    "they this those through to too under until up us ve very was wasn we were weren what when where "
    "which while who whom why will with won would wouldn you your yours yourself yourselves "
)
_ASCII_WORD = expression("[a-z0-9]+")
_JOINERS = "\u200c\u200d"
STOP_WORDS = frozenset(_STOP_WORDS.split())


def words(text: str) -> list[str]:
    """The words of a text in lower case, in order, with repeats.

    A word is a run of letters, digits and private-use characters of any script, with their combining marks.
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    found: list[str] = []
    run: list[str] = []
    for character in text:
        if character.isalnum() or (ord(character) > 127 and _joins(character, bool(run))):
            run.append(character)
        elif run:
            found.append("".join(run))
            run.clear()
    if run:
        found.append("".join(run))
    return [word.lower() for word in found]


@functools.lru_cache(maxsize=4096)
def _joins(character: str, inside: bool) -> bool:
    category = unicodedata.category(character)
    return (
        category[0] in "LN" or category == "Co" or (inside and (category[0] == "M" or character in _JOINERS))
    )


def literal_terms(query: str) -> tuple[str, ...]:
    """The distinct words to look up, in the order of the query; empty if there are none.

    In scripts without spaces between words, they are pairs of adjacent characters, as in the index. Stop
    words are left out unless the query contains nothing else.
    """
    if len(query) > MAX_QUERY_CHARACTERS:
        half = MAX_QUERY_CHARACTERS // 2
        query = f"{query[:half]} {query[-half:]}"
    found = (word[start:end] for word in words(query) for start, end in words_in(word))
    distinct = [word for word in dict.fromkeys(found) if len(word) <= _MAX_TERM_CHARACTERS]
    telling = [word for word in distinct if word not in STOP_WORDS] or distinct
    if len(telling) > MAX_TERMS:
        telling = telling[: MAX_TERMS // 2] + telling[-MAX_TERMS // 2 :]
    return tuple(telling)
