"""Compares two compiled prompts section by section, with reasons (design 5).

The prompts may come from two revisions of the workspace, two turns, or two budgets.
"""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from engine.context.compiled import LAST_STABLE_LAYER, Compiled, LeftOut, Section, Slot, SlotName
from engine.context.stability import encoded, first_difference, section_ends

ChangeKind = Literal["came", "went", "changed", "moved"]

_CONTEXT_LINES = 2

_NOT_THERE = {
    "topic": "the topic was not active",
    "subscription": "no active topic subscribed to it",
    "steering": "no output watcher had fired",
    "history": "the conversation had no such turn within the window",
}
_NOT_FOUND = "the search did not return it"
_NO_FILE = "the file did not exist or was empty"
_RETRIEVED_LAYER = 10


@dataclass(frozen=True, slots=True)
class Side:
    """A section on one side, or what is known about it if it is not in that prompt."""

    place: int  # its number among the sections of the prompt, from 1; 0 if it is absent
    source: str  # workspace-relative path; empty if it is not from a file
    lines: str  # ``"12-40"``, 1-based and inclusive; empty for the whole file
    tokens: int  # of its text, or of what was left out
    score: float | None  # relevance, if ranked
    why: str  # why it is in the prompt, or why not


@dataclass(frozen=True, slots=True)
class SectionChange:
    """A section that differs between the two sides."""

    kind: ChangeKind
    """``changed``: another text; ``moved``: the same text at another place, or from another source."""
    label: str  # of the later side that has it
    layer: int
    priority: int
    slot: SlotName
    before: Side
    after: Side
    moved: bool  # whether its order among the common sections differs
    diff: tuple[str, ...]  # unified, without file names; empty if the text is the same


@dataclass(frozen=True, slots=True)
class SlotChange:
    """One line of the budget on both sides, in tokens; a cap of ``None`` is the remainder."""

    name: SlotName
    priority: int
    before: int
    after: int
    cap_before: int | None
    cap_after: int | None


@dataclass(frozen=True, slots=True)
class PrefixChange:
    """The stable prefix on both sides."""

    equal: bool
    before: int  # characters
    after: int
    layer: int = 0  # the first layer that differs; this and the following are empty if equal
    label: str = ""  # the section of the first difference, from the side where it comes first
    source: str = ""
    byte: int = 0  # offset of the first byte of the prompt's UTF-8 that differs
    line: int = 0  # its line in the prompt, 1-based


@dataclass(frozen=True, slots=True)
class Totals:
    """One prompt as a whole; tokens as in ``Compiled``."""

    name: str
    tokens: int
    budget: int
    sections: int
    left_out: int
    dropped_turns: int


@dataclass(frozen=True, slots=True)
class Difference:
    """The differences between two prompts."""

    equal: bool  # byte-identical
    before: Totals
    after: Totals
    sections: tuple[SectionChange, ...]  # in the order of the prompt
    unchanged: int  # number of unchanged sections
    topics_came: tuple[str, ...]
    topics_went: tuple[str, ...]
    slots: tuple[SlotChange, ...]
    prefix: PrefixChange


def compare(before: Compiled, after: Compiled, names: tuple[str, str] = ("before", "after")) -> Difference:
    """The differences between two prompts, which are called ``names``."""
    pairs = _pairs(before.sections, after.sections)
    moved = _moved([pair for pair in pairs if pair[0] is not None and pair[1] is not None])
    changes: list[tuple[tuple[int, int, int], SectionChange]] = []
    unchanged = 0
    for pair in pairs:
        change = _change(pair, before, after, pair in moved)
        if change is None:
            unchanged += 1
        else:
            # Removed sections are listed at their former place.
            place = change.after.place or change.before.place
            changes.append(((change.layer, place, change.after.place), change))
    changes.sort(key=lambda entry: entry[0])
    return Difference(
        equal=before.text == after.text,
        before=_totals(before, names[0]),
        after=_totals(after, names[1]),
        sections=tuple(change for _, change in changes),
        unchanged=unchanged,
        topics_came=tuple(sorted(set(after.active_topics) - set(before.active_topics))),
        topics_went=tuple(sorted(set(before.active_topics) - set(after.active_topics))),
        slots=_slots(before, after),
        prefix=_prefix(before, after),
    )


_Place = int | None
_Pair = tuple[_Place, _Place]


def _pairs(before: Sequence[Section], after: Sequence[Section]) -> list[_Pair]:
    """Pairs of indexes of corresponding sections: by text first, then by lines, then in order.

    Sections of one layer with the same text but different names correspond: the file was renamed.
    """
    rounds: tuple[Callable[[Section], object], ...] = (
        lambda section: (section.layer, section.label, section.source, section.lines, section.text),
        lambda section: (section.layer, section.label, section.source, section.text),
        lambda section: (section.layer, section.label, section.source, section.lines),
        lambda section: (section.layer, section.label, section.source),
        lambda section: (section.layer, section.text),
    )
    left, right = dict(enumerate(before)), dict(enumerate(after))
    pairs: list[_Pair] = []
    for key in rounds:
        by_key: defaultdict[object, list[int]] = defaultdict(list)
        for index, section in right.items():
            by_key[key(section)].append(index)
        for index, section in list(left.items()):
            same = by_key.get(key(section), [])
            found = next((other for other in same if _may_be(section, after[other])), None)
            if found is not None:
                same.remove(found)
                pairs.append((index, found))
                del left[index], right[found]
    return [*pairs, *((index, None) for index in left), *((None, index) for index in right)]


def _may_be(earlier: Section, later: Section) -> bool:
    """Whether two sections of one name may correspond; excerpts of a file do if they overlap."""
    if earlier.layer != _RETRIEVED_LAYER or earlier.text == later.text:
        return True
    first, last = _span(earlier)
    other_first, other_last = _span(later)
    return first <= other_last and other_first <= last


def _span(section: Section) -> tuple[int, int]:
    first, _, last = section.lines.partition("-")
    return (int(first), int(last)) if first.isdecimal() and last.isdecimal() else (1, 1 << 62)


def _moved(pairs: Iterable[_Pair]) -> set[_Pair]:
    """The smallest set of pairs without which the rest is in the same order on both sides."""
    ordered = sorted(pairs)
    ends: list[int] = []
    last: list[int] = []
    previous: list[int] = []
    for index, (_, place) in enumerate(ordered):
        assert place is not None
        length = bisect_left(ends, place)
        ends[length:] = [place, *ends[length + 1 :]]
        last[length:] = [index, *last[length + 1 :]]
        previous.append(last[length - 1] if length else -1)
    kept: set[int] = set()
    index = last[-1] if last else -1
    while index >= 0:
        kept.add(index)
        index = previous[index]
    return {pair for index, pair in enumerate(ordered) if index not in kept}


def _change(pair: _Pair, before: Compiled, after: Compiled, moved: bool) -> SectionChange | None:
    earlier = None if pair[0] is None else before.sections[pair[0]]
    later = None if pair[1] is None else after.sections[pair[1]]
    section = later or earlier
    assert section is not None
    kind: ChangeKind
    diff: tuple[str, ...] = ()
    if earlier is None:
        kind = "came"
    elif later is None:
        kind = "went"
    elif earlier.text != later.text:
        kind = "changed"
        diff = _diff(earlier.text, later.text)
    elif moved or earlier.source != later.source or earlier.label != later.label:
        kind = "moved"
    else:
        return None
    return SectionChange(
        kind=kind,
        label=section.label,
        layer=section.layer,
        priority=section.priority,
        slot=section.slot,
        before=_side(pair[0], before, section),
        after=_side(pair[1], after, section),
        moved=moved,
        diff=diff,
    )


def _side(place: _Place, compiled: Compiled, section: Section) -> Side:
    if place is not None:
        own = compiled.sections[place]
        return Side(place + 1, own.source, own.lines, own.tokens, own.score, own.why)
    left = _left_out(compiled.left_out, section)
    if left is not None:
        return Side(0, left.source, left.lines, left.tokens, left.score, f"left out: {left.reason}")
    return Side(0, "", "", 0, None, f"absent: {_absence(section)}")


def _left_out(left_out: Iterable[LeftOut], section: Section) -> LeftOut | None:
    """The record of this section among those left out, preferably with the same lines."""
    same = [left for left in left_out if (left.label, left.source) == (section.label, section.source)]
    return next((left for left in same if left.lines == section.lines), same[0] if same else None)


def _absence(section: Section) -> str:
    """Why a section may be neither in a prompt nor left out of it."""
    if section.layer == _RETRIEVED_LAYER:
        return _NOT_FOUND
    return _NOT_THERE.get(section.label.partition(":")[0], _NO_FILE)


def _diff(before: str, after: str) -> tuple[str, ...]:
    lines = difflib.unified_diff(before.split("\n"), after.split("\n"), n=_CONTEXT_LINES, lineterm="")
    return tuple(lines)[2:]


def _slots(before: Compiled, after: Compiled) -> tuple[SlotChange, ...]:
    rows = {slot.name: Slot(slot.name, slot.priority, 0, None) for slot in (*before.slots, *after.slots)}
    left = rows | {slot.name: slot for slot in before.slots}
    right = rows | {slot.name: slot for slot in after.slots}
    return tuple(
        SlotChange(name, row.priority, left[name].used, right[name].used, left[name].cap, right[name].cap)
        for name, row in rows.items()
    )


def _totals(compiled: Compiled, name: str) -> Totals:
    return Totals(
        name,
        compiled.tokens,
        compiled.budget,
        len(compiled.sections),
        len(compiled.left_out),
        compiled.dropped_turns,
    )


def _prefix(before: Compiled, after: Compiled) -> PrefixChange:
    one, other = (each.text[: each.stable_prefix_length] for each in (before, after))
    if one == other:
        return PrefixChange(True, len(one), len(other))
    data = encoded(one)
    byte = first_difference(data, encoded(other))
    # Two characters may start with the same bytes; the incomplete one is not counted.
    same = len(data[:byte].decode("utf-8", "ignore"))
    at = [found for found in (_section_at(before, same), _section_at(after, same)) if found is not None]
    first = min(at, key=lambda section: section.layer) if at else None
    return PrefixChange(
        equal=False,
        before=len(one),
        after=len(other),
        layer=first.layer if first else LAST_STABLE_LAYER,
        label=first.label if first else "",
        source=first.source if first else "",
        byte=byte,
        line=one.count("\n", 0, same) + 1,
    )


def _section_at(compiled: Compiled, offset: int) -> Section | None:
    """The stable section, including its marker, that contains a character of the prompt."""
    ends = zip(compiled.sections, section_ends(compiled), strict=False)
    return next((section for section, end in ends if offset < end), None)
