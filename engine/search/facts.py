"""What is stored of a chunk so that it can be ranked without reading its text (spec 7.3)."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import date as day_type
from itertools import pairwise
from typing import NamedTuple

import numpy

from engine.search.runs import Runs, spread
from engine.search.scripts import searchable
from engine.search.terms import Terms
from engine.search.wording import wording
from engine.search.worth import PERSON, kind

WEIGHTS = (5, 4, 5, 1, 1)
"""Weights of a word in a chunk's prose, its heading, its ``about`` terms, its quotations, and as part of an
identifier; in fifths. In this order, terms are stored."""
_PROSE, _HEADING, _ABOUT, _QUOTED, _PIECES = range(5)
_BATCH = 256
"""Chunks whose words are counted together."""
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
    found: list[tuple[Facts, Words]] = []
    for start in range(0, len(rows), _BATCH):
        found += _facts(terms, rows[start : start + _BATCH])
    return found


def _facts(terms: Terms, rows: Sequence[Row]) -> Iterator[tuple[Facts, Words]]:
    runs = Runs(terms, [part for _, _, heading, about, text in rows for part in (text, heading, about)])
    chunks, parts = numpy.divmod(runs.texts, 3)
    is_text = parts == _PROSE
    parts = numpy.where(is_text & runs.quoted(), _QUOTED, parts)
    named = numpy.flatnonzero(
        is_text & numpy.array([each.parts != "" for each in runs.kinds], dtype=bool)[runs.which]
    )
    pieces: defaultdict[int, list[str]] = defaultdict(list)
    for chunk, run in zip(chunks[named].tolist(), runs.which[named].tolist(), strict=True):
        pieces[chunk].append(runs.kinds[run].parts)
    numbers, owners = spread([each.numbers for each in runs.kinds], runs.which)
    more, others = spread([each.part_numbers for each in runs.kinds], runs.which[named])
    parts = numpy.concatenate((parts[owners], numpy.full(len(more), _PIECES)))
    chunks = numpy.concatenate((chunks[owners], chunks[named][others]))
    order = numpy.argsort((chunks * len(WEIGHTS) + parts).astype(numpy.uint16), kind="stable")
    keys = (chunks << 32 | numpy.concatenate((numbers, more)))[order]
    distinct, firsts, which = numpy.unique(keys, return_index=True, return_inverse=True)
    counts = numpy.bincount(which, numpy.array(WEIGHTS)[parts[order]], len(distinct)).astype(numpy.int64)
    # The terms of a chunk in the order in which they first occur.
    order = numpy.argsort(firsts)
    bounds = numpy.searchsorted(distinct, numpy.arange(len(rows) + 1) << 32)
    lengths = numpy.diff(numpy.concatenate(([0], numpy.cumsum(counts)))[bounds]).tolist()
    packed = (distinct[order] & 0xFFFF_FFFF).astype(numpy.uint32).tobytes()
    counted = numpy.minimum(counts[order], _MOST_COUNT).astype(numpy.uint8).tobytes()
    for number, ((speaker, date, heading, about, text), length, (start, end)) in enumerate(
        zip(rows, lengths, pairwise(bounds.tolist()), strict=True)
    ):
        facts = Facts(
            min(length, _MOST_LENGTH),
            len(text),
            day_of(date),
            speaker_of(speaker, terms),
            kind(text, speaker),
            speaker == PERSON,
            packed[4 * start : 4 * end],
            counted[start:end],
        )
        prose, quoted = wording(text)
        names = " ".join(pieces[number]) if number in pieces else ""
        aside = f"{quoted} {names}" if quoted or names else ""
        yield facts, (searchable(prose), searchable(heading), searchable(about), searchable(aside))


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
