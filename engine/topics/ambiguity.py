"""Finds repetitions that can match one text in exponentially many ways (robustness R1).

A backtracking search tries every way before it gives up, so ``(a+)+$`` on thirty letters tries a billion. The
way to see it without running it: the loop as an automaton whose states are the characters of the pattern. If
from one state the same text leads back to it along two different paths, every repetition of that text doubles
the ways (Weber and Seidl 1991, criterion EDA). The text itself comes with the proof.

What an anchor, a look-around, a backreference or a possessive group takes part in is left out: the
analysis never accuses a pattern wrongly, and may miss one. Searches have a timeout besides.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from engine.topics.expressions import parts

MANY = 9
"""Repetitions from which a loop counts as endless."""

_MOST_STATES = 160
_MOST_STEPS = 60_000
_SAMPLES = "".join(map(chr, [*range(97, 123), *range(48, 58), 32, *range(65, 91)]))
_SIGNS = "".join(chr(code) for code in [*range(33, 127), 9, 10] if not chr(code).isalnum()) + "éßжЖ漢\u00a0٣"
_CHARACTERS = ("LITERAL", "NOT_LITERAL", "ANY", "IN")
_LOOPS = ("MAX_REPEAT", "MIN_REPEAT")


@dataclass(frozen=True, slots=True)
class Pump:
    """A text that a loop of a pattern can match in exponentially many ways."""

    before: str  # leads into the loop
    text: str  # what to repeat


@dataclass(slots=True)
class _Part:
    """A piece of the automaton: the states it can begin and end with, each with its ways (at most 2)."""

    first: dict[int, int]
    last: dict[int, int]
    empty: int = 0


class _TooLarge(Exception):
    """The loop has more states than are worth looking at."""


def find_pump(tree: Any) -> Pump | None:
    """The first exponentially ambiguous loop of a pattern that something after it can make fail.

    ``tree`` is a parse tree of ``engine.topics.expressions.tree``.
    """
    if not _is_suspicious(tree):
        return None
    for before, body, can_fail in _loops(list(tree), "", False):
        if not can_fail:
            continue
        try:
            text = _Automaton(_alphabet(tree)).pump(body)
        except _TooLarge:
            continue
        if text:
            return Pump(before, text)
    return None


def _is_suspicious(items: Any) -> bool:
    """Whether there is an endless loop over more than one character, without which there is no ambiguity."""
    for operator, argument in items:
        if str(operator) in _LOOPS and argument[1] >= MANY and not _is_character(argument[2]):
            return True
        if any(_is_suspicious(part) for part in parts(operator, argument)):
            return True
    return False


def _is_character(items: Any) -> bool:
    return len(items) == 1 and str(items[0][0]) in _CHARACTERS


def loops(tree: Any) -> Iterator[tuple[str, str]]:
    """Every endless repetition as a text that leads to it and a text it can repeat."""
    for before, body, _ in _loops(list(tree), "", False):
        text = "".join(_example(operator, argument) for operator, argument in body)
        if text:
            yield before, text


def is_empty_match(tree: Any) -> bool:
    """Whether a pattern can match without consuming a character."""
    return bool(tree.getwidth()[0] == 0)


def _loops(items: list[Any], before: str, can_fail_after: bool) -> Iterator[tuple[str, Any, bool]]:
    """Endless loops with a text that leads to them, their bodies, and whether what follows can fail."""
    for index, (operator, argument) in enumerate(items):
        can_fail = can_fail_after or any(_can_fail(*item) for item in items[index + 1 :])
        name = str(operator)
        if name in _LOOPS and argument[1] >= MANY:
            body = list(argument[2])
            # A loop that must run several times can itself fall short.
            yield before, body, can_fail or argument[0] > 1
            yield from _loops(body, before, can_fail or any(_can_fail(*item) for item in body))
        elif name in ("ASSERT", "ASSERT_NOT", "ATOMIC_GROUP"):
            yield from _loops(list(parts(operator, argument)[0]), before, False)
        elif name != "POSSESSIVE_REPEAT":
            for part in parts(operator, argument):
                yield from _loops(list(part), before, can_fail)
        before += _example(operator, argument)


def _can_fail(operator: Any, argument: Any) -> bool:
    name = str(operator)
    if name.endswith("REPEAT"):
        return argument[0] > 0 and any(_can_fail(*item) for item in argument[2])
    if name == "SUBPATTERN":
        return any(_can_fail(*item) for item in argument[3])
    if name == "BRANCH":
        return all(any(_can_fail(*item) for item in branch) for branch in argument[1])
    return True


def _example(operator: Any, argument: Any) -> str:
    """A short text that one element of a pattern matches, as far as that is easily said."""
    name = str(operator)
    if name in _CHARACTERS:
        alphabet = _SAMPLES + _SIGNS + (chr(argument) if name == "LITERAL" else "")
        mask = _mask(operator, argument, alphabet)
        return _lowest(mask, alphabet) if mask else ""
    if name.endswith("REPEAT"):
        return "".join(_example(*item) for item in argument[2]) * min(int(argument[0]), 20)
    if name == "BRANCH":
        return "".join(_example(*item) for item in argument[1][0])
    if name in ("SUBPATTERN", "ATOMIC_GROUP"):
        return "".join(_example(*item) for item in parts(operator, argument)[0])
    return ""


def _alphabet(tree: Any) -> str:
    """Characters of which each set of the pattern has one: samples of every kind, and its own literals."""
    own: set[str] = set()
    _collect(tree, own)
    return _SAMPLES + _SIGNS + "".join(sorted(own - set(_SAMPLES + _SIGNS)))


def _collect(items: Any, own: set[str]) -> None:
    for operator, argument in items:
        name = str(operator)
        if name in ("LITERAL", "NOT_LITERAL"):
            own.add(chr(argument))
        elif name == "IN":
            for kind, value in argument:
                if str(kind) == "LITERAL":
                    own.add(chr(value))
                elif str(kind) == "RANGE":
                    own.add(chr(value[0]))
        for part in parts(operator, argument):
            _collect(part, own)


def _mask(operator: Any, argument: Any, alphabet: str) -> int:
    """The characters an element matches, ignoring case, as bits over the alphabet."""
    name = str(operator)
    everything = (1 << len(alphabet)) - 1
    if name == "ANY":
        return everything & ~_bits("\n", alphabet)
    if name == "LITERAL":
        return _literal(argument, alphabet)
    if name == "NOT_LITERAL":
        return everything & ~_literal(argument, alphabet)
    mask, negated = 0, False
    for kind, value in argument:
        label = str(kind)
        if label == "NEGATE":
            negated = True
        elif label == "LITERAL":
            mask |= _literal(value, alphabet)
        elif label == "RANGE":
            low, high = value
            mask |= _where(
                alphabet, lambda c, low=low, high=high: any(low <= ord(v) <= high for v in _cases(c))
            )
        elif label == "CATEGORY":
            mask |= _category(str(value), alphabet)
    return everything & ~mask if negated else mask


def _where(alphabet: str, holds: Any) -> int:
    return sum(1 << index for index, character in enumerate(alphabet) if holds(character))


def _bits(characters: str, alphabet: str) -> int:
    return _where(alphabet, lambda character: character in characters)


def _literal(code: int, alphabet: str) -> int:
    return _bits("".join(_cases(chr(code))), alphabet)


def _cases(character: str) -> tuple[str, ...]:
    return tuple(case for case in (character, character.lower(), character.upper()) if len(case) == 1)


@cache
def _category(name: str, alphabet: str) -> int:
    kind = name.rsplit("_", 1)[-1]
    pattern = re.compile({"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}.get(kind, "[^\0-\U0010ffff]"))
    mask = _where(alphabet, lambda character: pattern.match(character) is not None)
    return ((1 << len(alphabet)) - 1) & ~mask if "_NOT_" in name else mask


def _lowest(mask: int, alphabet: str) -> str:
    return alphabet[(mask & -mask).bit_length() - 1]


class _Automaton:
    """The position automaton of one loop (Glushkov), counting the ways between two states up to two."""

    def __init__(self, alphabet: str) -> None:
        self._alphabet = alphabet
        self._masks: list[int] = []
        self._follow: dict[int, dict[int, int]] = {}

    def pump(self, body: Any) -> str:
        """A text on which the loop has two paths from a state back to itself; empty when there is none."""
        part = self._sequence(body)
        self._connect(part, part)
        twice = next(
            ((p, q) for p, followers in self._follow.items() for q, ways in followers.items() if ways > 1),
            None,
        )
        if twice is not None:
            back = self._path(twice[1], twice[0])
            if back is not None:
                return self._character(twice[1]) + back
        for state in range(len(self._masks)):
            text = self._two_ways(state)
            if text:
                return text
        return ""

    def _character(self, state: int, other: int | None = None) -> str:
        mask = self._masks[state] & (self._masks[state if other is None else other])
        return _lowest(mask, self._alphabet)

    def _path(self, start: int, goal: int) -> str | None:
        """A shortest text leading from a state to another, ``""`` when they are the same."""
        texts = {start: ""}
        queue = deque([start])
        while queue:
            state = queue.popleft()
            if state == goal:
                return texts[state]
            for following in self._follow.get(state, ()):
                if following not in texts:
                    texts[following] = texts[state] + self._character(following)
                    queue.append(following)
        return None

    def _two_ways(self, start: int) -> str:
        """A text along which two different paths lead from ``start`` back to it."""
        texts = {(start, start): ""}
        queue = deque([(start, start)])
        steps = 0
        while queue:
            pair = queue.popleft()
            for one in self._follow.get(pair[0], ()):
                for other in self._follow.get(pair[1], ()):
                    steps += 1
                    if steps > _MOST_STEPS:
                        raise _TooLarge
                    if not self._masks[one] & self._masks[other]:
                        continue
                    if pair[0] == pair[1] == start and one == other:
                        continue
                    following = (min(one, other), max(one, other))
                    text = texts[pair] + self._character(one, other)
                    if one == other:
                        back = self._path(one, start)
                        if back is not None:
                            return text + back
                        continue
                    if following not in texts:
                        texts[following] = text
                        queue.append(following)
        return ""

    def _connect(self, left: _Part, right: _Part) -> None:
        for state, ways in left.last.items():
            followers = self._follow.setdefault(state, {})
            for following, more in right.first.items():
                followers[following] = min(2, followers.get(following, 0) + ways * more)

    def _sequence(self, items: Any) -> _Part:
        whole = _Part({}, {}, empty=1)
        for operator, argument in items:
            whole = self._joined(whole, self._element(operator, argument))
        return whole

    def _joined(self, left: _Part, right: _Part) -> _Part:
        self._connect(left, right)
        return _Part(
            first=_sum(left.first, right.first, left.empty),
            last=_sum(right.last, left.last, right.empty),
            empty=min(2, left.empty * right.empty),
        )

    def _element(self, operator: Any, argument: Any) -> _Part:
        name = str(operator)
        if name in _CHARACTERS:
            return self._state(_mask(operator, argument, self._alphabet))
        if name == "SUBPATTERN":
            return self._sequence(argument[3])
        if name == "BRANCH":
            whole = _Part({}, {})
            for branch in argument[1]:
                part = self._sequence(branch)
                whole = _Part(
                    _sum(whole.first, part.first, 1),
                    _sum(whole.last, part.last, 1),
                    min(2, whole.empty + part.empty),
                )
            return whole
        if name in _LOOPS:
            return self._repeat(*argument)
        # What cannot be followed is a wall: no path leads through it.
        return _Part({}, {})

    def _repeat(self, least: int, most: int, body: Any) -> _Part:
        if most >= MANY:
            part = self._sequence(body)
            for _ in range(1, min(least, MANY)):
                part = self._joined(part, self._sequence(body))
            last = self._sequence(body) if least > 1 else part
            self._connect(last, last)
            whole = part if last is part else self._joined(part, _optional(last))
            return whole if least else _optional(whole)
        whole = _Part({}, {}, empty=1)
        for _ in range(most - least):
            whole = _optional(self._joined(self._sequence(body), whole))
        for _ in range(least):
            whole = self._joined(self._sequence(body), whole)
        return whole

    def _state(self, mask: int) -> _Part:
        if not mask:
            return _Part({}, {})
        if len(self._masks) >= _MOST_STATES:
            raise _TooLarge
        self._masks.append(mask)
        state = len(self._masks) - 1
        return _Part({state: 1}, {state: 1})


def _optional(part: _Part) -> _Part:
    # An empty pass is one way however it is taken: engines stop at empty repetitions.
    return _Part(part.first, part.last, empty=1)


def _sum(base: dict[int, int], more: dict[int, int], times: int) -> dict[int, int]:
    if not times:
        return base
    total = dict(base)
    for state, ways in more.items():
        total[state] = min(2, total.get(state, 0) + ways * times)
    return total
