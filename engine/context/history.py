"""The session so far as a sliding window (P4, layer 11; spec 6.4): the oldest turns are the first to go."""

from __future__ import annotations

from functools import lru_cache

from engine.context.budget import Candidate, Placement
from engine.context.compiled import LeftOut
from engine.context.delimiters import one_line, outside
from engine.context.tokens import count
from engine.transcripts.turn import Attachment, KnowledgeChange, Text, ToolCall, Turn

EXCHANGE_TURNS = 4
"""The last two exchanges: what an answer most often refers to."""

_TOOL_CHARACTERS = 200


def render(turn: Turn) -> str:
    """A past turn as text: prose as written, every tool call, attachment and memory operation on one line."""
    parts: list[str] = []
    previous_is_line = False
    for block in turn.blocks:
        is_line = not isinstance(block, Text)
        text = _line(block) if not isinstance(block, Text) else block.text.strip()
        if not text:
            continue
        if parts:
            parts.append("\n" if is_line and previous_is_line else "\n\n")
        parts.append(text)
        previous_is_line = is_line
    return outside("".join(parts)).strip()


def _line(block: ToolCall | Attachment | KnowledgeChange) -> str:
    match block:
        case ToolCall(name, summary, result):
            text = f"> [tool:{name}] {summary}" + (f" → {result}" if result else "")
        case Attachment(path):
            text = f"> [attachment:{path}]"
        case KnowledgeChange(action, path, summary):
            text = f"> [knowledge:{action}] {path}" + (f" — {summary}" if summary else "")
    return one_line(text, _TOOL_CHARACTERS)


class History:
    """The earlier turns of one session, as candidates.

    Args:
        turns: Oldest first.
    """

    def __init__(self, turns: tuple[Turn, ...]) -> None:
        self._turns = [(number, turn) for number, turn in enumerate(turns, 1) if _tokens_of(turn)]

    def minimum(self, placement: Placement) -> int:
        """Tokens of the last two exchanges."""
        return sum(
            placement.piece(_candidate(number, turn)).tokens for number, turn in self._turns[-EXCHANGE_TURNS:]
        )

    def first_line_within(self, placement: Placement, room: int) -> int | None:
        """The transcript line on which the window of so many tokens begins; ``None`` when it is not known."""
        line: int | None = None
        for number, turn in reversed(self._turns):
            room -= placement.piece(_candidate(number, turn)).tokens
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
            candidate = _candidate(number, turn)
            piece = placement.piece(candidate)
            if piece.tokens <= room - spent:
                spent += placement.add(piece)
                continue
            kept = placement.place(candidate, room - spent) if not taken else 0
            dropped = self._turns[: len(self._turns) - taken - (not taken)]
            if dropped:
                placement.left_out.append(_dropped(dropped, room))
            return spent + kept, len(dropped) + (not taken and not kept)
        return spent, 0


def _candidate(number: int, turn: Turn) -> Candidate:
    memory = " [memory]" if turn.kind == "memory" else ""
    return Candidate(
        label=f"history:{number}",
        layer=11,
        priority=4,
        slot="history",
        text=render(turn),
        why="within the sliding window",
        order=(number,),
        mark=f"{turn.role} {turn.time}{memory}".strip(),
    )


def _dropped(turns: list[tuple[int, Turn]], room: int) -> LeftOut:
    first, last = turns[0][0], turns[-1][0]
    return LeftOut(
        label=f"history:{first}" if first == last else f"history:{first}-{last}",
        priority=4,
        slot="history",
        source="",
        lines="",
        tokens=sum(_tokens_of(turn) for _, turn in turns),
        score=None,
        reason=f"older than the window, which has {max(0, room):,} tokens",
    )


@lru_cache(maxsize=32_768)
def _tokens_of(turn: Turn) -> int:
    return count(render(turn))
