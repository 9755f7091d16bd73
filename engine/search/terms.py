"""Converts texts to term numbers: the terms of the index's tokenizer, numbered by hash."""

from __future__ import annotations

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
    lookups. A term's number is the same in every process, and two terms hardly ever have the same.
    """

    def __init__(self) -> None:
        self._tokenizer = apsw.Connection(":memory:").fts5_tokenizer(*schema.TOKENIZER)
        self._runs: dict[str, tuple[int, ...]] = {}

    def of(self, text: str) -> list[int]:
        """The numbers of a text's terms in order, with repeats, 32 bits each."""
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
        """The numbers of the terms to look up for a word of a query."""
        return list(self._tokenize(word, asked=True))

    def _tokenize(self, run: str, *, asked: bool = False) -> tuple[int, ...]:
        found = self._tokenizer(
            searchable(run, asked=asked).encode("utf-8", "replace"),
            apsw.FTS5_TOKENIZE_DOCUMENT,
            None,
            include_colocated=False,
        )
        return tuple(number_of(term) for _, _, term in cast("list[tuple[int, int, str]]", found))


def number_of(term: str) -> int:
    """The number of a term."""
    return int.from_bytes(blake2b(term.encode("utf-8", "replace"), digest_size=4).digest(), "little")
