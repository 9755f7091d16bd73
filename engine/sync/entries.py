"""Merges files made of entries: category files, file notes, journals, MEMORY.md, project contexts.

Both machines usually append to the same list, which git reports as a conflict. So these files are merged
section by section and entry by entry. Additions of both sides are kept in each side's order, and edits and
deletions of one side are applied; only an entry that both sides changed differently is a conflict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from engine.knowledge.category_files import Entry, entries
from engine.knowledge.item import normalised
from engine.store.header import locate
from engine.store.markdown import code_lines, sections
from engine.sync.model import Hunk, Side

_MIN_SIMILARITY = 0.6
"""Similarity ratio from which an entry counts as an edit of another."""


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
class _Section:
    name: tuple[str, int]  # the titles of its parents and its own; number of earlier sections of that name
    heading: str
    gap: int
    blocks: tuple[Block, ...]
    tail: int  # blank lines at its end


@dataclass(frozen=True, slots=True)
class Merged:
    """The merged file; if there are hunks, valid only once they are decided."""

    data: bytes
    hunks: tuple[Hunk, ...] = ()


def merged(path: str, base: bytes, ours: bytes, theirs: bytes, take: Side | None = None) -> Merged:
    """Merges two versions of a file of entries.

    Args:
        take: The side to take where both changed the same entry.
    """
    was_crlf, mine_crlf, other_crlf = map(_has_crlf, (base, ours, theirs))
    if was_crlf or mine_crlf or other_crlf:
        made = merged(path, _with_lf(base), _with_lf(ours), _with_lf(theirs), take)
        is_crlf = mine_crlf if mine_crlf != was_crlf or not base else other_crlf
        return replace(made, data=made.data.replace(b"\n", b"\r\n")) if is_crlf else made
    hunks: list[Hunk] = []
    heads = [data[: locate(data).body] for data in (base, ours, theirs)]
    head = _head(heads[0], heads[1], heads[2], take, hunks)
    before, left, right = (
        _sections(path, data[len(top) :]) for data, top in zip((base, ours, theirs), heads, strict=True)
    )
    found: list[_Section] = []
    for name in _order([*left], [*right]):
        was, mine, other = before.get(name), left.get(name), right.get(name)
        shape = mine or other
        assert shape is not None
        blocks = _blocks(
            was.blocks if was else (),
            mine.blocks if mine else (),
            other.blocks if other else (),
            take,
            hunks,
        )
        is_gone = was is not None and (mine is None or other is None) and not blocks
        if not is_gone:
            spaced = _spaced(blocks, mine.blocks if mine else (), other.blocks if other else ())
            found.append(_Section(name, shape.heading, shape.gap, spaced, shape.tail))
    return Merged(head + _text(found), tuple(hunks))


def _has_crlf(data: bytes) -> bool:
    """True if every line ends with CR and LF."""
    return 0 < data.count(b"\n") == data.count(b"\r\n")


def _with_lf(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n")


def _head(base: bytes, ours: bytes, theirs: bytes, take: Side | None, hunks: list[Hunk]) -> bytes:
    """The header: each line from the side that changed it. Of two new fingerprints, ours."""
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    rows = [_fields(each) for each in (base, ours, theirs)]
    if any(row is None for row in rows):
        hunks.append(Hunk(*(each.decode("utf-8", "replace") for each in (base, ours, theirs))))
        return theirs if take == "theirs" else ours
    was, mine, other = (row or {} for row in rows)
    lines: list[str] = []
    for name in dict.fromkeys([*mine, *other]):
        values = was.get(name), mine.get(name), other.get(name)
        value = values[2] if values[1] == values[0] else values[1]
        if values[1] != values[2] and values[0] not in values[1:] and name != "fingerprint":
            hunks.append(Hunk(*(each or "" for each in values)))
            value = values[2] if take == "theirs" else values[1]
        if value is not None:
            lines.append(value)
    return "".join(["---\n", *lines, "---\n"]).encode("utf-8", "surrogateescape")


def _fields(head: bytes) -> dict[str, str] | None:
    """The lines of a flat header by their keys; ``None`` if it is not flat."""
    if not head:
        return {}
    lines = head.decode("utf-8", "surrogateescape").splitlines(keepends=True)
    inside = lines[1:-1]
    is_flat = lines[0] == "---\n" and lines[-1] == "---\n" and all(":" in each for each in inside)
    if not is_flat or any(each[0] in " \t-#" or "\r" in each for each in inside):
        return None
    return {each.partition(":")[0]: each for each in inside}


def _sections(path: str, data: bytes) -> dict[tuple[str, int], _Section]:
    text = data.decode("utf-8", "surrogateescape").removesuffix("\n")
    lines = text.split("\n") if text else []
    known = {entry.number: entry for entry in entries(data, path)}
    found: dict[tuple[str, int], _Section] = {}
    seen: Counter[str] = Counter()
    parts = sections(text + "\n") if text else []
    gap = parts[0].start_line - 1 if parts else len(lines)  # blank lines above everything
    for part in parts:
        has_heading = part.level > 0
        title = "\n".join(map(normalised, part.path)) if has_heading else ""
        first = part.start_line + has_heading
        blocks, tail = _split(lines[first - 1 : part.end_line], first, known)
        name = (title, seen[title])
        seen[title] += 1
        heading = lines[part.start_line - 1] if has_heading else ""
        found[name] = _Section(name, heading, gap, tuple(blocks), tail)
        gap = 0
    return found


def _split(lines: Sequence[str], first: int, known: dict[int, Entry]) -> tuple[list[Block], int]:
    """The blocks of a section, and the number of blank lines after the last one."""
    code, _ = code_lines(lines)
    found: list[Block] = []
    at = gap = 0
    while at < len(lines):
        if not lines[at].strip():
            gap, at = gap + 1, at + 1
            continue
        entry = known.get(first + at)
        end = at + 1
        if entry is not None:
            end = min(entry.last - first + 1, len(lines))
        else:
            while end < len(lines) and first + end not in known and (lines[end].strip() or code[end]):
                end += 1
        text = "\n".join(lines[at:end])
        if entry is None:
            found.append(Block(text, gap))
        else:
            # The nested lines of an entry are part of its identity.
            identity = normalised(entry.text) if len(entry.lines) == 1 else text
            found.append(Block(text, gap, (identity, entry.source or "-"), entry.day))
        at, gap = end, 0
    return found, gap


def _text(found: Sequence[_Section]) -> bytes:
    lines: list[str] = []
    for at, section in enumerate(found):
        lines += [""] * section.gap
        if section.heading:
            if lines and lines[-1].strip():
                lines.append("")
            lines.append(section.heading)
        for block in section.blocks:
            lines += [*[""] * block.gap, *block.text.split("\n")]
        lines += [""] * (section.tail if at + 1 < len(found) else 0)
    text = "".join(f"{line}\n" for line in lines)
    return text.encode("utf-8", "surrogateescape")


def _spaced(blocks: Sequence[Block], *sides: Sequence[Block]) -> tuple[Block, ...]:
    """The blocks with the usual spacing of entries: a block that was first on its side may not be here."""
    usual = min((block.gap for side in sides for block in side[1:] if block.is_entry), default=0)
    first = max((side[0].gap for side in sides if side), default=0)
    return tuple(
        replace(block, gap=first)
        if not at
        else replace(block, gap=usual)
        if block.is_entry and blocks[at - 1].is_entry
        else block
        for at, block in enumerate(blocks)
    )


def _order(ours: list[tuple[str, int]], theirs: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Our sections in our order; each of their new ones after the section it follows there."""
    found = list(ours)
    for at, name in enumerate(theirs):
        if name not in found:
            found.insert(found.index(theirs[at - 1]) + 1 if at else 0, name)
    return found


@dataclass(frozen=True, slots=True)
class _Changes:
    """What a side did with the blocks of the base."""

    versions: tuple[Block | None, ...]  # the side's version of each; ``None`` if deleted
    added: tuple[tuple[Block, ...], ...]  # new blocks before each, and after the last


def _changes(base: Sequence[Block], side: Sequence[Block]) -> _Changes:
    versions: list[Block | None] = [None] * len(base)
    added: list[list[Block]] = [[] for _ in range(len(base) + 1)]
    match = SequenceMatcher(None, [each.text for each in base], [each.text for each in side], autojunk=False)
    for kind, first, last, start, end in match.get_opcodes():
        if kind == "equal":
            versions[first:last] = side[start:end]
            continue
        place = first
        for block in side[start:end]:
            old = next((at for at in range(place, last) if _is_edited(base[at], block)), None)
            if old is None:
                added[place].append(block)
            else:
                versions[old] = block
                place = old + 1
    return _Changes(tuple(versions), tuple(map(tuple, added)))


def _is_edited(old: Block, new: Block) -> bool:
    if old.is_entry and old.key[0] == new.key[0]:
        return True
    match = SequenceMatcher(None, old.text, new.text, autojunk=False)
    return all(
        ratio() >= _MIN_SIMILARITY for ratio in (match.real_quick_ratio, match.quick_ratio, match.ratio)
    )


def _blocks(
    base: Sequence[Block],
    ours: Sequence[Block],
    theirs: Sequence[Block],
    take: Side | None,
    hunks: list[Hunk],
) -> list[Block]:
    left, right = _changes(base, ours), _changes(base, theirs)
    # Both may have added an entry, each next to another one of the base.
    known = {block.key for blocks in left.added for block in blocks if block.is_entry}
    found: list[Block] = []
    for at in range(len(base) + 1):
        found += _both(left.added[at], [block for block in right.added[at] if block.key not in known])
        if at == len(base):
            break
        was, mine, other = base[at], left.versions[at], right.versions[at]
        if mine != other and was not in (mine, other):
            hunks.append(Hunk(was.text, mine.text if mine else "", other.text if other else ""))
            kept = other if take == "theirs" else mine
        else:
            kept = other if mine == was else mine
        if kept is not None:
            found.append(kept)
    return found


def _both(ours: Sequence[Block], theirs: Sequence[Block]) -> list[Block]:
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
