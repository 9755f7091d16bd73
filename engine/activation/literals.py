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
    return Needs(_literals(_items(parsed)), _texts(parsed) * parsed.getwidth()[1] <= _MAX_CHARACTERS)


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


def _texts(parsed: Any) -> float:
    """How many texts a sequence can match, at most; infinite if unknown or many."""
    texts = 1.0
    for name, argument in _items(parsed):
        if name == "IN" and len(argument) <= _MAX_SET and all(kind.name == "LITERAL" for kind, _ in argument):
            texts *= len(argument)
        elif name in ("SUBPATTERN", "ATOMIC_GROUP"):
            texts *= _texts(argument if name == "ATOMIC_GROUP" else argument[-1])
        elif name == "BRANCH":
            texts *= sum(map(_texts, argument[1]))
        elif name in _REPEATS and argument[1] <= _MAX_REPEATS:
            once = _texts(argument[2])
            texts *= sum(once**count for count in range(argument[0], argument[1] + 1))
        elif name not in ("LITERAL", "AT"):
            return math.inf
        if texts > _MAX_TEXTS:
            return math.inf
    return texts
