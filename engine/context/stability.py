"""Finds what broke the stable prefix: the first difference of two prefixes (``cache-friendly-context.md`` 2).

A provider's cache serves a byte-identical beginning, so only the first difference of two prefixes matters:
everything after it must be read again, even if it is equal. ``compare`` finds its layer, section, file and
byte, and its cost in tokens; how the file changed is in the history.

A ``Prefix`` without its text can still be compared by the hashes of its sections, but not byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from engine.context import tokens as o200k
from engine.context.compiled import LAST_STABLE_LAYER, LAYERS, Compiled
from engine.context.delimiters import GAP

BreakKind = Literal["changed", "came", "went", "moved"]


@dataclass(frozen=True, slots=True)
class PrefixSection:
    """A section of layers 1 to 7, without its text."""

    label: str
    layer: int  # 1 to 7
    source: str  # workspace-relative path; empty if it is from no file, or from many
    lines: str  # ``"12-40"``, 1-based and inclusive; empty for the whole file
    tokens: int  # of its text, without the marker
    sha256: str  # of its text
    character: int  # offset of its marker in the prompt
    byte: int  # the same in bytes of UTF-8

    @property
    def same(self) -> tuple[int, str, str]:
        """The identity of a section for a cache."""
        return self.layer, self.label, self.sha256


@dataclass(frozen=True, slots=True)
class Boundary:
    """A possible end of a cached prefix, in characters and tokens from the start."""

    character: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Prefix:
    """The stable prefix of one prompt."""

    text: str | None  # ``None`` if only its hashes are known
    sha256: str  # of its UTF-8
    characters: int
    bytes: int  # of its UTF-8
    tokens: int  # exact o200k
    sections: tuple[PrefixSection, ...]
    boundaries: tuple[Boundary, ...]  # ascending

    @classmethod
    def of(cls, compiled: Compiled, *, count: Callable[[str], int] = o200k.count) -> Prefix:
        """The prefix of a prompt."""
        text = compiled.text[: compiled.stable_prefix_length]
        sections: list[PrefixSection] = []
        at = byte = 0
        for section, end in zip(compiled.sections, section_ends(compiled), strict=False):
            sections.append(
                PrefixSection(
                    label=section.label,
                    layer=section.layer,
                    source=section.source,
                    lines=section.lines,
                    tokens=section.tokens,
                    sha256=hash_of(section.text),
                    character=at,
                    byte=byte,
                )
            )
            byte += len(encoded(text[at:end]))
            at = end
        return cls(
            text=text,
            sha256=hash_of(text),
            characters=len(text),
            bytes=byte,
            tokens=count(text),
            sections=tuple(sections),
            boundaries=tuple(Boundary(end, count(text[:end])) for end in compiled.boundaries),
        )


@dataclass(frozen=True, slots=True)
class Break:
    """The first difference of two prefixes."""

    what: BreakKind
    """``changed``: another text; ``came``, ``went``; ``moved``: in another order."""
    layer: int  # 1 to 7; 0 if unknown
    name: str  # the layer's
    label: str  # the section, from the later side that has it
    source: str  # its file; may be empty
    byte: int  # offset of the first different byte of UTF-8, or of the section without a text
    usable: int
    """Tokens that a cache can still serve: up to the last common boundary before the difference."""
    lost: int
    """Cached tokens after that boundary that must be sent again: those of the shorter prefix."""
    exact: bool  # whether both texts were available


def compare(before: Prefix, after: Prefix) -> Break | None:
    """What broke the prefix; ``None`` if it is byte-identical."""
    if before.sha256 == after.sha256:
        return None
    index = _first_of(before.sections, after.sections)
    character, byte, exact = _place(before, after, index)
    usable = _usable(before, after, character)
    lost = max(0, min(before.tokens, after.tokens) - usable)
    what, was, is_now = _kind(before.sections, after.sections, index)
    section = is_now or was
    if section is None:
        return Break("changed", 0, "", "", "", byte, usable, lost, exact)
    layer = section.layer
    return Break(what, layer, LAYERS[layer], section.label, section.source, byte, usable, lost, exact)


def section_ends(compiled: Compiled) -> list[int]:
    """The end offset of each stable section in the prompt, including marker and gap."""
    ends: list[int] = []
    at = 0
    for section in compiled.sections:
        marker = compiled.text.find("\n", at, compiled.stable_prefix_length)
        if section.layer > LAST_STABLE_LAYER or marker < 0:
            break
        at = marker + 1 + len(section.text) + len(GAP)
        ends.append(at)
    return ends


def encoded(text: str) -> bytes:
    """A text as it is sent."""
    return text.encode("utf-8", "replace")


def hash_of(text: str) -> str:
    """sha256 of a text as it is sent, in hexadecimal."""
    return sha256(encoded(text)).hexdigest()


def first_difference(one: bytes, other: bytes) -> int:
    """The offset of the first different byte, or the length of the shorter one if it is a prefix of the
    other.
    """
    same, differs = 0, min(len(one), len(other))
    # Bisection takes a few comparisons at memory speed.
    while same < differs:
        middle = (same + differs + 1) // 2
        if one[same:middle] == other[same:middle]:
            same = middle
        else:
            differs = middle - 1
    return same


def _first_of(before: Sequence[PrefixSection], after: Sequence[PrefixSection]) -> int:
    """The index of the first section that differs."""
    for index, (one, other) in enumerate(zip(before, after, strict=False)):
        if one.same != other.same:
            return index
    return min(len(before), len(after))


def _place(before: Prefix, after: Prefix, index: int) -> tuple[int, int, bool]:
    """The first difference in characters and bytes, and whether it is exact, not just the section's start."""
    if before.text is not None and after.text is not None:
        one = encoded(before.text)
        byte = first_difference(one, encoded(after.text))
        # Two characters may start with the same bytes; the incomplete one is not counted.
        return len(one[:byte].decode("utf-8", "ignore")), byte, True
    for prefix in (before, after):
        if index < len(prefix.sections):
            return prefix.sections[index].character, prefix.sections[index].byte, False
    return after.characters, after.bytes, False


def _usable(before: Prefix, after: Prefix, character: int) -> int:
    """Tokens up to the last common boundary at or before a character."""
    common = {boundary.character for boundary in after.boundaries}
    reached = (each for each in before.boundaries if each.character <= character)
    return max((each.tokens for each in reached if each.character in common), default=0)


def _kind(
    before: Sequence[PrefixSection], after: Sequence[PrefixSection], index: int
) -> tuple[BreakKind, PrefixSection | None, PrefixSection | None]:
    """The kind of the first difference, with the section on both sides, if any."""
    was = before[index] if index < len(before) else None
    now = after[index] if index < len(after) else None
    if was is None or now is None:
        return "went" if now is None else "came", was, now
    if _name(was) == _name(now):
        return "changed", was, now
    is_gone = all(_name(each) != _name(was) for each in after)
    if any(_name(each) == _name(now) for each in before):
        return ("went", was, None) if is_gone else ("moved", was, now)
    return ("went", was, None) if is_gone and was.layer <= now.layer else ("came", None, now)


def _name(section: PrefixSection) -> tuple[int, str, str]:
    return section.layer, section.label, section.source
