"""Which patterns can match a message at all, found by the text they need (design 4).

A pattern such as ``\\bpull request(s)?\\b|\\bPRs?\\b`` can only match where "pull request" or "pr" occurs.
The index knows such literals by three of their characters in a row (two for short ones), so that one look
at the character triples of a message leaves a handful of literals to search for, however many topics there
are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from engine.activation.scan import compose, fold
from engine.topics.expressions import listed_words, plain, tree

_MOST = 48
_LONGEST = 24
_SMALL_SET = 4
_MAXREPEAT_EXACT = 3

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class _Need:
    """What a piece of a pattern needs.

    Attributes:
        exact: All texts the piece can match, folded; ``None`` when there are too many.
        one_of: Every match contains at least one of these; ``None`` when nothing is known.
    """

    exact: frozenset[str] | None
    one_of: frozenset[str] | None


_EMPTY = _Need(frozenset({""}), None)
_ANYTHING = _Need(None, None)


def required(match: str) -> frozenset[str] | None:
    """Literals of which a text must contain at least one for the pattern to match it.

    Args:
        match: A trigger's ``match``.

    Returns:
        Folded literals of two characters or more, or ``None`` when the pattern needs none that is known.
    """
    expression = plain(match)
    listed = listed_words(expression)
    if listed is not None:
        return _usable(frozenset(fold(word) for word in listed))
    parsed = tree(expression)
    if parsed is None:
        return None
    need = _sequence(parsed)
    return _better(_usable(need.exact), need.one_of)


def _usable(literals: frozenset[str] | None) -> frozenset[str] | None:
    """The literals if each is long enough to look for, shortened where they are needlessly long."""
    if literals is None or not literals or any(len(literal) < 2 for literal in literals):
        return None
    return frozenset(literal[:_LONGEST] for literal in literals)


def _better(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    """The choice that lets fewer messages through: longer literals first, then fewer."""
    if one is None or other is None:
        return other if one is None else one
    return max(one, other, key=lambda choice: (min(map(len, choice)), -len(choice)))


def _sequence(items: Iterable[Any]) -> _Need:
    best: frozenset[str] | None = None
    run: frozenset[str] | None = frozenset({""})
    whole = True
    for operator, argument in items:
        need = _one(operator, argument)
        best = _better(best, need.one_of)
        joined = None
        if run is not None and need.exact is not None and len(run) * len(need.exact) <= _MOST:
            joined = frozenset(left + right for left in run for right in need.exact)
        if joined is None:
            best = _better(best, _usable(run))
            whole = False
            run = need.exact if need.exact is not None else frozenset({""})
        else:
            run = joined
    if whole:
        return _Need(run, best)
    return _Need(None, _better(best, _usable(run)))


def _one(operator: Any, argument: Any) -> _Need:
    name = str(operator)
    if name == "LITERAL":
        return _Need(frozenset({fold(compose(chr(argument)))}), None)
    if name == "IN":
        return _set(argument)
    if name == "AT":
        return _EMPTY
    if name == "SUBPATTERN":
        return _sequence(argument[3])
    if name == "ATOMIC_GROUP":
        return _sequence(argument)
    if name == "ASSERT":
        # What is looked ahead or behind for must occur in the text, but it takes no place in the run.
        need = _sequence(argument[1])
        return _Need(frozenset({""}), _better(_usable(need.exact), need.one_of))
    if name == "ASSERT_NOT":
        return _EMPTY
    if name == "BRANCH":
        return _branch([_sequence(alternative) for alternative in argument[1]])
    if name.endswith("REPEAT"):
        return _repeat(*argument)
    return _ANYTHING


def _set(items: list[tuple[Any, Any]]) -> _Need:
    characters = {fold(compose(chr(value))) for kind, value in items if str(kind) == "LITERAL"}
    if any(str(kind) != "LITERAL" for kind, _ in items) or len(characters) > _SMALL_SET:
        return _ANYTHING
    return _Need(frozenset(characters), None)


def _branch(needs: list[_Need]) -> _Need:
    exact: frozenset[str] | None = frozenset()
    one_of: frozenset[str] | None = frozenset()
    for need in needs:
        if exact is not None:
            exact = None if need.exact is None else exact | need.exact
        if one_of is not None:
            choice = _better(_usable(need.exact), need.one_of)
            one_of = None if choice is None else one_of | choice
    return _Need(exact if exact is not None and len(exact) <= _MOST else None, one_of or None)


def _repeat(least: int, most: int, body: Any) -> _Need:
    need = _sequence(body)
    if least == 0:
        if most == 1 and need.exact is not None:
            return _Need(need.exact | {""}, None)
        return _ANYTHING
    if least == most and least <= _MAXREPEAT_EXACT and need.exact is not None:
        exact = frozenset({""})
        for _ in range(least):
            exact = frozenset(left + right for left in exact for right in need.exact)
        if len(exact) <= _MOST:
            return _Need(exact, need.one_of)
    return _Need(None, _better(_usable(need.exact), need.one_of))


class LiteralIndex(Generic[Key]):
    """Finds the keys of which a literal occurs in a text."""

    def __init__(self) -> None:
        self._grams: dict[str, dict[tuple[str, Key], None]] = {}
        self._where: dict[Key, list[tuple[str, str]]] = {}
        self._pairs = 0

    def add(self, key: Key, literals: Iterable[str]) -> None:
        """File a key under its literals, each folded and of two characters or more."""
        places = self._where.setdefault(key, [])
        for literal in sorted(literals):
            gram = self._rarest(literal)
            self._grams.setdefault(gram, {})[literal, key] = None
            self._pairs += len(gram) == 2
            places.append((gram, literal))

    def remove(self, key: Key) -> None:
        """Forget a key; one that is not filed is no error."""
        for gram, literal in self._where.pop(key, ()):
            entries = self._grams[gram]
            if entries.pop((literal, key), _MISSING) is None:
                self._pairs -= len(gram) == 2
            if not entries:
                del self._grams[gram]

    def find(self, folded: str) -> set[Key]:
        """The keys with a literal in ``folded``, which must be folded text."""
        found: set[Key] = set()
        if not self._grams:
            return found
        grams = {folded[index : index + 3] for index in range(len(folded) - 2)}
        if self._pairs:
            grams.update(folded[index : index + 2] for index in range(len(folded) - 1))
        for gram in grams & self._grams.keys():
            for literal, key in self._grams[gram]:
                if key not in found and literal in folded:
                    found.add(key)
        return found

    def _rarest(self, literal: str) -> str:
        """The least used gram of a literal: it keeps the entries spread, and common openings apart."""
        size = min(3, len(literal))
        grams = [literal[index : index + size] for index in range(len(literal) - size + 1)]
        return min(grams, key=lambda gram: len(self._grams.get(gram, ())))


_MISSING = object()
