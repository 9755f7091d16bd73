"""Determines the date of turns: a heading has the time, and the date only if the day changes."""

from __future__ import annotations

import contextlib
from datetime import UTC, date, datetime, time, timedelta

from engine.startup.lazy import expression
from engine.store.zone import local_day

_HALF_A_DAY, _A_DAY = timedelta(hours=12), timedelta(days=1)
_PLACED = expression(r"raw/conversations/(\d{4})/(\d\d)/(\d\d)/")
_NAMED = expression(r"(\d{4})-(\d\d)-(\d\d)(?!\d)")


def following(moment: datetime, clock: str, day: str = "") -> datetime:
    """The time of a turn in UTC, given the time of the previous one.

    A date in the heading decides. Otherwise times only go forward: a time more than twelve hours earlier
    belongs to the next day; with a smaller step back, the clock was set back, and the order in the file
    decides.

    Args:
        moment: Time of the previous turn, or of the session's start; UTC.
        clock: The time in the heading, ``HH:MM``; if it is invalid, the result is ``moment``.
        day: The date in the heading, ``YYYY-MM-DD``; empty if there is none.
    """
    on = date_of(day)
    try:
        wanted = time.fromisoformat(clock.zfill(5))
    except ValueError:
        return moment if on is None else max(moment, datetime.combine(on, time(), UTC))
    if on is not None:
        return datetime.combine(on, wanted, UTC)
    shown = moment.replace(hour=wanted.hour, minute=wanted.minute, second=0, microsecond=0)
    if moment - shown > _HALF_A_DAY and shown.date() < date.max:
        return shown + timedelta(days=1)
    return max(shown, moment)


def day_to_write(at: datetime, before: datetime) -> str:
    """The date for a turn's heading; empty if it follows from the previous headings.

    ``before`` is the time of the previous turn according to ``following``, or of the session's start.
    """
    is_known = before.date() == at.date() == following(before, f"{at:%H:%M}").date()
    return "" if is_known else at.date().isoformat()


def moment(value: object) -> datetime | None:
    """Parse an ISO 8601 time as UTC, the default zone; ``None`` if it is invalid."""
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    try:
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except OverflowError:
        return None


def not_ahead(at: datetime | None) -> datetime | None:
    """A time that a log gives; ``None`` if it lies more than a day ahead, as by a wrong clock: what was said
    then would stay the latest word for good.
    """
    return None if at is None or at > datetime.now(UTC) + _A_DAY else at


def iso(at: datetime) -> str:
    """Format a time for a header: ISO 8601, UTC, to the second."""
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def day_of(path: str, began: str, zone: str) -> str:
    """The local day of a session, ``YYYY-MM-DD``, by its start (ISO 8601, UTC if it has no zone) or else by
    the date in its path; empty if neither has one. ``zone`` is as for ``local_day``.
    """
    at = moment(began)
    if at is not None:
        with contextlib.suppress(OverflowError):
            return local_day(at, zone).isoformat()
    placed = _PLACED.match(path) or _NAMED.match(path.rpartition("/")[2])
    found = date_of("-".join(placed.groups())) if placed is not None else None
    return found.isoformat() if found is not None else ""


def date_of(day: str) -> date | None:
    """Parse the date in a heading; ``None`` if it is empty or does not exist."""
    try:
        return date.fromisoformat(day) if day else None
    except ValueError:
        return None
