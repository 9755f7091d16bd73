"""Converts texts to term numbers: the terms of the index's tokenizer, numbered by hash."""

from __future__ import annotations

from array import array
from hashlib import blake2b
from itertools import chain
from typing import cast

import apsw

from engine.search import schema
from engine.search.scripts import searchable
from engine.startup.lazy import expression

_RUN = expression(r"[^\x00-/:-@\[-`{-\x7f]+")
"""``unicode61`` splits at all other ASCII characters; the tokenizer itself handles the rest."""
_MOST_RUNS = 500_000
"""Maximum number of cached runs; in a text of hashes and numbers, every word is a new one."""


class Terms:
    """Tokenizes texts into terms. Not thread-safe.

    Each distinct run of characters is tokenized only once, so tokenizing a text mostly takes dictionary
    lookups. ``numbers`` contains the number of each term seen so far, which is the same in every process.
    """

    def __init__(self) -> None:
        self._tokenizer = apsw.Connection(":memory:").fts5_tokenizer(*schema.TOKENIZER)
        self._runs: dict[str, tuple[int, ...]] = {}
        self._terms: dict[str, int] = {}
        self.numbers = array("Q")

    def of(self, text: str) -> list[int]:
        """The terms of a text in order, with repeats, each as an index into ``numbers``."""
        runs = _RUN.findall(text)
        known = self._runs
        try:
            return list(chain.from_iterable(map(known.__getitem__, runs)))
        except KeyError:
            if len(known) > _MOST_RUNS:
                known.clear()
            for run in runs:
                if run not in known:
                    known[run] = self._tokenize(run)
            return list(chain.from_iterable(map(known.__getitem__, runs)))

    def of_query(self, word: str) -> list[int]:
        """The terms to look up for a word of a query."""
        return list(self._tokenize(word, asked=True))

    def _tokenize(self, run: str, *, asked: bool = False) -> tuple[int, ...]:
        found = self._tokenizer(
            searchable(run, asked=asked).encode("utf-8", "replace"),
            apsw.FTS5_TOKENIZE_DOCUMENT,
            None,
            include_colocated=False,
        )
        return tuple(self._place(term) for _, _, term in cast("list[tuple[int, int, str]]", found))

    def _place(self, term: str) -> int:
        place = self._terms.get(term)
        if place is None:
            place = self._terms[term] = len(self.numbers)
            digest = blake2b(term.encode("utf-8", "replace"), digest_size=8).digest()
            self.numbers.append(int.from_bytes(digest, "little"))
        return place
