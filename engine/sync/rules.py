"""Merges two versions of ``knowledge/rules.md`` rule by rule, by their ids; all other text as a page.

A decision of the person wins over what the program merely counted, and a rule is gone only if the person
deleted it on one side and decided nothing about it on the other. Of two decisions about whether a rule holds,
the one that tells agents less counts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from engine.rules.rulebook import HEADINGS, PATH, Rule, Rulebook, State, bytes_of, line_of, rules_in
from engine.sync import entries
from engine.sync.model import Hunk, Side

_RESTRICTIVE: tuple[State, ...] = ("in force", "waiting", "resting", "replaced", "turned down")
"""From the state that tells agents most to the one that tells them least."""
_STANDING = ("state", "accepted", "by", "ended")
"""Fields that say whether a rule holds. They are merged together."""
_PLACES = ("project", "agent", "tool", "path")
_COUNTS = ("told", "last")


@dataclass(eq=False)
class _Book:
    """One version of the file."""

    data: bytes

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


def merged(base: bytes, ours: bytes, theirs: bytes, take: Side | None = None) -> entries.Merged:
    """Merges two versions of the rules. ``take`` is the side to take where both reworded or narrowed the same
    rule.

    Raises:
        DocumentError: A version is not UTF-8 text.
    """
    return _Merge(_Book(base), _Book(ours), _Book(theirs), take).run()


@dataclass(eq=False)
class _Merge:
    base: _Book
    ours: _Book
    theirs: _Book
    take: Side | None

    def run(self) -> entries.Merged:
        self.hunks: list[Hunk] = []
        frame = entries.merged(PATH, self.base.frame, self.ours.frame, self.theirs.frame, self.take)
        found: dict[str, Rule] = {}
        for name in entries.in_order([*self.ours.rules], [*self.theirs.rules]):
            mine, other = self.ours.rules.get(name), self.theirs.rules.get(name)
            was = self.base.rules.get(name)
            if mine is not None and other is not None:
                found[name] = self._both(was, mine, other)
                continue
            rule, side = (mine, self.ours) if mine is not None else (other, self.theirs)
            assert rule is not None
            # The other side deleted it, or never had it.
            if was is None or self._has_decided(was, rule, side) or _is_persons(was, rule):
                found[name] = rule
        rules = _without_circles(found)
        if not rules and not frame.data.strip():
            return entries.Merged(b"", frame.hunks)
        data = bytes_of(Rulebook(tuple(rules), frame.data.decode("utf-8")))
        return entries.Merged(data, (*frame.hunks, *self.hunks))

    def _both(self, was: Rule | None, mine: Rule, other: Rule) -> Rule:
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
            least = max(mine, other, key=lambda rule: (_RESTRICTIVE.index(rule.state), rule.by))
            kept = least if decided[0] == decided[1] else mine if decided[0] else other
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
                left != before and _is_persons(was, mine, name),
                right != before and _is_persons(was, other, name),
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


def _fields(rule: Rule, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(rule, name) for name in names}


def _standing(rule: Rule) -> tuple[object, ...]:
    return tuple(_fields(rule, _STANDING).values())


def _is_persons(was: Rule | None, now: Rule, name: str = "") -> bool:
    """Whether the person changed the text of a rule or where it holds, or the one of these fields that is
    named. A line edited in an editor is marked as theirs later; no count changes with it.
    """
    is_by_hand = was is not None and _fields(now, _COUNTS) == _fields(was, _COUNTS)
    reworded = (was is None or now.text != was.text) and (now.own or is_by_hand)
    places = _fields(now, _PLACES)
    narrowed = now.own and (any(places.values()) if was is None else places != _fields(was, _PLACES))
    return (reworded and name in ("text", "")) or (narrowed and name != "text")


def _either(was: Any, mine: Any, other: Any) -> Any:
    """A value from the side that changed it. If both did: all of a list, otherwise the larger."""
    if isinstance(mine, tuple):
        gone = {each for each in was if each not in mine or each not in other}
        return tuple(each for each in dict.fromkeys((*mine, *other)) if each not in gone)
    if mine == other or other == was:
        return mine
    return other if mine == was else max(mine, other)


def _without_circles(rules: dict[str, Rule]) -> list[Rule]:
    """The rules; of those that replaced each other in a circle, the last one waits for the person again."""
    for name in [*rules]:
        chain: list[str] = []
        while (rule := rules.get(name)) is not None and rule.state == "replaced" and name not in chain:
            chain.append(name)
            name = rule.by
        if name in chain:
            kept = max(chain, key=lambda each: (rules[each].last, rules[each].told, each))
            rules[kept] = replace(rules[kept], state="waiting", by="", ended="")
    return [*rules.values()]
