"""Finds a query's words in a text by their stems, as the index does."""

from __future__ import annotations

from engine.search import matches
from engine.search.query import literal_terms

Spans = tuple[tuple[int, int], ...]
"""Half-open character spans, in order."""


class Words:
    """The significant words of one query, ``terms``, in order; not thread-safe."""

    def __init__(self, query: str) -> None:
        self.terms = literal_terms(query)
        self._finder = matches.Finder(self.terms, matches.stemmer())

    def spans(self, text: str) -> Spans:
        """The spans of the words in a text."""
        found: list[tuple[int, int]] = []
        for start, end, _stem in self._finder.find(text).spans:
            if found and start < found[-1][1]:  # pairs of Chinese characters overlap
                found[-1] = (found[-1][0], max(end, found[-1][1]))
            else:
                found.append((start, end))
        return tuple(found)

    def within(self, *texts: str) -> tuple[str, ...]:
        """The words found in at least one of the texts."""
        found = {term for text in texts for term in self._finder.find(text).terms}
        return tuple(term for term in self.terms if term in found)
