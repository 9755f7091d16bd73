"""Who gets how many tokens: placing candidates into room, cutting them where a reader would pause.

Two kinds of limits meet here. Caps are KiB of UTF-8, as the settings and a topic's header state them; room
is tokens. A text over a cap is cut; a text that does not fit the room is cut when a useful part of it fits
and left out otherwise. Whatever does not get in is noted with its size and the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from engine.context.compiled import LeftOut, Section, SlotName
from engine.context.delimiters import GAP, marker
from engine.context.tokens import fit

Count = Callable[[str], int]

WHOLE = 1 << 62
"""The last line of a file that is included to its end."""

_NOTE_TOKENS = 20
_NOTE_BYTES = 48
_USEFUL_TOKENS = 256
"""A cut piece this large is worth having however little of the whole it is."""

_LAST_HEADING = re.compile(r"(?:\n\s*#{1,6} [^\n]*)+\s*\Z")
"""A heading that a cut has parted from what stood below it."""

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that asks to be in the prompt.

    Attributes:
        label, layer, priority, slot, source, score, why: As in ``Section``.
        text: Safe text (``delimiters.outside``), without blank lines around it.
        order: Where it stands among the sections of its layer.
        first_line: 1-based line of ``source`` on which ``text`` starts; 0 where lines mean nothing.
        lines: The lines of ``source``, where ``text`` is an excerpt; empty for a whole file.
        wrap: What stands before and after the text, inside the section, also when it is cut.
        mark: The marker's label where it is not ``label``.
    """

    label: str
    layer: int
    priority: int
    slot: SlotName
    text: str
    why: str
    source: str = ""
    score: float | None = None
    order: tuple[int, ...] = ()
    first_line: int = 0
    lines: str = ""
    wrap: tuple[str, str] = ("", "")
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """A section with what surrounds it; the prompt is the pieces in order, joined without anything between.

    Attributes:
        section: The section.
        order: Where it stands among the sections of its layer.
        head: Its marker line, and the opening of a block where one begins.
        tail: The gap after it, and the end of a block where one ends.
        tokens: Tokens of ``rendered``.
    """

    section: Section
    order: tuple[int, ...]
    head: str
    tail: str
    tokens: int

    @property
    def rendered(self) -> str:
        """The piece as it stands in the prompt."""
        return f"{self.head}{self.section.text}{self.tail}"


@dataclass(slots=True)
class Cap:
    """A limit in bytes of UTF-8 that several pieces may share.

    Attributes:
        name: The setting, as a person would look for it.
        total: Bytes altogether.
        left: Bytes still free.
    """

    name: str
    total: int
    left: int

    @staticmethod
    def of(name: str, kib: float) -> Cap:
        """A cap of so many KiB, unused."""
        return Cap(name, int(kib * 1024), int(kib * 1024))


@dataclass(slots=True)
class Placement:
    """The pieces of one compile as they find their place.

    Attributes:
        count: Counts tokens.
        pieces: What is in, in the order in which it got room.
        left_out: What is not.
        included: By path, the label and the lines (inclusive) under which a file is in the prompt.
    """

    count: Count
    pieces: list[Piece] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    included: dict[str, list[tuple[str, int, int]]] = field(default_factory=dict)

    def piece(self, candidate: Candidate) -> Piece:
        """The candidate as a piece, whole."""
        before, after = candidate.wrap
        text = f"{before}{candidate.text}{after}"
        head = marker(candidate.mark or candidate.label) + "\n"
        section = Section(
            label=candidate.label,
            layer=candidate.layer,
            priority=candidate.priority,
            slot=candidate.slot,
            source=candidate.source,
            lines=candidate.lines,
            tokens=self.count(text),
            score=candidate.score,
            why=candidate.why,
            text=text,
        )
        return Piece(section, candidate.order, head, GAP, self.count(f"{head}{text}{GAP}"))

    def add(self, piece: Piece, first: int = 1, last: int = WHOLE) -> int:
        """Take a piece in; lines ``first`` to ``last`` of its source count as included. Gives its tokens."""
        self.pieces.append(piece)
        section = piece.section
        if section.source:
            self.included.setdefault(section.source, []).append((section.label, first, last))
        return piece.tokens

    def remove(self, piece: Piece, reason: str) -> None:
        """Take a piece out again."""
        self.pieces.remove(piece)
        section = piece.section
        self.included.pop(section.source, None)
        self.left_out.append(
            LeftOut(
                label=section.label,
                priority=section.priority,
                slot=section.slot,
                source=section.source,
                lines=section.lines,
                tokens=section.tokens,
                score=section.score,
                reason=reason,
            )
        )

    def omit(self, candidate: Candidate, reason: str) -> None:
        """Note that a candidate is left out as a whole."""
        self.left_out.append(
            LeftOut(
                label=candidate.label,
                priority=candidate.priority,
                slot=candidate.slot,
                source=candidate.source,
                lines=candidate.lines,
                tokens=self.count(candidate.text),
                score=candidate.score,
                reason=reason,
            )
        )

    def place(self, candidate: Candidate, room: int, caps: Sequence[Cap] = ()) -> int:
        """Give a candidate room.

        Args:
            candidate: What to place.
            room: Tokens it may take with its marker.
            caps: Byte limits that its text is charged to; the tightest binds.

        Returns:
            Tokens it took; 0 when it was left out.
        """
        cap = min(caps, key=lambda each: each.left, default=None)
        size = _bytes(candidate.text)
        whole = self.piece(candidate)
        over_cap = cap is not None and size > cap.left
        if not over_cap and whole.tokens <= room:
            for each in caps:
                each.left -= size
            return self.add(whole)
        kept, reason = candidate.text, ""
        if cap is not None and over_cap:
            kept = _fit_bytes(kept, cap.left - _NOTE_BYTES)
            reason = f"over {cap.name} ({cap.total / 1024:g} KiB)"
            if 4 * _bytes(kept) < size and 2 * _bytes(kept) < cap.total:
                kept = ""
        frame = whole.tokens - self.count(candidate.text) + _NOTE_TOKENS
        wanted = self.count(kept)
        if kept and wanted + frame > room:
            kept = fit(kept, room - frame)
            got = self.count(kept)
            reason = f"needs {whole.tokens:,} tokens, {max(0, room):,} left"
            if got < _USEFUL_TOKENS and 4 * got < wanted:
                kept = ""
        return self._take_part(candidate, _LAST_HEADING.sub("", kept).rstrip(), room, caps, reason)

    def _take_part(self, candidate: Candidate, kept: str, room: int, caps: Sequence[Cap], reason: str) -> int:
        total = self.count(candidate.text)
        if not kept:
            self.omit(candidate, reason)
            return 0
        got = self.count(kept)
        text = f"{kept}{_open_fence(kept)}\n[cut: {got:,} of {total:,} tokens]"
        ends_line = candidate.text.startswith("\n", len(kept))
        first = candidate.first_line
        last = first + kept.count("\n")
        part = replace(
            candidate,
            text=text,
            lines=f"{first}-{last}" if first else "",
            why=f"{candidate.why}; cut: {reason}",
        )
        piece = self.piece(part)
        if piece.tokens > room or any(_bytes(text) > each.left for each in caps):
            self.omit(candidate, reason)
            return 0
        for each in caps:
            each.left -= _bytes(text)
        rest_first = last + 1 if ends_line else last
        rest_last = first + candidate.text.count("\n")
        self.left_out.append(
            LeftOut(
                label=candidate.label,
                priority=candidate.priority,
                slot=candidate.slot,
                source=candidate.source,
                lines=f"{rest_first}-{rest_last}" if first else "",
                tokens=max(1, total - got),
                score=candidate.score,
                reason=f"the rest of it: {reason}",
            )
        )
        return self.add(piece, 1, rest_first - 1 if first else WHOLE)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8"))


def _fit_bytes(text: str, limit: int) -> str:
    """The beginning of a text up to a line end (or, in one long line, a word end) within ``limit`` bytes."""
    if limit <= 0:
        return ""
    data = text.encode("utf-8")
    if len(data) <= limit:
        return text
    window = data[: limit + 1].decode("utf-8", "ignore")
    line = window.rfind("\n")
    if 2 * line >= len(window):
        return window[:line]
    word = max(window.rfind(" "), window.rfind("\n"))
    return window[: max(word, 0)]


def _open_fence(text: str) -> str:
    """What closes a code block that the cut left open, so that it does not swallow the sections below."""
    fence = ""
    for match in _FENCE.finditer(text):
        found = match.group(1)
        if not fence:
            fence = found
        elif found[0] == fence[0] and len(found) >= len(fence):
            fence = ""
    return f"\n{fence}" if fence else ""
