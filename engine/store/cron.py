"""Cron expressions of five fields (minute, hour, day, month, weekday): when they come due, in any zone.

A fixed time of the day that a zone's clocks leave out comes due when they have jumped over it, and one that
they show twice comes due the first time alone. What recurs with a star goes by the time that passes.
"""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta

from engine.store.zone import clock_of

OFF = "off"
"""What stands for never in the place of an expression."""
CURE = "write five fields: minute hour day month weekday, such as '0 8 * * 1-5'"
NEVER = "never comes due"
"""The problem of an expression whose day never is."""

_SPANS = tuple(timedelta(hours=hours) for hours in (1, 24, 8 * 24, 32 * 24, 367 * 24))
"""How far ``latest`` looks back at first: few moments of any expression lie in the span that has one."""


def problem(expression: str) -> str:
    """What is wrong with an expression, in one clause; empty for a good one."""
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
    """The first moment after another, UTC; ``None`` where none follows, or the expression is none.

    Args:
        zone: An IANA name; empty for the machine's.
    """
    from cronsim import CronSim, CronSimError  # noqa: PLC0415 — only where something has a schedule

    with contextlib.suppress(CronSimError, OverflowError):
        for moment in CronSim(expression, after.astimezone(clock_of(zone))):
            # Where clocks show an hour for the second time, it counts from the first.
            found = moment.astimezone(UTC)
            if found > after:
                return found
    return None


def latest(expression: str, after: datetime, until: datetime, zone: str = "") -> datetime | None:
    """The last moment after one and not after another; as ``following``."""
    for start in (*(until - span for span in _SPANS if until - span > after), after):
        found, moment = None, following(expression, start, zone)
        while moment is not None and moment <= until:
            found, moment = moment, following(expression, moment, zone)
        if found is not None:
            return found
    return None


def words(expression: str) -> str:
    """An expression in words, as ``At 23:00 every day``; as it stands where it is none."""
    if expression == OFF or problem(expression):
        return expression
    from cronsim import CronSim  # noqa: PLC0415 — only where something has a schedule

    return CronSim(expression, datetime(2026, 1, 1, tzinfo=UTC)).explain()
