"""What is stored of a chunk so that it can be ranked without reading its text (spec 7.3)."""

from __future__ import annotations

from array import array
from collections import Counter
from datetime import date as day_type
from typing import NamedTuple

from engine.search.scripts import searchable
from engine.search.terms import Terms
from engine.search.wording import wording
from engine.search.worth import PERSON, kind

WEIGHTS = (5, 4, 5, 1, 1)
"""Weights of a word in a chunk's prose, its heading, its ``about`` terms, its quotations, and as part of an
identifier; in fifths."""
_MOST_COUNT = 255
_MOST_LENGTH = 65_535


class Facts(NamedTuple):
    """The columns of ``engine.search.table.Row`` that a chunk's content determines, in order."""

    length: int
    size: int
    day: int
    name: int
    kind: int
    is_person: bool
    terms: bytes
    counts: bytes


Words = tuple[str, str, str, str]
"""The columns of ``chunk_words``: prose, heading, ``about`` terms, and what counts little."""


def facts_of(
    terms: Terms, speaker: str, date: str, heading: str, about: str, text: str
) -> tuple[Facts, Words]:
    """The facts of a chunk and the text to index for it."""
    prose, quoted, pieces = wording(text)
    counted: Counter[int] = Counter(terms.of(prose))
    for term in counted:
        counted[term] *= WEIGHTS[0]
    for words, weight in zip((heading, about, quoted, pieces), WEIGHTS[1:], strict=True):
        for term in terms.of(words) if words else ():
            counted[term] += weight
    counts = counted.values()
    facts = Facts(
        min(sum(counts), _MOST_LENGTH),
        len(text),
        day_of(date),
        speaker_of(speaker, terms),
        kind(text, speaker),
        speaker == PERSON,
        array("I", counted).tobytes(),
        bytes(counts if max(counts, default=0) <= _MOST_COUNT else [min(n, _MOST_COUNT) for n in counts]),
    )
    aside = f"{quoted} {pieces}" if quoted or pieces else ""
    return facts, (searchable(prose), searchable(heading), searchable(about), searchable(aside))


def numbers_in(terms: bytes) -> array[int]:
    """The term numbers packed in ``Facts.terms``."""
    return array("I", terms)


def day_of(date: str) -> int:
    """The ordinal of an ISO date; 0 if it is empty or invalid."""
    try:
        return day_type.fromisoformat(date).toordinal() if date else 0
    except ValueError:
        return 0


def speaker_of(speaker: str, terms: Terms) -> int:
    """The term number of a speaker's first name, which follows the role; 0 without a name."""
    _, _, name = speaker.partition(" ")
    numbers = terms.of_query(name) if name else []
    return numbers[0] if numbers else 0
