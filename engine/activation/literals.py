"""What a pattern requires of a text, derived from the pattern (design 4).

A pattern such as ``\\bpull request(s)?\\b|\\bPRs?\\b`` can only match if "pull request" or "pr" occurs.
Looking for these first means that a message compiles and searches the patterns of few of a thousand topics.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from engine.activation.scan import fold
from engine.store.spelling import composed
from engine.topics.expressions import plain, tree

_MAX_TEXTS = 64
_MAX_REPEATS = 3
_MAX_CHARACTERS = 1_000
_MAX_SET = 4
_MAX_LITERAL = 24
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")

Literals = frozenset[str]


class Needs(NamedTuple):
    """What a pattern requires of a text."""

    literals: Literals | None = None
    """Every match contains at minimum one of these, folded; ``None`` if none are known."""
    is_list: bool = False
    """Whether it only lists few short texts, so that no text can make searching for them slow."""


def needs(match: str) -> Needs:
    """What a trigger's ``match`` requires."""
    parsed = tree(plain(match))
    if parsed is None:
        return Needs()
    texts, length = _size(parsed)
    return Needs(_literals(_items(parsed)), texts * length <= _MAX_CHARACTERS)


def _items(parsed: Any) -> list[tuple[str, Any]]:
    # The list is faster than the parse tree's own iterator.
    return [(operator.name, argument) for operator, argument in getattr(parsed, "data", parsed)]


def _literals(items: Iterable[tuple[str, Any]]) -> Literals | None:
    """The longest of the literals that a sequence requires, then the fewest."""
    found: list[Literals | None] = []
    run: list[tuple[str, Any]] = []  # consecutive letters
    for name, argument in (*items, ("", None)):
        if name == "AT":
            continue
        if name == "BRANCH":
            # The parser takes what the alternatives begin with out of them.
            each = [_literals([*run, *_items(alternative)]) for alternative in argument[1]]
            found.append(frozenset().union(*filter(None, each)) if all(each) else None)
        elif name in ("SUBPATTERN", "ATOMIC_GROUP", "ASSERT"):
            found.append(_literals(_items(argument if name == "ATOMIC_GROUP" else argument[-1])))
        elif name in _REPEATS and argument[0]:
            found.append(_literals(_items(argument[2])))
        if _letter(name, argument):
            run.append((name, argument))
            continue
        text = "".join(_letter(*each) for each in run)[:_MAX_LITERAL]
        # One letter is in nearly every message.
        found.append(frozenset((text,)) if len(text) > 1 or not text.isascii() else None)
        run = []
    return max(filter(None, found), key=lambda each: (min(map(len, each)), -len(each)), default=None)


def _letter(name: str, argument: Any) -> str:
    """The folded text that an item stands for, such as ``r`` for ``[rR]``; empty for any other item.

    Letters are folded one by one, since each is compared separately.
    """
    if name == "LITERAL":
        character = chr(argument)
        return character.lower() if argument < 128 else fold(composed(character))
    if name == "IN" and len(argument) <= _MAX_SET:
        letters = {_letter(kind.name, code) for kind, code in argument}
        return letters.pop() if len(letters) == 1 else ""
    return ""


def _size(parsed: Any) -> tuple[float, float]:
    """How many texts a sequence can match, at most, and the length of the longest; infinite if unknown."""
    texts, length = 1.0, 0.0
    for name, argument in _items(parsed):
        if name == "LITERAL":
            ways, size = 1.0, 1.0
        elif name == "AT":
            ways, size = 1.0, 0.0
        elif (
            name == "IN" and len(argument) <= _MAX_SET and all(kind.name == "LITERAL" for kind, _ in argument)
        ):
            ways, size = float(len(argument)), 1.0
        elif name in ("SUBPATTERN", "ATOMIC_GROUP"):
            ways, size = _size(argument if name == "ATOMIC_GROUP" else argument[-1])
        elif name == "BRANCH":
            sizes = [_size(alternative) for alternative in argument[1]]
            ways, size = sum(ways for ways, _ in sizes), max(size for _, size in sizes)
        elif name in _REPEATS and argument[1] <= _MAX_REPEATS:
            ways, size = _size(argument[2])
            ways, size = sum(ways**count for count in range(argument[0], argument[1] + 1)), size * argument[1]
        else:
            return math.inf, math.inf
        texts, length = texts * ways, length + size
        if texts > _MAX_TEXTS:
            return math.inf, math.inf
    return texts, length
