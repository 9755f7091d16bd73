"""Parsing of points in time as users write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from engine.store.moments import moment
from tests.cases import each_case

NOW = datetime(2026, 10, 14, 9, 30, tzinfo=UTC)
"""A Wednesday."""


@each_case(
    ("text", "expected"),
    [
        ("2026-10-01 14:00", "2026-10-01T14:00:00"),
        ("2026-10-01T14:00", "2026-10-01T14:00:00"),
        ("2026-10-01 14:00 UTC", "2026-10-01T14:00:00"),
        ("2026-10-01 14:00z", "2026-10-01T14:00:00"),
        ("2026-10-01 14:00 +02:00", "2026-10-01T12:00:00"),
        ("2026-10-01 23:30-0500", "2026-10-02T04:30:00"),
        ("3 days ago", "2026-10-11T09:30:00"),
        ("  3   Days ago ", "2026-10-11T09:30:00"),
        ("an hour ago", "2026-10-14T08:30:00"),
        ("90 minutes ago", "2026-10-14T08:00:00"),
        ("last week", "2026-10-07T09:30:00"),
        ("2 weeks ago", "2026-09-30T09:30:00"),
        ("last month", "2026-09-14T09:30:00"),
        ("10 months ago", "2025-12-14T09:30:00"),
        ("last year", "2025-10-14T09:30:00"),
        ("999999999 years ago", "1970-01-01T00:00:00"),
        ("999999999 days ago", "1970-01-01T00:00:00"),
        ("0001-01-01 00:00+23:59", "1970-01-01T00:00:00"),
    ],
)
def test_a_time_is_parsed(text: str, expected: str) -> None:
    assert moment(text, NOW) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@each_case(
    ("text", "day"),
    [
        ("2026-10-01", "2026-10-01"),
        ("20261001", "2026-10-01"),
        ("today", "2026-10-14"),
        ("Yesterday", "2026-10-13"),
        ("last friday", "2026-10-09"),
        ("tuesday", "2026-10-13"),
        ("last wednesday", "2026-10-07"),
    ],
)
def test_a_date_means_the_whole_day(text: str, day: str) -> None:
    found = moment(text, NOW)
    assert found is not None
    assert found.isoformat() == f"{day}T23:59:59.999999+00:00"


def test_a_month_back_from_a_day_missing_in_that_month() -> None:
    assert moment("last month", datetime(2026, 3, 31, tzinfo=UTC)) == datetime(2026, 2, 28, tzinfo=UTC)
    assert moment("1 year ago", datetime(2028, 2, 29, tzinfo=UTC)) == datetime(2027, 2, 28, tzinfo=UTC)


def test_the_zone_of_now_does_not_matter() -> None:
    there = NOW.astimezone(timezone(timedelta(hours=13)))
    assert there.date() != NOW.date() or there.hour != NOW.hour
    for text in ("today", "yesterday", "3 days ago", "last friday"):
        assert moment(text, there) == moment(text, NOW)


@each_case(
    "text",
    ["", "HEAD", "main", "-rf", "in a while", "3 days", "ago", "days ago", "noon", "2026", "2026-13-01",
     "2026-02-30", "v1.0", "three days ago", "3 days ago; rm -rf", "last supper",
     "٣ days ago", "1e3 days ago"],
)  # fmt: skip
def test_invalid_times_are_rejected(text: str) -> None:
    assert moment(text, NOW) is None
