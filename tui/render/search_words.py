"""A query's words in any text, found as the index finds them: by their stems."""

from __future__ import annotations

import apsw

from engine.search import matches
from engine.search.query import literal_terms

Spans = tuple[tuple[int, int], ...]
"""Character spans, half open, in order."""


class Words:
    """The words of one query. To be used by one thread at a time.

    Attributes:
        terms: The words that count, in the order they were written.
    """

    def __init__(self, query: str) -> None:
        self.terms = literal_terms(query)
        self._finder = matches.Finder(self.terms, matches.stemmer(apsw.Connection(":memory:")))

    def spans(self, text: str) -> Spans:
        """Where the words stand in a text."""
        return tuple((start, end) for start, end, _stem in self._finder.find(text).spans)

    def within(self, *texts: str) -> tuple[str, ...]:
        """Those of the words that stand in at least one of some texts."""
        found = {term for text in texts for term in self._finder.find(text).terms}
        return tuple(term for term in self.terms if term in found)
