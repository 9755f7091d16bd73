"""Determines the day of a turn: a heading has the time, and the date only if the day changes."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

_HALF_A_DAY = timedelta(hours=12)


def following(moment: datetime, clock: str, day: str = "") -> datetime:
    """When a turn was spoken, UTC, given when the turn before it was.

    Where the heading holds a date, that is the day. Otherwise times only go forward: a time more than twelve
    hours behind is the next day's; one less far behind is a clock that was set back, and the order of the
    file decides.

    Args:
        moment: When the turn before was spoken, or the session started; UTC.
        clock: The time in the heading, ``HH:MM``; the result is ``moment`` when it is not one.
        day: The date in the heading, ``YYYY-MM-DD``; empty where it has none.
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
    """The date that the heading of a turn needs; empty where a reader knows the day without it.

    ``before`` is when the turn before it was, as ``following`` has it, or the session started.
    """
    is_known = before.date() == at.date() == following(before, f"{at:%H:%M}").date()
    return "" if is_known else at.date().isoformat()


def moment(value: object) -> datetime | None:
    """An ISO 8601 time as UTC; ``None`` when it is not one. Without a zone it is UTC."""
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


def iso(at: datetime) -> str:
    """A time as headers hold it: ISO 8601, UTC, to the second."""
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def date_of(day: str) -> date | None:
    """The date in a heading; ``None`` when there is none, or no calendar has it."""
    try:
        return date.fromisoformat(day) if day else None
    except ValueError:
        return None
