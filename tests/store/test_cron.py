"""When cron expressions are due, in time zones with clock changes."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import example, given
from hypothesis import strategies as st

from engine.store import cron
from tests.cases import each_case
from tests.conftest import set_zone

ZONES = ("UTC", "Europe/Brussels", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kolkata")
MINUTE = timedelta(minutes=1)


def next_times(expression: str, after: datetime, count: int, zone: str) -> list[datetime]:
    """The next ``count`` times."""
    found: list[datetime] = []
    while len(found) < count and (moment := cron.following(expression, found[-1] if found else after, zone)):
        found.append(moment)
    return found


def first_minute_showing(day: date, clock: time, zone: str) -> datetime:
    """The first minute at which clocks show the time on that day, or have jumped over it."""
    wanted = datetime.combine(day, clock)
    at = wanted.replace(tzinfo=UTC) - timedelta(hours=15)
    while at.astimezone(ZoneInfo(zone)).replace(tzinfo=None) < wanted:
        at += MINUTE
    return at


@given(
    zone=st.sampled_from(ZONES),
    day=st.sampled_from(
        # Around clock changes of these zones: forward, back, by half an hour, and over a whole day.
        ["2026-03-28", "2026-10-24", "2026-03-07", "2026-10-31", "2026-04-04", "2026-10-03", "2011-12-29"]
    ),
    clock=st.times().map(lambda each: time(each.hour, each.minute)),
    minutes=st.integers(0, 2880),
)
@example("Europe/Brussels", "2026-03-28", time(2, 30), 0)
@example("Europe/Brussels", "2026-10-24", time(2, 30), 1510)  # In the repeated hour.
@example("Pacific/Apia", "2011-12-29", time(12, 0), 0)
def test_a_daily_time_is_due_once_a_day_in_every_zone(zone: str, day: str, clock: time, minutes: int) -> None:
    first = date.fromisoformat(day)
    after = datetime.combine(first, time(), UTC) + minutes * MINUTE + timedelta(seconds=0.5)
    days = (first + timedelta(days=number) for number in range(-2, 7))
    expected = sorted(
        {moment for each in days if (moment := first_minute_showing(each, clock, zone)) > after}
    )
    expression = f"{clock.minute} {clock.hour} * * *"
    assert next_times(expression, after, 3, zone) == expected[:3]

    set_zone(zone)  # The same if it is the machine's zone.
    assert next_times(expression, after, 3, "") == expected[:3]
    set_zone("UTC")


def test_recurring_times_follow_elapsed_time() -> None:
    start = datetime(2026, 10, 24, 21, 59, tzinfo=UTC)  # A minute before midnight of a day with 25 hours.
    found = next_times("*/15 * * * *", start, 101, "Europe/Brussels")
    assert {later - earlier for earlier, later in pairwise(found)} == {15 * MINUTE}


@given(
    expression=st.sampled_from(["*/7 * * * *", "30 2 * * *", "0 0 * * 0", "15 4 1 * *", "0 0 29 2 *"]),
    zone=st.sampled_from(ZONES),
    start=st.integers(0, 4 * 366 * 1440).map(lambda at: datetime(2023, 1, 1, tzinfo=UTC) + at * MINUTE),
    span=st.one_of(st.integers(0, 3 * 24 * 60), st.integers(0, 5 * 366).map(lambda days: days * 1440)),
)
def test_the_latest_due_time_precedes_the_next(
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
def test_an_expression_has_a_problem_or_a_description(expression: str, wrong: str, words: str) -> None:
    assert cron.problem(expression) == wrong and cron.words(expression) == words
    now = datetime(2026, 6, 12, tzinfo=UTC)
    assert (cron.following(expression, now) is None) == bool(wrong)


@each_case("zone", ["", "Europe/Brussels"])
def test_there_is_no_due_time_after_the_year_9999(zone: str) -> None:
    assert cron.following("0 0 1 1 *", datetime(9999, 6, 1, tzinfo=UTC), zone) is None
