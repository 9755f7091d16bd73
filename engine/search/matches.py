"""Where a query's words stand in a text, and the lines worth showing (spec 7.3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import apsw

from engine.search import schema

SNIPPET_CHARACTERS = 300

_CUT = re.compile(r"[.!?…。！？](\s+)|\n")

Spans = list[tuple[int, int, str]]
Stems = Callable[[bytes], Spans]
"""Byte span and stem of every word of a text in UTF-8."""


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
    tokenizer = connection.fts5_tokenizer(*schema.TOKENIZER)

    def stems(data: bytes) -> Spans:
        found = tokenizer(data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False)
        return cast("Spans", found)

    return stems


class Finder:
    """Finds a query's words, or words of the same stem, in any number of texts.

    Args:
        terms: The query's words.
        stems: As ``stemmer`` gives it.

    Attributes:
        stems_of: The stems of each word, in order; more than one where the index cuts the word.
    """

    def __init__(self, terms: Sequence[str], stems: Stems) -> None:
        self._stems = stems
        self.stems_of = {term: tuple(stem for _, _, stem in stems(_encoded(term))) for term in terms}
        self._wanted = frozenset[str]().union(*self.stems_of.values())

    def find(self, text: str) -> Matches:
        """Where the words stand in a text."""
        data = _encoded(text)
        wanted = self._wanted
        spans = [span for span in self._stems(data) if span[2] in wanted]
        if not spans:
            return Matches((), ())
        if len(data) != len(text):
            spans = _in_characters(spans, data)
        present = {stem for _, _, stem in spans}
        terms = tuple(term for term, stems in self.stems_of.items() if not present.isdisjoint(stems))
        return Matches(terms, tuple(spans))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _in_characters(spans: Spans, data: bytes) -> Spans:
    """Byte spans as character spans. Only what lies between them is counted: a text has few."""
    found: Spans = []
    byte = character = 0
    for start, end, stem in spans:
        first = character + len(data[byte:start].decode("utf-8", "replace"))
        byte, character = end, first + len(data[start:end].decode("utf-8", "replace"))
        found.append((first, character, stem))
    return found


def snippet(text: str, matches: Matches, limit: int = SNIPPET_CHARACTERS) -> str:
    """The stretch of lines or sentences that holds most of the query's words, on one line.

    Args:
        text: The whole chunk.
        matches: Where the words stand in it; without any, the snippet is the beginning.
        limit: Longest snippet in characters; what is cut off is marked by ``…``.
    """
    whole = " ".join(text.split())
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
    shown = " ".join(text[top:bottom].split())
    before = "…" if text[:top].strip() else ""
    after = "…" if text[bottom:].strip() else ""
    return f"{before}{shown}{after}"


def _parts(text: str, limit: int) -> list[tuple[int, int]]:
    """Half-open spans of lines and sentences that are not blank; longer ones are cut between words."""
    parts: list[tuple[int, int]] = []
    top = 0
    for bottom, following in [
        *((cut.start() + (cut[1] is not None), cut.end()) for cut in _CUT.finditer(text)),
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
