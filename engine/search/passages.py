"""Cuts conversations into passages worth telling in another session, and reads the words they share with it.

A passage is what a person or an agent said in prose, whole paragraphs of some 60 to 250 tokens: the person's
messages, and of an agent's reply what follows the last tool call, which is where it says what it decided,
found out and left open. Code, tables, logs and lists of names are none; an agent finds those in its files.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, groupby
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from engine.search.chunks import length_of, paragraphs
from engine.search.query import literal_terms
from engine.search.talk import telling
from engine.startup.lazy import expression
from engine.transcripts.injected import BY_PROGRAM
from engine.transcripts.turn import COMMAND, DIALOGUE

if TYPE_CHECKING:
    from engine.search.chunks import Piece
    from engine.search.results import SearchResult


PERSON, CLOSING = 1, 2
"""Flags: the person said it; it stands at the end of the session."""

_MOST_CHARACTERS = 1_000
_LEAST_CHARACTERS = 240
"""Shorter paragraphs are joined with the next one."""
_TOO_SHORT = 40
_FEWEST_WORDS = 6
_MANY_LINES = 4
_WORDS_PER_LINE = 5
_PLAIN_SHARE = 0.6
"""Share of words without signs of code from which a text is prose."""

_WORD = expression(r"[^\W\d_][\w./-]{2,}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]+")
_DENSE = expression(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]{2,}")
"""Scripts without spaces between words."""
_JOINT = expression(r"[./_-]+")
_LONGEST_NAME = 64
_CACHED = 65_536
"""Runs of characters whose words are kept, since a conversation repeats them."""
_KIND = expression(r"\[([^\[\]]*)\]$")
_CODE = expression(r"(?<!\S)\S*?(?:[/_=<>{}()|\\`]|\w\.\w)")
"""The beginning of a word with signs of code."""
_FENCE = expression(r"[\s>]*(?:```|~~~)")
_SHOWN = expression(r"\s*\||> ?(?:\[|→)|\s*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d")
"""A line of a table, of a log, or of a tool's call or output."""
_HEADING = expression(r"\s*(?:#{1,6} |\*\*[^*]+\*\*:?\s*$)")
_CALL = expression(r"> ?(?:\[tool:|→)")


class Passage(NamedTuple):
    """Lines of a chunk."""

    position: int  # of the chunk in its file
    first: int  # line of the chunk, from 0
    last: int  # inclusive
    flags: int  # of ``PERSON`` and ``CLOSING``
    words: bytes  # as from ``packed_words``


def words_of(text: str) -> set[str]:
    """The distinct words of a text in lower case: whole names such as ``cli/state.go``, and their parts."""
    return set().union(*map(_words_in, _WORD.findall(text.casefold())))


def packed_words(text: str) -> bytes:
    """The numbers of a text's words, uint32, ascending."""
    runs = set(_WORD.findall(text.casefold()))
    names = [run for run in runs if len(run) <= _LONGEST_NAME]
    found = set(chain.from_iterable(map(_numbers_in, names)))
    for run in runs.difference(names) if len(names) < len(runs) else ():
        found.update(map(number_of, _words_in(run)))
    return array("I", sorted(found)).tobytes()


def _words_in(run: str) -> tuple[str, ...]:
    """The name that a run of characters is, and its parts."""
    name = run.strip("./-_")
    found = [name] if len(name) <= _LONGEST_NAME else []
    if not name.isalpha():
        found += [part for part in _JOINT.split(name) if len(part) > 2]
    if not name.isascii():
        for dense in _DENSE.findall(name):
            found += [dense[place : place + 2] for place in range(len(dense) - 1)]
    return tuple(found)


@lru_cache(maxsize=_CACHED)
def _numbers_in(run: str) -> tuple[int, ...]:
    return tuple(map(number_of, _words_in(run)))


def number_of(word: str) -> int:
    """The number of a word, 32 bits."""
    return crc32(word.encode("utf-8", "replace"))


def session_words(pieces: Iterable[Piece]) -> bytes:
    """The words of a whole conversation, packed."""
    # A word is within text without white space, and most of that occurs more than once.
    distinct: set[str] = set().union(*(piece.chunk.text.casefold().split() for piece in pieces))
    return packed_words(" ".join(distinct))


def is_prose(text: str) -> bool:
    """Whether a text mostly consists of plain words, in lines of some length."""
    words = text.split()
    dense = 0 if text.isascii() else len("".join(_DENSE.findall(text)))
    if len(words) < _FEWEST_WORDS and dense < 2 * _FEWEST_WORDS:
        return False
    if not dense and len(words) < _WORDS_PER_LINE * (text.count("\n") + 1):
        lines = sum(map(bool, map(str.strip, text.split("\n"))))
        if lines >= _MANY_LINES and len(words) < _WORDS_PER_LINE * lines:
            return False  # what a program printed, or a list of names
    plain = len(words) - len(_CODE.findall(text))
    return len(text) >= (_TOO_SHORT if not dense else _TOO_SHORT // 2) and plain >= _PLAIN_SHARE * len(words)


def passages(pieces: Sequence[Piece]) -> list[Passage]:
    """The passages of a conversation's chunks, in order."""
    found: list[Passage] = []
    latest = 0
    numbered = [(number, piece) for number, piece in enumerate(pieces) if _is_said(piece)]
    for role, run in groupby(numbered, lambda each: _role(each[1])):
        said = list(run)
        if role == "user":
            for position, piece in said:
                lines = piece.chunk.text.split("\n")
                if BY_PROGRAM.search(piece.chunk.text) is None:
                    found += _cut(position, lines[:1] if _kind(piece) == COMMAND else lines, 0, PERSON)
        elif role == "agent":
            latest = len(found)
            found += _reply(said)
    return found[:latest] + [
        each._replace(flags=each.flags | CLOSING * (not each.flags)) for each in found[latest:]
    ]


def _is_said(piece: Piece) -> bool:
    return bool(piece.speaker) and _kind(piece) in DIALOGUE


def _kind(piece: Piece) -> str:
    kind = _KIND.search(piece.chunk.heading)
    return kind[1] if kind else ""


def _role(piece: Piece) -> str:
    return piece.speaker.partition(" ")[0]


def _reply(said: Sequence[tuple[int, Piece]]) -> list[Passage]:
    """What an agent said at the end of its reply, after the last tool call."""
    found: list[Passage] = []
    heading = said[-1][1].chunk.heading
    for position, piece in reversed(said):
        lines = piece.chunk.text.split("\n")
        calls = [number for number, line in enumerate(lines) if _CALL.match(line)]
        if piece.chunk.heading != heading:
            break
        found[:0] = _cut(position, lines, calls[-1] + 1 if calls else 0, 0)
        if calls:
            break
    return found


def is_shown(line: str) -> bool:
    """Whether a line is code, part of a table, or of a tool's call or output."""
    return _FENCE.match(line) is not None or _SHOWN.match(line) is not None


def prose(lines: Sequence[str]) -> list[tuple[int, int]]:
    """The half-open line ranges of a text that are passages."""
    return [(first, last) for first, last in _groups(lines) if is_prose("\n".join(lines[first:last]))]


def _cut(position: int, lines: Sequence[str], after: int, flags: int) -> list[Passage]:
    found: list[Passage] = []
    for first, last in prose(lines[after:]):
        text = "\n".join(lines[after + first : after + last])
        found.append(Passage(position, after + first, after + last - 1, flags, packed_words(text)))
    return found


def _groups(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Half-open line ranges of neighbouring paragraphs that make up a passage."""
    start, end, size = 0, 0, 0
    for top, bottom in _short_paragraphs(lines):
        length = length_of(lines[top:bottom])
        is_code = is_shown(lines[top])
        is_full = size >= _LEAST_CHARACTERS or size + length > _MOST_CHARACTERS
        if size and (is_code or is_full or (_HEADING.match(lines[top]) and 2 * size >= _LEAST_CHARACTERS)):
            yield start, end
            size = 0
        if not is_code:
            start, end, size = (start if size else top), bottom, size + length
    if size:
        yield start, end


def _short_paragraphs(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Paragraphs, a long one cut between its lines; fenced code, a table or tool output apart."""
    for top, bottom in paragraphs(lines):
        start, size, is_fenced, was_code = top, 0, False, False
        for number in range(top, bottom):
            line = lines[number]
            is_fence = _FENCE.match(line) is not None
            is_code = is_fenced or is_fence or _SHOWN.match(line) is not None
            if number > start and (is_code != was_code or size + len(line) > _MOST_CHARACTERS):
                yield start, number
                start, size = number, 0
            is_fenced, was_code = is_fenced != is_fence, is_code
            size += len(line) + 1
        yield start, bottom


_LEAST_WHOLE = 320
"""About 80 tokens, up to which a passage is joined with the paragraphs around it."""
_REMARK_WORDS = 3
_MOST_WHOLE = 1_200
"""About 300 tokens."""


def whole_passages(results: Iterable[SearchResult], query: str) -> Iterator[SearchResult]:
    """The results in their order, those of conversations as whole paragraphs of prose, of 80 to 300 tokens
    unless the turn is shorter. What a program printed, and code, is left out.

    Args:
        query: Its words decide which paragraphs of a longer text are kept.
    """
    asked = set(literal_terms(query.casefold()))
    for result in results:
        if result.category != "conversation":
            yield result
            continue
        lines = result.text.split("\n")
        groups = prose(lines)
        if not groups:
            if _is_remark(result.text) and not any(map(is_shown, lines)):
                yield result
            continue
        first, last = _around_best(lines, groups, asked)
        text = "\n".join(lines[first:last]).strip("\n")
        is_numbered = len(lines) == result.end_line - result.start_line + 1
        start = result.start_line + (first if is_numbered else 0)
        end = result.start_line + last - 1 if is_numbered else result.end_line
        yield replace(result, text=text, start_line=start, end_line=end)


def _is_remark(text: str) -> bool:
    """Whether a text is short, and says something on its own."""
    return len(text) < _LEAST_WHOLE and len(telling(literal_terms(text))) >= _REMARK_WORDS


def _around_best(lines: Sequence[str], groups: Sequence[tuple[int, int]], asked: set[str]) -> tuple[int, int]:
    """The half-open lines of the group with the most words asked for, and of those next to it while there is
    room.
    """
    texts = ["\n".join(lines[first:last]) for first, last in groups]
    shared = [len(asked.intersection(literal_terms(text.casefold()))) for text in texts]
    low = high = max(range(len(groups)), key=lambda at: (shared[at], -at))
    size = len(texts[low])
    while size < _LEAST_WHOLE:
        near = [at for at in (high + 1, low - 1) if 0 <= at < len(groups)]
        at = next((at for at in near if size + len(texts[at]) <= _MOST_WHOLE), None)
        if at is None or not _is_next(groups, at, low, high):
            break
        low, high, size = min(low, at), max(high, at), size + len(texts[at])
    return groups[low][0], groups[high][1]


def _is_next(groups: Sequence[tuple[int, int]], at: int, low: int, high: int) -> bool:
    """Whether nothing but prose stands between a group and those chosen."""
    return groups[at][0] == groups[high][1] if at > high else groups[at][1] == groups[low][0]
