"""Line ranges of files: parsing, formatting and set operations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from engine.startup.lazy import expression

Span = tuple[int, int]
"""First and last line, 1-based and inclusive."""

_RANGE = expression(r"\s*([0-9]{1,9})\s*(?:[-–]\s*([0-9]{1,9})\s*)?")


def parse_spans(text: str) -> tuple[Span, ...]:
    """Parses ``10-40``, ``12`` or several as in ``3-9, 20-31``; returns them in order.

    Raises:
        ValueError: It is invalid; the message is one clause.
    """
    found: list[Span] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise ValueError(f"'{part.strip()}' is not a range of lines")
        first, last = int(match[1]), int(match[2] or match[1])
        if not first:
            raise ValueError(f"'{part.strip()}' starts before line 1")
        if last < first:
            raise ValueError(f"'{part.strip()}' ends before it starts")
        found.append((first, last))
    found.sort()
    for above, below in pairwise(found):
        if below[0] <= above[1]:
            raise ValueError(f"{shown_spans([above])} and {shown_spans([below])} overlap")
    return tuple(found)


def shown_spans(spans: Iterable[Span]) -> str:
    """``3-9, 20``, as read by ``parse_spans``."""
    return ", ".join(f"{first}-{last}" if last > first else f"{first}" for first, last in spans)


def uncovered(span: Span, taken: Iterable[Span]) -> Iterator[Span]:
    """The parts of a span that no other covers, in order."""
    first, last = span
    for start, end in sorted(taken):
        if end < first or start > last:
            continue
        if start > first:
            yield first, start - 1
        first = end + 1
        if first > last:
            return
    yield first, last


def covered(span: Span, taken: Iterable[Span]) -> tuple[Span, ...]:
    """The parts of a span that others cover, in order."""
    return tuple(part for part in uncovered(span, uncovered(span, taken)) if part[0] <= part[1])


def excerpt(lines: Sequence[str], first_line: int, span: Span) -> tuple[Span, str] | None:
    """The lines of a span without blank ones around them; ``None`` when all of them are blank.

    ``first_line`` is the number of the first of ``lines``, which the span lies within.
    """
    first, last = span
    while first <= last and not lines[first - first_line].strip():
        first += 1
    while last >= first and not lines[last - first_line].strip():
        last -= 1
    if first > last:
        return None
    return (first, last), "\n".join(lines[first - first_line : last - first_line + 1]).rstrip()
