"""Five-field cron expressions (minute, hour, day, month, weekday), evaluated in any time zone.

A fixed time of day that a daylight-saving change skips is due right after the jump; one that occurs twice
is due only the first time. Expressions with wildcards follow elapsed time.
"""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta

from engine.store.zone import clock_of

OFF = "off"
"""Value that means "never" instead of an expression."""
HINT = "write five fields: minute hour day month weekday, such as '0 8 * * 1-5'"
NEVER = "never comes due"
"""Problem reported for an expression that matches no date."""

_SPANS = tuple(timedelta(hours=hours) for hours in (1, 24, 8 * 24, 32 * 24, 367 * 24))
"""Initial look-back spans of ``latest``, kept short so that few occurrences are enumerated."""


def problem(expression: str) -> str:
    """What is wrong with an expression, in one clause; empty if it is valid."""
    fields = expression.split()
    if len(fields) != 5:
        return f"has {len(fields)} fields instead of five"
    from cronsim import CronSim, CronSimError  # noqa: PLC0415 — only where something has a schedule

    try:
        next(CronSim(expression, datetime(2026, 1, 1, tzinfo=UTC)))
    except CronSimError as error:
        return f"is not valid ({error})"
    except StopIteration:
        return NEVER
    return ""


def following(expression: str, after: datetime, zone: str = "") -> datetime | None:
    """The first occurrence after a time, UTC; ``None`` if there is none or the expression is invalid.

    Args:
        zone: An IANA name; empty for the machine's.
    """
    from cronsim import CronSim, CronSimError  # noqa: PLC0415 — only where something has a schedule

    with contextlib.suppress(CronSimError, OverflowError):
        for moment in CronSim(expression, after.astimezone(clock_of(zone))):
            # In a repeated hour, count from its first occurrence.
            found = moment.astimezone(UTC)
            if found > after:
                return found
    return None


def latest(expression: str, after: datetime, until: datetime, zone: str = "") -> datetime | None:
    """The last occurrence after ``after`` and not later than ``until``; see ``following``."""
    for start in (*(until - span for span in _SPANS if until - span > after), after):
        found, moment = None, following(expression, start, zone)
        while moment is not None and moment <= until:
            found, moment = moment, following(expression, moment, zone)
        if found is not None:
            return found
    return None


def words(expression: str) -> str:
    """An expression in words, such as ``At 23:00 every day``; unchanged if it is invalid."""
    if expression == OFF or problem(expression):
        return expression
    from cronsim import CronSim  # noqa: PLC0415 — only where something has a schedule

    return CronSim(expression, datetime(2026, 1, 1, tzinfo=UTC)).explain()
