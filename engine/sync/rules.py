"""Merges two versions of ``knowledge/rules.md`` rule by rule, by their ids; all other text as a page.

A decision of the person wins over what the program merely counted, and a rule is gone only if the person
deleted it on one side and decided nothing about it on the other. Of two decisions about whether a rule holds,
the one of the later day counts, and of the same day the one that tells agents less.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from engine.rules.rulebook import HEADINGS, PATH, Rule, Rulebook, State, bytes_of, line_of, rules_in
from engine.sync import entries
from engine.sync.model import Hunk, Side

Versions = Sequence[tuple[str, bytes]]
"""The versions of a file on one side since the base, oldest first, each with its day, ``YYYY-MM-DD``."""
Histories = tuple[Versions, Versions]

_RESTRICTIVE: tuple[State, ...] = ("in force", "waiting", "resting", "replaced", "turned down")
"""From the state that tells agents most to the one that tells them least."""
_STANDING = ("state", "accepted", "by", "ended")
"""Fields that say whether a rule holds. They are merged together."""
_PLACES = ("project", "agent", "tool", "path")
_COUNTS = ("told", "last")
_MARKS = re.compile(r"\{#(?P<id>[0-9a-f]{7})(?P<marks>(?: [a-z]+=[^\s{}]++)*+)\}\s*$")
_KNOWN = frozenset(field.name for field in dataclasses.fields(Rule))

_Marks = Mapping[str, str]


@dataclass(eq=False)
class _Book:
    """One version of the file."""

    data: bytes
    versions: Versions = ()

    @cached_property
    def book(self) -> Rulebook:
        return rules_in(self.data)

    @cached_property
    def rules(self) -> Mapping[str, Rule]:
        return {rule.id: rule for rule in self.book.rules}

    @cached_property
    def joined(self) -> frozenset[str]:
        """The ids of rules that were merged into others."""
        return frozenset(name for rule in self.book.rules for name in rule.also)

    @cached_property
    def frame(self) -> bytes:
        """The file without its rules."""
        return bytes_of(replace(self.book, rules=())) if self.data.strip() else b""

    @cached_property
    def marks(self) -> Mapping[str, _Marks]:
        """By rule, the marks in its braces that this version of the program does not know."""
        found: dict[str, _Marks] = {}
        for line in self.book.text.split("\n"):
            match = _MARKS.search(line)
            if match and match["id"] not in found:
                every = dict(mark.split("=", 1) for mark in match["marks"].split())
                found[match["id"]] = {name: value for name, value in every.items() if name not in _KNOWN}
        return found

    @cached_property
    def past(self) -> Sequence[tuple[str, _Book]]:
        """The versions since the base; read once they are known."""
        return [(day, _Book(data)) for day, data in self.versions]

    def last_of(self, name: str) -> Rule | None:
        """A rule as it was before this side deleted it."""
        return next((book.rules[name] for _, book in reversed(self.past) if name in book.rules), None)

    def day_of(self, base: _Book, name: str) -> str:
        """The day this side last changed whether a rule holds; empty if unknown."""
        before, day = base.rules.get(name), ""
        for at, book in self.past:
            rule = book.rules.get(name)
            if rule is not None and (before is None or _standing(rule) != _standing(before)):
                day = at
            before = rule
        return day

    def has_by_hand(self, base: _Book, now: Rule) -> bool:
        """Whether this side's text of a rule was written in an editor: no count changed with it."""
        before, found = base.rules.get(now.id), ""
        for book in (*(each for _, each in self.past), self):
            rule = book.rules.get(now.id)
            if rule is not None and before is not None and _fields(rule, _COUNTS) == _fields(before, _COUNTS):
                found = rule.text if rule.text != before.text else found
            before = rule
        return found == now.text


def merged(
    base: bytes,
    ours: bytes,
    theirs: bytes,
    take: Side | None = None,
    history: Callable[[], Histories] = lambda: ((), ()),
) -> entries.Merged:
    """Merges two versions of the rules.

    Args:
        take: The side to take where both reworded or narrowed the same rule.
        history: Returns each side's versions since the base; called only if they matter.

    Raises:
        DocumentError: A version is not UTF-8 text.
    """
    return _Merge(_Book(base), _Book(ours), _Book(theirs), take, history).run()


@dataclass(eq=False)
class _Merge:
    base: _Book
    ours: _Book
    theirs: _Book
    take: Side | None
    history: Callable[[], Histories]
    _has_histories: bool = False

    def run(self) -> entries.Merged:
        self.hunks: list[Hunk] = []
        frame = entries.merged(PATH, self.base.frame, self.ours.frame, self.theirs.frame, self.take)
        found: dict[str, Rule] = {}
        for name in entries.in_order([*self.ours.rules], [*self.theirs.rules]):
            mine, other = self.ours.rules.get(name), self.theirs.rules.get(name)
            if mine is not None and other is not None:
                found[name] = self._both(name, mine, other)
            elif mine is not None and self._stays(name, mine, self.ours, self.theirs):
                found[name] = mine
            elif other is not None and self._stays(name, other, self.theirs, self.ours):
                found[name] = other
        rules = self._consistent(found)
        if not rules and not frame.data.strip():
            return entries.Merged(b"", frame.hunks)
        data = bytes_of(Rulebook(tuple(rules), frame.data.decode("utf-8")))
        return entries.Merged(self._with_marks(data, rules), (*frame.hunks, *self.hunks))

    def _stays(self, name: str, rule: Rule, side: _Book, without: _Book) -> bool:
        """Whether a rule stays that only one side has: one that the other never had, or one about which the
        person decided something here after deleting it there. Both may have learned it since the base.
        """
        was = self.base.rules.get(name)
        if was is None:
            self._read_histories()
            was = without.last_of(name)
        return was is None or any(
            (
                self._has_decided(was, rule, side),
                self._has_reworded(was, rule, side),
                _has_narrowed(was, rule),
                set(rule.also) - set(was.also),
            )
        )

    def _both(self, name: str, mine: Rule, other: Rule) -> Rule:
        was = self.base.rules.get(name)
        if mine == other or other == was:
            return mine
        if mine == was:
            return other
        values: dict[str, Any] = {
            **self._standing(was, mine, other),
            **self._words(was, mine, other),
            "told": max(mine.told, other.told),
            "last": max(mine.last, other.last),
        }
        for field in dataclasses.fields(Rule):
            if field.name not in values:
                before = getattr(was, field.name) if was is not None else field.default
                values[field.name] = _either(before, getattr(mine, field.name), getattr(other, field.name))
        return Rule(**values)

    def _standing(self, was: Rule | None, mine: Rule, other: Rule) -> dict[str, Any]:
        """Whether the rule holds."""
        before, left, right = (_standing(rule) if rule is not None else None for rule in (was, mine, other))
        if left == right or right == before:
            kept = mine
        elif left == before:
            kept = other
        else:
            decided = (
                self._has_decided(was, mine, self.ours),
                self._has_decided(was, other, self.theirs),
            )
            kept = self._later(mine, other) if decided[0] == decided[1] else mine if decided[0] else other
            if all(decided) and mine.state == other.state:
                return {**_fields(kept, _STANDING), "accepted": max(mine.accepted, other.accepted)}
        return _fields(kept, _STANDING)

    def _has_decided(self, was: Rule | None, now: Rule, side: _Book) -> bool:
        """Whether the person decided on a side that a rule holds or does not. Because of what they say in
        sessions the program puts rules in force, back to waiting, or out for a later one; it accepts, rests
        and turns down none.
        """
        is_merged = now.state == "replaced" and now.id in side.joined
        is_out = is_merged or now.state in ("turned down", "resting")
        if was is None:
            return now.decided or is_out
        if _standing(now) == _standing(was):
            return False
        was_out = was.state == "turned down" or (was.state == "replaced" and was.id in self.base.joined)
        is_by_hand = now.state == "replaced" and not now.by and not now.ended
        return is_out or was_out or is_by_hand or now.accepted != was.accepted

    def _later(self, mine: Rule, other: Rule) -> Rule:
        """The one of the later decision; of two on the same day the one that tells agents less."""
        self._read_histories()
        days = self.ours.day_of(self.base, mine.id), self.theirs.day_of(self.base, other.id)
        if all(days) and days[0] != days[1]:
            return mine if days[0] > days[1] else other
        return max(mine, other, key=lambda rule: (_RESTRICTIVE.index(rule.state), rule.by))

    def _read_histories(self) -> None:
        if not self._has_histories:
            self.ours.versions, self.theirs.versions = self.history()
            self._has_histories = True

    def _is_persons(self, name: str, was: Rule | None, now: Rule, side: _Book) -> bool:
        """Whether the person changed the text of a rule, or where it holds."""
        return self._has_reworded(was, now, side) if name == "text" else _has_narrowed(was, now)

    def _has_reworded(self, was: Rule | None, now: Rule, side: _Book) -> bool:
        """Whether the person changed the text. A line edited by hand is marked as theirs later."""
        if was is None or now.own:
            return now.own and (was is None or now.text != was.text)
        if now.text == was.text:
            return False
        self._read_histories()
        return side.has_by_hand(self.base, now)

    def _words(self, was: Rule | None, mine: Rule, other: Rule) -> dict[str, Any]:
        """The text of the rule and where it holds: from the person, otherwise from the side that changed it.
        If the person changed it on both sides, it is a conflict.
        """
        in_conflict = False
        found: dict[str, Any] = {}
        for name in ("text", *_PLACES):
            before = getattr(was, name) if was is not None else None
            left, right = getattr(mine, name), getattr(other, name)
            persons = (
                left != before and self._is_persons(name, was, mine, self.ours),
                right != before and self._is_persons(name, was, other, self.theirs),
            )
            if left == right:
                found[name] = left
            elif all(persons):
                in_conflict = True
                found[name] = right if self.take == "theirs" else left
            elif any(persons):
                found[name] = left if persons[0] else right
            elif mine.decided != other.decided:
                found[name] = left if mine.decided else right
            elif before in (left, right):
                found[name] = right if left == before else left
            else:
                by_count = max(mine, other, key=lambda rule: (rule.told, rule.last, rule.text))
                found[name] = by_count.text if name == "text" else ""
        if in_conflict:
            before = line_of(was) if was is not None else ""
            self.hunks.append(Hunk(before, line_of(mine), line_of(other), HEADINGS[mine.state]))
        return found

    def _consistent(self, found: dict[str, Rule]) -> list[Rule]:
        """The rules, so that none is replaced in a circle, and what was merged into a rule that was itself
        merged counts for the last one.
        """
        for name in [*found]:
            circle = _circle(found, name)
            if circle:
                kept = max(circle, key=lambda rule: (rule.last, rule.told, rule.id))
                sides = [side.rules.get(kept.id) for side in (self.ours, self.theirs)]
                before = next((rule for rule in sides if rule and rule.state != "replaced"), None)
                state: State = before.state if before else "waiting"
                found[kept.id] = replace(kept, state=state, by="", ended="")
        joined = self.ours.joined | self.theirs.joined
        also: dict[str, list[str]] = {name: [] for name in found}
        for rule in found.values():
            for name in rule.also:
                known = found.get(name)
                if known is None or known.state == "replaced":
                    target = _last(found, joined, rule.id if known is None else name)
                    if target != name and name not in also[target]:
                        also[target].append(name)
        return [replace(rule, also=tuple(also[rule.id])) for rule in found.values()]

    def _with_marks(self, data: bytes, rules: Iterable[Rule]) -> bytes:
        """The file, with the unknown marks of both sides in the rules' braces."""
        for rule in rules:
            was, mine, other = (side.marks.get(rule.id, {}) for side in (self.base, self.ours, self.theirs))
            names = dict.fromkeys([*mine, *other])
            marks = {
                name: _either(was.get(name, ""), mine.get(name, ""), other.get(name, "")) for name in names
            }
            more = "".join(f" {name}={value}" for name, value in marks.items() if value)
            if more:
                line = line_of(rule).encode()
                data = data.replace(line, line[:-1] + more.encode() + b"}", 1)
        return data


def _fields(rule: Rule, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(rule, name) for name in names}


def _standing(rule: Rule) -> tuple[object, ...]:
    return tuple(_fields(rule, _STANDING).values())


def _has_narrowed(was: Rule | None, now: Rule) -> bool:
    """Whether the person changed where the rule holds."""
    places = _fields(now, _PLACES)
    return now.own and (any(places.values()) if was is None else places != _fields(was, _PLACES))


def _either(was: Any, mine: Any, other: Any) -> Any:
    """A value from the side that changed it. If both did: all of a list, otherwise the larger."""
    if isinstance(mine, tuple):
        gone = {each for each in was if each not in mine or each not in other}
        return tuple(each for each in dict.fromkeys((*mine, *other)) if each not in gone)
    if mine == other or other == was:
        return mine
    return other if mine == was else max(mine, other)


def _circle(rules: Mapping[str, Rule], name: str) -> list[Rule]:
    """The rules that replaced each other, starting with one of them; empty if its chain ends."""
    chain: list[Rule] = []
    while (rule := rules.get(name)) is not None and rule.state == "replaced" and rule.by:
        if rule in chain:
            return chain[chain.index(rule) :]
        chain.append(rule)
        name = rule.by
    return []


def _last(rules: Mapping[str, Rule], joined: frozenset[str], name: str) -> str:
    """The id of the rule that a rule was merged into, directly or by others."""
    rule = rules[name]
    while rule.state == "replaced" and rule.id in joined and rule.by in rules:
        rule = rules[rule.by]
    return rule.id
