"""Every caller of a model records its cost and makes no more calls once the budget is spent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from engine.activation.trace import Trace
from engine.costs.costs import Account
from engine.discussions.sending import Bills
from engine.engine import Engine
from engine.errors import CostLimit, EmbeddingFailed, GateError
from engine.pipeline.assembly import embedder_for
from engine.providers.chat import ChatReply, Usage
from engine.settings.model import CostSettings, SearchSettings
from engine.store.faults import fail, trip
from tests.activation.test_gate import Model, replied
from tests.costs.conftest import Till
from tests.discussions.scripted import Scripted
from tests.engine.flush_support import NOTES, Desk, Provider, reply
from tests.providers.conftest import json_response

MESSAGE = "Can you review the PR of the release that just came in, and triage my email?"
ASKING = """watchers:
  preset: spec
  policy:
    critical: {gate: 0.01}
    high: {gate: 0.01}
    medium: {gate: 0.01}
    low: {gate: 0.01}
gate:
  provider: openai
"""


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Model:
    """A gate model that always says yes and uses 200 input tokens and 1 output token."""
    found = Model(replied("YES", model="gpt-6-luna-2026-09-22"), model="gpt-6-luna")
    monkeypatch.setattr("engine.providers.select.completer_for", lambda *_: found)
    return found


def opened(root: Path, more: str = "") -> Engine:
    (root / "memory-config.yaml").write_text(ASKING + more)
    return Engine.open(root)


def asked(engine: Engine) -> Trace:
    return engine.trace(MESSAGE)


def test_a_gate_call_is_recorded_under_its_topic(sample: Path, model: Model) -> None:
    with opened(sample) as engine:
        trace = asked(engine)
        topics = {row.topic for row in trace.rows if row.gate is not None}
        records = list(engine.costs.log.records())
    assert topics and len(records) == len(model.asked) == len(topics)
    assert {record.topics for record in records} == {(topic,) for topic in topics}
    for record in records:
        assert (record.operation, record.provider, record.model) == (
            "gate",
            "openai",
            "gpt-6-luna-2026-09-22",
        )
        assert record.usage == Usage(input_tokens=200, output_tokens=1)
        assert record.cost_usd == pytest.approx((200 * 0.10 + 0.50) / 1e6)
    (month,) = (sample / "logs").glob("costs-*")
    assert not any(word in month.read_text() for word in ("just came in", "YES"))


def test_a_call_is_estimated_at_its_maximum_cost(till: Till) -> None:
    account = Account(till.costs, "chat", "anthropic", "claude-sonnet-5-5")
    till.limits = CostSettings(daily_usd=0.10)
    till.spend(0.06)
    # 10,000 tokens written to a cache cost $2.50 per million, 1,000 output tokens $10 per million.
    account.allow(Usage(input_tokens=10_000, output_tokens=1_000))
    with pytest.raises(CostLimit) as caught:
        account.allow(Usage(input_tokens=10_000, output_tokens=1_600))
    assert str(caught.value) == (
        "costs.daily_usd: this call may cost $0.041, but only $0.04 of the day's $0.1 is left;"
        " raise it, or wait until midnight UTC"
    )
    Account(till.costs, "chat", "local", "").allow(Usage(input_tokens=10**9))
    Account(till.costs, "chat", "openai", "nobodys").allow(Usage(input_tokens=10**9))
    Account(till.costs, "chat", "openai", "gpt-6-sol", "http://localhost/v1").allow(Usage(10**9))


def test_a_message_is_priced_before_sending(till: Till) -> None:
    bills = Bills(till.costs)
    service = Scripted()
    till.limits = CostSettings(daily_usd=0.05)
    bills.allow(service, 8_000, 1_000)
    with pytest.raises(CostLimit, match=r"may cost \$0\.06, but only \$0\.05 of the day's \$0\.05 is left"):
        bills.allow(service, 8_000, 4_000)
    bills.spent(service, ChatReply("", Usage(100, output_tokens=1), service.model), "ses_1", estimated=True)
    assert [record.estimated for record in till.log.records()] == [True]


@pytest.mark.parametrize("asked", ["gemini-3.5-flash", "models/gemini-3.5-flash"])
def test_a_reply_with_an_unknown_model_name_is_charged_as_the_requested_model(till: Till, asked: str) -> None:
    bills = Bills(till.costs)
    service = Scripted(name="gemini", model=asked)
    price = till.costs.prices.price("gemini-3.5-flash")
    assert price is not None
    till.limits = CostSettings(daily_usd=price.output)
    reply = ChatReply("", Usage(output_tokens=1_000_000), "gemini-3.5-flash-001")
    assert bills.spent(service, reply, "ses_1") == pytest.approx(price.output)
    with pytest.raises(CostLimit, match="the budget of the day is spent"):
        bills.allow(service)


def test_a_cached_answer_costs_nothing(sample: Path, model: Model) -> None:
    with opened(sample) as engine:
        asked(engine)
        calls = engine.costs.log.sums().total.calls
        asked(engine)
        assert engine.costs.log.sums().total.calls == calls > 0


def test_the_session_of_a_message_is_recorded(sample: Path, model: Model) -> None:
    from engine.activation.trace import Message

    with opened(sample) as engine:
        engine.pipeline.process(Message(MESSAGE, session_id="ses_money01", at=engine.clock()))
        assert {record.discussion for record in engine.costs.log.records()} == {"ses_money01"}


@pytest.mark.parametrize(("on_failure", "active"), [("skip", False), ("activate", True)])
def test_a_gate_over_budget_falls_back_to_on_failure(
    sample: Path, model: Model, on_failure: str, active: bool
) -> None:
    more = f"  on_failure: {on_failure}\ncosts:\n  daily_usd: 1\n"
    with opened(sample, more) as engine:
        engine.costs.log.record("chat", "openai", "gpt-6-sol", Usage(), cost_usd=1.0)
        rows = [row for row in asked(engine).rows if row.gate is not None]
    assert rows and not model.asked
    for row in rows:
        assert row.gate and row.gate.answer == "failed"
        assert row.gate.reason.startswith(
            "costs.daily_usd: the budget of the day is spent: $1.00 of $1.00; raise"
        )
        assert (row.verdict == "active") is active


def test_a_gate_answers_even_if_its_cost_cannot_be_logged(sample: Path, model: Model) -> None:
    with opened(sample) as engine:
        engine.pipeline  # noqa: B018 — created before anything fails
        with trip("lock:acquire", fail(28)):
            rows = [row for row in asked(engine).rows if row.gate is not None]
        assert rows and all(row.gate and row.gate.answer == "yes" for row in rows)
        assert len(engine.costs.log.waiting()) == len(rows)
    with Engine.open(sample) as engine:
        assert engine.costs.log.sums().total.calls == len(rows)


def account(till: Till, **of: Any) -> Account:
    given: dict[str, Any] = {"operation": "gate", "provider": "openai", "model": "gpt-6-luna", **of}
    return Account(till.costs, **given)


def test_a_free_provider_is_never_refused(till: Till) -> None:
    till.limits = CostSettings(daily_usd=0.01)
    till.spend(1.0)
    account(till, provider="local").allow()
    account(till, model="llama", address="http://localhost:11434/v1").allow()
    with pytest.raises(GateError, match="the budget of the day is spent"):
        account(till, error=GateError).allow()
    with pytest.raises(CostLimit):
        account(till, provider="claude-code", model="haiku").allow()


def test_the_cost_reported_by_claude_code_is_used(till: Till) -> None:
    done = ChatReply("YES", Usage(5_000, 4_000, output_tokens=5), "haiku", cost_usd=0.0123)
    account(till, provider="claude-code", model="haiku").spent(done)
    account(till, model="gpt-6-luna").spent(ChatReply("YES", Usage(1_000), "gpt-6-luna", cost_usd=99.0))
    first, second = till.log.records()
    assert (first.cost_usd, first.price_from, first.usage.cached_tokens) == (0.0123, "the service", 4_000)
    assert second.cost_usd == pytest.approx(0.0001), "for other providers the table is used"


def test_an_unknown_model_name_in_a_reply_gets_the_price_of_the_requested_model(till: Till) -> None:
    account(till).spent(ChatReply("", Usage(1_000), "luna-internal-7"))
    account(till, model="nobodys").spent(ChatReply("", Usage(1_000), "nobodys-7"))
    assert [(record.model, record.cost_usd is None) for record in till.log.records()] == [
        ("gpt-6-luna", False),
        ("nobodys-7", True),
    ]


def paid(till: Till, desk: Desk) -> Desk:
    desk.flusher.spending = lambda completer: till.costs.account("flush", completer)
    return desk


def test_a_flush_is_recorded_under_its_session(till: Till, tmp_path: Path) -> None:
    desk = paid(till, Desk(tmp_path / "w", Provider(reply(*NOTES))))
    desk.talk(8)
    statuses = desk.flush()
    records = list(till.log.records())
    assert len(records) == len(statuses) > 0
    assert {(record.operation, record.discussion) for record in records} == {("flush", "ses_flush001")}
    assert records[0].usage == Usage(input_tokens=1200, output_tokens=80)


def test_a_flush_over_budget_records_the_reason_and_makes_no_call(till: Till, tmp_path: Path) -> None:
    till.limits = CostSettings(monthly_usd=1.0)
    till.spend(1.0)
    provider = Provider(reply(*NOTES))
    desk = paid(till, Desk(tmp_path / "w", provider))
    desk.talk(8)
    assert set(desk.flush()) == {"unflushed"} and not provider.prompts
    record: Any = desk.records[0]
    assert record.error.startswith("costs.monthly_usd: the budget of the month is spent: $1.00 of $1.00")
    till.limits = CostSettings()
    assert "unflushed" not in desk.flush(everything=True) and provider.prompts, "the turns are flushed later"


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    with HTTPServer(threaded=True) as found:
        yield found


def vectors(server: HTTPServer, usage: object, numbers: int = 8) -> None:
    data = [{"index": 0, "embedding": [1.0] * numbers}]
    body = {"data": data, "usage": usage}
    server.expect_request("/v1/embeddings").respond_with_handler(lambda _request: json_response(body))


def embedder(till: Till, server: HTTPServer) -> Any:
    settings = SearchSettings(
        embedding="openai",
        embedding_dimensions=8,
        embedding_base_url=server.url_for("/v1"),
        embedding_deadline_s=60,  # the first import of the client counts
    )
    return embedder_for(settings, lambda: till.costs)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [({"prompt_tokens": 7, "total_tokens": 7}, [7]), (None, []), ({"prompt_tokens": "7"}, []), ([], [])],
)
def test_embeddings_are_recorded_if_the_service_reports_their_tokens(
    till: Till, server: HTTPServer, usage: object, tokens: list[int]
) -> None:
    from tests.costs.conftest import own_prices

    own_prices("models:\n  text-embedding-3-small: {input: 0.02}\n")
    vectors(server, usage)
    found = embedder(till, server)
    assert found.embed(["hello"]).shape == (1, 8)
    found.close()
    records = list(till.log.records())
    assert [record.usage.input_tokens for record in records] == tokens
    for record in records:
        assert record.operation == "embedding" and record.cost_usd == pytest.approx(7 * 0.02 / 1e6)


def test_unusable_embeddings_are_recorded_too(till: Till, server: HTTPServer) -> None:
    vectors(server, {"prompt_tokens": 7}, numbers=5)
    found = embedder(till, server)
    with pytest.raises(EmbeddingFailed, match="vectors of 5 dimensions"):
        found.embed_query("hello")
    found.close()
    assert [record.usage.input_tokens for record in till.log.records()] == [7]


def test_embeddings_over_budget_are_refused(till: Till) -> None:
    till.limits = CostSettings(daily_usd=1.0)
    till.spend(1.0)
    settings = SearchSettings(embedding="openai", embedding_dimensions=8)
    found: Any = embedder_for(settings, lambda: till.costs)
    with pytest.raises(EmbeddingFailed, match=r"^costs.daily_usd: the budget of the day is spent"):
        found.embed(["hello"])
