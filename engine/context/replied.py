"""The agent's replies to what the person said in earlier conversations.

Beside an agent's message, an earlier question alone says little; what helps is how it was answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from engine.context.compiled import LeftOut
from engine.context.relevance import omit
from engine.context.sources import Reader
from engine.search.query import literal_terms
from engine.search.results import SearchResult
from engine.search.talk import telling
from engine.transcripts.escape import HEADING, Fences, outside
from engine.transcripts.format import parse_turns
from engine.transcripts.turn import DIALOGUE, Text

_MOST = 4
"""Results whose replies are looked up; each means reading a transcript."""
_ECHO = 0.7
"""Share of common words from which a result repeats the message."""
_CHARACTERS = 4_000
_MOST_LINES = 2_000
"""Lines of a turn above which it is not read: a prompt waits for it."""
_MARK = re.compile(r"\n##[ \t].*")
_QUESTION = ("?", "？", "؟")


def with_replies(
    reader: Reader, results: Sequence[SearchResult], message: str, left_out: list[LeftOut]
) -> list[SearchResult]:
    """The results, each of the person's turns followed by the agent's last words about it. A question without
    these is left out, with the reason, and so is a repetition of the message, of which only the reply is new.
    """
    found: list[SearchResult] = []
    for number, result in enumerate(results):
        is_said = result.category == "conversation" and result.speaker.startswith("user")
        reply = _reply(reader, result) if is_said and number < _MOST else None
        if _echoes(result.text, message):
            omit(left_out, result, "it repeats the message")
        elif reply is None and is_said and number < _MOST and result.text.rstrip().endswith(_QUESTION):
            omit(left_out, result, "a question that was not answered")
        else:
            found.append(result)
        if reply is not None and all(each.text != reply.text for each in (*found, *results)):
            found.append(reply)
    return found


def _echoes(text: str, message: str) -> bool:
    words, asked = (set(literal_terms(each[:_CHARACTERS].lower())) for each in (text, message))
    return bool(words) and len(words & asked) >= _ECHO * len(words | asked)


def _reply(reader: Reader, result: SearchResult) -> SearchResult | None:
    """What the agent said last before the person spoke again; ``None`` if it said nothing but "Done."."""
    text = reader.raw(result.path).replace("\r\n", "\n")
    lines = text.split("\n")
    for start, end in reversed(_answer(text, result.end_line, len(lines))):
        if end - start > _MOST_LINES:
            return None
        _, (turn, *_) = parse_turns("\n".join(lines[start:end]), start + 1)
        said = [block.text for block in turn.blocks if isinstance(block, Text)]
        if said and telling(literal_terms(said[-1])):
            return replace(
                result,
                start_line=start + 2,
                end_line=end,
                heading=f"agent · {turn.time}",
                snippet="",
                text=said[-1],
                why="the reply to what search found for the message",
                shares=(),
                speaker="agent",
            )
    return None


def _answer(text: str, after: int, lines: int) -> list[tuple[int, int]]:
    """The agent's next turns up to the person's next one: first line from 0, and the line after the last."""
    found: list[tuple[int, int]] = []
    start: int | None = None
    for number, match in _headings(text):
        if number < after:
            continue
        if start is not None:
            found.append((start, number))
            start = None
        role, kind = match["role"].lower(), (match["kind"] or "").strip()
        if kind in DIALOGUE and role == "user" and found:
            return found
        if kind in DIALOGUE and role in ("agent", "assistant"):
            start = number
    return found if start is None else [*found, (start, lines)]


def _headings(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """The headings of turns, not those quoted in code, each with its line from 0."""
    line = counted = 0
    for mark in outside(Fences(text).blocks(), _MARK.finditer("\n" + text), lambda mark: mark.start()):
        heading = HEADING.fullmatch(mark[0][1:])
        if heading is not None:
            line += text.count("\n", counted, mark.start())
            counted = mark.start()
            yield line, heading
