"""Which lines of a text are a speaker's heading, and which only quote one: fenced code holds no heading."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from engine.transcripts.escape import Fences, outside

_FENCE = re.compile(r"^ {0,3}(?:`{3,}|~{3,})", re.MULTILINE)
_MOST_FENCES_LEFT_OPEN = 200


def outside_code(text: str, marks: Sequence[re.Match[str]]) -> list[re.Match[str]]:
    """Those of the matches, in order, that do not begin inside fenced code.

    An unclosed fence would swallow the turns that follow. Such a block ends before the
    first match in it: after the last one, as many fences are opened as are closed, while after a quoted one
    there is the end of the quotation besides. The matches begin at the start of a line, in order.
    """
    starts = [mark.start() for mark in marks]
    return list(outside(_spans(text, starts), marks, lambda mark: mark.start()))


def _spans(text: str, places: Sequence[int]) -> Iterator[tuple[int, int]]:
    offset = 0
    for _ in range(_MOST_FENCES_LEFT_OPEN):
        for start, end in Fences(text[offset:]).blocks():
            start, end = start + offset, end + offset
            first, after = bisect_right(places, start), bisect_left(places, end)
            if first < after:
                following = places[after] if after < len(places) else len(text)
                if len(_FENCE.findall(text[places[after - 1] : following])) % 2 == 0:
                    yield start, places[first]
                    offset = places[first]
                    break
            yield start, end
        else:
            return
