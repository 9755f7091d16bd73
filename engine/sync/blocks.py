"""The entries and paragraphs of a section: what a side changed, and the order and spacing of both sides'."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import pairwise

_MIN_SIMILARITY = 0.6
"""Similarity ratio from which an entry counts as an edit of another."""
_LONG = 4_000
"""Longer texts, in characters, are compared by lines."""


@dataclass(frozen=True, slots=True)
class Block:
    """An entry, a paragraph or a code block, with the blank lines above it."""

    text: str
    gap: int = field(compare=False, default=0)
    key: tuple[str, str] = field(compare=False, default=("", ""))
    """Text and source of an entry: the same harvest on two days is one entry."""
    day: str = field(compare=False, default="")

    @property
    def is_entry(self) -> bool:
        """True for a list entry."""
        return any(self.key)


@dataclass(frozen=True, slots=True)
class Changes:
    """What a side did with the blocks of the base."""

    versions: tuple[Block | None, ...]  # the side's version of each; ``None`` if deleted
    added: tuple[tuple[Block, ...], ...]  # new blocks before each, and after the last


def changes(base: Sequence[Block], side: Sequence[Block]) -> Changes:
    """What a side changed, added and deleted; an edited block is matched with what it was."""
    versions: list[Block | None] = [None] * len(base)
    added: list[list[Block]] = [[] for _ in range(len(base) + 1)]
    match = SequenceMatcher(None, [each.text for each in base], [each.text for each in side], autojunk=False)
    for kind, first, last, start, end in match.get_opcodes():
        if kind == "equal":
            versions[first:last] = side[start:end]
            continue
        place = first
        for number, block in enumerate(side[start:end], start + 1):
            old = next((at for at in range(place, last) if _is_edited(base[at], block)), None)
            if old is None and place < last and _is_rewritten(base[place], block, side[number:end]):
                old = place
            if old is None:
                added[place].append(block)
            else:
                versions[old] = block
                place = old + 1
    return Changes(tuple(versions), tuple(map(tuple, added)))


def _is_edited(old: Block, new: Block) -> bool:
    return (old.is_entry and old.key[0] == new.key[0]) or is_alike(old.text, new.text)


def _is_rewritten(old: Block, new: Block, later: Sequence[Block]) -> bool:
    """True if a paragraph stands for another one that is gone."""
    return not (old.is_entry or new.is_entry or any(_is_edited(old, block) for block in later))


def is_alike(old: str, new: str) -> bool:
    """Whether one text is likely an edit of the other."""
    if max(len(old), len(new)) > _LONG:
        match = SequenceMatcher(None, old.split("\n"), new.split("\n"), autojunk=False)
        return match.ratio() >= _MIN_SIMILARITY
    by_characters = SequenceMatcher(None, old, new, autojunk=False)
    return all(
        ratio() >= _MIN_SIMILARITY
        for ratio in (by_characters.real_quick_ratio, by_characters.quick_ratio, by_characters.ratio)
    )


def both(ours: Sequence[Block], theirs: Sequence[Block]) -> list[Block]:
    """Both sides' additions at one place, without duplicates: by the entries' days, otherwise ours first."""
    known = {each.text for each in ours} | {each.key for each in ours if each.is_entry}
    new = [each for each in theirs if each.text not in known and each.key not in known]
    found: list[Block] = []
    left = list(ours)
    for block in new:
        while left and (not block.day or left[0].day <= block.day):
            found.append(left.pop(0))
        found.append(block)
    return found + left


def spaced(blocks: Sequence[Block], *sides: Sequence[Block]) -> list[Block]:
    """The blocks with the usual spacing of entries: a block that was first on its side may not be here. A
    paragraph never becomes a part of the block above it.
    """
    usual = min((block.gap for side in sides for block in side[1:] if block.is_entry), default=0)
    first = max((side[0].gap for side in sides if side), default=0)
    together = {
        (above.text, block.text)
        for side in sides
        for above, block in pairwise(side)
        if not (block.gap or block.is_entry)
    }
    found: list[Block] = []
    for at, block in enumerate(blocks):
        gap = block.gap
        if not at:
            gap = first
        elif block.is_entry:
            gap = usual if blocks[at - 1].is_entry else gap
        elif (blocks[at - 1].text, block.text) not in together:
            gap = max(gap, 1)
        found.append(replace(block, gap=gap))
    return found
