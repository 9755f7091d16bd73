"""Daily and monthly limits, exact to the cent and the second."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from engine.costs.costs import CostGuard
from engine.errors import CostLimit
from engine.settings.model import CostSettings
from engine.store.faults import fail, trip
from engine.store.monthly import Record, record_of
from tests.costs.conftest import Till

LAST = datetime(2026, 11, 30, 23, 59, 59, tzinfo=UTC)


def refused(till: Till, estimate: float | None = None) -> str:
    with pytest.raises(CostLimit) as caught:
        till.guard.allow(estimate)
    return str(caught.value)


def test_without_limits_nothing_is_refused_and_the_log_is_not_read(till: Till) -> None:
    till.month.mkdir()
    till.guard.allow()
    till.guard.allow(1e9)


def test_a_spent_daily_budget_is_refused_until_midnight(till: Till) -> None:
    till.limits = CostSettings(daily_usd=1.0)
    till.clock.now = LAST
    till.spend(0.99)
    till.guard.allow()
    till.spend(0.01)
    assert refused(till) == (
        "costs.daily_usd: the budget of the day is spent: $1.00 of $1.00;"
        " raise it, or wait until midnight UTC"
    )
    till.clock.now += timedelta(seconds=1)
    till.guard.allow()
    assert till.guard.status().today_usd == 0


def test_a_spent_monthly_budget_is_refused_until_the_next_month(till: Till) -> None:
    till.limits = CostSettings(monthly_usd=1.0)
    till.clock.now = LAST - timedelta(days=20)
    till.spend(1.5)
    till.clock.now = LAST
    assert refused(till).startswith(
        "costs.monthly_usd: the budget of the month is spent: $1.50 of $1.00; raise"
    )
    status = till.guard.status()
    assert (status.today_usd, status.month_usd) == (0, 1.5)
    till.clock.now += timedelta(seconds=1)
    till.guard.allow()
    assert till.guard.status().month_usd == 0


def test_a_call_that_would_exceed_a_limit_is_refused_in_advance(till: Till) -> None:
    till.limits = CostSettings(daily_usd=0.5)
    till.spend(0.25)
    till.guard.allow(0.25)
    assert refused(till, 0.26).startswith(
        "costs.daily_usd: this call may cost $0.26, but only $0.25 of the day's $0.5 is left"
    )


def test_a_warning_is_given_from_a_share_of_a_limit(till: Till) -> None:
    till.limits = CostSettings(daily_usd=1.0, monthly_usd=10.0, warn_at=0.5)
    till.spend(0.49)
    assert till.guard.status().warning == ""
    till.spend(0.01)
    assert till.guard.status().warning == "$0.5 of $1.00 spent today"
    till.spend(5.0)
    assert till.guard.status().warning == ("$5.50 of $1.00 spent today; $5.50 of $10.00 spent this month")


def test_calls_without_a_price_are_not_counted_but_reported(till: Till) -> None:
    till.limits = CostSettings(daily_usd=1.0)
    till.spend(None)
    status = till.guard.status()
    assert (status.today_usd, status.today_unpriced, status.month_unpriced) == (0, 1, 1)
    assert status.warning == "the price of 1 call is unknown, so the limits do not count them"
    till.guard.allow()
    till.spend(0.9)
    assert till.guard.status().warning == (
        "$0.9 of $1.00 spent today; the price of 1 call is unknown and not included"
    )


def test_a_call_counts_on_its_own_day_even_if_logged_later(till: Till) -> None:
    till.limits = CostSettings(daily_usd=1.0, monthly_usd=1.0)
    till.clock.now = LAST
    with trip("lock:acquire", fail(28)):
        till.spend(2.0)
    till.clock.now += timedelta(seconds=1)
    till.spend(0.5)
    assert till.month.name == "costs-2026-12.jsonl" and len(till.lines()) == 2
    status = till.guard.status()
    assert (status.today_usd, status.month_usd) == (0.5, 0.5)


def test_only_new_lines_are_read(till: Till, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(50):
        till.spend(0.01)
    read: list[bytes] = []

    def counted(line: bytes) -> Record | None:
        read.append(line)
        return record_of(line)

    monkeypatch.setattr("engine.costs.costs.record_of", counted)
    assert till.guard.status().today_usd == pytest.approx(0.5)
    assert len(read) == 50
    till.guard.status()
    assert len(read) == 50
    till.spend(0.5)
    assert till.guard.status().today_usd == pytest.approx(1.0)
    assert len(read) == 51


def test_a_replaced_log_is_read_again(till: Till) -> None:
    for usd in (1.0, 2.0):
        till.spend(usd)
    whole = till.month.read_bytes()
    assert till.guard.status().today_usd == 3.0
    till.month.write_bytes(whole.replace(b'"usd":1.0', b'"usd":7.0') + whole)
    assert till.guard.status().today_usd == 12.0
    till.month.write_bytes(whole[: len(whole) // 2])
    assert till.guard.status().today_usd == 1.0
    till.month.unlink()
    assert till.guard.status().today_usd == 0


def test_a_partial_line_counts_once_complete(till: Till) -> None:
    till.spend(1.0)
    whole = till.month.read_bytes()
    till.month.write_bytes(whole + whole[:40])
    assert till.guard.status().today_usd == 1.0
    till.month.write_bytes(whole + whole)
    assert till.guard.status().today_usd == 2.0


def test_another_guard_gives_the_same_result(till: Till) -> None:
    till.limits = CostSettings(daily_usd=1.0)
    other = CostGuard(lambda: till.limits, till.log, till.files, till.clock)
    other.allow()
    till.spend(1.0)
    assert other.status() == till.guard.status()
    with pytest.raises(CostLimit):
        other.allow()
