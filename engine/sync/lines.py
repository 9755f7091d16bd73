"""Merges append-only logs of two machines: every line once, in order of time."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

from engine.store.monthly import record_of

_TIMES = ("at", "ts", "time", "timestamp")
_FIRST = datetime.min.replace(tzinfo=UTC)

_Timed = list[tuple[datetime, bytes]]


def union(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """The lines of both sides.

    Each side's own order is kept; the sides are interleaved by the timestamps in the lines. A line that a
    side has several times stays that often; a line that a side removed, e.g. a secret, stays removed.
    """
    left, right = _timed(ours), _timed(theirs)
    wanted = _counts(Counter(base.splitlines()), Counter(ours.splitlines()), Counter(theirs.splitlines()))
    found: list[bytes] = []
    i = j = 0
    while i < len(left) or j < len(right):
        if i < len(left) and j < len(right) and left[i][1] == right[j][1]:
            line, i, j = left[i][1], i + 1, j + 1
        elif j == len(right) or (i < len(left) and left[i] <= right[j]):
            line, i = left[i][1], i + 1
        else:
            line, j = right[j][1], j + 1
        if wanted[line] > 0:
            wanted[line] -= 1
            found.append(line)
    return b"".join(line + b"\n" for line in found)


def _counts(base: Counter[bytes], ours: Counter[bytes], theirs: Counter[bytes]) -> Counter[bytes]:
    """How often each line occurs in the result."""
    found: Counter[bytes] = Counter()
    for line in ours.keys() | theirs.keys():
        both = ours[line], theirs[line]
        found[line] = min(both) if min(both) < base[line] else max(both)
    return found


def _timed(data: bytes) -> _Timed:
    """The lines with their times, made non-decreasing; a line without one gets that of the line before."""
    found: _Timed = []
    last = _FIRST
    for line in data.splitlines():
        last = max(last, _time(line) or last)
        found.append((last, line))
    return found


def _time(line: bytes) -> datetime | None:
    record = record_of(line) or {}
    for name in _TIMES:
        try:
            at = datetime.fromisoformat(record[name])
        except (KeyError, TypeError, ValueError):
            continue
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    return None
