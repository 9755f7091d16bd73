"""Converts times to days in the configured time zone (``days.time_zone``); the only place that does so.

Transcripts use UTC. "Today" and "last week", journal days and the days shown on screens are in the configured
time zone, by default the machine's.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache


def local_time(at: datetime, zone: str = "") -> datetime:
    """A time in a zone, including daylight saving.

    Args:
        at: UTC if it has no zone.
        zone: An IANA name; an empty or unknown one means the machine's zone, or UTC if that is a day or more
            away from it, as with ``TZ=UTC+24``.
    """
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    found = _known(zone)
    return _on_machine(at) if found is None else at.astimezone(found)


def local_day(at: datetime, zone: str = "") -> date:
    """The date in a zone at a time; see ``local_time``."""
    return local_time(at, zone).date()


def moment_of(day: date, clock: time, zone: str = "") -> datetime:
    """The UTC time of a local date and time; if it occurs twice the later one, but the first midnight, where
    the day begins.

    Raises:
        OverflowError: The day is at the end of the calendar.
    """
    shown = datetime.combine(day, clock).replace(fold=clock != time.min)
    found = _known(zone)
    return (_on_machine(shown) if found is None else shown.replace(tzinfo=found)).astimezone(UTC)


def clock_of(zone: str = "") -> tzinfo:
    """The ``tzinfo`` of a zone, for arithmetic in it; see ``local_time``."""
    return _known(zone) or _MACHINE


def is_zone(name: str) -> bool:
    """Whether a name is a known time zone."""
    return _known(name) is not None


class _Machine(tzinfo):
    """The machine's zone, whose offset the system reports for one time at a time."""

    def utcoffset(self, at: datetime | None) -> timedelta | None:
        """The offset from UTC."""
        return None if at is None else _on_machine(at.replace(tzinfo=None)).utcoffset()

    def dst(self, at: datetime | None) -> None:
        """Unknown."""

    def tzname(self, at: datetime | None) -> str | None:
        """The system's name for it."""
        return None if at is None else _on_machine(at.replace(tzinfo=None)).tzname()

    def fromutc(self, at: datetime) -> datetime:
        """The local time, with ``fold`` set in a repeated hour."""
        shown = _on_machine(at.replace(tzinfo=UTC)).replace(tzinfo=self)
        is_first = shown - (self.utcoffset(shown) or timedelta()) == at
        return shown if is_first else shown.replace(fold=1)


_MACHINE = _Machine()


def _on_machine(at: datetime) -> datetime:
    """A time in the machine's zone, which it is in if it has none."""
    try:
        return at.astimezone()
    except ValueError:  # an offset of a day or more
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


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
