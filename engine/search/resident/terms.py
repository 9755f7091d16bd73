"""Texts as the numbers of their terms: the terms of the index's own tokenizer, each by its hash."""

from __future__ import annotations

import re
from array import array
from hashlib import blake2b
from itertools import chain
from typing import cast

import apsw

from engine.search import schema

_RUN = re.compile(r"[^\x00-/:-@\[-`{-\x7f]+")
"""``unicode61`` cuts at all other ASCII; at what else, it decides itself."""
_MOST_RUNS = 500_000
"""Distinct runs that are remembered; a text of hashes and numbers has a new one in every word."""


class Terms:
    """Cuts texts into terms. One thread at a time.

    Every distinct run of characters is given to the tokenizer once, so that a text costs what looking its
    runs up costs. ``numbers`` is the number of each term met so far: the same in every process.
    """

    def __init__(self) -> None:
        self._tokenizer = apsw.Connection(":memory:").fts5_tokenizer(*schema.TOKENIZER)
        self._runs: dict[str, tuple[int, ...]] = {}
        self._terms: dict[str, int] = {}
        self.numbers = array("Q")

    def of(self, text: str) -> list[int]:
        """The terms of a text in order, repeats kept, each by its place in ``numbers``."""
        runs = _RUN.findall(text)
        known = self._runs
        try:
            return list(chain.from_iterable(map(known.__getitem__, runs)))
        except KeyError:
            if len(known) > _MOST_RUNS:
                known.clear()
            for run in runs:
                if run not in known:
                    known[run] = self._cut(run)
            return list(chain.from_iterable(map(known.__getitem__, runs)))

    def _cut(self, run: str) -> tuple[int, ...]:
        found = self._tokenizer(
            run.encode("utf-8", "replace"), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False
        )
        return tuple(self._place(term) for _, _, term in cast("list[tuple[int, int, str]]", found))

    def _place(self, term: str) -> int:
        place = self._terms.get(term)
        if place is None:
            place = self._terms[term] = len(self.numbers)
            digest = blake2b(term.encode("utf-8", "replace"), digest_size=8).digest()
            self.numbers.append(int.from_bytes(digest, "little"))
        return place
