"""What a pattern requires of a text, derived from the pattern (design 4).

A pattern such as ``\\bpull request(s)?\\b|\\bPRs?\\b`` can only match if "pull request" or "pr" occurs.
Looking for these first means that a message compiles and searches the patterns of few of a thousand topics.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


class _Piece(NamedTuple):
    """What a piece of a pattern requires."""

    texts: tuple[str, ...] | None  # all it can match, folded, one for each way to match; ``None``: too many
    literals: Literals | None = None  # of which every match contains one


_ANYTHING = _Piece(None)
_NOTHING = _Piece(("",))


def needs(match: str) -> Needs:
    """What a trigger's ``match`` requires."""
    parsed = tree(plain(match))
    if parsed is None:
        return Needs()
    piece = _sequence(parsed)
    return Needs(_literals(piece), piece.texts is not None and sum(map(len, piece.texts)) <= _MAX_CHARACTERS)


def _literals(piece: _Piece) -> Literals | None:
    """The best literals of a piece; none if one of them would occur in nearly every message."""
    texts = None
    if piece.texts is not None:
        texts = frozenset(text[:_MAX_LITERAL] for text in piece.texts)
        if any(len(text) < 2 and text.isascii() for text in texts):
            texts = None
    return _better(texts, piece.literals)


def _better(one: Literals | None, two: Literals | None) -> Literals | None:
    """Those with longer literals, then the fewer."""
    if not one or not two:
        return one or two
    return max(one, two, key=lambda each: (min(map(len, each)), -len(each)))


def _sequence(items: Iterable[Any]) -> _Piece:
    best: Literals | None = None
    texts: tuple[str, ...] = ("",)
    is_list = True
    for piece in _pieces(items):
        best = _better(best, piece.literals)
        if piece.texts is not None and len(texts) * len(piece.texts) <= _MAX_TEXTS:
            texts = _joined(texts, piece.texts)
        else:
            best = _better(best, _literals(_Piece(texts)))
            texts, is_list = piece.texts or ("",), False
    return _Piece(texts, best) if is_list else _Piece(None, _better(best, _literals(_Piece(texts))))


def _pieces(items: Iterable[Any]) -> Iterable[_Piece]:
    """The pieces of a sequence; consecutive characters are one piece."""
    run = ""
    # The list is faster than the parse tree's own iterator.
    for operator, argument in getattr(items, "data", items):
        if operator.name == "LITERAL":
            run += _folded(argument)
            continue
        if run:
            yield _Piece((run,))
            run = ""
        yield _one(operator.name, argument)
    if run:
        yield _Piece((run,))


def _joined(left: Sequence[str], right: Sequence[str]) -> tuple[str, ...]:
    return tuple(one + other for one in left for other in right)


def _one(name: str, argument: Any) -> _Piece:
    if name == "IN" and len(argument) <= _MAX_SET and all(kind.name == "LITERAL" for kind, _ in argument):
        return _Piece(tuple(_folded(code) for _, code in argument))
    if name == "AT":
        return _NOTHING
    if name in ("SUBPATTERN", "ATOMIC_GROUP"):
        return _sequence(argument if name == "ATOMIC_GROUP" else argument[3])
    if name == "ASSERT":
        return _Piece(None, _literals(_sequence(argument[1])))
    if name == "BRANCH":
        return _branch([_sequence(alternative) for alternative in argument[1]])
    return _repeat(*argument) if name in _REPEATS else _ANYTHING


def _folded(code: int) -> str:
    """Folded by itself, since each character is compared separately."""
    character = chr(code)
    return character.lower() if code < 128 else fold(composed(character))


def _branch(pieces: list[_Piece]) -> _Piece:
    texts = [text for piece in pieces for text in piece.texts or ()]
    if all(piece.texts is not None for piece in pieces) and len(texts) <= _MAX_TEXTS:
        return _Piece(tuple(texts))
    found = [_literals(piece) for piece in pieces]
    return _Piece(None, frozenset[str]().union(*(each or () for each in found)) if all(found) else None)


def _repeat(minimum: int, maximum: int, body: Any) -> _Piece:
    piece = _sequence(body)
    known = _literals(piece) if minimum else None
    if piece.texts is None or maximum > _MAX_REPEATS or len(piece.texts) ** maximum > _MAX_TEXTS:
        return _Piece(None, known)
    repeated: tuple[str, ...] = ("",)
    found: list[str] = [] if minimum else [""]
    for count in range(1, maximum + 1):
        repeated = _joined(repeated, piece.texts)
        found += repeated if count >= minimum else ()
    return _Piece(tuple(found), known)
