"""When cron expressions come due, in zones whose clocks jump."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.store import cron
from tests.cases import each_case
from tests.conftest import set_zone

ZONES = ("UTC", "Europe/Brussels", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kolkata")
MINUTE = timedelta(minutes=1)


def moments(expression: str, after: datetime, count: int, zone: str) -> list[datetime]:
    """The next moments."""
    found: list[datetime] = []
    while len(found) < count and (moment := cron.following(expression, found[-1] if found else after, zone)):
        found.append(moment)
    return found


def first_shown(day: date, clock: time, zone: str) -> datetime:
    """When clocks show a time on a day, or have jumped over it, for the first time: minute by minute."""
    wanted = datetime.combine(day, clock)
    at = wanted.replace(tzinfo=UTC) - timedelta(hours=15)
    while at.astimezone(ZoneInfo(zone)).replace(tzinfo=None) < wanted:
        at += MINUTE
    return at


@given(
    zone=st.sampled_from(ZONES),
    day=st.sampled_from(
        # Around jumps of these zones: forward, back, by half an hour, and over a whole day.
        ["2026-03-28", "2026-10-24", "2026-03-07", "2026-10-31", "2026-04-04", "2026-10-03", "2011-12-29"]
    ),
    clock=st.times().map(lambda each: time(each.hour, each.minute)),
    minutes=st.integers(0, 2880),
)
@example("Europe/Brussels", "2026-03-28", time(2, 30), 0)
@example("Europe/Brussels", "2026-10-24", time(2, 30), 1510)  # in the hour that comes for the second time
@example("Pacific/Apia", "2011-12-29", time(12, 0), 0)
def test_a_time_of_the_day_comes_due_once_a_day_in_every_zone(
    zone: str, day: str, clock: time, minutes: int
) -> None:
    first = date.fromisoformat(day)
    after = datetime.combine(first, time(), UTC) + minutes * MINUTE + timedelta(seconds=0.5)
    days = (first + timedelta(days=number) for number in range(-2, 7))
    expected = sorted({moment for each in days if (moment := first_shown(each, clock, zone)) > after})
    expression = f"{clock.minute} {clock.hour} * * *"
    assert moments(expression, after, 3, zone) == expected[:3]

    set_zone(zone)  # the same where it is the machine's
    assert moments(expression, after, 3, "") == expected[:3]
    set_zone("UTC")


def test_what_recurs_goes_by_the_time_that_passes() -> None:
    start = datetime(2026, 10, 24, 21, 59, tzinfo=UTC)  # midnight comes in a minute, and the day has 25 hours
    found = moments("*/15 * * * *", start, 101, "Europe/Brussels")
    assert {later - earlier for earlier, later in pairwise(found)} == {15 * MINUTE}


@given(
    expression=st.sampled_from(["*/7 * * * *", "30 2 * * *", "0 0 * * 0", "15 4 1 * *", "0 0 29 2 *"]),
    zone=st.sampled_from(ZONES),
    start=st.integers(0, 4 * 366 * 1440).map(lambda at: datetime(2023, 1, 1, tzinfo=UTC) + at * MINUTE),
    span=st.one_of(st.integers(0, 3 * 24 * 60), st.integers(0, 5 * 366).map(lambda days: days * 1440)),
)
def test_the_latest_is_the_last_before_the_next(
    expression: str, zone: str, start: datetime, span: int
) -> None:
    until = start + span * MINUTE
    found = cron.latest(expression, start, until, zone)
    following = cron.following(expression, start if found is None else found, zone)
    assert found is None or start < found <= until
    assert following is not None and following > until


@each_case(
    ("expression", "wrong", "words"),
    [
        ("0 23 * * *", "", "At 23:00 every day"),
        ("0 0 * * 0", "", "At 00:00 on Sunday"),
        ("off", "has 1 fields instead of five", "off"),
        ("0 0 31 2 *", "is not valid (Bad day-of-month)", "0 0 31 2 *"),
        ("61 * * * *", "is not valid (Bad minute)", "61 * * * *"),
    ],
)
def test_what_is_wrong_with_an_expression_and_what_it_says(expression: str, wrong: str, words: str) -> None:
    assert cron.problem(expression) == wrong and cron.words(expression) == words
    now = datetime(2026, 6, 12, tzinfo=UTC)
    assert (cron.following(expression, now) is None) == bool(wrong)


@pytest.mark.parametrize("zone", ["", "Europe/Brussels"])
def test_at_the_end_of_the_calendar_nothing_follows(zone: str) -> None:
    assert cron.following("0 0 1 1 *", datetime(9999, 6, 1, tzinfo=UTC), zone) is None
