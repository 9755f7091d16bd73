"""What a pattern needs in a text to match it, read from the pattern itself (design 4).

A pattern such as ``\\bpull request(s)?\\b|\\bPRs?\\b`` can only match where "pull request" or "pr" occurs, so
these literals are looked for in one pass for all topics. It matches four texts and no other, each between
word edges: where one of them stands, no regular expression is needed to know that it matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from engine.activation.scan import compose, fold
from engine.topics.expressions import plain, tree

EDGE = "\b"
"""Stands in ``Needs.texts`` where a word must begin or end."""

Literals = frozenset[str]
"""Folded texts of which one must occur."""

_MOST = 64
_LONGEST = 24
_SMALL_SET = 4
_MOST_REPEATS = 3
# The shape of most patterns, read without a parser: words, with an optional last letter for all of them.
_LISTED = re.compile(
    r"(\\b)?\((?:\?:)?([\w '-]+(?:\|[\w '-]+)*)\)(?:([a-z])\?)?(\\b)?|([\w '-]+(?:\|[\w '-]+)*)"
)
# The shape of most others: a stem, with one of several endings.
_STEM = re.compile(r"(\\b)?([a-zA-Z '-]+)\((?:\?:)?([a-zA-Z '-]+(?:\|[a-zA-Z '-]+){0,30})\)(\?)?(\\b)?")
# Flags under which letters or word edges are others than usual.
_STRICTER = int(re.ASCII | re.LOCALE)


class Needs(NamedTuple):
    """What a pattern needs."""

    literals: Literals | None = None
    """Every text the pattern matches contains at least one of these, folded; ``None`` when none is known."""
    further: tuple[Literals, ...] = ()
    """More sets of literals; of each of them every match contains at least one as well."""
    texts: tuple[str, ...] | None = None
    """All that the pattern can match, folded and in the order in which it prefers them, with ``EDGE`` where a
    word must begin or end. ``None`` when only the regular expression itself can say."""


class _Piece(NamedTuple):
    """What a piece of a pattern needs."""

    texts: tuple[str, ...] | None
    """All texts the piece can match, as in ``Needs``; ``None`` when there are too many."""
    sets: tuple[Literals, ...] = ()  # every match contains one literal of each
    is_all: bool = True  # whether ``texts`` says all there is: where one of them stands, the piece matches


_CONDITION = _Piece(("",), is_all=False)
_ANYTHING = _Piece(None, is_all=False)


def needs(match: str) -> Needs:
    """What a trigger's ``match`` needs in a text."""
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
    """Texts as one set of literals, or none when one of them occurs in nearly every message.

    Literals are shortened where they are needlessly long, and those that hold another are left out.
    """
    if "" in texts:
        return ()
    literals = {text.replace(EDGE, "")[:_LONGEST] for text in texts}
    if any(len(literal) < 2 and literal.isascii() for literal in literals):
        return ()
    if len(literals) == 1 or len(literals) > _MOST:
        return (frozenset(literals),)
    return (frozenset(one for one in literals if not any(two in one and two != one for two in literals)),)


def _all_sets(piece: _Piece) -> tuple[Literals, ...]:
    return piece.sets if piece.texts is None else (*piece.sets, *_usable(piece.texts))


def _best(sets: Sequence[Literals]) -> Literals:
    """The set that lets the fewest messages through: longer literals first, then fewer."""
    return max(sets, key=lambda choice: (min(map(len, choice)), -len(choice)))


def _sequence(items: Iterable[Any]) -> _Piece:
    sets: list[Literals] = []
    run: tuple[str, ...] = ("",)
    whole = is_all = True
    for piece in _pieces(items):
        sets += piece.sets
        is_all = is_all and piece.is_all
        if piece.texts is not None and len(run) * len(piece.texts) <= _MOST:
            run = _joined(run, piece.texts)
            continue
        sets += _usable(run)
        whole = False
        run = piece.texts or ("",)
    if whole:
        return _Piece(run, tuple(sets), is_all)
    return _Piece(None, (*sets, *_usable(run)), False)


def _pieces(items: Iterable[Any]) -> Iterable[_Piece]:
    """The pieces of a sequence; characters in a row are one."""
    characters: list[str] = []
    # A parse tree's own iterator goes through two Python calls an item; its list does not.
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
    """Folded character by character, as each of them is compared by itself."""
    return text.lower() if text.isascii() else "".join(fold(compose(character)) for character in text)


def _is_plain(text: str) -> bool:
    """Whether a match of the folded text is a match of the text: not so for ``ß``, which is no ``ss``."""
    return text.isascii() or all(c.lower() == fold(c) and compose(c) == c for c in text)


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
        # It keeps to the first text that fits, even where a later one would let the rest match.
        return _sequence(argument)._replace(is_all=False)
    if name == "ASSERT":
        # What is looked ahead or behind for must occur in the text, but it takes no place in the run.
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
    """What a choice needs: of each alternative the best set, all of them together."""
    every = [_all_sets(piece) for piece in pieces]
    sets = (frozenset[str]().union(*map(_best, every)),) if all(every) else ()
    texts = [text for piece in pieces for text in piece.texts or ()]
    if any(piece.texts is None for piece in pieces) or len(texts) > _MOST:
        return _Piece(None, sets, False)
    # The texts say what the sets do, and say it better.
    return _Piece(tuple(dict.fromkeys(texts)), (), all(piece.is_all for piece in pieces))


def _repeat(name: str, least: int, most: int, body: Any) -> _Piece:
    piece = _sequence(body)
    sets = _all_sets(piece) if least else ()
    if piece.texts is None or "" in piece.texts or most > _MOST_REPEATS:
        return _Piece(None, sets, False)
    rest: tuple[str, ...] = ("",)
    for count in range(most, 0, -1):
        rest = _joined(piece.texts, rest)
        if count > least:
            # As often as it can, or as seldom.
            rest = (*rest, "") if name == "MAX_REPEAT" else ("", *rest)
        if len(rest) > _MOST:
            return _Piece(None, sets, False)
    return _Piece(
        tuple(dict.fromkeys(rest)), piece.sets if least else (), piece.is_all and name != "POSSESSIVE_REPEAT"
    )
