"""Finds which of many literals occur in a text in one pass (Aho–Corasick, design 4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, TypeVar

Key = TypeVar("Key")

# Measured costs of searching one literal in a text, of adding one to the automaton, and of building an
# automaton at all, in characters of half a nanosecond.
_SEARCH = 60
_INSERT = 5_000
_START = 800_000
# The automaton is built once searches have cost 1/8 of it, so a process for one message never builds it.
_EAGERNESS = 8


class LiteralIndex(Generic[Key]):
    """Finds the keys that have a literal in a text.

    New literals are searched one by one, which needs no preparation. As searches add up, literals move into
    an automaton, whose pass over a text takes about the same time for ten literals as for a hundred thousand.
    Adding and removing keys of known literals does not change it. Not thread-safe.
    """

    def __init__(self) -> None:
        self._keys: dict[str, list[Key]] = {}
        self._new: dict[str, None] = {}
        self._automaton: Any = None
        self._spent = 0

    def __len__(self) -> int:
        """Number of literals."""
        return len(self._keys)

    @property
    def searched(self) -> int:
        """Number of literals that are still searched one by one."""
        return len(self._new)

    def add(self, literals: Iterable[str], key: Key) -> None:
        """Adds a key under its literals, each folded and not empty."""
        for literal in literals:
            keys = self._keys.get(literal)
            if keys is not None:
                keys.append(key)
                continue
            self._keys[literal] = [key]
            if self._automaton is None or literal not in self._automaton:
                self._new[literal] = None

    def remove(self, literals: Iterable[str], key: Key) -> None:
        """Removes a key from literals; missing ones are ignored."""
        for literal in literals:
            keys = self._keys.get(literal, [])
            if key in keys:
                keys.remove(key)
                if not keys:
                    del self._keys[literal]
                    self._new.pop(literal, None)

    def find(self, folded: str) -> list[Key]:
        """The keys with a literal in a folded text; once for each of the literals."""
        found: set[str] = set()
        if self._automaton is not None:
            found = {literal for _, literal in self._automaton.iter(folded)}
        if self._new:
            found.update([literal for literal in self._new if literal in folded])
            self._spent += len(self._new) * (len(folded) + _SEARCH)
            if self._spent * _EAGERNESS > _START + _INSERT * len(self._keys):
                self._build()
        return [key for literal in found for key in self._keys.get(literal, ())]

    def _build(self) -> None:
        import ahocorasick  # noqa: PLC0415 — .4 ms that a process for one message never needs

        automaton = ahocorasick.Automaton()
        for literal in self._keys:
            automaton.add_word(literal, literal)
        automaton.make_automaton()
        self._automaton = automaton
        self._new = {}
        self._spent = 0
