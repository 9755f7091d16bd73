"""Two ledgers made one, entry by entry: the later one wins, and what either proves stays proven."""

from __future__ import annotations

from typing import Any

from engine.errors import AutopoiesisError
from engine.knowledge import ledger

_Tree = dict[str, Any]


def merged(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """The entries of both sides; ``None`` where a side cannot be read as a ledger."""
    try:
        left, right = ledger.trees_of(ours), ledger.trees_of(theirs)
        before = ledger.trees_of(base) if base else {}
    except AutopoiesisError:
        return None
    new = sorted(right.keys() - left.keys(), key=lambda name: (str(right[name].get("at", "")), name))
    trees = dict(left)
    for name in right.keys() & left.keys():
        trees[name] = _entry(before.get(name, {}), left[name], right[name])
    return ledger.bytes_of(trees | {name: right[name] for name in new})


def _weight(entry: _Tree) -> tuple[bool, str]:
    """What counts more: a harvest that succeeded over one that failed after it, else the later entry."""
    return entry["status"] == "harvested", str(entry["at"])


def _entry(base: _Tree, ours: _Tree, theirs: _Tree) -> _Tree:
    """One entry: each field as the side has it that changed it; where both did, as the later one.

    Lines and items for review that were recorded stay recorded, whichever side it was: they say where the
    knowledge of a conversation stands. A conversation that a person took back is not reclaimed by the other
    side's older word.
    """
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    earlier, later = sorted((ours, theirs), key=_weight)
    found: _Tree = {}
    for name in [*later, *(each for each in earlier if each not in later)]:
        was, now, other = base.get(name), later.get(name), earlier.get(name)
        value = other if now == was and other != was else now
        if value is not None:
            found[name] = value
    for name in ("lines", "held"):
        both = [*earlier.get(name, ()), *later.get(name, ())]
        if both:
            found[name] = [each for at, each in enumerate(both) if each not in both[:at]]
    if found.get("restored"):
        found["deleted"] = False
    return found
