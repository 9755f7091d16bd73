"""Escapes text that a transcript's parser would misread, readably and reversibly (robustness P1, P7).

There are two escapes, both with a backslash. At the start of a line it marks the line as content: a turn
heading, a tool line, a fence that is never closed, a blank line at the edge of a text. Before ``u{…}`` it
encodes one character that a text file should not contain raw: control characters (a terminal would obey
them), carriage returns, surrogates. A backslash already in such a place is doubled, or gets another one, so
nothing is ambiguous.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from engine.startup.lazy import expression

T = TypeVar("T")

_CODE = r"u\{(?:1?[0-9a-f]|5d|7f|[89][0-9a-f]|d[89a-f][0-9a-f]{2})\}"
_RAW = "\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"
# The lookbehinds make a run of backslashes one match: without them a long run costs quadratic time.
_ENCODE = expression(rf"(?<!\\)(?:(\\*)([{_RAW}])|(\\+)(?={_CODE}))")
_ENCODE_LINE = expression(rf"(?<!\\)(?:(\\*)([{_RAW}\n])|(\\+)(?={_CODE}))")
_ENCODE_NAME = expression(rf"(?<!\\)(?:(\\*)([{_RAW}\n\]])|(\\+)(?={_CODE}))")
_DECODE = expression(rf"(?<!\\)(\\+)({_CODE})")
_MAY_NEED = expression(rf"[{_RAW}]|\\u\{{")

_MAX_UNCLOSED_FENCES = 200
_FENCE_LINE = expression(r"^ {0,3}(?:`{3,}|~{3,})", re.MULTILINE)
# Patterns for whole lines start with the preceding line end: the regex engine then jumps from line to line,
# an order of magnitude faster than checking at every character whether a line starts there.
_FENCE = expression(r"\n {0,3}(`{3,}|~{3,})(.*)")
_HEADING = (
    r"##[ \t]+(?:(?P<day>[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01]))[ \t]+)?"
    r"(?:(?P<hour>[01]?[0-9]|2[0-3]):(?P<minute>[0-5][0-9])(?::[0-5][0-9])?[ \t]*(?:—|–|--?)|—)"
    r"[ \t]*(?P<role>(?ai:user|agent|assistant|system))(?:[ \t]+\[(?P<kind>[A-Za-z0-9 _.-]*)\])?[ \t]*$"
)
_OPENING = r" {0,3}(?:`{3,}[^`\n]*$|~{3})"
SPECIAL = rf"(?:{_HEADING}|> \[(?:tool|attachment|knowledge):|<!-- (?:-->|key:)|{_OPENING})"
"""Pattern for the start of a line that has a meaning to the parser."""

HEADING = expression(_HEADING)
ESCAPED_LINE = expression(rf"\\+(?:[ \t]*$|{SPECIAL})")
_SPECIAL_LINE = expression(rf"\n(?=\\+[ \t]*$|\\*{SPECIAL})", re.MULTILINE)


def encode(text: str) -> str:
    """Encode characters that multi-line text must not contain raw."""
    return _ENCODE.sub(_encoded, text) if _MAY_NEED.search(text) else text


def encode_line(text: str) -> str:
    """As ``encode``, for a field within a line: also encodes line ends."""
    return _ENCODE_LINE.sub(_encoded, text)


def encode_name(text: str) -> str:
    """As ``encode_line``, for a field in square brackets: also encodes closing brackets."""
    return _ENCODE_NAME.sub(_encoded, text)


def decode(text: str) -> str:
    """Undo the ``encode`` functions."""
    return _DECODE.sub(_decoded, text) if "\\u{" in text else text


def _encoded(match: re.Match[str]) -> str:
    before, raw, literal = match.groups()
    return literal * 2 if literal else f"{before * 2}\\u{{{ord(raw):x}}}"


def _decoded(match: re.Match[str]) -> str:
    slashes, code = match.groups()
    kept = "\\" * (len(slashes) // 2)
    return kept + (chr(int(code[2:-1], 16)) if len(slashes) % 2 else code)


class Fences:
    """The fenced code blocks of a text. A fence that is never closed does not count: it would swallow
    everything that follows."""

    def __init__(self, text: str) -> None:
        self._lines: list[tuple[int, int, str, str]] = []
        if "```" in text or "~~~" in text:
            for match in _FENCE.finditer("\n" + text):
                self._lines.append((match.start(), match.end() - 1, match[1], match[2].strip(" \t")))
        longest = {"`": 0, "~": 0}
        self._later = [longest] * len(self._lines)
        for index in range(len(self._lines) - 1, -1, -1):
            self._later[index] = longest
            _, _, run, info = self._lines[index]
            if not info and len(run) > longest[run[0]]:
                longest = {**longest, run[0]: len(run)}

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Start and end of each fenced block, including its fences."""
        index = 0
        while index < len(self._lines):
            closing = self._closing(index)
            if closing is not None:
                yield self._lines[index][0], self._lines[closing][1]
                index = closing
            index += 1

    def any_open(self) -> bool:
        """Whether any fence is never closed."""
        return any(True for _ in outside(self.blocks(), self._lines, lambda line: line[0]))

    def _closing(self, index: int) -> int | None:
        _, _, run, info = self._lines[index]
        if (run[0] == "`" and "`" in info) or self._later[index][run[0]] < len(run):
            return None
        for later in range(index + 1, len(self._lines)):
            _, _, other, rest = self._lines[later]
            if other[0] == run[0] and len(other) >= len(run) and not rest:
                return later
        return None


def outside(
    spans: Iterable[tuple[int, int]], places: Iterable[T], start_of: Callable[[T], int]
) -> Iterator[T]:
    """The ``places`` that are in none of the ``spans``; both must be sorted."""
    remaining = iter(spans)
    span = next(remaining, None)
    for place in places:
        start = start_of(place)
        while span is not None and span[1] <= start:
            span = next(remaining, None)
        if span is None or start < span[0]:
            yield place


def escape_text(text: str) -> str:
    """Escape a text for use below a heading, so that no line of it is parsed as anything else."""
    text = encode(text)
    special = (match.start() for match in _SPECIAL_LINE.finditer("\n" + text))
    protected = set(outside(Fences(text).blocks(), special, int))
    first, last = text.partition("\n")[0], text.rfind("\n") + 1
    if not first.strip(" \t"):
        protected.add(0)
    if last and not text[last:].strip(" \t"):
        protected.add(last)
    pieces: list[str] = []
    done = 0
    for place in sorted(protected):
        pieces += (text[done:place], "\\")
        done = place
    return "".join((*pieces, text[done:]))


def outside_code(text: str, marks: Sequence[re.Match[str]]) -> list[re.Match[str]]:
    """The matches that do not begin inside fenced code.

    An unclosed fence would swallow the following turns, so such a block ends before the first match in it. It
    is recognized by an even number of fence lines after the last match in it: after a quoted match, the fence
    that closes the quotation makes the number odd. The matches must be sorted and begin at the start of a
    line.
    """
    starts = [mark.start() for mark in marks]
    return list(outside(_spans(text, starts), marks, lambda mark: mark.start()))


def _spans(text: str, places: Sequence[int]) -> Iterator[tuple[int, int]]:
    offset = 0
    for _ in range(_MAX_UNCLOSED_FENCES):
        for start, end in Fences(text[offset:]).blocks():
            start, end = start + offset, end + offset
            first, after = bisect_right(places, start), bisect_left(places, end)
            if first < after:
                following = places[after] if after < len(places) else len(text)
                if len(_FENCE_LINE.findall(text[places[after - 1] : following])) % 2 == 0:
                    yield start, places[first]
                    offset = places[first]
                    break
            yield start, end
        else:
            return
