"""Places candidates in the token budget, cutting them where a reader would pause.

There are two kinds of limits: caps are set by the settings (spec 6.2) or a topic's header; room is the number
of tokens left in the prompt. A text over a cap is cut; a text that does not fit the room is cut if a useful
part of it fits, and left out otherwise. Everything left out is recorded with its size and the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from typing import Literal

from engine.context.compiled import LAST_STABLE_LAYER, LeftOut, Limit, Section, SlotName
from engine.context.delimiters import GAP, OF_OTHERS, marker
from engine.context.tokens import fit
from engine.settings.model import CompilerSettings
from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.store.paths import is_shared

Count = Callable[[str], int]
_NO_LIMIT: Limit = ""

WHOLE = 1 << 62
"""Stands for the last line of a file."""

_NOTE_TOKENS = 20
_NOTE_BYTES = 48
USEFUL_TOKENS = 256
"""A cut piece this large is useful, however small a part of the whole it is."""

_LAST_HEADING = expression(r"(?:\n\s*#{1,6} [^\n]*)+\s*\Z")
"""Headings at the end of a cut text, without their contents."""

_FENCE = expression(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)

_BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that could be part of the prompt."""

    label: str
    layer: int
    priority: int
    slot: SlotName
    text: str  # safe (``delimiters.outside``), without blank lines around it
    why: str
    source: str = ""
    score: float | None = None
    order: tuple[int, ...] = ()  # sort key within its layer
    first_line: int = 0  # 1-based line of ``source`` on which ``text`` starts; 0 if not applicable
    lines: str = ""  # lines of ``source`` if ``text`` is an excerpt; empty for a whole file
    wrap: tuple[str, str] = ("", "")  # texts before and after, also if it is cut
    mark: str = ""  # the marker's label if it is not ``label``


@dataclass(frozen=True, slots=True)
class Piece:
    """A section with its surroundings; the prompt is the concatenation of all pieces in order."""

    section: Section
    order: tuple[int, ...]  # sort key within its layer
    head: str  # its marker line, and the opening of a block that starts here
    tail: str  # the gap after it, and the end of a block that ends here
    tokens: int  # of ``rendered``

    @property
    def rendered(self) -> str:
        return f"{self.head}{self.section.text}{self.tail}"


@dataclass(slots=True)
class Placement:
    """The pieces placed so far in one compile."""

    count: Count
    pieces: list[Piece] = field(default_factory=list)  # in the order of placement
    left_out: list[LeftOut] = field(default_factory=list)
    included: dict[str, list[tuple[str, int, int]]] = field(default_factory=dict)
    """By path, the labels and (inclusive) lines of a file that are in the prompt."""

    def piece(self, candidate: Candidate) -> Piece:
        """The whole candidate as a piece."""
        section = self.section(candidate)
        mark = candidate.mark or candidate.label
        head = marker(f"{mark} · {OF_OTHERS}" if is_shared(candidate.source) else mark) + "\n"
        return Piece(section, candidate.order, head, GAP, self.count(f"{head}{section.text}{GAP}"))

    def section(self, candidate: Candidate) -> Section:
        """The whole candidate as a section, without its surroundings."""
        before, after = candidate.wrap
        text = f"{before}{candidate.text}{after}"
        return Section(
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

    def add(self, piece: Piece, first: int = 1, last: int = WHOLE) -> int:
        """Adds a piece with lines ``first`` to ``last`` of its source; returns its tokens."""
        self.pieces.append(piece)
        section = piece.section
        if section.source:
            self.included.setdefault(section.source, []).append((section.label, first, last))
        return piece.tokens

    def remove(self, piece: Piece, reason: str) -> None:
        """Removes a piece again, for lack of room."""
        self.pieces.remove(piece)
        section = piece.section
        spans = [each for each in self.included.pop(section.source, ()) if each[0] != section.label]
        if spans:
            self.included[section.source] = spans
        self.left_out.append(missing(section, section.lines, section.tokens, reason, "room"))

    def omit(self, candidate: Candidate, reason: str, limit: Limit = "") -> None:
        """Records that a whole candidate is left out."""
        self.left_out.append(missing(candidate, candidate.lines, self.count(candidate.text), reason, limit))

    def place(self, candidate: Candidate, room: int, caps: Sequence[Cap] = ()) -> int:
        """Places a candidate, cut if necessary.

        Args:
            room: Tokens available, including the marker.
            caps: Caps that it is charged to.

        Returns:
            Tokens used; 0 if it was left out.
        """
        whole = self.piece(candidate)
        if whole.tokens <= room and not _exceeded(caps, candidate.text, whole.tokens):
            _charge(caps, candidate.text, whole.tokens)
            return self.add(whole, *_span(candidate))
        kept, reason, limit = candidate.text, "", _NO_LIMIT
        frame = whole.tokens - self.count(candidate.text)
        for cap in _exceeded(caps, candidate.text, whole.tokens):
            if not kept or not _over(cap, kept, self.count(kept) + frame):
                continue
            kept = self._shortened(kept, candidate.text, cap, frame)
            reason, limit = f"over {cap}", "cap"
        frame += _NOTE_TOKENS
        wanted = self.count(kept)
        if kept and wanted + frame > room:
            kept = fit(kept, room - frame)
            got = self.count(kept)
            reason, limit = f"needs {whole.tokens:,} tokens, {max(0, room):,} left", "room"
            if got < USEFUL_TOKENS and 4 * got < wanted:
                kept = ""
        kept = _LAST_HEADING.sub("", kept).rstrip()
        return self._take_part(candidate, kept, room, caps, reason, limit)

    def _shortened(self, kept: str, text: str, cap: Cap, frame: int) -> str:
        """The part of a text that a cap allows; empty if that is little of both the text and the cap."""
        if cap.unit == "bytes":
            kept = _fit_bytes(kept, cap.left - _NOTE_BYTES)
            got, size = _bytes(kept), _bytes(text)
        else:
            kept = fit(kept, cap.left - frame - _NOTE_TOKENS)
            got, size = self.count(kept), self.count(text)
        return "" if 4 * got < size and 2 * got < cap.total else kept

    def _take_part(
        self, candidate: Candidate, kept: str, room: int, caps: Sequence[Cap], reason: str, limit: Limit
    ) -> int:
        total = self.count(candidate.text)
        if not kept:
            self.omit(candidate, reason, limit)
            return 0
        got = self.count(kept)
        # The stable prefix must not depend on the part that was cut off, so its size is not mentioned there.
        size = "tokens; the text goes on" if candidate.layer <= LAST_STABLE_LAYER else f"of {total:,} tokens"
        text = f"{kept}{open_fence(kept)}\n[cut: {got:,} {size}]"
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
        if piece.tokens > room or _exceeded(caps, text, piece.tokens):
            self.omit(candidate, reason, limit)
            return 0
        _charge(caps, text, piece.tokens)
        rest_first = last + 1 if ends_line else last
        start, end = _span(candidate)
        rest_last = end if end < WHOLE else first + candidate.text.count("\n")
        lines = f"{rest_first}-{rest_last}" if first else ""
        self.left_out.append(missing(candidate, lines, max(1, total - got), f"the rest: {reason}", limit))
        return self.add(piece, start, rest_first - 1 if first else WHOLE)

    def within(self, caps: Sequence[Cap], room: int, place: Callable[[int], int]) -> int:
        """Places a part of the prompt that does not handle caps itself, within room and caps.

        The number of bytes is only known after placing, so with a cap in KiB this repeats with fewer tokens
        until it fits.

        Args:
            room: Tokens available.
            place: Places the part within the given number of tokens, and returns the tokens used.

        Returns:
            Tokens used.
        """
        bound = min((cap for cap in caps if cap.unit == "tokens"), key=lambda cap: cap.left, default=None)
        if bound is not None and bound.left >= room:
            bound = None
        limit = room if bound is None else max(0, bound.left)
        while True:
            before = self.mark()
            spent = place(limit)
            placed = [piece.section.text for piece in self.pieces[len(before.pieces) :]]
            size = sum(map(_bytes, placed))
            over = next((cap for cap in caps if cap.unit == "bytes" and size > max(0, cap.left)), None)
            if over is None:
                break
            self.restore(before)
            bound, limit = over, min(limit - 1, spent * max(0, over.left) // size)
        for cap in caps:
            cap.left -= spent if cap.unit == "tokens" else size
        if bound is not None:
            for index in range(len(before.left_out), len(self.left_out)):
                left = self.left_out[index]
                if left.limit == "room":
                    reason = f"{left.reason}; limited by {bound}"
                    self.left_out[index] = replace(left, reason=reason, limit="cap")
        return spent

    def mark(self) -> Placement:
        """The current state, for ``restore``."""
        included = {path: list(spans) for path, spans in self.included.items()}
        return Placement(self.count, list(self.pieces), list(self.left_out), included)

    def restore(self, mark: Placement) -> None:
        """Restores the state of a mark."""
        self.pieces[:] = mark.pieces
        self.left_out[:] = mark.left_out
        self.included.clear()
        self.included.update({path: list(spans) for path, spans in mark.included.items()})


def _span(candidate: Candidate) -> tuple[int, int]:
    """The lines of its source that a whole candidate covers."""
    first, _, last = candidate.lines.partition("-")
    return (int(first), int(last or first)) if first else (1, WHOLE)


def missing(of: Candidate | Section, lines: str, tokens: int, reason: str, limit: Limit) -> LeftOut:
    """The record of a candidate or section, or of part of it, that is left out."""
    return LeftOut(
        label=of.label,
        priority=of.priority,
        slot=of.slot,
        source=of.source,
        lines=lines,
        tokens=tokens,
        score=of.score,
        reason=reason,
        limit=limit,
    )


def _over(cap: Cap, text: str, tokens: int) -> bool:
    return cap.size(text, tokens) > cap.left


def _exceeded(caps: Sequence[Cap], text: str, tokens: int) -> list[Cap]:
    """The caps that a text would exceed: bytes before tokens, the tightest first."""
    over = [cap for cap in caps if _over(cap, text, tokens)]
    return sorted(over, key=lambda cap: (cap.unit, cap.left))


def _charge(caps: Sequence[Cap], text: str, tokens: int) -> None:
    for cap in caps:
        cap.left -= cap.size(text, tokens)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8"))


def _fit_bytes(text: str, limit: int) -> str:
    """The beginning of a text up to a line end (or in a long line a word end) within ``limit`` bytes."""
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


def open_fence(text: str) -> str:
    """The closing fence of a code block left open by a cut, so that it does not swallow the next sections."""
    fence = ""
    for match in _FENCE.finditer(text):
        found = match.group(1)
        if not fence:
            fence = found
        elif found[0] == fence[0] and len(found) >= len(fence):
            fence = ""
    return f"\n{fence}" if fence else ""


@dataclass(slots=True)
class Cap:
    """A limit that several pieces may share."""

    name: str  # the setting
    unit: Literal["bytes", "tokens"]  # bytes of the text, or tokens including the marker
    total: int
    left: int

    @staticmethod
    def of(name: str, kib: float) -> Cap:
        """An unused cap in KiB of UTF-8."""
        return Cap(name, "bytes", int(kib * 1024), int(kib * 1024))

    def size(self, text: str, tokens: int) -> int:
        """The charge for a text with so many tokens, including its marker."""
        return tokens if self.unit == "tokens" else len(text.encode("utf-8"))

    def __str__(self) -> str:
        size = f"{self.total:,} tokens" if self.unit == "tokens" else f"{self.total / 1024:g} KiB"
        return f"{self.name} ({size})"


def caps_of(settings: CompilerSettings, slot: SlotName) -> tuple[Cap, ...]:
    """The unused caps of a slot: at most one in each unit."""
    if slot == "message":
        return ()
    part = "topic" if slot == "topics" else slot
    setting = f"context_compiler.{part}_budget"
    kib, tokens = settings.cap(part)
    in_kib = () if kib is None else (Cap.of(f"{setting}_kb", kib),)
    return in_kib if tokens is None else (*in_kib, Cap(f"{setting}_tokens", "tokens", tokens, tokens))


def within(caps: Iterable[Cap], tokens: int, size: int) -> int:
    """The number of tokens that the caps allow, of a text with so many ``tokens`` and ``size`` bytes."""
    for cap in caps:
        wanted = tokens if cap.unit == "tokens" else size
        if wanted > cap.left:
            tokens = tokens * max(0, cap.left) // wanted
    return tokens


def about_tokens(caps: Sequence[Cap], wanted: int) -> int:
    """An estimate of the number of tokens that the caps allow, for a text that is not known yet."""
    rooms = (cap.left if cap.unit == "tokens" else cap.left // _BYTES_PER_TOKEN for cap in caps)
    return max(0, min((wanted, *rooms)))


def shown_tokens(caps: Sequence[Cap], used: int, size: int, limit: int) -> int | None:
    """The tightest cap in tokens, comparable with ``used``; ``None`` without a cap.

    Args:
        used: Tokens of the slot.
        size: Bytes of its text, to convert KiB to tokens.
        limit: Tokens of the whole prompt, the upper limit.
    """
    ratio = used / size if size else 1 / _BYTES_PER_TOKEN
    limits = [cap.total if cap.unit == "tokens" else round(cap.total * ratio) for cap in caps]
    return min(*limits, limit) if limits else None
