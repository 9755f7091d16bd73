"""Literals that a pattern requires in a text, derived from the pattern (design 4).

A pattern such as ``\\bpull request(s)?\\b|\\bPRs?\\b`` can only match if "pull request" or "pr" occurs, so
these literals are searched in one pass for all topics. It matches exactly four texts, each between word
edges: if one of them occurs, no regular expression is needed to know that it matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from engine.activation.scan import fold
from engine.startup.lazy import expression
from engine.store.spelling import composed
from engine.topics.expressions import plain, tree

EDGE = "\b"
"""Marks in ``Needs.texts`` where a word must begin or end."""

Literals = frozenset[str]
"""Folded texts of which one must occur."""

_MAX_TEXTS = 64
_MAX_LENGTH = 24
_SMALL_SET = 4
_MAX_REPEATS = 3
# Most patterns, parsed without a parser: words, with an optional last letter for all of them.
_LISTED = expression(
    r"(\\b)?\((?:\?:)?([\w '-]+(?:\|[\w '-]+)*)\)(?:([a-z])\?)?(\\b)?|([\w '-]+(?:\|[\w '-]+)*)"
)
# Most others: a stem with one of several endings.
_STEM = expression(r"(\\b)?([a-zA-Z '-]+)\((?:\?:)?([a-zA-Z '-]+(?:\|[a-zA-Z '-]+){0,30})\)(\?)?(\\b)?")
# Flags that change the meaning of letters or word edges.
_STRICTER = int(re.ASCII | re.LOCALE)


class Needs(NamedTuple):
    """The literals that a pattern requires."""

    literals: Literals | None = None
    """Every match contains at minimum one of these, folded; ``None`` if none are known."""
    further: tuple[Literals, ...] = ()
    """More sets of literals; every match also contains at minimum one of each set."""
    texts: tuple[str, ...] | None = None
    """All texts that the pattern can match, folded, in order of preference, with ``EDGE`` where a word must
    begin or end; ``None`` if only the regular expression can decide."""


class _Piece(NamedTuple):
    """The literals that a piece of a pattern requires."""

    texts: tuple[str, ...] | None
    """All texts the piece can match, as in ``Needs``; ``None`` if there are too many."""
    sets: tuple[Literals, ...] = ()  # every match contains one literal of each
    is_all: bool = True  # whether any occurrence of one of ``texts`` is a match


_CONDITION = _Piece(("",), is_all=False)
_ANYTHING = _Piece(None, is_all=False)


def needs(match: str) -> Needs:
    """The literals that a trigger's ``match`` requires."""
    expression = plain(match)
    listed = _LISTED.fullmatch(expression)
    if listed is not None:
        before, words, suffix, after, bare = listed.groups()
        piece = _list(words or bare, before, suffix, after)
    elif stemmed := _STEM.fullmatch(expression):
        before, stem, words, is_optional, after = stemmed.groups()
        endings = f"{words}|" if is_optional else words
        piece = _list("|".join(stem + ending for ending in endings.split("|")), before, None, after)
    else:
        parsed = tree(expression)
        if parsed is None:
            return Needs()
        piece = _sequence(parsed)
        if parsed.state.flags & _STRICTER:
            piece = piece._replace(is_all=False)
    sets = _all_sets(piece)
    if not sets:
        return Needs()
    if len(sets) == 1:
        return Needs(sets[0], (), piece.texts if piece.is_all else None)
    best = _best(sets)
    further = tuple(dict.fromkeys(choice for choice in sets if choice != best))
    return Needs(best, further, piece.texts if piece.is_all else None)


def _list(words: str, before: str | None, suffix: str | None, after: str | None) -> _Piece:
    opening, closing = EDGE if before else "", EDGE if after else ""
    endings = (suffix + closing, closing) if suffix else (closing,)
    texts = [opening + _folded(word) + ending for word in words.split("|") for ending in endings]
    return _Piece(tuple(dict.fromkeys(texts)), is_all=_is_plain(words))


def _usable(texts: Sequence[str]) -> tuple[Literals, ...]:
    """Texts as one set of literals, or none if one of them occurs in nearly every message.

    Long literals are shortened, and those that contain another are dropped.
    """
    if "" in texts:
        return ()
    literals = {text.replace(EDGE, "")[:_MAX_LENGTH] for text in texts}
    if any(len(literal) < 2 and literal.isascii() for literal in literals):
        return ()
    if len(literals) == 1 or len(literals) > _MAX_TEXTS:
        return (frozenset(literals),)
    return (frozenset(one for one in literals if not any(two in one and two != one for two in literals)),)


def _all_sets(piece: _Piece) -> tuple[Literals, ...]:
    return piece.sets if piece.texts is None else (*piece.sets, *_usable(piece.texts))


def _best(sets: Sequence[Literals]) -> Literals:
    """The maximum selective set: longer literals first, then fewer."""
    return max(sets, key=lambda choice: (min(map(len, choice)), -len(choice)))


def _sequence(items: Iterable[Any]) -> _Piece:
    sets: list[Literals] = []
    run: tuple[str, ...] = ("",)
    whole = is_all = True
    for piece in _pieces(items):
        sets += piece.sets
        is_all = is_all and piece.is_all
        if piece.texts is not None and len(run) * len(piece.texts) <= _MAX_TEXTS:
            run = _joined(run, piece.texts)
            continue
        sets += _usable(run)
        whole = False
        run = piece.texts or ("",)
    if whole:
        return _Piece(run, tuple(sets), is_all)
    return _Piece(None, (*sets, *_usable(run)), False)


def _pieces(items: Iterable[Any]) -> Iterable[_Piece]:
    """The pieces of a sequence; consecutive characters are one piece."""
    characters: list[str] = []
    # The list is faster than the parse tree's own iterator.
    for operator, argument in getattr(items, "data", items):
        name = operator.name
        if name == "LITERAL":
            characters.append(chr(argument))
            continue
        if characters:
            yield _text("".join(characters))
            characters = []
        yield _one(name, argument)
    if characters:
        yield _text("".join(characters))


def _text(text: str) -> _Piece:
    return _ANYTHING if EDGE in text else _Piece((_folded(text),), is_all=_is_plain(text))


def _folded(text: str) -> str:
    """Folds character by character, since each is compared separately."""
    return text.lower() if text.isascii() else "".join(fold(composed(character)) for character in text)


def _is_plain(text: str) -> bool:
    """Whether a match of the folded text is a match of the text; not so for ``ß``, which is not ``ss``."""
    return text.isascii() or all(c.lower() == fold(c) and composed(c) == c for c in text)


def _joined(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    if len(left) == len(right) == 1:
        return (left[0] + right[0],)
    return tuple(dict.fromkeys(one + other for one in left for other in right))


def _one(name: str, argument: Any) -> _Piece:
    if name == "IN":
        return _set(argument)
    if name == "AT":
        return _Piece((EDGE,)) if argument.name == "AT_BOUNDARY" else _CONDITION
    if name == "SUBPATTERN":
        _, added, removed, inside = argument
        piece = _sequence(inside)
        return piece._replace(is_all=False) if added or removed else piece
    if name == "ATOMIC_GROUP":
        # It keeps the first text that fits, even if a later one would let the rest match.
        return _sequence(argument)._replace(is_all=False)
    if name == "ASSERT":
        # Its text must occur, but takes no place in the sequence.
        return _Piece(("",), _all_sets(_sequence(argument[1])), False)
    if name == "ASSERT_NOT":
        return _CONDITION
    if name == "BRANCH":
        return _branch([_sequence(alternative) for alternative in argument[1]])
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return _repeat(name, *argument)
    return _ANYTHING


def _set(items: list[tuple[Any, Any]]) -> _Piece:
    if len(items) > 2 * _SMALL_SET or any(kind.name != "LITERAL" for kind, _ in items):
        return _ANYTHING
    written = "".join(chr(value) for _, value in items)
    characters = tuple(dict.fromkeys(_folded(character) for character in written))
    if len(characters) > _SMALL_SET or EDGE in written:
        return _ANYTHING
    return _Piece(characters, is_all=_is_plain(written))


def _branch(pieces: list[_Piece]) -> _Piece:
    """The literals that a choice requires: the best sets of all alternatives together."""
    every = [_all_sets(piece) for piece in pieces]
    sets = (frozenset[str]().union(*map(_best, every)),) if all(every) else ()
    texts = [text for piece in pieces for text in piece.texts or ()]
    if any(piece.texts is None for piece in pieces) or len(texts) > _MAX_TEXTS:
        return _Piece(None, sets, False)
    # The texts are more precise than the sets.
    return _Piece(tuple(dict.fromkeys(texts)), (), all(piece.is_all for piece in pieces))


def _repeat(name: str, minimum: int, maximum: int, body: Any) -> _Piece:
    piece = _sequence(body)
    sets = _all_sets(piece) if minimum else ()
    if piece.texts is None or "" in piece.texts or maximum > _MAX_REPEATS:
        return _Piece(None, sets, False)
    rest: tuple[str, ...] = ("",)
    for count in range(maximum, 0, -1):
        rest = _joined(piece.texts, rest)
        if count > minimum:
            # Greedy or lazy.
            rest = (*rest, "") if name == "MAX_REPEAT" else ("", *rest)
        if len(rest) > _MAX_TEXTS:
            return _Piece(None, sets, False)
    return _Piece(
        tuple(dict.fromkeys(rest)),
        piece.sets if minimum else (),
        piece.is_all and name != "POSSESSIVE_REPEAT",
    )
