"""Merges Markdown files that git cannot: section by section, and within one entry by entry and paragraph by
paragraph.

Both machines usually append to the same list or page, which git reports as a conflict. Here what either added
stays, in each side's order, and what one took out and the other left as it was is gone. Only a piece that
both replaced by something else is a conflict, and a decision is about such pieces alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TypeVar

from engine.knowledge.category_files import Entry, entries
from engine.knowledge.item import normalised
from engine.store.header import locate
from engine.store.markdown import code_lines, sections
from engine.sync.model import Hunk, Side

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Block:
    """An entry, a paragraph or a code block, with the blank lines above it."""

    text: str
    gap: int = field(compare=False)
    name: tuple[str, str]
    """Of an entry its text and source: the same harvest on two days is one entry. Else its text."""
    day: str = ""  # of an entry
    is_entry: bool = False


@dataclass(frozen=True, slots=True)
class _Section:
    heading: str
    blocks: tuple[Block, ...]
    gap: int  # blank lines above its heading
    title: str
    lead: int = 0  # blank lines below its heading
    apart: int = 0  # blank lines between its entries


@dataclass(frozen=True, slots=True)
class Merged:
    """The merged file; if there are hunks, it has the pieces of the side to take, or else ours."""

    data: bytes
    hunks: tuple[Hunk, ...] = ()


def merged(path: str, base: bytes, ours: bytes, theirs: bytes, take: Side | None = None) -> Merged:
    """Merges two versions of a Markdown file. ``take`` is the side to take where both wrote a piece anew."""
    sides = (base, ours, theirs)
    if b"\r\n" in base + ours + theirs:
        is_crlf = [b"\r\n" in side for side in sides]
        plain = [side.replace(b"\r\n", b"\n") for side in sides]
        made = merged(path, plain[0], plain[1], plain[2], take)
        keeps = is_crlf[1] if is_crlf[1] != is_crlf[0] or not base else is_crlf[2]
        return Merged(made.data.replace(b"\n", b"\r\n"), made.hunks) if keeps else made
    hunks: list[Hunk] = []
    heads = [data[: locate(data).body] for data in sides]
    head = _head(heads[0], heads[1], heads[2], take, hunks)
    before, left, right = (_sections(path, data[len(top) :]) for data, top in zip(sides, heads, strict=True))
    found: list[_Section] = []
    for name in in_order([*left], [*right]):
        was, mine, other = before.get(name), left.get(name), right.get(name)
        shape = mine or other
        assert shape is not None
        heading = shape.heading
        if mine and other and was and mine.heading == was.heading:
            heading = other.heading
        elif mine and other and other.heading not in (mine.heading, was.heading if was else None):
            hunks.append(Hunk(was.heading if was else "", mine.heading, other.heading))
            heading = other.heading if take == "theirs" else mine.heading
        pieces = [each.blocks if each else () for each in (was, mine, other)]
        blocks, conflicts = _blocks(pieces[0], pieces[1], pieces[2], take)
        hunks += [replace(each, where=shape.title) for each in conflicts]
        if blocks or was is None or (mine and other):
            lead = max((each.blocks[0].gap for each in (mine, other) if each and each.blocks), default=0)
            pairs = [pair for each in (mine, other) if each for pair in pairwise(each.blocks)]
            apart = min((below.gap for above, below in pairs if above.is_entry and below.is_entry), default=0)
            found.append(_Section(heading, tuple(blocks), shape.gap, shape.title, lead, apart))
    text = "".join(f"{line}\n" for line in _lines(found))
    return Merged(head + text.encode("utf-8", "surrogateescape"), tuple(hunks))


def in_order(ours: Sequence[Name], theirs: Sequence[Name]) -> list[Name]:
    """Our names in our order; each of their new ones after the one it follows there."""
    found = list(ours)
    for at, name in enumerate(theirs):
        if name not in found:
            found.insert(found.index(theirs[at - 1]) + 1 if at else 0, name)
    return found


def _head(base: bytes, ours: bytes, theirs: bytes, take: Side | None, hunks: list[Hunk]) -> bytes:
    """The header: each field from the side that changed it. Of two days of the last change the later, of two
    lists all that is in them, of two fingerprints ours.
    """
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    was, mine, other = map(_fields, (base, ours, theirs))
    lines: list[str] = []
    for name in dict.fromkeys([*mine, *other]):
        before, left, right = was.get(name), mine.get(name), other.get(name)
        if left in (right, before):
            line = right
        elif right == before or name == "fingerprint":
            line = left
        elif left and right and name == "updated":
            line = max(left, right)
        elif left and right and left.endswith("]") and right.endswith("]"):
            listed = [
                each.strip(" []") for line in (left, right) for each in line.partition(":")[2].split(",")
            ]
            line = f"{name}: [{', '.join(dict.fromkeys(filter(None, listed)))}]"
        else:
            hunks.append(Hunk(before or "", left or "", right or "", "header"))
            line = right if take == "theirs" else left
        lines += [line] if line else []
    return "".join(f"{line}\n" for line in ("---", *lines, "---")).encode("utf-8", "surrogateescape")


def _fields(head: bytes) -> dict[str, str]:
    """The lines of a header by their keys; what is nested in one belongs to it."""
    found: dict[str, str] = {}
    name = ""
    for line in head.decode("utf-8", "surrogateescape").splitlines()[1:-1]:
        if line[:1] in (" ", "\t", "-", "#", "") and name:
            found[name] += f"\n{line}"
        else:
            name = line.partition(":")[0]
            found[name] = line
    return found


def _sections(path: str, data: bytes) -> Mapping[tuple[str, int], _Section]:
    """The sections by the titles of their parents and their own, and the number of earlier ones so called. A
    heading of level 1 is the file's title, which may be reworded.
    """
    text = data.decode("utf-8", "surrogateescape").removesuffix("\n")
    lines = text.split("\n") if text else []
    known = {entry.number: entry for entry in entries(data, path)}
    found: dict[tuple[str, int], _Section] = {}
    seen: Counter[str] = Counter()
    for part in sections(text + "\n") if text else ():
        titles = part.path[1:] if len(part.path) > 1 and lines[0].startswith("# ") else part.path
        name = "\0" if part.level == 1 else "\n".join(map(normalised, titles))
        first = part.start_line + (part.level > 0)
        heading = lines[part.start_line - 1] if part.level else ""
        above = lines[: part.start_line - 1]
        gap = next((at for at, line in enumerate(reversed(above)) if line.strip()), len(above))
        blocks = tuple(_split(lines[first - 1 : part.end_line], first, known))
        found[name, seen[name]] = _Section(heading, blocks, gap, part.title)
        seen[name] += 1
    return found


def _split(lines: Sequence[str], first: int, known: Mapping[int, Entry]) -> Iterator[Block]:
    """The blocks of a section that starts at line ``first``."""
    code, _ = code_lines(lines)
    at = gap = 0
    while at < len(lines):
        if not lines[at].strip():
            gap, at = gap + 1, at + 1
            continue
        entry, end = known.get(first + at), at + 1
        if entry is not None:
            end = min(entry.last - first + 1, len(lines))
        else:
            while end < len(lines) and first + end not in known and (lines[end].strip() or code[end]):
                end += 1
        text = "\n".join(lines[at:end])
        if entry is None:
            yield Block(text, gap, (text, ""))
        else:
            # The nested lines of an entry are part of its identity.
            own = normalised(entry.text) if len(entry.lines) == 1 else text
            yield Block(text, gap, (own, entry.source or "-"), entry.day, is_entry=True)
        at, gap = end, 0


def _blocks(
    base: Sequence[Block], ours: Sequence[Block], theirs: Sequence[Block], take: Side | None
) -> tuple[list[Block], list[Hunk]]:
    """The blocks of both sides, and what each put in the place of the same one."""
    first, second = _replaced(base, ours), _replaced(base, theirs)
    both = [at for at in sorted(first.keys() & second) if first[at].name != second[at].name]
    hunks = [Hunk(base[at].text, first[at].text, second[at].text) for at in both]
    kept, lost = (second, first) if take == "theirs" else (first, second)
    decided = {lost[at].name: kept[at] for at in both}
    ours, theirs = ([decided.get(each.name, each) for each in side] for side in (ours, theirs))
    was, mine, other = ({block.name: block for block in side} for side in (base, ours, theirs))
    found = list(ours)
    for at, block in enumerate(theirs):
        if block.name in mine:
            continue
        place = found.index(theirs[at - 1]) + 1 if at and theirs[at - 1] in found else 0
        if not place and at:
            names = [each.name for each in found]
            place = names.index(theirs[at - 1].name) + 1 if theirs[at - 1].name in names else len(found)
        while (
            place < len(found)
            and found[place].is_entry == block.is_entry
            and found[place].name not in {**was, **other}
            and (not block.day or found[place].day <= block.day)
        ):
            place += 1  # of what both added here, ours first, but entries by their days
        found.insert(place, block)
    result: list[Block] = []
    for block in found:
        before, left, right = (side.get(block.name) for side in (was, mine, other))
        if before and (left is None or right is None) and block == before:
            continue  # one side took it out
        result.append(right if right and left == before else block)
    return result, hunks


def _replaced(base: Sequence[Block], side: Sequence[Block]) -> dict[int, Block]:
    """The blocks that a side put in the place of blocks of the base, by the number of those."""
    match = SequenceMatcher(None, [each.name for each in base], [each.name for each in side], autojunk=False)
    return {
        at: block
        for kind, first, last, start, end in match.get_opcodes()
        if kind == "replace"
        for at, block in zip(range(first, last), side[start:end], strict=False)
        if block.is_entry == base[at].is_entry
    }


def _lines(found: Sequence[_Section]) -> Iterator[str]:
    for number, section in enumerate(found):
        if section.heading:
            yield from [""] * (max(section.gap, 1) if number else section.gap)
            yield section.heading
        above: Block | None = None
        for block in section.blocks:
            between = section.apart if above and block.is_entry and above.is_entry else max(block.gap, 1)
            yield from [""] * (between if above else section.lead)
            yield from block.text.split("\n")
            above = block
