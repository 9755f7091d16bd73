"""Where a query's words stand in a text, and the lines worth showing (spec 7.3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import cast

import apsw

from engine.search import schema
from engine.startup.records import dataclass

SNIPPET_CHARACTERS = 300

_WORD = re.compile("[a-z0-9]+")
_CUT = re.compile(r"[.!?…。！？](\s+)|\n")

Spans = list[tuple[int, int, str]]
Stems = Callable[[bytes], Spans]
"""Byte span and stem of every word of a text in UTF-8."""


@dataclass(frozen=True, slots=True)
class Matches:
    """A query's words in a text."""

    terms: tuple[str, ...]  # the query's words that occur, as the query has them, in its order
    spans: tuple[tuple[int, int, str], ...]
    """Character span of each occurrence and the stem it shares with the query, in order."""


def stemmer(connection: apsw.Connection) -> Stems:
    """Words cut and stemmed exactly as the index does it. The connection may be one to an empty database."""
    tokenizer = connection.fts5_tokenizer(*schema.TOKENIZER)

    def stems(data: bytes) -> Spans:
        found = tokenizer(data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False)
        return cast("Spans", found)

    return stems


class Finder:
    """Finds a query's words, or words of the same stem, in any number of texts.

    ``stems_of`` gives the stems of each word, in order; more than one where the index cuts the word.
    """

    def __init__(self, terms: Sequence[str], stems: Stems) -> None:
        self._stems = stems
        self.stems_of = {term: tuple(stem for _, _, stem in stems(_encoded(term))) for term in terms}
        self._wanted = frozenset[str]().union(*self.stems_of.values())
        self._beginnings = _beginnings(self._wanted)
        self._stem_of: dict[str, str] = {}

    def find(self, text: str) -> Matches:
        """Where the words stand in a text."""
        if self._beginnings and text.isascii():
            spans = self._in_ascii(text.lower())
        else:
            data = _encoded(text)
            spans = [span for span in self._stems(data) if span[2] in self._wanted]
            if len(data) != len(text):
                spans = _in_characters(spans, data)
        if not spans:
            return Matches((), ())
        present = {stem for _, _, stem in spans}
        terms = tuple(term for term, stems in self.stems_of.items() if not present.isdisjoint(stems))
        return Matches(terms, tuple(spans))

    def _in_ascii(self, text: str) -> Spans:
        """Of a text in lower case only the words that begin like one of the stems are cut and stemmed."""
        known = self._stem_of
        spans: Spans = []
        for beginning in self._beginnings:
            start = text.find(beginning)
            while start >= 0:
                end = start + len(beginning)
                if not start or not text[start - 1].isalnum():
                    word = _WORD.match(text, start)[0]  # type: ignore[index]  # a beginning is one
                    end = start + len(word)
                    if word not in known:
                        known[word] = next((stem for _, _, stem in self._stems(word.encode())), "")
                    if known[word] in self._wanted:
                        spans.append((start, end, known[word]))
                start = text.find(beginning, end)
        return sorted(set(spans))


def _beginnings(stems: Collection[str]) -> tuple[str, ...]:
    """What every word of ASCII with one of the stems begins with; empty where the stems are not ASCII.

    A stem is the beginning of its words, but for its last letter at the most: ``happi`` of happy, ``size`` of
    sizing.
    """
    if not all(stem.isascii() and stem.isalnum() for stem in stems):
        return ()
    return tuple(sorted({stem[:-1] or stem for stem in stems}))


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
        matches: Where the words stand in it; without any, the snippet is the beginning.
        limit: Longest snippet in characters; what is cut off is marked by ``…``.
    """
    whole = " ".join(text.split())
    if len(whole) <= limit:
        return whole
    top, bottom = stretch(text, matches, limit - 2)
    shown = " ".join(text[top:bottom].split())
    before = "…" if text[:top].strip() else ""
    after = "…" if text[bottom:].strip() else ""
    return f"{before}{shown}{after}"


def stretch(text: str, matches: Matches, limit: int) -> tuple[int, int]:
    """Where the stretch of lines or sentences begins and ends that holds most of the query's words.

    Args:
        matches: Without any, the stretch is the beginning.
        limit: In characters.
    """
    parts = _parts(text, limit)
    words = _words_of(parts, matches.spans)
    best, most, last = (0, 0), -1, 0
    # As many different words as possible; of equals, the earliest. A stretch that does not begin with one of
    # them is no better than the one that begins with its first.
    for first in [part for part, there in enumerate(words) if there] or [0]:
        # The stretch goes on from part to part: its end never moves back.
        last = max(last, first + 1)
        while last < len(parts) and parts[last][1] - parts[first][0] <= limit:
            last += 1
        within = 0
        for there in words[first:last]:
            within |= there
        if within.bit_count() > most:
            best, most = (first, last), within.bit_count()
    return parts[best[0]][0], parts[best[1] - 1][1]


def _words_of(parts: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int, str]]) -> list[int]:
    """Which different words stand in each part, a bit for each. Both come in the order of the text."""
    bits: dict[str, int] = {}
    found = [0] * len(parts)
    at = 0
    for start, end, stem in spans:
        while at < len(parts) and parts[at][1] <= start:
            at += 1
        bit = bits.setdefault(stem, 1 << len(bits))
        reached = at
        while reached < len(parts) and parts[reached][0] < end:
            found[reached] |= bit
            reached += 1
    return found


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
