"""Finds dates in a query: ``last week``, ``in March``, ``on 7 May 2023``, ``3 days ago`` (spec 7).

Understands English names, ISO dates, and simple phrases of other languages (``date_words``). A day and month
without a year means the most recent such day, and a month without a year the most recent such month.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from engine.search.date_words import in_english
from engine.startup.lazy import expression
from engine.startup.records import dataclass

# The names in ``calendar`` depend on the locale of the process.
MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTHS = {name: number for number, name in enumerate(MONTH_NAMES, 1)}
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items()} | {"sept": 9}
DAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAYS = {name: number for number, name in enumerate(DAY_NAMES)}
_NUMBERS = {
    name: number
    for number, name in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), 1
    )
} | {"a": 1, "an": 1}

_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_NUMBER = rf"(?P<number>\d{{1,3}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"

_MOST_CHARACTERS = 4_000
_LEAP_DAY = (2, 29)
_LENGTHS = {"day": 1, "week": 7, "month": 30, "year": 365}


@dataclass(frozen=True, slots=True)
class Days:
    """A range of days, both ends included."""

    first: date
    last: date
    of_any_year: bool = False  # the query names no year

    @property
    def a_year_before(self) -> Days:
        """The same days of the year before; the last of February for 29 February."""
        first, last = (
            date(day.year - 1, day.month, min(day.day, _last_day(day.year - 1, day.month)))
            for day in (self.first, self.last)
        )
        return Days(first, last, self.of_any_year)


def days_in(query: str, today: date) -> tuple[Days, ...]:
    """The distinct date ranges that a query mentions, in order of appearance.

    Only the beginning of a long query is read; ``yesterday`` is relative to ``today``.
    """
    return split_days(query, today)[0]


def split_days(query: str, today: date) -> tuple[tuple[Days, ...], str]:
    """As ``days_in``, and the rest of the query in lower case without the phrases that mean them."""
    found: list[tuple[int, Days]] = []
    # The patterns do not ignore case, since that would also match non-ASCII letters.
    text = in_english(query[:_MOST_CHARACTERS].lower())
    taken: list[tuple[int, int]] = []
    for read, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(start < last and first < end for first, last in taken):
                continue  # an earlier, longer form has already matched these words
            try:
                days = read(match, today)
            except (ValueError, OverflowError):
                continue  # not a valid day, such as 31 June
            taken.append((start, end))
            found.append((start, days))
    rest = text
    for start, end in sorted(taken, reverse=True):
        rest = f"{rest[:start]} {rest[end:]}"
    return tuple(dict.fromkeys(days for _, days in sorted(found, key=lambda each: each[0]))), rest


def _iso(match: re.Match[str], _today: date) -> Days:
    return _single(date(int(match["year"]), int(match["number"]), int(match["day"])))


def _date(match: re.Match[str], today: date) -> Days:
    month, day = _MONTHS[match["month"]], int(match["day"])
    if match["year"]:
        return _single(date(int(match["year"]), month, day))
    year = today.year if (month, day) <= (today.month, today.day) else today.year - 1
    while (month, day) == _LEAP_DAY and _last_day(year, 2) < day:
        year -= 1
    return Days(date(year, month, day), date(year, month, day), of_any_year=True)


def _month(match: re.Match[str], today: date) -> Days:
    month = _MONTHS[match["month"]]
    year = match.groupdict().get("year")
    found = _month_of(int(year) if year else today.year - (month > today.month), month)
    return Days(found.first, found.last, of_any_year=not year)


def _year(match: re.Match[str], _today: date) -> Days:
    year = int(match["year"])
    return Days(date(year, 1, 1), date(year, 12, 31))


def _near(match: re.Match[str], today: date) -> Days:
    before = match["near"] in ("yesterday", "last night")
    return _single(today - timedelta(days=1) if before else today)


def _span(match: re.Match[str], today: date) -> Days:
    unit, back = match["unit"], match["which"] != "this"
    if unit in ("week", "weekend"):
        monday = today - timedelta(days=today.weekday() + 7 * back)
        return Days(monday + timedelta(days=5 * (unit == "weekend")), monday + timedelta(days=6))
    if unit == "month":
        first = today.replace(day=1)
        if back:
            first = (first - timedelta(days=1)).replace(day=1)
        return _month_of(first.year, first.month)
    year = today.year - back
    return Days(date(year, 1, 1), date(year, 12, 31))


def _last(match: re.Match[str], today: date) -> Days:
    return Days(today - timedelta(days=_number(match) * _LENGTHS[match["unit"]]), today)


def _ago(match: re.Match[str], today: date) -> Days:
    length = _LENGTHS[match["unit"]]
    middle = today - timedelta(days=_number(match) * length)
    # "Two weeks ago" rarely means exactly that day.
    slack = timedelta(days=length // 2)
    return Days(middle - slack, min(middle + slack, today))


def _monthday(match: re.Match[str], today: date) -> Days:
    day, month = int(match["day"]), today.replace(day=1)
    while (day > today.day and month.month == today.month) or day > _last_day(month.year, month.month):
        month = (month - timedelta(days=1)).replace(day=1)
    return _single(month.replace(day=day))


def _weekday(match: re.Match[str], today: date) -> Days:
    back = (today.weekday() - _DAYS[match["weekday"]]) % 7
    return _single(today - timedelta(days=back or 7))


def _number(match: re.Match[str]) -> int:
    number = match["number"]
    return int(number) if number.isdecimal() else _NUMBERS[number]


def _single(day: date) -> Days:
    return Days(day, day)


def _last_day(year: int, month: int) -> int:
    import calendar  # noqa: PLC0415 — slow to import, and few queries name a month

    return calendar.monthrange(year, month)[1]


def _month_of(year: int, month: int) -> Days:
    return Days(date(year, month, 1), date(year, month, _last_day(year, month)))


_FORMS: tuple[tuple[Callable[[re.Match[str], date], Days], str], ...] = (
    (_iso, r"(?P<year>\d{4})-(?P<number>\d{1,2})-(?P<day>\d{1,2})"),
    (_date, rf"{_DAY}(?: of)? {_MONTH}(?:,? {_YEAR})?"),
    (_date, rf"{_MONTH} {_DAY}(?:,? {_YEAR})?"),
    (_month, rf"{_MONTH},? {_YEAR}"),
    (_month, rf"(?:in|during|since|last|this|of|early|late|mid) {_MONTH}"),
    (_year, rf"(?:in|during|of|since|back in) {_YEAR}"),
    (_near, r"(?P<near>today|yesterday|this morning|last night|tonight)"),
    (_span, r"(?P<which>last|this|past|previous) (?P<unit>week|weekend|month|year)"),
    (_last, rf"(?:last|past|previous) {_NUMBER} (?P<unit>day|week|month|year)s?"),
    (_ago, rf"{_NUMBER} (?P<unit>day|week|month|year)s? ago"),
    (_monthday, r"on the (?P<day>\d{1,2})(?:st|nd|rd|th)"),
    (_weekday, rf"(?:on|last|this|past) (?P<weekday>{'|'.join(_DAYS)})"),
)
_PATTERNS = tuple((read, expression(rf"\b{form}\b")) for read, form in _FORMS)
