"""What is stored of a chunk so that it can be ranked without reading its text (spec 7.3)."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from datetime import date as day_type
from typing import NamedTuple

from engine.search.scripts import searchable
from engine.search.terms import RUN, Terms, wording
from engine.search.worth import PERSON, kind

PROSE, HEADING, ABOUT, QUOTED, PIECES = 5, 4, 5, 1, 1
"""Weights of a word in a chunk's prose, its heading, its ``about`` terms, its quotations, and as part of an
identifier; in fifths. In this order, terms are stored."""
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


Row = tuple[str, str, str, str, str]
"""What facts are taken from: speaker, date, heading, ``about`` terms and text."""
Words = tuple[str, str, str, str]
"""The columns of ``chunk_words``: prose, heading, ``about`` terms, and what counts little."""


def facts_of(terms: Terms, rows: Sequence[Row]) -> list[tuple[Facts, Words]]:
    """The facts of chunks and the text to index for each."""
    return [_facts(terms, *row) for row in rows]


def _facts(terms: Terms, speaker: str, date: str, heading: str, about: str, text: str) -> tuple[Facts, Words]:
    prose, quoted = wording(text)
    counts: Counter[int] = Counter()
    names: list[str] = []
    pieces: Counter[int] = Counter()
    parts = (PROSE, prose, True), (HEADING, heading, False), (ABOUT, about, False), (QUOTED, quoted, True)
    for weight, part, is_text in parts:
        for run, times in Counter(RUN.findall(part)).items():
            known = terms.of(run)
            for number in known.numbers:
                counts[number] += weight * times
            if is_text and known.parts:
                names += [known.parts] * times
                for number in known.part_numbers:
                    pieces[number] += PIECES * times
    counts.update(pieces)
    facts = Facts(
        min(counts.total(), _MOST_LENGTH),
        len(text),
        day_of(date),
        speaker_of(speaker, terms),
        kind(text, speaker),
        speaker == PERSON,
        array("I", counts).tobytes(),
        bytes(min(count, _MOST_COUNT) for count in counts.values()),
    )
    aside = " ".join(filter(None, (quoted, *names)))
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
