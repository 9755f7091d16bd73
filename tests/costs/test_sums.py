"""Sums by any key agree with the total, and with the records."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.costs.model import OPERATIONS, CostRecord, Key, line_of, record_in, sums
from engine.providers.chat import Usage
from engine.store.monthly import line_of as bytes_of

_COUNTS = st.integers(0, 100_000)
_DOLLARS = st.floats(0, 10)
_NAMES = st.sampled_from(["", "a", "ä\u2028", "gpt-6", "…"])
_RECORDS = st.builds(
    CostRecord,
    at=st.sampled_from(["2026-11-21T23:59:59", "2026-11-22", "0001-01-01T00:00:00.000001+00:00"]),
    provider=_NAMES,
    model=_NAMES,
    operation=st.sampled_from(OPERATIONS),
    topics=st.lists(_NAMES, max_size=4, unique=True).map(tuple),
    discussion=_NAMES,
    usage=st.builds(Usage, _COUNTS, _COUNTS, _COUNTS, _COUNTS, _COUNTS),
    cost_usd=st.none() | _DOLLARS,
    price_from=_NAMES,
    saved_usd=st.floats(-10, 10),
)


@given(st.lists(_RECORDS, max_size=12), st.sampled_from(get_args(Key)))
def test_the_rows_add_up_to_the_total(records: list[CostRecord], by: Key) -> None:
    found = sums(records, by)
    total, rows = found.total, list(found.rows.values())
    for name in ("input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens"):
        assert sum(getattr(row, name) for row in rows) == getattr(total, name)
        if name not in ("cache_write_tokens",):
            assert getattr(total, name) == sum(getattr(record.usage, name) for record in records)
    assert sum(row.cost_usd for row in rows) == pytest.approx(total.cost_usd, abs=1e-9)
    assert sum(row.saved_usd for row in rows) == pytest.approx(total.saved_usd, abs=1e-9)
    assert total.calls == len(records) and total.unpriced == sum(r.cost_usd is None for r in records)
    if by != "topic":
        assert sum(row.calls for row in rows) == len(records)
    assert sum(found.unpriced.values()) == total.unpriced


@given(_RECORDS)
def test_a_record_is_read_back_as_written(record: CostRecord) -> None:
    line = json.loads(bytes_of(line_of(record)).decode())
    assert record_in(line) == record


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists), _RECORDS)
def test_arbitrary_values_in_a_line_raise_nothing(value: object, record: CostRecord) -> None:
    for name in line_of(record):
        record_in({**line_of(record), name: value})


def test_a_call_about_several_topics_is_split_evenly() -> None:
    record = CostRecord(
        "2026-11-22T12:00:00+00:00",
        "openai",
        "gpt-6-luna",
        "gate",
        topics=("a", "b", "c"),
        usage=Usage(input_tokens=100, output_tokens=2),
        cost_usd=0.3,
    )
    found = sums([record], "topic")
    assert [row.input_tokens for row in found.rows.values()] == [34, 33, 33]
    assert [row.output_tokens for row in found.rows.values()] == [1, 1, 0]
    assert [row.cost_usd for row in found.rows.values()] == pytest.approx([0.1, 0.1, 0.1])
    assert found.total.calls == 1 and found.rows["c"].calls == 1


def test_days_are_in_order_and_other_keys_sorted_by_cost() -> None:
    cheap = CostRecord("2026-11-21", "p", "cheap", "chat", cost_usd=1.0)
    dear = CostRecord("2026-11-22", "p", "dear", "chat", cost_usd=2.0)
    assert list(sums([dear, cheap], "day").rows) == ["2026-11-21", "2026-11-22"]
    assert list(sums([cheap, dear], "model").rows) == ["dear", "cheap"]


def test_the_cached_share_is_relative_to_all_input_tokens() -> None:
    records = [
        CostRecord("2026-11-22", "p", "m", "chat", usage=Usage(1_000, 900)),
        CostRecord("2026-11-22", "p", "m", "chat", usage=Usage(1_000)),
    ]
    assert sums(records, "day").total.cached_share == pytest.approx(0.45)
    assert sums([], "day").total.cached_share is None
