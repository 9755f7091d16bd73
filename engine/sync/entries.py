"""Merges Markdown files: section by section, and within a section entry by entry and paragraph by paragraph.

Both machines usually append to the same list or page, which git reports as a conflict. Here additions of both
sides are kept in each side's order, and edits and deletions of one side are applied. Only a piece that both
sides changed differently is a conflict, and a decision is about such pieces alone: what only one side has
always stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TypeVar

from engine.knowledge.category_files import Entry, entries
from engine.knowledge.item import normalised
from engine.store.header import locate
from engine.store.markdown import MarkdownSection, code_lines, sections
from engine.sync.model import Hunk, Side

Name = TypeVar("Name")

LineMerge = Callable[[str, str, str, Side | None], str | None]
"""Merges the lines of a piece (base, ours, theirs, the side to take); ``None`` if they conflict."""

_TITLE = "\0"
"""The name of the only heading of level 1, which may be reworded."""


@dataclass(frozen=True, slots=True)
class _Section:
    name: tuple[str, int]  # the titles of its parents and its own; number of earlier sections of that name
    title: str
    heading: str
    gap: int
    blocks: tuple[Block, ...]
    tail: int  # blank lines at its end


@dataclass(frozen=True, slots=True)
class Merged:
    """The merged file; if there are hunks, valid only once they are decided."""

    data: bytes
    hunks: tuple[Hunk, ...] = ()


@dataclass(slots=True)
class Decider:
    """Decides about pieces of a file, and notes those that both sides changed differently."""

    take: Side | None = None
    lines: LineMerge | None = None
    hunks: list[Hunk] = field(default_factory=list)

    def text(self, before: str | None, ours: str | None, theirs: str | None, where: str = "") -> str | None:
        """The merged text of a piece; ``None`` if it is missing or deleted."""
        if ours == theirs or theirs == before:
            return ours
        if ours == before:
            return theirs
        if self.lines is not None and before is not None and ours is not None and theirs is not None:
            found = self.lines(before, ours, theirs, self.take)
            if found is not None:
                return found
        self.hunks.append(Hunk(before or "", ours or "", theirs or "", where))
        return theirs if self.take == "theirs" else ours


def merged(
    path: str,
    base: bytes,
    ours: bytes,
    theirs: bytes,
    take: Side | None = None,
    lines: LineMerge | None = None,
) -> Merged:
    """Merges two versions of a Markdown file.

    Args:
        take: The side to take where both changed the same piece.
        lines: Merges a piece of several lines that both changed.
    """
    was_crlf, mine_crlf, other_crlf = map(_has_crlf, (base, ours, theirs))
    if was_crlf or mine_crlf or other_crlf:
        made = merged(path, _with_lf(base), _with_lf(ours), _with_lf(theirs), take, lines)
        is_crlf = mine_crlf if mine_crlf != was_crlf or not base else other_crlf
        return replace(made, data=made.data.replace(b"\n", b"\r\n")) if is_crlf else made
    decider = Decider(take, lines)
    heads = [data[: locate(data).body] for data in (base, ours, theirs)]
    head = _head(heads[0], heads[1], heads[2], decider)
    before, left, right = _sections(
        path, [data[len(top) :] for data, top in zip((base, ours, theirs), heads, strict=True)]
    )
    left, right = _with_known_names(before, left), _with_known_names(before, right)
    found: list[_Section] = []
    for name in in_order([*left], [*right]):
        was, mine, other = before.get(name), left.get(name), right.get(name)
        shape = mine or other
        assert shape is not None
        blocks = _blocks(
            was.blocks if was else (),
            mine.blocks if mine else (),
            other.blocks if other else (),
            decider,
            shape.title,
        )
        is_gone = was is not None and (mine is None or other is None) and not blocks
        if not is_gone:
            heading = _heading(was, mine, other, decider) if mine and other else shape.heading
            blocks = spaced(blocks, mine.blocks if mine else (), other.blocks if other else ())
            found.append(_Section(name, shape.title, heading, shape.gap, tuple(blocks), shape.tail))
    return Merged(head + _text(found), tuple(decider.hunks))


def _has_crlf(data: bytes) -> bool:
    """True if every line ends with CR and LF."""
    return 0 < data.count(b"\n") == data.count(b"\r\n")


def _with_lf(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n")


def _head(base: bytes, ours: bytes, theirs: bytes, decider: Decider) -> bytes:
    """The header: each line from the side that changed it. Of two new fingerprints, ours; of two days of the
    last change, the later one.
    """
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    rows = [_fields(each) for each in (base, ours, theirs)]
    if any(row is None for row in rows):
        texts = [each.decode("utf-8", "surrogateescape") for each in (base, ours, theirs)]
        whole = decider.text(texts[0] or None, texts[1], texts[2], "header") or ""
        return whole.encode("utf-8", "surrogateescape")
    was, mine, other = (row or {} for row in rows)
    lines: list[str] = []
    for name in dict.fromkeys([*mine, *other]):
        values = was.get(name), mine.get(name), other.get(name)
        if name == "fingerprint":
            value = values[2] if values[1] == values[0] else values[1]
        elif name == "updated" and None not in values[1:]:
            value = max(filter(None, values[1:]))
        else:
            value = decider.text(*values, "header")
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


def _sections(path: str, versions: Sequence[bytes]) -> list[dict[tuple[str, int], _Section]]:
    """The sections of each version by their names. If none has several headings of level 1, theirs is the
    title of the file, and no part of the other names.
    """
    texts = [data.decode("utf-8", "surrogateescape").removesuffix("\n") for data in versions]
    parts = [sections(text + "\n") if text else [] for text in texts]
    titled = all(sum(part.level == 1 for part in side) < 2 for side in parts)
    return [
        _sections_of(text, side, {entry.number: entry for entry in entries(data, path)}, titled=titled)
        for data, text, side in zip(versions, texts, parts, strict=True)
    ]


def _sections_of(
    text: str, parts: Sequence[MarkdownSection], known: dict[int, Entry], *, titled: bool
) -> dict[tuple[str, int], _Section]:
    lines = text.split("\n") if text else []
    found: dict[tuple[str, int], _Section] = {}
    seen: Counter[str] = Counter()
    gap = parts[0].start_line - 1 if parts else len(lines)  # blank lines above everything
    title = ""
    for part in parts:
        has_heading = part.level > 0
        if part.level == 1:
            title = part.title
        path = part.path[1:] if titled and part.path[:1] == (title,) and part.level > 1 else part.path
        name = _TITLE if titled and part.level == 1 else "\n".join(map(normalised, path))
        first = part.start_line + has_heading
        blocks, tail = _split(lines[first - 1 : part.end_line], first, known)
        heading = lines[part.start_line - 1] if has_heading else ""
        key = (name, seen[name])
        seen[name] += 1
        found[key] = _Section(key, part.title, heading, gap, tuple(blocks), tail)
        gap = 0
    return found


def _with_known_names(
    base: dict[tuple[str, int], _Section], side: dict[tuple[str, int], _Section]
) -> dict[tuple[str, int], _Section]:
    """The sections of a side, those whose heading it reworded under their names in the base."""
    gone = [section for name, section in base.items() if name not in side and section.blocks]
    names: dict[tuple[str, int], tuple[str, int]] = {}
    for name, section in side.items():
        if name in base or not section.blocks:
            continue
        text = _body(section)
        old = next((each for each in gone if is_alike(_body(each), text)), None)
        if old is not None:
            gone.remove(old)
            names[name] = old.name
    return {names.get(name, name): section for name, section in side.items()}


def _body(section: _Section) -> str:
    return "\n".join(block.text for block in section.blocks)


def _heading(was: _Section | None, mine: _Section, other: _Section, decider: Decider) -> str:
    """The heading of a section that both sides have."""
    if was is None and normalised(mine.title) == normalised(other.title):
        return mine.heading
    return decider.text(was.heading if was else None, mine.heading, other.heading, mine.title) or ""


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


def in_order(ours: Sequence[Name], theirs: Sequence[Name]) -> list[Name]:
    """Our names in our order; each of their new ones after the one it follows there."""
    found = list(ours)
    for at, name in enumerate(theirs):
        if name not in found:
            found.insert(found.index(theirs[at - 1]) + 1 if at else 0, name)
    return found


def _blocks(
    base: Sequence[Block], ours: Sequence[Block], theirs: Sequence[Block], decider: Decider, title: str
) -> list[Block]:
    left, right = changes(base, ours), changes(base, theirs)
    # Both may have added an entry, each next to another one of the base.
    known = {block.key for blocks in left.added for block in blocks if block.is_entry}
    found: list[Block] = []
    for at in range(len(base) + 1):
        found += both(left.added[at], [block for block in right.added[at] if block.key not in known])
        if at == len(base):
            break
        was, mine, other = base[at], left.versions[at], right.versions[at]
        text = decider.text(was.text, mine.text if mine else None, other.text if other else None, title)
        if text is not None:
            same = [each for each in (mine, other) if each is not None and each.text == text]
            found.append(same[0] if same else replace(was, text=text))
    return found


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
