"""A long conversation in parts, and the summaries that are harvested in its place.

Every byte of the file belongs to one part, so what was looked at can be said exactly (L7). A part whose
summary did not come is missing from that, and never silently (``knowledge-curation.md`` 5.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from engine.context.quoting import fenced
from engine.context.replies import BadReply, is_control, without_thoughts
from engine.knowledge.harvest.prompt import framed, said_in
from engine.knowledge.harvest.reading import MOST_TEXT_BYTES, SourceText
from engine.transcripts.turn import Turn

SUMMARIZE_THRESHOLD_BYTES = 64 * 1024
"""Bytes of text of the largest conversation that is harvested as it is."""
PART_BYTES = 64 * 1024
"""Bytes of a part as it is shown; one longer turn is more than one part."""
MOST_PARTS = 2 * MOST_TEXT_BYTES // PART_BYTES
"""Parts that are summarised at all: any two neighbours are longer than one may be."""
MOST_IN_A_ROW = 3
"""Parts that may fail one after the other before no further one is tried."""
SUMMARY_CHARACTERS = 24_000
"""Characters of a summary; a longer one is rejected."""

_FRAME_BYTES = 128
"""More than what stands around the text of a turn."""
_NOTHING = "NOTHING"
_CUT = "the summary was cut off at the token limit; raise harvest.max_tokens"


@dataclass(frozen=True, slots=True)
class SourcePart:
    """Consecutive turns of a conversation."""

    first: int
    last: int  # turn numbers, both included
    text: str  # as the turns are shown
    size: int  # bytes of the file that it stands for


@dataclass(frozen=True, slots=True)
class Summary:
    """What came of summing up a part."""

    part: SourcePart
    text: str
    """Empty if the part holds nothing or the summary failed; of one that was cut off, its whole lines."""
    error: str = ""  # why it failed or was cut off; empty otherwise


def parts_of(
    source: SourceText,
    turns: Sequence[tuple[int, Turn]] | None = None,
    most: int = PART_BYTES,
    overlap: int = 0,
) -> tuple[SourcePart, ...]:
    """A conversation in parts, split between turns where these are not too long themselves.

    Args:
        turns: Those that may be shown, by number; those of the source if left out.
        most: Bytes of a part as it is shown.
        overlap: Bytes of whole turns at the end of a part with which the next one begins, at most; they count
            as those of the former.
    """
    parts: list[SourcePart] = []
    held: list[SourcePart] = []
    room = most + 1
    for piece in _pieces(source, dict(source.shown if turns is None else turns), most):
        taken = _taken(piece)
        if held and taken > room:
            parts.append(_together(held))
            held = _last(held, min(overlap, most - taken))
            room = most + 1 - sum(map(_taken, held))
        room -= taken
        held.append(piece)
    if held:
        parts.append(_together(held))
    return tuple(parts)


def _taken(piece: SourcePart) -> int:
    return len(piece.text.encode()) + 1 if piece.text else 0


def _last(pieces: Sequence[SourcePart], room: int) -> list[SourcePart]:
    """The last pieces that there is room for, as they are said again."""
    found: list[SourcePart] = []
    for piece in reversed(pieces):
        room -= _taken(piece)
        if room < 0:
            break
        if piece.text:
            found.insert(0, replace(piece, size=0))
    return found if len(found) < len(pieces) else []


def _together(pieces: Sequence[SourcePart]) -> SourcePart:
    text = "\n".join(piece.text for piece in pieces if piece.text)
    return SourcePart(pieces[0].first, pieces[-1].last, text, sum(piece.size for piece in pieces))


def _pieces(source: SourceText, turns: dict[int, Turn], most: int) -> Iterator[SourcePart]:
    """Every turn, or its pieces; one that is not shown has no text and is looked at by leaving it out."""
    for number, size in enumerate(source.sizes, 1):
        turn = turns.get(number)
        if turn is None:
            yield SourcePart(number, number, "", size)
            continue
        text = said_in(turn).encode()
        done = given = 0
        for piece in _cut(text, most - _FRAME_BYTES):
            done += len(piece)
            upto = size * done // max(len(text), 1)
            yield SourcePart(number, number, framed(number, turn, piece.decode()), upto - given)
            given = upto


def _cut(text: bytes, most: int) -> Iterator[bytes]:
    """A text in pieces, each ended at a line end where there is one late enough, and never in a character."""
    place = 0
    while len(text) - place > most:
        end = place + most
        while text[end] & 0xC0 == 0x80:
            end -= 1
        end = text.rfind(b"\n", place + most // 2, end) + 1 or end
        yield text[place:end]
        place = end
    yield text[place:]


def summaries_of(
    parts: Sequence[SourcePart], ask: Callable[[SourcePart], tuple[str, bool] | str]
) -> tuple[Summary, ...]:
    """The summary of each part, or why there is none.

    ``ask`` gives the reply and whether it was cut off, or in one line why there is none.
    """
    done: list[Summary] = []
    for number, part in enumerate(parts, 1):
        lately = [summary.error for summary in done[-MOST_IN_A_ROW:] if not summary.text]
        text = error = ""
        if part.text and number > MOST_PARTS:
            error = f"there are more than {MOST_PARTS} parts"
        elif part.text and len(lately) == MOST_IN_A_ROW and all(lately):
            error = lately[-1]
        elif part.text:
            text, error = _summed_up(ask(part))
        done.append(Summary(part, text, error))
    return tuple(done)


def _summed_up(answer: tuple[str, bool] | str) -> tuple[str, str]:
    """The summary, and why there is none or not all of it."""
    if isinstance(answer, str):
        return "", answer
    try:
        return summary_in(*answer), _CUT if answer[1] else ""
    except BadReply as error:
        return "", str(error)


def summary_in(text: str, cut: bool) -> str:
    """The summary in a reply, as far as its lines are whole; empty where the model found nothing in the part.

    Raises:
        BadReply: It is empty or too long, or was cut off before its first line ended.
    """
    plain = without_thoughts(text, SUMMARY_CHARACTERS)
    if cut:
        plain = plain.rpartition("\n")[0].strip()
        if not plain:
            raise BadReply(_CUT)
    if plain.strip("`\"'. \n") == _NOTHING:
        return ""
    return "".join(" " if is_control(c) and c not in "\n\t" else c for c in plain)


def record_of(summaries: Sequence[Summary]) -> list[str]:
    """The summaries that came as the record of a prompt."""
    return [
        f'<turn number="{part.first}-{part.last}" by="summary">\n{fenced(text)}\n</turn>'
        for part, text in ((summary.part, summary.text) for summary in summaries)
        if text
    ]


def covered(summaries: Sequence[Summary]) -> int:
    """Bytes of the file whose parts were looked at."""
    return sum(summary.part.size for summary in summaries if not summary.error)
