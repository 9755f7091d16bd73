"""The specification's estimates at today's prices, checked by hand."""

from __future__ import annotations

from datetime import date

import pytest

from engine.costs.estimates import estimate, recent_use
from engine.costs.model import CostRecord
from engine.providers.chat import Usage
from engine.providers.pricing import PriceTable

TODAY = date(2026, 11, 22)


def test_the_cost_of_one_call_of_each_job() -> None:
    found = {each.job.name: each for each in estimate(PriceTable.load()).jobs}
    # Haiku 5.5: $.10 and $.50; Sonnet 5.5: $2 and $10; small embeddings: $.02.
    assert found["gate question"].cost_usd == pytest.approx((200 * 0.10 + 1 * 0.50) / 1e6)
    assert found["flush"].cost_usd == pytest.approx((2_000 * 2 + 500 * 10) / 1e6)
    assert found["full reindex, 5,000 files"].cost_usd == pytest.approx(0.10)
    assert found["flush"].model == "claude-sonnet-5-5"


def test_the_specifications_prices_give_the_specifications_sums() -> None:
    # 5 sessions a day, four extractors of 3,000 tokens each: 150 sessions a month.
    light, medium, heavy = estimate(PriceTable.load(), small="claude-haiku-4-5").months
    per_session = (12_000 * 1 + 900 * 5) / 1e6
    assert light.extraction_usd == pytest.approx(150 * per_session)
    assert medium.extraction_usd == pytest.approx(3 * 150 * per_session)
    daily, weekly, monthly, pruning = (
        (tokens_in * 2 + tokens_out * 10) / 1e6
        for tokens_in, tokens_out in ((4_000, 500), (6_000, 2_000), (10_000, 3_000), (4_000, 2_000))
    )
    assert heavy.scheduled_usd == pytest.approx(30 * daily + 30 / 7 * (weekly + pruning) + monthly)
    # 50 files of 1,000 tokens and 100 queries of 100 tokens a day, plus one full index.
    assert light.embedding_usd == pytest.approx((30 * (50 * 1_000 + 100 * 100) + 5_000_000) * 0.02 / 1e6)
    for month in (light, medium, heavy):
        parts = (month.extraction_usd, month.scheduled_usd, month.embedding_usd)
        assert None not in parts and month.total_usd == pytest.approx(sum(part or 0 for part in parts))
    assert [month.sessions for month in (light, medium, heavy)] == [5, 15, 30]


def test_unknown_prices_are_not_estimated() -> None:
    light, *_ = estimate(PriceTable.load(), small="nobodys").months
    assert light.extraction_usd is None and light.total_usd is None and light.scheduled_usd


def test_actual_use_is_an_average_of_recent_days() -> None:
    def call(day: str, usd: float) -> CostRecord:
        return CostRecord(f"{day}T12:00:00+00:00", "p", "m", "gate", usage=Usage(100), cost_usd=usd)

    calls = [
        call("2026-10-01", 50.0),
        call("2026-11-13", 1.0),
        call("2026-11-22", 2.0),
        call("2027-01-01", 9.0),
    ]
    used = recent_use(calls, TODAY)
    assert used and used.days == 10
    assert (used.rows["gate"].calls, used.rows["gate"].cost_usd) == (2, 3.0)
    assert recent_use(calls[:1], TODAY) is None
    whole = recent_use([call("2026-10-24", 1.0)], TODAY)
    assert whole and whole.days == 30
