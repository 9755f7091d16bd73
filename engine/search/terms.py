"""Converts texts to term numbers: the terms of the index's tokenizer, numbered by hash."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import NamedTuple, cast

import apsw

from engine.search import schema
from engine.search.scripts import searchable
from engine.startup.lazy import expression

_QUOTED = (">", "\\>")
_HUMP = expression(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_WORD = expression(r"[A-Za-z0-9]{4,}")
_PIECE = expression(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_SHORTEST = 3


def wording(text: str) -> tuple[str, str]:
    """A text's prose and its quoted lines (``> …``), whose words count less.

    A turn of a coding session consists of a few sentences and much tool output, which contains every word of
    a project sooner or later. What the user or the agent writes shows what a turn is about; tool output and
    quotations hardly do. (Of 198 commits, 176 find something of the session that made them in 2,048 tokens,
    and 173 if quotations count as prose.)
    """
    if ">" not in text:
        return text, ""
    lines = text.split("\n")
    quoted = [line for line in lines if line.startswith(_QUOTED)]
    if not quoted:
        return text, ""
    return "\n".join([line for line in lines if not line.startswith(_QUOTED)]), "\n".join(quoted)


def parts_of(run: str) -> str:
    """The words in the camel-case identifiers of a run of letters, with spaces between them.

    ``getRewindPoints`` can be found by *rewind* and by *points*; the index's tokenizer already splits
    ``snake_case`` and ``kebab-case``. (The sessions that made 99 commits have a mean reciprocal rank of .59,
    and of .57 without.)
    """
    if not _HUMP.search(run):
        return ""
    names = (name for name in _WORD.findall(run) if _HUMP.search(name))
    return " ".join(part for name in names for part in _PIECE.findall(name) if len(part) >= _SHORTEST)


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
