"""Whether a file that was written a moment ago holds a conversation that ended long before.

A copy, a checkout and an import give a file the time of now. When something was last said in it tells more,
where the file holds that for certain: in the header of a session that has ended, in the time stamps of a log,
in the last heading of a transcript of ours. Everything else is taken to be live.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

_TAIL_BYTES = 256 * 1024
_STAMP = re.compile(rb'"timestamp"\s*:\s*"(\d{4}-\d\d-\d\dT\d\d:\d\d[^"]{0,24})"')
_TURN = re.compile(
    rb"^##[ \t]+(?:(\d{4}-\d\d-\d\d)[ \t]+)?(\d{1,2}:\d\d)[ \t]+(?:\xe2\x80\x94|\xe2\x80\x93|-)[ \t]",
    re.MULTILINE,
)
_SAME_MINUTES = 10
"""Minutes by which the last turn and the file's own time may differ and still be one event."""


def ended_before(horizon: datetime, path: Path, written: datetime, fields: Mapping[str, str]) -> bool:
    """Whether a file says that nothing was said in it since a time.

    ``written`` is when the file was last written to, UTC; ``fields`` are ``started`` and ``ended`` of its
    header.
    """
    ended = _time(fields["ended"])
    if ended is not None:
        return ended <= horizon
    tail = _tail(path)
    stamps = [
        time for time in map(_time, (match.decode() for match in _STAMP.findall(tail))) if time is not None
    ]
    if path.suffix.lower() == ".jsonl":
        return bool(stamps) and max(stamps) <= horizon
    started = _time(fields["started"])
    return started is not None and _last_turn(tail, started, written) <= horizon


def _last_turn(tail: bytes, started: datetime, written: datetime) -> datetime:
    """When the last turn of a transcript was, at the latest by its headings; now if they do not tell."""
    turns = _TURN.findall(tail)
    if not turns:
        return written
    day, clock = turns[-1]
    at = _time(f"{(day or started.date().isoformat().encode()).decode()}T{clock.decode():0>5}")
    if at is None:
        return written
    if day:
        return at
    # Without a date the turn may be of any later day: of the day on which the file was written, if the times
    # agree.
    apart = abs(written - at.replace(year=written.year, month=written.month, day=written.day))
    if min(apart, timedelta(days=1) - apart) <= timedelta(minutes=_SAME_MINUTES):
        return written
    return at if at >= started else at + timedelta(days=1)


def _time(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _tail(path: Path) -> bytes:
    """The last kilobytes of a regular file; empty if it cannot be read."""
    try:
        with os.fdopen(
            os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb"
        ) as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - _TAIL_BYTES))
            return stream.read(_TAIL_BYTES)
    except OSError:
        return b""
