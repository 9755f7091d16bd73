"""Finds a query's words in a text and the lines worth showing (spec 7.3)."""

from __future__ import annotations

from collections.abc import Sequence

from engine.redaction.detect import masked
from engine.search.scripts import aligned, searchable
from engine.search.terms import Spans, tokenizer
from engine.startup.lazy import expression
from engine.startup.records import dataclass

SNIPPET_CHARACTERS = 300

_WORD = expression("[a-z0-9]+")
_SIGN = expression(
    "[\u00a0-\u00a9\u00ab-\u00b1\u2010-\u205e\u2190-\u23f3\u2500-\u26ff\u2701-\u2775\u2794-\u27ff]"
)
"""A character beyond ASCII at which the tokenizer splits: punctuation, arrows, lines, common symbols."""
_CUT = expression(r"[.!?…。！？](\s+)|\n")


@dataclass(frozen=True, slots=True)
class Matches:
    """A query's words in a text."""

    terms: tuple[str, ...]  # the query's words that occur, as written in the query and in its order
    spans: tuple[tuple[int, int, str], ...]
    """Character span of each occurrence and the stem it shares with the query, in order."""


class Finder:
    """Finds a query's words, or words of the same stem, in any number of texts.

    ``stems_of`` maps each word to its stems, in order; more than one if the tokenizer splits the word.
    """

    def __init__(self, terms: Sequence[str]) -> None:
        self._stems = tokenizer()
        self.stems_of = {
            term: tuple(stem for _, _, stem in self._stems(searchable(term, asked=True))) for term in terms
        }
        self._wanted = frozenset[str]().union(*self.stems_of.values())
        # A stem is the beginning of its words, but for its last letter: ``happi`` of happy.
        self._beginnings = tuple({stem[:-1] or stem for stem in self._wanted})
        self._stem_of: dict[str, str] = {}

    def find(self, text: str) -> Matches:
        """Find the words in a text."""
        plain = text if text.isascii() else _SIGN.sub(" ", text)
        if plain.isascii():
            spans = self._in_ascii(plain.lower())
        else:
            read, places = aligned(text)
            spans = [span for span in self._stems(read) if span[2] in self._wanted]
            if not read.isascii():
                spans = _in_characters(spans, read.encode("utf-8", "replace"))
            spans = sorted({(places[a][0], places[b - 1][1], stem) for a, b, stem in spans})
        if not spans:
            return Matches((), ())
        present = {stem for _, _, stem in spans}
        terms = tuple(term for term, stems in self.stems_of.items() if not present.isdisjoint(stems))
        return Matches(terms, tuple(spans))

    def _in_ascii(self, text: str) -> Spans:
        """Find the words in a lower-case ASCII text, stemming only words that begin like one of the stems."""
        known = self._stem_of
        spans: Spans = []
        for match in _WORD.finditer(text):
            if (word := match[0]).startswith(self._beginnings):
                if word not in known:
                    known[word] = next((stem for _, _, stem in self._stems(word)), "")
                if known[word] in self._wanted:
                    spans.append((*match.span(), known[word]))
        return spans


def _in_characters(spans: Spans, data: bytes) -> Spans:
    """Convert byte spans to character spans. Only the text between them is decoded, since a text has few."""
    found: Spans = []
    byte = character = 0
    for start, end, stem in spans:
        first = character + len(data[byte:start].decode("utf-8", "replace"))
        byte, character = end, first + len(data[start:end].decode("utf-8", "replace"))
        found.append((first, character, stem))
    return found


def snippet(text: str, matches: Matches, limit: int = SNIPPET_CHARACTERS) -> str:
    """The run of lines or sentences that contains the most query words, on one line.

    Args:
        matches: The words in the text; without any, the snippet is the beginning.
        limit: Maximum length in characters; omitted text is marked by ``…``.
    """
    whole = " ".join(text.split())
    if len(whole) <= limit:
        return whole
    top, bottom = stretch(text, matches, limit - 2)
    text = masked(text)  # part of a key is no longer recognized as one
    shown = " ".join(text[top:bottom].split())
    before = "…" if text[:top].strip() else ""
    after = "…" if text[bottom:].strip() else ""
    return f"{before}{shown}{after}"


def stretch(text: str, matches: Matches, limit: int) -> tuple[int, int]:
    """Start and end of the run of lines or sentences that contains the most query words.

    Args:
        matches: Without any, the run is the beginning of the text.
        limit: Maximum length in characters.
    """
    parts = _parts(text, limit)
    words = _words_of(parts, matches.spans)
    best, most, last = (0, 0), -1, 0
    # As many different words as possible; if tied, the earliest. A run that does not begin with one of the
    # words is no better than the one that begins with its first word.
    for first in [part for part, there in enumerate(words) if there] or [0]:
        # The end of the run never moves back from one start to the next.
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
    """The distinct words in each part, one bit per word. Parts and spans are in text order."""
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
    """Half-open spans of lines and sentences that are not blank; longer ones are split between words."""
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
