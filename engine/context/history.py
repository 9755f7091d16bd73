"""The session so far as a sliding window (P4, layer 11; spec 6.4): the oldest turns are the first to go."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from engine.context.budget import Candidate, Placement
from engine.context.compiled import LeftOut
from engine.context.delimiters import one_line, outside
from engine.context.tokens import count
from engine.transcripts.turn import MEMORY, Attachment, KnowledgeChange, Text, ToolCall, Turn

EXCHANGE_TURNS = 4
"""The last two exchanges: what an answer most often refers to."""

CURRENT_TOOLS = 8
"""Tool calls since a person last spoke that may stand longer than the others, the newest ones."""

_TOOL_CHARACTERS = 200
_CURRENT_TOOL_CHARACTERS = 1_000


def render(turn: Turn, current_tools: int = 0) -> str:
    """A past turn as text: prose as written, every tool call, attachment and memory operation on one line.

    Args:
        turn: The turn.
        current_tools: How many of its tool calls, the last ones, belong to the turn being answered: their
            lines have up to 1,000 characters, all others 200.
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
    """What turns take in the window once they are older than the current one.

    Args:
        turns: Their numbers, and the turns.

    Returns:
        The number and the tokens, marker included, of every turn with something in it, in the order given.
    """
    sized = ((number, _size_of(turn)) for number, turn in turns)
    return [(number, tokens) for number, tokens in sized if tokens]


class History:
    """The earlier turns of one session, as candidates.

    Args:
        turns: Oldest first; the first is number 1.
        flushed: Numbers of the turns of which notes were taken (spec 6.4).
    """

    def __init__(self, turns: tuple[Turn, ...], flushed: Collection[int] = ()) -> None:
        self._current = _current_tools(turns)
        self._turns = [(number, turn) for number, turn in enumerate(turns, 1) if _tokens_of(turn)]
        self._flushed = frozenset(flushed)

    def minimum(self, placement: Placement) -> int:
        """Tokens of the last two exchanges."""
        return sum(
            placement.piece(self._candidate(number, turn)).tokens
            for number, turn in self._turns[-EXCHANGE_TURNS:]
        )

    def first_line_within(self, placement: Placement, room: int) -> int | None:
        """The transcript line on which the window of so many tokens begins; ``None`` when it is not known."""
        line: int | None = None
        for number, turn in reversed(self._turns):
            room -= placement.piece(self._candidate(number, turn)).tokens
            if room < 0:
                break
            line = turn.line or None
        return line

    def place(self, placement: Placement, room: int) -> tuple[int, int]:
        """Fill the room, newest turn first.

        A window has no holes: the first turn that does not fit ends it. Only the newest turn is ever cut.

        Returns:
            Tokens taken, and the number of turns that were dropped.
        """
        spent = 0
        for taken, (number, turn) in enumerate(reversed(self._turns)):
            candidate = self._candidate(number, turn)
            piece = placement.piece(candidate)
            if piece.tokens <= room - spent:
                spent += placement.add(piece)
                continue
            kept = placement.place(candidate, room - spent) if not taken else 0
            dropped = self._turns[: len(self._turns) - taken - (not taken)]
            if dropped:
                placement.left_out.append(self._dropped(dropped, room))
            return spent + kept, len(dropped) + (not taken and not kept)
        return spent, 0

    def flushed(self, dropped: int) -> tuple[tuple[int, int], ...]:
        """Which of the turns that were dropped have been flushed: the first and last number of each run."""
        return spans([number for number, _ in self._turns[:dropped] if number in self._flushed])

    def unflushed(self, dropped: int) -> int:
        """How many of the turns that were dropped have not been flushed."""
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
            source="",
            lines="",
            tokens=sum(_tokens_of(turn) for _, turn in turns),
            score=None,
            reason=f"older than the window, which has {max(0, room):,} tokens; {state}",
            limit="room",
        )


def spans(numbers: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Ascending numbers as runs without a gap, each by its first and last."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return tuple(found)


def _current_tools(turns: Sequence[Turn]) -> dict[int, int]:
    """By number, how many of a turn's tool calls may stand longer: those since a person last spoke."""
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


@lru_cache(maxsize=32_768)
def _tokens_of(turn: Turn) -> int:
    return count(render(turn))


@lru_cache(maxsize=32_768)
def _size_of(turn: Turn) -> int:
    if not _tokens_of(turn):
        return 0
    return Placement(count).piece(_candidate(0, turn, render(turn))).tokens
