"""Parses dates and times as people write them: ``2026-10-01 14:00``, ``3 days ago``, ``last week``.

Only the forms listed in ``FORMS`` are accepted. Git's own date parser accepts any text, and reads what it
does not understand as the current time.
"""

from __future__ import annotations

import calendar
import re
from datetime import UTC, date, datetime, time, timedelta

from engine.store.zone import local_time, moment_of

FORMS = "2026-10-01, '2026-10-01 14:00', yesterday, 'last friday', '3 days ago' or 'last week'"
"""Accepted forms, for messages. Days and times are in the given zone unless they have an offset."""

_DAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)}
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400}
_MONTHS = {"month": 1, "year": 12}
_UNIT = "|".join((*_SECONDS, *_MONTHS))
_AGO = re.compile(rf"(\d{{1,9}}|an?|one) ({_UNIT})s? ago", re.ASCII)
_LAST = re.compile(rf"last ({_UNIT})")
_WEEKDAY = re.compile(rf"(?:last )?({'|'.join(_DAYS)})")
_ZONE = re.compile(r"(?<=\d) ?(?:utc|gmt|z)$| (?=[+-]\d\d:?\d\d$)")
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime.max.replace(tzinfo=UTC)


def moment(text: str, now: datetime, zone: str = "UTC") -> datetime | None:
    """The time a text refers to, UTC; ``None`` if it cannot be parsed.

    A day means its last microsecond. Never earlier than 1970, where git's time range starts.

    Args:
        text: Case-insensitive.
        now: The reference time of ``ago``.
        zone: The time zone used if the text has no offset.
    """
    words = " ".join(text.lower().split())
    now = local_time(now, zone)
    try:
        found = _said(words, now, zone) or _written(words, zone)
    except (OverflowError, ValueError):
        return _EARLIEST
    return None if found is None else max(found, _EARLIEST)


def beginning(text: str, now: datetime, zone: str = "UTC") -> datetime | None:
    """Like ``moment``, but a day means its first microsecond."""
    found = moment(text, now, zone)
    there = None if found is None else local_time(found, zone)
    whole_day = there is not None and there.time() == time.max
    return moment_of(there.date(), time.min, zone) if there is not None and whole_day else found


def _said(words: str, now: datetime, zone: str) -> datetime | None:
    if words in ("today", "yesterday"):
        return _end_of(now.date() - timedelta(days=words == "yesterday"), zone)
    if weekday := _WEEKDAY.fullmatch(words):
        back = (now.weekday() - _DAYS[weekday[1]] - 1) % 7 + 1
        return _end_of(now.date() - timedelta(days=back), zone)
    if last := _LAST.fullmatch(words):
        return _back(now, 1, last[1], zone)
    if ago := _AGO.fullmatch(words):
        return _back(now, int(ago[1]) if ago[1].isdigit() else 1, ago[2], zone)
    return None


def _written(words: str, zone: str) -> datetime | None:
    """A date or time in ISO 8601."""
    try:
        return _end_of(date.fromisoformat(words), zone)
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(_ZONE.sub(lambda zone: "" if zone[0] == " " else "+00:00", words))
    except ValueError:
        return None
    if found.tzinfo is None:
        return moment_of(found.date(), found.time(), zone)
    try:
        return found.astimezone(UTC)
    except OverflowError:
        return _LATEST if found.year > _EARLIEST.year else _EARLIEST


def _end_of(day: date, zone: str) -> datetime:
    try:
        return moment_of(day, time.max, zone)
    except OverflowError:
        return _LATEST if day.year > _EARLIEST.year else _EARLIEST


def _back(now: datetime, number: int, unit: str, zone: str) -> datetime:
    if unit in _SECONDS:
        # Computed in UTC, where all days have the same length.
        return now.astimezone(UTC) - timedelta(seconds=number * _SECONDS[unit])
    months = now.year * 12 + now.month - 1 - number * _MONTHS[unit]
    year, month = divmod(months, 12)
    last_day = calendar.monthrange(year, month + 1)[1] if year > 0 else 1
    return moment_of(date(year, month + 1, min(now.day, last_day)), now.time(), zone)
