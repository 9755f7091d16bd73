"""Splits a long conversation into parts, whose summaries are harvested instead.

Every byte of the file belongs to one part, so coverage is exact (L7). A part without a summary is always
reported as missing (``knowledge-curation.md`` 5.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from engine.context.quoting import fenced
from engine.context.replies import BadReply, is_control, says, without_thoughts
from engine.knowledge.harvest.inquiry import framed, said_in
from engine.knowledge.harvest.reading import SourceText
from engine.transcripts.turn import Turn

SUMMARIZE_THRESHOLD_BYTES = 64 * 1024
"""Bytes of text above which a conversation is summarised first."""
PART_BYTES = 64 * 1024
"""Maximum bytes of a part as shown; longer turns are split."""
MAX_FAILURES = 3
"""Consecutive failed parts after which the rest is skipped."""
SUMMARY_CHARACTERS = 24_000
"""Maximum length of a summary."""

_FRAME_BYTES = 128
"""Upper bound for the markup around a turn."""
_NOTHING = "NOTHING"
_CUT = "the summary was cut off at the token limit; raise harvest.max_tokens"


@dataclass(frozen=True, slots=True)
class SourcePart:
    """Consecutive turns of a conversation."""

    first: int
    last: int  # turn numbers, inclusive
    text: str  # the turns as shown
    size: int  # bytes of the file it covers


def parts_of(
    source: SourceText,
    turns: Sequence[tuple[int, Turn]] | None = None,
    limit: int = PART_BYTES,
    overlap: int = 0,
) -> tuple[SourcePart, ...]:
    """Splits a conversation into parts, between turns unless a turn itself is too long.

    Args:
        turns: The turns to show, by number; defaults to those of the source.
        limit: Maximum bytes of a part as shown.
        overlap: Maximum bytes of whole turns repeated at the start of the next part; they count towards the
            earlier part.
    """
    parts: list[SourcePart] = []
    held: list[SourcePart] = []
    room = limit + 1
    for piece in _pieces(source, dict(source.shown if turns is None else turns), limit):
        taken = _shown_size(piece)
        if held and taken > room:
            parts.append(_merged(held))
            held = _repeated(held, min(overlap, limit - taken))
            room = limit + 1 - sum(map(_shown_size, held))
        room -= taken
        held.append(piece)
    if held:
        parts.append(_merged(held))
    return tuple(parts)


def _shown_size(piece: SourcePart) -> int:
    return len(piece.text.encode()) + 1 if piece.text else 0


def _repeated(pieces: Sequence[SourcePart], room: int) -> list[SourcePart]:
    """The last pieces that fit, for repetition in the next part."""
    found: list[SourcePart] = []
    for piece in reversed(pieces):
        room -= _shown_size(piece)
        if room < 0:
            break
        if piece.text:
            found.insert(0, replace(piece, size=0))
    return found if len(found) < len(pieces) else []


def _merged(pieces: Sequence[SourcePart]) -> SourcePart:
    text = "\n".join(piece.text for piece in pieces if piece.text)
    return SourcePart(pieces[0].first, pieces[-1].last, text, sum(piece.size for piece in pieces))


def _pieces(source: SourceText, turns: dict[int, Turn], limit: int) -> Iterator[SourcePart]:
    """All turns or their pieces; a turn that is not shown has no text but counts as covered."""
    for number, size in enumerate(source.sizes, 1):
        turn = turns.get(number)
        if turn is None:
            yield SourcePart(number, number, "", size)
            continue
        text = said_in(turn).encode()
        done = given = 0
        for piece in _cut(text, limit - _FRAME_BYTES):
            done += len(piece)
            upto = size * done // max(len(text), 1)
            yield SourcePart(number, number, framed(number, turn, piece.decode()), upto - given)
            given = upto


def _cut(text: bytes, limit: int) -> Iterator[bytes]:
    """Splits a text into pieces, preferably at line ends, never within a character."""
    place = 0
    while len(text) - place > limit:
        end = place + limit
        while text[end] & 0xC0 == 0x80:
            end -= 1
        end = text.rfind(b"\n", place + limit // 2, end) + 1 or end
        yield text[place:end]
        place = end
    yield text[place:]


def summarised(
    parts: Sequence[SourcePart], ask: Callable[[SourcePart], tuple[str, bool] | str]
) -> tuple[list[str], int, str]:
    """The summaries of parts as the record of a prompt, the bytes of the file they cover, and the problem
    if none could be made.

    ``ask`` gives the reply and whether it was cut off, or the reason there is none in one line.
    """
    record: list[str] = []
    errors: list[str] = []
    covered = in_a_row = 0
    for part in parts:
        text, error = "", ""
        if part.text:
            text, error = ("", errors[-1]) if in_a_row == MAX_FAILURES else _checked_summary(ask(part))
            in_a_row = min(in_a_row + 1, MAX_FAILURES) if error and not text else 0
        if text:
            body = f"{fenced(text)}\n</turn>"
            record.append(f'<turn number="{part.first}-{part.last}" by="summary">\n{body}')
        if error:
            errors.append(error)
        else:
            covered += part.size
    is_all = not record and len(errors) == sum(bool(part.text) for part in parts)
    return record, covered, errors[0] if errors and is_all else ""


def _checked_summary(answer: tuple[str, bool] | str) -> tuple[str, str]:
    """The summary, and the reason if it is missing or incomplete."""
    if isinstance(answer, str):
        return "", answer
    try:
        return summary_in(*answer), _CUT if answer[1] else ""
    except BadReply as error:
        return "", str(error)


def summary_in(text: str, cut: bool) -> str:
    """The complete lines of the summary in a reply; empty if the model found nothing in the part.

    Raises:
        BadReply: It is empty or too long, or was cut off within its first line.
    """
    plain = without_thoughts(text, SUMMARY_CHARACTERS)
    if cut:
        plain = plain.rpartition("\n")[0].strip()
        if not plain:
            raise BadReply(_CUT)
    if says(_NOTHING, plain):
        return ""
    return "".join(" " if is_control(c) and c not in "\n\t" else c for c in plain)
