"""Dates and periods in a query."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from engine.search.dates import Days, days_in
from tests.cases import each_case

TODAY = date(2026, 2, 18)
"""A Wednesday."""


def days_of(query: str, today: date = TODAY) -> list[str]:
    """The days as ``first`` or ``first/last``."""
    return [
        f"{days.first}" if days.first == days.last else f"{days.first}/{days.last}"
        for days in days_in(query, today)
    ]


@each_case(
    ("query", "days"),
    [
        ("what happened on 2026-02-16?", "2026-02-16"),
        ("2026-2-6", "2026-02-06"),
        ("on 7 May 2023", "2023-05-07"),
        ("on 7th of May, 2023", "2023-05-07"),
        ("the 1st May", "2025-05-01"),
        ("May 7th, 2023", "2023-05-07"),
        ("may 7 2023", "2023-05-07"),
        ("Sept. 3", "2025-09-03"),
        ("17 Feb", "2026-02-17"),
        ("18 February", "2026-02-18"),
        ("19 February", "2025-02-19"),
        ("29 February", "2024-02-29"),
        ("29 Feb 2024", "2024-02-29"),
        ("in March", "2025-03-01/2025-03-31"),
        ("in February", "2026-02-01/2026-02-28"),
        ("since January", "2026-01-01/2026-01-31"),
        ("early December", "2025-12-01/2025-12-31"),
        ("Mar 2024", "2024-03-01/2024-03-31"),
        ("February, 2024", "2024-02-01/2024-02-29"),
        ("December 2025", "2025-12-01/2025-12-31"),
        ("back in 2019", "2019-01-01/2019-12-31"),
        ("during 2025", "2025-01-01/2025-12-31"),
        ("TODAY", "2026-02-18"),
        ("this morning", "2026-02-18"),
        ("tonight", "2026-02-18"),
        ("yesterday", "2026-02-17"),
        ("last night", "2026-02-17"),
        ("last week", "2026-02-09/2026-02-15"),
        ("this week", "2026-02-16/2026-02-22"),
        ("past week", "2026-02-09/2026-02-15"),
        ("last weekend", "2026-02-14/2026-02-15"),
        ("this weekend", "2026-02-21/2026-02-22"),
        ("last month", "2026-01-01/2026-01-31"),
        ("previous month", "2026-01-01/2026-01-31"),
        ("this month", "2026-02-01/2026-02-28"),
        ("last year", "2025-01-01/2025-12-31"),
        ("this year", "2026-01-01/2026-12-31"),
        ("the last 3 days", "2026-02-15/2026-02-18"),
        ("past two weeks", "2026-02-04/2026-02-18"),
        ("previous six months", "2025-08-22/2026-02-18"),
        ("3 days ago", "2026-02-15"),
        ("a day ago", "2026-02-17"),
        ("two weeks ago", "2026-02-01/2026-02-07"),
        ("a month ago", "2026-01-04/2026-02-03"),
        ("an year ago", "2024-08-20/2025-08-19"),
        ("twelve years ago", None),
        ("31 June 2025", "2025-06-01/2025-06-30"),
        ("29 February 2023", "2023-02-01/2023-02-28"),
        ("on Monday", "2026-02-16"),
        ("last Tuesday", "2026-02-17"),
        ("on Wednesday", "2026-02-11"),
        ("this thursday", "2026-02-12"),
        ("past Sunday", "2026-02-15"),
    ],
)
def test_a_phrase_means_these_days(query: str, days: str | None) -> None:
    if days is None:
        (found,) = days_in(query, TODAY)
        middle = TODAY - timedelta(days=12 * 365)
        assert found == Days(middle - timedelta(days=182), middle + timedelta(days=182))
        return
    for text in (query, query.upper(), query.lower(), f"so, {query}, was it?", f"({query})\n"):
        assert days_of(text) == [days], text


@each_case(
    "query",
    [
        "",
        "the march of the penguins",
        "may I ask",
        "I can see the second one",
        "a weekday and a mayday",
        "30 February",
        "February 30, 2024",
        "2026-13-01",
        "2026-00-10",
        "0000-01-01",
        "12026-01-011",
        "0 May",
        "May 32",
        "in 1850",
        "in 20260",
        "1234 days ago",
        "days ago",
        "Monday",
        "in Maybe",
        "yesterdays",
        "lastweek",
        "next week",
        "tomorrow",
        "in Mäy",
    ],
)
def test_a_phrase_without_a_date_means_no_days(query: str) -> None:
    assert days_in(query, TODAY) == ()


@each_case(
    ("query", "days"),
    [
        ("on 5 May 2023 or in March, or yesterday", ["2023-05-05", "2025-03-01/2025-03-31", "2026-02-17"]),
        ("yesterday, and 2026-02-17, and last night", ["2026-02-17"]),
        ("last Monday in March 2024", ["2026-02-16", "2024-03-01/2024-03-31"]),
        ("from 1 May to 3 May", ["2025-05-01", "2025-05-03"]),
        ("on 31 June, so on 1 July", ["2025-07-01"]),
        ("2026-02-16 2026-02-15", ["2026-02-16", "2026-02-15"]),
    ],
)
def test_several_dates_are_listed_in_order_without_duplicates(query: str, days: list[str]) -> None:
    assert days_of(query) == days


def test_words_of_a_longer_phrase_are_not_matched_again() -> None:
    assert days_of("in May 2023") == ["2023-05-01/2023-05-31"]
    assert days_of("of March 5, 2024") == ["2024-03-05"]


@each_case(
    "query",
    ["on \u017funday", "on fr\u0131day", "last fr\u0131day", "in Augu\u017ft", "la\u017ft wee\u212a",
     "\u0130n march", "5 Apr\u0131l", "th\u0131\u017f week", "a wee\u212a ago", "\u0663 days ago",
     "\u0662\u0660\u0662\u0666-\u0660\u0662-\u0661\u0666", "²⁰²⁶-02-16", "\ud800 yesterday", "\0today\0"],
)  # fmt: skip
def test_lookalike_letters_do_not_raise(query: str) -> None:
    days_in(query, TODAY)


def test_digits_of_any_script_are_read() -> None:
    assert days_of("\u0663 days ago") == ["2026-02-15"]


@each_case("today", [date.min, date.max, date(2024, 2, 29), date(4, 2, 29), date(2025, 3, 31)])
def test_any_date_may_be_today(today: date) -> None:
    for query in (
        *("today", "yesterday", "last week", "this weekend", "last month", "last year", "this month"),
        *("999 years ago", "last 999 months", "on Monday", "in December", "29 February", "a day ago"),
        *("31 December", "this year", "last weekend"),
    ):
        for days in days_in(query, today):
            assert days.first <= days.last


_PHRASES = st.sampled_from(
    [
        *("last", "this", "past", "previous", "in", "on", "of", "since", "during", "early", "back in", "the"),
        *("may", "March", "Sept.", "Feb", "december", "monday", "FRIDAY", "today", "yesterday", "last night"),
        *("week", "weekend", "month", "year", "days", "ago", "2026", "1999", "30", "31st", "2nd", "0", "999"),
        *("2026-02-30", "9999-12-31", "a", "twelve", ",", ".", "\n", "\u017f", "\u0131", "\u0661", "th"),
    ]
)


@given(st.lists(_PHRASES, max_size=10), st.sampled_from([" ", " ", " ", ""]), st.dates())
def test_any_sequence_of_date_words_gives_valid_distinct_days(
    words: list[str], between: str, today: date
) -> None:
    found = days_in(between.join(words), today)
    assert all(days.first <= days.last for days in found)
    assert len(set(found)) == len(found)


@given(st.text(), st.dates())
def test_any_text_can_be_parsed(query: str, today: date) -> None:
    days_in(query, today)


@given(st.dates(min_value=date(1000, 1, 1)), st.dates())
def test_a_full_date_means_that_day(day: date, today: date) -> None:
    assert days_in(f"on {day.isoformat()}", today) == (Days(day, day),)
    if 1900 <= day.year < 2100:
        name = f"{day:%B}"
        for text in (f"{day.day} {name} {day.year}", f"{name[:3]} {day.day}, {day.year}"):
            assert days_in(text, today) == (Days(day, day),)


@given(st.dates(), st.dates(min_value=date(10, 1, 1)))
def test_a_date_without_a_year_is_the_most_recent_one(day: date, today: date) -> None:
    (found,) = days_in(f"{day:%b} {day.day}", today)
    assert (found.first.month, found.first.day) == (day.month, day.day)
    assert found.first <= today
    assert (today - found.first).days <= (8 * 366 if (day.month, day.day) == (2, 29) else 366)


def test_a_long_text_is_parsed_quickly() -> None:
    started = time.process_time()
    for text in (
        "last " * 100_000,
        "1 " * 100_000,
        "a day ago " * 100_000,
        "May 1 " * 100_000,
        "1" * 500_000,
    ):
        days_in(text, TODAY)
    assert time.process_time() - started < 2
    assert days_in("x" * 4_000 + " yesterday", TODAY) == ()


def test_names_are_english_in_any_locale() -> None:
    program = (
        "import calendar\n"
        "calendar.month_name = calendar.month_abbr = ['', *('mois%d' % each for each in range(12))]\n"
        "calendar.day_name = ['jour%d' % each for each in range(7)]\n"
        "from datetime import date\nfrom engine.search.dates import days_in\n"
        "print(len(days_in('on Monday, in March, on 7 Sep 2023', date(2026, 2, 18))))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "3\n"


@given(st.dates(min_value=date(1001, 1, 1)))
def test_a_year_before_is_the_same_day_or_the_last_of_february(day: date) -> None:
    before = Days(day, day, of_any_year=True).a_year_before
    assert before.first == before.last and before.first.year == day.year - 1
    assert (before.first.month, before.first.day) in ((day.month, day.day), (2, 28))
