"""The session as a sliding window (P4, layer 11; spec 6.4); the oldest turns are dropped first."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from engine.context.budget import Candidate, Piece, Placement, missing, open_fence
from engine.context.compiled import LeftOut
from engine.context.delimiters import one_line, outside
from engine.context.tokens import count, fit, fit_end
from engine.redaction.detect import masked
from engine.transcripts.turn import MEMORY, Attachment, KnowledgeChange, Text, ToolCall, Turn

RECENT = 10
"""Number of turns that come first; if they do not all fit, long ones are reduced to their beginning and
end."""

LEAST_TURN = 128
"""Minimum tokens of a shortened turn; below that, the oldest recent turns are dropped instead."""

_NEWEST = 2
"""Number of recent turns that may be twice as long as the others, since the message is mostly about them."""

CURRENT_TOOLS = 8
"""Number of the newest tool calls since the person's last message that may be longer than others."""

_NOTE_TOKENS = 24
_TOOL_CHARACTERS = 200
_CURRENT_TOOL_CHARACTERS = 1_000


def render(turn: Turn, current_tools: int = 0) -> str:
    """A past turn as text: prose as written; tool calls, attachments and memory operations on one line each.

    The lines of the last ``current_tools`` tool calls have up to 1,000 characters, others 200.
    """
    parts: list[str] = []
    previous_is_line = False
    older = len(turn.tools) - current_tools
    for block in turn.blocks:
        is_line = not isinstance(block, Text)
        if isinstance(block, Text):
            text = block.text.strip()
        else:
            is_current = isinstance(block, ToolCall) and older <= 0
            older -= isinstance(block, ToolCall)
            text = _line(block, _CURRENT_TOOL_CHARACTERS if is_current else _TOOL_CHARACTERS)
        if not text:
            continue
        if parts:
            parts.append("\n" if is_line and previous_is_line else "\n\n")
        parts.append(text)
        previous_is_line = is_line
    return outside("".join(parts)).strip()


def _line(block: ToolCall | Attachment | KnowledgeChange, limit: int) -> str:
    match block:
        case ToolCall(name, summary, result):
            text = f"> [tool:{name}] {summary}" + (f" → {result}" if result else "")
        case Attachment(path):
            text = f"> [attachment:{path}]"
        case KnowledgeChange(action, path, summary):
            text = f"> [knowledge:{action}] {path}" + (f" — {summary}" if summary else "")
    return one_line(text, limit)


def sizes(turns: Iterable[tuple[int, Turn]]) -> list[tuple[int, int]]:
    """The numbers and tokens, including markers, of past turns that are not empty, in the given order."""
    sized = ((number, _size_of(turn)) for number, turn in turns)
    return [(number, tokens) for number, tokens in sized if tokens]


class History:
    """The earlier turns of one session, as candidates.

    Args:
        turns: Oldest first; the first is number 1.
        flushed: Numbers of the turns that were flushed (spec 6.4).
    """

    def __init__(self, turns: tuple[Turn, ...], flushed: Collection[int] = ()) -> None:
        self._current = _current_tools(turns)
        self._turns = [(number, turn) for number, turn in enumerate(turns, 1) if _tokens_of(turn)]
        self._flushed = frozenset(flushed)

    def window(self, placement: Placement, room: int, elsewhere: Collection[int] = ()) -> list[Piece]:
        """The turns in a window of ``room`` tokens, newest first, without placing them.

        The last ten turns come first; if they do not all fit, the longest lose their middle. Then whole older
        turns follow until one does not fit, so the window has no gaps. An older turn in ``elsewhere``, which
        is partly in the prompt already, also ends the window.
        """
        recent, older = self._turns[-RECENT:], self._turns[:-RECENT]
        whole = [placement.piece(self._candidate(number, turn)) for number, turn in recent]
        limits = _shared(room, [piece.tokens for piece in whole])
        pieces: list[Piece] = []
        for piece, limit in zip(reversed(whole), reversed(limits), strict=True):
            shorter = piece if piece.tokens <= limit else _shortened(placement, piece, limit)
            if shorter is None:
                return pieces
            pieces.append(shorter)
        left = room - sum(piece.tokens for piece in pieces)
        for number, turn in reversed(older if limits and limits[0] == whole[0].tokens else ()):
            piece = placement.piece(self._candidate(number, turn))
            left -= piece.tokens
            if left < 0 or number in elsewhere:
                break
            pieces.append(piece)
        return pieces

    def first_line(self, window: Sequence[Piece]) -> int | None:
        """The transcript line on which a window begins, if known."""
        if not window:
            return None
        first = window[-1].order[0]
        return next((turn.line for number, turn in self._turns if number == first), 0) or None

    def numbers(self, spans: Iterable[tuple[int, int]]) -> frozenset[int]:
        """The numbers of the turns on some spans of transcript lines."""
        lines = [turn.line for _, turn in self._turns]
        found: set[int] = set()
        for first, last in spans:
            within = range(max(0, bisect_right(lines, first) - 1), bisect_right(lines, last))
            found.update(self._turns[place][0] for place in within)
        return frozenset(found)

    def place(self, placement: Placement, room: int, elsewhere: Collection[int] = ()) -> tuple[int, int]:
        """Places the ``window``; returns the tokens used and the number of dropped turns."""
        window = self.window(placement, room, elsewhere)
        for piece in window:
            placement.add(piece)
            section = piece.section
            at = bisect_left(self._turns, piece.order[0], key=lambda each: each[0])
            gone = placement.section(self._candidate(*self._turns[at])).tokens - section.tokens
            if gone > 0:
                why = "its middle: the last turns share the room"
                placement.left_out.append(missing(section, "", gone, why, "room"))
        dropped = self._turns[: len(self._turns) - len(window)]
        if dropped:
            placement.left_out.append(self._dropped(dropped, room))
        return sum(piece.tokens for piece in window), len(dropped)

    def flushed(self, dropped: int) -> tuple[tuple[int, int], ...]:
        """The first and last number of each run of dropped turns that were flushed."""
        return spans([number for number, _ in self._turns[:dropped] if number in self._flushed])

    def unflushed(self, dropped: int) -> int:
        """The number of dropped turns that were not flushed."""
        return sum(number not in self._flushed for number, _ in self._turns[:dropped])

    def _candidate(self, number: int, turn: Turn) -> Candidate:
        return _candidate(number, turn, render(turn, self._current.get(number, 0)))

    def _dropped(self, turns: list[tuple[int, Turn]], room: int) -> LeftOut:
        first, last = turns[0][0], turns[-1][0]
        unflushed = self.unflushed(len(turns))
        if not unflushed:
            state = "flushed"
        elif unflushed == len(turns):
            state = "unflushed, so only in the transcript"
        else:
            state = f"{len(turns) - unflushed:,} flushed, {unflushed:,} unflushed and only in the transcript"
        return LeftOut(
            label=f"history:{first}" if first == last else f"history:{first}-{last}",
            priority=4,
            slot="history",
            tokens=sum(_tokens_of(turn) for _, turn in turns),
            reason=f"older than the window of {max(0, room):,} tokens; {state}",
            limit="room",
        )


def spans(numbers: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """The first and last number of each run of consecutive numbers."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return tuple(found)


def _current_tools(turns: Sequence[Turn]) -> dict[int, int]:
    """By turn, the number of tool calls that may be longer: those since the person's last message."""
    found: dict[int, int] = {}
    left = CURRENT_TOOLS
    for number in range(len(turns), 0, -1):
        turn = turns[number - 1]
        if turn.role == "user" or not left:
            break
        if turn.tools:
            found[number] = min(left, len(turn.tools))
            left -= found[number]
    return found


def _candidate(number: int, turn: Turn, text: str) -> Candidate:
    memory = " [memory]" if turn.kind == MEMORY else ""
    return Candidate(
        label=f"history:{number}",
        layer=11,
        priority=4,
        slot="history",
        text=text,
        why="within the sliding window",
        order=(number,),
        mark=f"{turn.role} {turn.when}{memory}".strip(),
    )


def _shared(room: int, sizes: Sequence[int]) -> list[int]:
    """The tokens that each turn may use, oldest first: its size, less, or 0 for the oldest ones."""
    if sum(sizes) <= room:
        return list(sizes)
    for start in range(len(sizes)):
        level = _level(room, sizes[start:])
        if level >= LEAST_TURN or start == len(sizes) - 1:
            newest = len(sizes) - _NEWEST
            limits = [level * (2 if place >= newest else 1) for place in range(start, len(sizes))]
            return [0] * start + list(map(min, sizes[start:], limits))
    return []


def _level(room: int, sizes: Sequence[int]) -> int:
    """The limit for each turn with which all fit; the newest ones may use twice as much."""
    weights = [1] * max(0, len(sizes) - _NEWEST) + [2] * min(_NEWEST, len(sizes))
    left, weight = room, sum(weights)
    for size, own in sorted(zip(sizes, weights, strict=True), key=lambda each: each[0] / each[1]):
        if size * weight > left * own:
            break
        left, weight = left - size, weight - own
    return left // weight if weight else room


def _shortened(placement: Placement, piece: Piece, limit: int) -> Piece | None:
    """A turn without its middle, within ``limit`` tokens, if that is possible."""
    # Part of a key is no longer recognized as one.
    section = replace(piece.section, text=masked(piece.section.text))
    room = limit - (piece.tokens - section.tokens) - _NOTE_TOKENS
    beginning = fit(section.text, room * 2 // 3)
    end = fit_end(section.text, room - placement.count(beginning))
    if not beginning.strip() or len(beginning) + len(end) >= len(section.text):
        return None
    opened = open_fence(section.text[: len(section.text) - len(end)]).strip()
    if opened and end.lstrip("\n").startswith(opened):
        # Only the closing line of the code block would be left.
        opened, end = "", end.lstrip("\n").partition("\n")[2]
    note = f"[cut: {placement.count(beginning + end):,} of {section.tokens:,} tokens]"
    parts = (beginning.rstrip() + open_fence(beginning), note, opened, end.strip("\n"))
    text = "\n".join(part for part in parts if part)
    shorter = replace(section, text=text, tokens=placement.count(text), why=f"{section.why}; shortened")
    tokens = placement.count(f"{piece.head}{text}{piece.tail}")
    return replace(piece, section=shorter, tokens=tokens) if tokens <= limit else None


@lru_cache(maxsize=32_768)
def _tokens_of(turn: Turn) -> int:
    return count(render(turn))


@lru_cache(maxsize=32_768)
def _size_of(turn: Turn) -> int:
    if not _tokens_of(turn):
        return 0
    return Placement(count).piece(_candidate(0, turn, render(turn))).tokens
