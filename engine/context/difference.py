"""Compares two compiled prompts section by section (design 5).

The prompts may come from two revisions of the workspace, two turns, or two budgets.
"""

from __future__ import annotations

import difflib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from engine.context.compiled import LAYERS, Compiled, Section, SlotName
from engine.context.explain import printable, wrapped
from engine.context.stability import Break, Prefix
from engine.context.stability import compare as compare_prefixes

ChangeKind = Literal["came", "went", "changed"]

_RETRIEVED_LAYER = 10
_CONTEXT_LINES = 2
_DIFF_LINES = 40
_MARKS: dict[ChangeKind, str] = {"came": "+", "went": "-", "changed": "~"}


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
    label: str  # of the later side that has it
    layer: int
    priority: int
    slot: SlotName
    before: Side
    after: Side
    diff: tuple[str, ...]  # unified, without file names; empty unless it changed

    @property
    def own(self) -> Side:
        """The later side that has it."""
        return self.after if self.after.place else self.before


@dataclass(frozen=True, slots=True)
class Difference:
    """The differences between two prompts."""

    equal: bool  # byte-identical
    sections: tuple[SectionChange, ...]  # in the order of the prompt
    unchanged: int  # number of unchanged sections
    prefix: Break | None  # the first difference of the stable prefixes


def compare(before: Compiled, after: Compiled) -> Difference:
    """The differences between two prompts."""
    changes: list[SectionChange] = []
    unchanged = 0
    for one, other in _pairs(before.sections, after.sections):
        earlier = None if one is None else before.sections[one]
        later = None if other is None else after.sections[other]
        section = later or earlier
        assert section is not None
        if earlier is not None and later is not None and earlier.text == later.text:
            unchanged += 1
            continue
        changes.append(
            SectionChange(
                "came" if earlier is None else "went" if later is None else "changed",
                section.label,
                section.layer,
                section.priority,
                section.slot,
                _side(one, before, section),
                _side(other, after, section),
                _diff(earlier.text, later.text) if earlier is not None and later is not None else (),
            )
        )
    changes.sort(key=lambda each: (each.layer, each.own.place, each.after.place))
    one_prefix, other_prefix = (Prefix.of(each, count=len) for each in (before, after))
    prefix = compare_prefixes(one_prefix, other_prefix)
    return Difference(before.text == after.text, tuple(changes), unchanged, prefix)


def _pairs(before: Sequence[Section], after: Sequence[Section]) -> list[tuple[int | None, int | None]]:
    """The indexes of corresponding sections: those of one name with the same text or lines, then in order;
    of excerpts only the former.
    """
    right = dict(enumerate(after))
    pairs: list[tuple[int | None, int | None]] = []
    left = list(range(len(before)))
    for is_exact in (True, False):
        by_name: defaultdict[tuple[int, str, str], list[int]] = defaultdict(list)
        for at, section in right.items():
            by_name[section.layer, section.label, section.source].append(at)
        for at in tuple(left):
            own = before[at]
            alike = by_name[own.layer, own.label, own.source]
            for other in alike:
                same = after[other].text == own.text or after[other].lines == own.lines
                if same or (not is_exact and own.layer != _RETRIEVED_LAYER):
                    pairs.append((at, other))
                    alike.remove(other)
                    left.remove(at)
                    del right[other]
                    break
    return [*pairs, *((at, None) for at in left), *((None, at) for at in right)]


def _side(place: int | None, compiled: Compiled, section: Section) -> Side:
    if place is not None:
        own = compiled.sections[place]
        return Side(place + 1, own.source, own.lines, own.tokens, own.score, own.why)
    for left in compiled.left_out:
        if (left.label, left.source) == (section.label, section.source):
            return Side(0, left.source, left.lines, left.tokens, left.score, f"left out: {left.reason}")
    return Side(0, "", "", 0, None, "absent")


def _diff(before: str, after: str) -> tuple[str, ...]:
    lines = difflib.unified_diff(before.split("\n"), after.split("\n"), n=_CONTEXT_LINES, lineterm="")
    return tuple(lines)[2:]


def difference_text(
    difference: Difference, before: Compiled, after: Compiled, names: tuple[str, str], *, width: int = 80
) -> str:
    """The changed sections by layer, in plain text.

    ``width``: columns to fill, 60 or more. Control characters are escaped. Of a long diff only the first 40
    lines are shown.
    """
    lines: list[str] = []
    for title, name, each in zip(("before", "after"), names, (before, after), strict=True):
        row = f"{printable(name)}: {each.tokens:,} of {each.budget:,} tokens, {len(each.sections):,} sections"
        lines += wrapped(row, width, f"{title:<9}", " " * 9)
    if difference.equal:
        return "\n".join((*lines, "same     the two prompts are byte-identical\n"))
    lines += wrapped(prefix_words(difference.prefix), width, "prefix   ", " " * 9)
    counts = Counter(change.kind for change in difference.sections)
    parts = [f"{counts[kind]:,} {kind}" for kind in _MARKS if counts[kind]]
    lines.append(f"sections {', '.join((*parts, f'{difference.unchanged:,} unchanged'))}")
    for layer, changes in groupby(difference.sections, key=lambda change: change.layer):
        lines += ["", f"{layer:>2} {LAYERS[layer]}"]
        for change in changes:
            lines += _change(change, names, width)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def prefix_words(found: Break | None) -> str:
    """Where the stable prefix first differs."""
    if found is None:
        return "byte-identical"
    place = f"layer {found.layer} ({found.name}), {printable(found.label)}"
    return f"first difference in {place}: byte {found.byte:,}"


def _change(change: SectionChange, names: tuple[str, str], width: int) -> Iterator[str]:
    own, sides = change.own, (change.before, change.after)
    sizes = dict.fromkeys(f"{side.tokens:,}" for side in sides if side.place)
    kind, _, name = change.label.partition(":")
    place = (own.source or name) + (f":{own.lines}" if own.source and own.lines else "")
    yield from wrapped(
        f"{' → '.join(sizes)} tokens  P{change.priority}  {printable(kind)}  {printable(place)}",
        width, f"{_MARKS[change.kind]} ", "      ",
    )  # fmt: skip
    whys = {name: printable(side.why) for name, side in zip(names, sides, strict=True)}
    same = change.before.why == change.after.why
    for line in [whys[names[1]]] if same else [f"{printable(name)}: {why}" for name, why in whys.items()]:
        yield from wrapped(line, width, "      ", "        ")
    for line in change.diff[:_DIFF_LINES]:
        yield f"      {printable(line)}"
    if len(change.diff) > _DIFF_LINES:
        yield f"      … {len(change.diff) - _DIFF_LINES:,} more lines of this diff; see --json"
