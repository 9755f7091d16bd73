"""The difference between two prompts in plain text, in the style of ``context.explain``."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from engine.context.compiled import HISTORY_LAYER, LAYERS
from engine.context.difference import (
    ChangeKind,
    Difference,
    PrefixChange,
    SectionChange,
    Side,
    SlotChange,
)
from engine.context.explain import printable, wrapped

_MARKS: dict[ChangeKind, str] = {"came": "+", "went": "-", "changed": "~", "moved": ">"}
_HEAD = 9
_TOKENS = 15
_INDENT = " " * 6
_DIFF_LINES = 40
_TURNS_SHOWN = 4


def difference_text(difference: Difference, *, width: int = 80) -> str:
    """The changed sections by layer, with the reasons of both sides, then the budget by slot.

    ``width``: columns to fill, 60 or more. Control characters are escaped. Of a long diff only the first 40
    lines are shown.
    """
    width = max(60, width)
    lines = _summary(difference, width)
    if difference.sections:
        lines += ["", f"  {'tokens':>{_TOKENS}}  P   section"]
    for layer, group in groupby(difference.sections, key=lambda change: change.layer):
        lines.append(f"{layer:>2} {LAYERS[layer]}")
        for changes in _folded(list(group)):
            lines += _turns(changes, width) if len(changes) > 1 else _change(changes[0], difference, width)
    slots = [slot for slot in difference.slots if slot.before or slot.after]
    if not difference.equal and slots:
        lines += ["", "budget by slot", *map(_slot, slots)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _summary(difference: Difference, width: int) -> list[str]:
    rows = [("before", _total(difference, 0)), ("after", _total(difference, 1))]
    if difference.equal:
        rows.append(("same", "the two prompts are byte-identical"))
    else:
        rows += [("topics", _topics(difference)), ("prefix", _prefix(difference.prefix))]
        rows.append(("sections", _counts(difference)))
    lines: list[str] = []
    for name, text in rows:
        lines += wrapped(text, width, f"{name:<{_HEAD}}", " " * _HEAD)
    return lines


def _total(difference: Difference, number: int) -> str:
    totals = (difference.before, difference.after)[number]
    text = f"{printable(totals.name)}: {totals.tokens:,} of {totals.budget:,} tokens"
    text += f", {totals.sections:,} sections, {totals.left_out:,} pieces left out"
    return text + (f", {totals.dropped_turns:,} turns dropped" if totals.dropped_turns else "")


def _topics(difference: Difference) -> str:
    came, went = difference.topics_came, difference.topics_went
    parts = [f"+ {printable(name)}" for name in came] + [f"- {printable(name)}" for name in went]
    return "  ".join(parts) or "same topics active"


def _prefix(prefix: PrefixChange) -> str:
    if prefix.equal:
        return f"byte-identical, {prefix.before:,} characters"
    place = f"layer {prefix.layer} ({LAYERS[prefix.layer]})"
    place += f", {printable(prefix.label)}" if prefix.label else ""
    return (
        f"first difference in {place}: byte {prefix.byte:,}, line {prefix.line:,} of the prompt;"
        f" {prefix.before:,} → {prefix.after:,} characters"
    )


def _counts(difference: Difference) -> str:
    counts = Counter(change.kind for change in difference.sections)
    parts = [f"{counts[kind]:,} {kind}" for kind in _MARKS if counts[kind]]
    return ", ".join((*parts, f"{difference.unchanged:,} unchanged"))


def _folded(changes: list[SectionChange]) -> Iterator[list[SectionChange]]:
    """Single changes, but consecutive turns of a conversation that came or went as one group."""
    for _, group in groupby(changes, key=lambda change: change.kind):
        row = list(group)
        if row[0].layer == HISTORY_LAYER and not row[0].diff and len(row) > _TURNS_SHOWN:
            yield row
        else:
            yield from ([change] for change in row)


def _turns(changes: Sequence[SectionChange], width: int) -> list[str]:
    first, last = (change.label.partition(":")[2] for change in (changes[0], changes[-1]))
    tokens = sum(_own(change).tokens for change in changes)
    left = f"{_MARKS[changes[0].kind]} {tokens:>{_TOKENS},}  P{changes[0].priority}  "
    return wrapped(f"history {first} to {last}: {len(changes)} turns", width, left, _INDENT)


def _own(change: SectionChange) -> Side:
    """The later side that has a section."""
    return change.after if change.after.place else change.before


def _change(change: SectionChange, difference: Difference, width: int) -> list[str]:
    before, after = change.before, change.after
    if before.place and after.place and before.tokens != after.tokens:
        tokens = f"{before.tokens:,} → {after.tokens:,}"
    else:
        tokens = f"{_own(change).tokens:,}"
    kind, _, name = change.label.partition(":")
    own = _own(change)
    place = own.source or name
    if own.source and own.lines:
        place += f":{own.lines}"
    left = f"{_MARKS[change.kind]} {tokens:>{_TOKENS}}  P{change.priority}  "
    lines = wrapped(f"{printable(kind)}  {printable(place)}", width, left, _INDENT)
    for note in _notes(change, difference):
        lines += wrapped(note, width, _INDENT, f"{_INDENT}  ")
    for line in change.diff[:_DIFF_LINES]:
        lines += _diff_line(printable(line), width)
    rest = len(change.diff) - _DIFF_LINES
    if rest > 0:
        lines.append(f"{_INDENT}… {rest:,} of {len(change.diff):,} lines of this diff not shown; see --json")
    return lines


def _notes(change: SectionChange, difference: Difference) -> Iterator[str]:
    before, after = change.before, change.after
    names = printable(difference.before.name), printable(difference.after.name)
    if before.place and after.place:
        if before.source != after.source:
            yield f"renamed from {printable(before.source)}"
        elif change.moved:
            yield f"section {before.place} → {after.place}"
        if before.why == after.why:
            yield printable(after.why)
            return
    yield f"{names[0]}: {printable(before.why)}"
    yield f"{names[1]}: {printable(after.why)}"


def _diff_line(line: str, width: int) -> list[str]:
    """A line of a diff, wrapped if it is too long."""
    first = f"{_INDENT}{line}"
    if len(first) <= width:
        return [first]
    return textwrap.wrap(
        line,
        width,
        initial_indent=_INDENT,
        subsequent_indent=f"{_INDENT}  ",
        replace_whitespace=False,
        break_on_hyphens=False,
    )


def _slot(slot: SlotChange) -> str:
    change = f"{slot.after - slot.before:+,}" if slot.after != slot.before else ""
    return f"  P{slot.priority} {slot.name:<9} {slot.before:>8,} → {slot.after:<8,} {change}"
