"""Which day it is (the setting ``days.time_zone``): the one place where a moment becomes a day.

Transcripts keep UTC. What a person calls today, yesterday or last week, the day a journal belongs to and the
day that a screen shows are those of a time zone: the one that the settings name, or else the machine's.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache


def local_time(at: datetime, zone: str = "") -> datetime:
    """A moment as clocks in a zone show it, daylight saving included.

    Args:
        at: The moment; without a zone of its own it is UTC.
        zone: An IANA name; empty, or one that is not known here, means the machine's.
    """
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(_known(zone))


def local_day(at: datetime, zone: str = "") -> date:
    """The day that it is in a zone at a moment; see ``local_time``."""
    return local_time(at, zone).date()


def moment_of(day: date, clock: time, zone: str = "") -> datetime:
    """When clocks in a zone show a time on a day, UTC; of a time that comes twice the later.

    Raises:
        OverflowError: The day is at the end of the calendar.
    """
    shown = datetime.combine(day, clock).replace(fold=1)
    found = _known(zone)
    return (shown if found is None else shown.replace(tzinfo=found)).astimezone(UTC)


def clock_of(zone: str = "") -> tzinfo:
    """A zone with its daylight saving of all times, for counting in it; see ``local_time``."""
    return _known(zone) or _MACHINE


def is_zone(name: str) -> bool:
    """Whether a name is that of a zone that is known here."""
    return _known(name) is not None


class _Machine(tzinfo):
    """The machine's zone, which the system tells of one moment at a time."""

    def utcoffset(self, at: datetime | None) -> timedelta | None:
        """How far its clocks are ahead of UTC."""
        return None if at is None else at.replace(tzinfo=None).astimezone().utcoffset()

    def dst(self, at: datetime | None) -> None:
        """How much of that is daylight saving is not told."""

    def tzname(self, at: datetime | None) -> str | None:
        """What the system calls it."""
        return None if at is None else at.replace(tzinfo=None).astimezone().tzname()

    def fromutc(self, at: datetime) -> datetime:
        """What its clocks show, and whether for the second time."""
        shown = at.replace(tzinfo=UTC).astimezone().replace(tzinfo=self)
        is_first = shown - (self.utcoffset(shown) or timedelta()) == at
        return shown if is_first else shown.replace(fold=1)


_MACHINE = _Machine()


@lru_cache(maxsize=8)
def _known(name: str) -> tzinfo | None:
    if not name:
        return None
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo  # noqa: PLC0415 — only where a zone is named

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None
