"""Converts texts to term numbers: the terms of the index's tokenizer, numbered by hash."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import NamedTuple, cast

import apsw

from engine.search import schema
from engine.search.scripts import searchable
from engine.search.wording import parts_of
from engine.startup.lazy import expression

RUN = expression(r"[^\x00-/:-@\[-`{-\x7f]+")
"""``unicode61`` splits at all other ASCII characters; the tokenizer itself handles the rest."""
_MOST_RUNS = 200_000
"""Maximum number of runs kept; in a text of hashes and numbers, every word is a new one."""


Spans = list[tuple[int, int, str]]
"""Byte span and term of every word of a text."""


def tokenizer() -> Callable[[str], Spans]:
    """A function that splits ``searchable`` text as the index does. Not thread-safe."""
    tokenize = apsw.Connection(":memory:").fts5_tokenizer(*schema.TOKENIZER)

    def spans(text: str) -> Spans:
        data = text.encode("utf-8", "replace")
        return cast("Spans", tokenize(data, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_colocated=False))

    return spans


class Run(NamedTuple):
    """What a run of characters contributes to an index."""

    numbers: tuple[int, ...]
    """The numbers of its terms in order, 32 bits each."""
    parts: str
    """The words that it consists of if it is an identifier in camel case; else empty."""
    part_numbers: tuple[int, ...]


class Terms:
    """Tokenizes runs of characters into terms, each distinct run only once. Not thread-safe.

    A term's number is the same in every process, and two terms hardly ever have the same.
    """

    def __init__(self) -> None:
        self._tokenizer = tokenizer()
        self._known: dict[str, Run] = {}

    def of(self, run: str) -> Run:
        """What a run contributes."""
        found = self._known.get(run)
        if found is None:
            if len(self._known) > _MOST_RUNS:
                self._known.clear()
            parts = parts_of(run)
            found = Run(self._tokenize(run), parts, self._tokenize(parts) if parts else ())
            self._known[run] = found
        return found

    def of_query(self, word: str) -> list[int]:
        """The numbers of the terms to look up for a word of a query."""
        return list(self._tokenize(word, asked=True))

    def _tokenize(self, run: str, *, asked: bool = False) -> tuple[int, ...]:
        return tuple(number_of(term) for _, _, term in self._tokenizer(searchable(run, asked=asked)))


def number_of(term: str) -> int:
    """The number of a term."""
    return int.from_bytes(blake2b(term.encode("utf-8", "replace"), digest_size=4).digest(), "little")
