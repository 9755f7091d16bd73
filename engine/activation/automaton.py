"""Which literals occur in a text: all of them found in one pass over it (Aho and Corasick, design 4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, TypeVar

Key = TypeVar("Key")

# What it costs to search one literal in a text, in characters; what it costs to put one into the automaton;
# and what it costs to have an automaton at all. Measured: a character is half a nanosecond.
_SEARCH = 60
_INSERT = 5_000
_START = 800_000
# Building is due once searches have cost this part of it: who waits for one message waits for no automaton.
_EAGERNESS = 8


class LiteralIndex(Generic[Key]):
    """Finds the keys of which a literal occurs in a text.

    New literals are searched one by one, which costs nothing to prepare: a process for one message ends
    there. As searching adds up, they move into an automaton, whose pass over a text takes the same time for
    ten literals and nearly the same for a hundred thousand. Keys come and go under literals that it knows
    without touching it.

    Not safe to use from several threads at once.
    """

    def __init__(self) -> None:
        self._keys: dict[str, list[Key]] = {}
        self._new: dict[str, None] = {}
        self._automaton: Any = None
        self._spent = 0

    def __len__(self) -> int:
        """How many literals there are."""
        return len(self._keys)

    @property
    def searched(self) -> int:
        """How many of them are still searched one by one."""
        return len(self._new)

    def add(self, literals: Iterable[str], key: Key) -> None:
        """File a key under its literals, each folded and not empty."""
        for literal in literals:
            keys = self._keys.get(literal)
            if keys is not None:
                keys.append(key)
                continue
            self._keys[literal] = [key]
            if self._automaton is None or literal not in self._automaton:
                self._new[literal] = None

    def remove(self, literals: Iterable[str], key: Key) -> None:
        """Take a key away from literals it was filed under; one that is not there is ignored."""
        for literal in literals:
            keys = self._keys.get(literal, [])
            if key in keys:
                keys.remove(key)
                if not keys:
                    del self._keys[literal]
                    self._new.pop(literal, None)

    def find(self, folded: str) -> list[Key]:
        """The keys with a literal in ``folded``, which must be folded text; a key once for each of them."""
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
        import ahocorasick  # noqa: PLC0415 — .4 ms that a process for one message never pays for

        automaton = ahocorasick.Automaton()
        for literal in self._keys:
            automaton.add_word(literal, literal)
        automaton.make_automaton()
        self._automaton = automaton
        self._new = {}
        self._spent = 0
