"""Where a query's words stand in a text, and the lines worth showing (spec 7.3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import apsw

SNIPPET_CHARACTERS = 300

_CUT = re.compile(r"(?<=[.!?…。！？])\s+|\n")
_SPACE = re.compile(r"\s+")

Stems = Callable[[str], list[tuple[int, int, str]]]
"""Character span and stem of every word of a text."""


@dataclass(frozen=True, slots=True)
class Matches:
    """A query's words in a text.

    Attributes:
        terms: The query's words that occur, as the query has them, in its order.
        spans: Character span of each occurrence and the stem it shares with the query, in order.
    """

    terms: tuple[str, ...]
    spans: tuple[tuple[int, int, str], ...]


def stemmer(connection: apsw.Connection) -> Stems:
    """Words cut and stemmed exactly as the index does it. The connection may be one to an empty database."""
    tokenizer = connection.fts5_tokenizer("porter", ["unicode61"])

    def stems(text: str) -> list[tuple[int, int, str]]:
        data = text.encode("utf-8", "replace")
        found = cast(
            "list[tuple[int, int, str]]",
            tokenizer(data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False),
        )
        if len(data) == len(text):
            return found
        # The tokenizer counts bytes.
        place: list[int] = []
        for index, character in enumerate(text):
            place.extend([index] * len(character.encode("utf-8", "replace")))
        place.append(len(text))
        return [(place[start], place[end], stem) for start, end, stem in found]

    return stems


def find(text: str, terms: Sequence[str], stems: Stems) -> Matches:
    """Where the query's words, or words of the same stem, stand in a text."""
    stem_of = {term: {stem for _, _, stem in stems(term)} for term in terms}
    wanted = set().union(*stem_of.values())
    spans = tuple(span for span in stems(text) if span[2] in wanted)
    present = {stem for _, _, stem in spans}
    return Matches(tuple(term for term in terms if stem_of[term] & present), spans)


def snippet(text: str, matches: Matches, limit: int = SNIPPET_CHARACTERS) -> str:
    """The stretch of lines or sentences that holds most of the query's words, on one line.

    Args:
        text: The whole chunk.
        matches: Where the words stand in it; without any, the snippet is the beginning.
        limit: Longest snippet in characters; what is cut off is marked by ``…``.
    """
    whole = _SPACE.sub(" ", text).strip()
    if len(whole) <= limit:
        return whole
    parts = _parts(text, limit - 2)
    stems = [
        {stem for start, end, stem in matches.spans if start < bottom and end > top} for top, bottom in parts
    ]
    best, best_key = (0, 1), (-1, False)
    for first in range(len(parts)):
        last = first + 1
        while last < len(parts) and parts[last][1] - parts[first][0] <= limit - 2:
            last += 1
        # As many different words as possible; of equals, the earliest that begins with one of them.
        key = (len(set().union(*stems[first:last])), bool(stems[first]))
        if key > best_key:
            best, best_key = (first, last), key
    top, bottom = parts[best[0]][0], parts[best[1] - 1][1]
    shown = _SPACE.sub(" ", text[top:bottom]).strip()
    before = "…" if text[:top].strip() else ""
    after = "…" if text[bottom:].strip() else ""
    return f"{before}{shown}{after}"


def _parts(text: str, limit: int) -> list[tuple[int, int]]:
    """Half-open spans of lines and sentences that are not blank; longer ones are cut between words."""
    parts: list[tuple[int, int]] = []
    top = 0
    for bottom, following in [
        *((cut.start(), cut.end()) for cut in _CUT.finditer(text)),
        (len(text), len(text)),
    ]:
        while bottom - top > limit:
            space = text.rfind(" ", top + limit // 2, top + limit)
            end = space if space > 0 else top + limit
            parts.append((top, end))
            top = end + 1 if space > 0 else end
        if text[top:bottom].strip():
            parts.append((top, bottom))
        top = following
    return parts
