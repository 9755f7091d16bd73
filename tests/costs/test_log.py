"""Every call is logged with its usage and cost, without any message text."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from engine.costs.costs import CostLog
from engine.engine import Engine
from engine.errors import AutopoiesisError
from engine.providers.chat import Usage
from engine.providers.pricing import PriceTable
from engine.store.faults import fail, trip
from engine.store.files import Files
from tests.costs.conftest import MILLION, NOON, Till, own_prices


def test_a_line_has_provider_purpose_usage_cost_and_price_source(till: Till) -> None:
    usage = Usage(10_000, 8_000, 1_000, 1_000, 500)
    record = till.log.record(
        "chat", "anthropic", "claude-sonnet-5-5", usage, topics=["release"], discussion="ses_1"
    )
    # 1,000 new at $2, 8,000 read at $.10, 1,000 written for an hour at $4, 500 output at $10.
    cost = (1_000 * 2 + 8_000 * 0.10 + 1_000 * 4 + 500 * 10) / MILLION
    saved = (8_000 * (2 - 0.10) - 1_000 * (4 - 2)) / MILLION
    (line,) = till.lines()
    assert line.pop("usd") == pytest.approx(cost)
    assert line.pop("saved_usd") == pytest.approx(saved)
    assert line == {
        "at": NOON.isoformat(),
        "provider": "anthropic",
        "model": "claude-sonnet-5-5",
        "operation": "chat",
        "topics": ["release"],
        "discussion": "ses_1",
        "tokens": {"input": 10_000, "cached": 8_000, "written": 1_000, "written_1h": 1_000, "output": 500},
        "price_from": "prices of 2026-11",
    }
    assert [record] == list(till.log.records()) and not till.problems


def test_locally_counted_tokens_are_marked_as_estimated(till: Till) -> None:
    usage = Usage(input_tokens=100, output_tokens=5)
    record = till.log.record("chat", "openai", "gpt-6-luna", usage, estimated=True)
    reported = till.log.record("chat", "openai", "gpt-6-luna", usage)
    assert [line.get("estimated") for line in till.lines()] == [True, None]
    assert [record, reported] == list(till.log.records())
    assert record is not None and record.estimated and record.cost_usd
    sums = till.log.sums("model")
    assert sums.total.estimated == sums.rows["gpt-6-luna"].estimated == 1


def test_the_source_of_a_price_is_recorded(till: Till) -> None:
    path = own_prices("models:\n  mine: {input: 1, output: 2}\n")
    usage = Usage(input_tokens=MILLION)
    reported = till.log.record("chat", "claude-code", "sonnet", usage, cost_usd=0.25)
    own = till.log.record("chat", "openai", "mine", usage, address="http://localhost:1/v1")
    free = till.log.record("chat", "local", "", usage)
    unknown = till.log.record("chat", "openai", "nobodys", usage)
    elsewhere = till.log.record("chat", "openai", "gpt-6-luna", usage, address="http://localhost:1/v1")
    found = [(each.cost_usd, each.price_from) for each in (reported, own, free, unknown, elsewhere) if each]
    assert found == [(0.25, "the service"), (1.0, str(path)), (0.0, "free"), (None, ""), (None, "")]
    assert till.log.sums("model").unpriced == {"gpt-6-luna": 1, "nobodys": 1}


def test_cache_storage_is_priced_by_the_table(till: Till) -> None:
    written = Usage(cache_write_tokens=200_000)
    cost = till.costs.prices.storage("gemini-3.5-flash", 200_000, 3600)
    record = till.log.record("cache", "gemini", "gemini-3.5-flash", written, cost_usd=cost)
    assert record and record.cost_usd == pytest.approx(0.2)
    assert (record.price_from, record.saved_usd) == ("prices of 2026-11", 0)


def test_invalid_lines_are_skipped(till: Till) -> None:
    till.spend(1.0)
    whole = till.month.read_bytes()
    bad = [
        b"{",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"at":"yesterday","provider":"p","operation":"chat","usd":1}',
        b'{"at":"2026-11-22","provider":"p","operation":"theft","usd":1}',
        b'{"at":"2026-11-22","provider":"p","operation":"chat","usd":NaN}',
        b'{"at":"2026-11-22","provider":"p","operation":"chat","usd":-5}',
        b'{"at":"2026-11-22","provider":"p","operation":"chat","usd":1,"tokens":{"input":-1}}',
        b'{"at":"2026-11-22","provider":"p","operation":"chat","usd":1,"topics":[1]}',
        b'{"at":"2026-11-22","provider":"p","operation":"chat","usd":1,"tokens":[]}',
        b'{"at":"2026-11-22","provider":"p","operation":["chat"],"usd":1}',
    ]
    till.month.write_bytes(b"\n".join(bad) + b"\n" + whole + b'{"at":"2026-11')
    till.spend(2.0)
    assert [record.cost_usd for record in till.log.records()] == [1.0, 2.0]
    assert till.guard.status().today_usd == pytest.approx(3.0)


def test_each_month_is_a_file_and_days_are_utc(till: Till) -> None:
    till.clock.now = datetime(2026, 11, 30, 23, 59, tzinfo=UTC)
    till.spend(1.0)
    till.clock.now = datetime(2026, 12, 1, 0, 0, tzinfo=UTC)
    till.spend(2.0)
    assert sorted(path.name for path in (till.root / "logs").glob("costs-*")) == [
        "costs-2026-11.jsonl",
        "costs-2026-12.jsonl",
    ]
    assert {day: totals.cost_usd for day, totals in till.log.sums("day").rows.items()} == {
        "2026-11-30": 1.0,
        "2026-12-01": 2.0,
    }
    assert list(till.log.sums("day", date(2026, 12, 1)).rows) == ["2026-12-01"]


@pytest.mark.parametrize("step", ["append:open", "append:write", "append:fsync", "lock:acquire"])
def test_a_call_that_cannot_be_logged_is_reported_and_logged_with_the_next(till: Till, step: str) -> None:
    till.spend(1.0)
    with trip(step, fail(28)):
        till.spend(2.0)
    assert len(till.problems) == 1 and "not in the cost log yet" in till.problems[0]
    assert [record.cost_usd for record in till.log.records()] == [1.0]
    assert [record.cost_usd for record in till.log.waiting()] == [2.0]
    assert till.guard.status().today_usd == pytest.approx(3.0), "the money is spent anyway"
    till.spend(4.0)
    assert [record.cost_usd for record in till.log.records()] == [1.0, 2.0, 4.0]
    assert till.log.waiting() == () and till.guard.status().today_usd == pytest.approx(7.0)


def test_pending_records_are_written_on_close(till: Till) -> None:
    with trip("lock:acquire", fail(28)):
        till.spend(2.0)
    till.costs.close()
    assert [record.cost_usd for record in till.log.records()] == [2.0]


def test_a_read_only_workspace_reports_the_missing_log_once(till: Till) -> None:
    problems: list[str] = []
    log = CostLog(Files(till.files.workspace, read_only=True), till.clock, problems.append)
    for _ in range(3):
        log.record("gate", "anthropic", "haiku", Usage(input_tokens=200, output_tokens=1))
    assert len(problems) == 1 and len(log.waiting()) == 3
    log.close()
    assert problems[1:] == ["3 model calls are not in the cost log"]


def test_no_error_reaches_the_caller(till: Till) -> None:
    def broken() -> PriceTable:
        raise ZeroDivisionError("of all things")

    log = CostLog(till.files, till.clock, till.problems.append, broken)
    assert log.record("chat", "openai", "gpt-6-sol", Usage(input_tokens=1)) is None
    assert till.problems == ["a call of gpt-6-sol was not recorded: ZeroDivisionError: of all things"]


def test_invalid_user_prices_are_reported_once(till: Till) -> None:
    path = own_prices("models:\n  gpt-6-sol: {input: dear}\n")
    for _ in range(2):
        till.log.record("chat", "openai", "gpt-6-sol", Usage(input_tokens=MILLION // 5))
    assert till.problems == [
        f"{path}:2: gpt-6-sol: input is 'dear'; write it as MODEL: {{input: 1.00, output: 5.00}}, "
        "in US dollars per million tokens"
    ]
    assert [record.cost_usd for record in till.log.records()] == [0.4, 0.4]


_PROCESS = """
import sys
from datetime import UTC, datetime
from engine.costs.costs import CostLog
from engine.providers.chat import Usage
from engine.store.files import Files
from engine.store.paths import Workspace
problems = []
clock = lambda: datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
log = CostLog(Files(Workspace.open(sys.argv[1])), clock, problems.append)
for _ in range(20):
    log.record("gate", "openai", "gpt-6-luna", Usage(1000, output_tokens=1), cost_usd=0.01)
log.close()
assert not problems, problems
"""


def test_two_processes_lose_no_records_and_see_each_others(till: Till) -> None:
    assert till.guard.status().today_usd == 0
    running = [
        subprocess.Popen([sys.executable, "-c", _PROCESS, str(till.root)], env={**os.environ})
        for _ in range(2)
    ]
    till.spend(1.0)
    assert [process.wait(60) for process in running] == [0, 0]
    assert till.log.sums().total.calls == 41
    assert till.guard.status().today_usd == pytest.approx(1.4)


def test_an_engine_writes_pending_costs_on_close(sample: Path) -> None:
    with Engine.open(sample) as engine:
        with trip("lock:acquire", fail(28)):
            engine.costs.log.record("chat", "openai", "gpt-6-sol", Usage(MILLION // 5))
        engine.costs.guard.allow(1.0)
    with Engine.open(sample) as engine:
        assert engine.costs.log.sums().total.cost_usd == pytest.approx(0.4)


def test_an_unreadable_log_refuses_calls_under_a_limit(till: Till) -> None:
    from dataclasses import replace

    from engine.errors import CostLimit

    till.month.mkdir()
    till.guard.allow()
    till.limits = replace(till.limits, monthly_usd=1.0)
    with pytest.raises(CostLimit, match=r"^costs.monthly_usd: spending is unknown: .*; make the cost"):
        till.guard.allow()
    with pytest.raises(AutopoiesisError):
        till.guard.status()
