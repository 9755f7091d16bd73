"""Merges two ledgers entry by entry: the later entry wins, but recorded facts of either side are kept."""

from __future__ import annotations

from typing import Any

from engine.errors import AutopoiesisError
from engine.knowledge import ledger

_Tree = dict[str, Any]


def merged(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """The entries of both sides; ``None`` if a side is not a readable ledger."""
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
    """Sort key: a successful harvest beats a later failed one; otherwise the later entry wins."""
    return entry["status"] == "harvested", str(entry["at"])


def _entry(base: _Tree, ours: _Tree, theirs: _Tree) -> _Tree:
    """Takes each field from the side that changed it, or from the later entry if both did.

    Recorded lines and review items of both sides are kept: they say where a conversation's knowledge is. A
    conversation that the user restored is not reclaimed because of the other side's older entry.
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
