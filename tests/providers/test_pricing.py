"""The dated price table, the cost of calls, and the user's own prices."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from engine.providers import pricing
from engine.providers.anthropic import Anthropic
from engine.providers.chat import Usage
from engine.providers.claude_code import ClaudeCode
from engine.providers.gemini import Gemini
from engine.providers.openai import OpenAI
from engine.providers.pricing import PriceTable
from engine.providers.select import completer_for
from engine.settings.model import GateSettings
from tests.test_imports import modules_loaded_by

MILLION = 1_000_000


@pytest.fixture
def table() -> PriceTable:
    return PriceTable.load()


def of(path: Path, text: str) -> PriceTable:
    path.write_text(text)
    return PriceTable.load(path)


def cost_of(model: str, sent: int, written: int, *, cached: int = 0, elsewhere: bool = False) -> float | None:
    usage = Usage(sent, cached, output_tokens=written)
    return pricing.current().cost(model, usage, elsewhere=elsewhere)


def problems_of(table: PriceTable) -> list[str]:
    return [str(problem) for problem in table.problems]


def test_the_prices_are_dated_and_cover_the_default_models(table: PriceTable) -> None:
    assert re.fullmatch(r"\d{4}-\d{2}", table.as_of)
    named = (pricing.DEFAULT_MODELS, pricing.ALIASES, pricing.CHAT_MODELS)
    for model in (model for models in named for model in models.values()):
        assert table.price(model), model
    assert table.price("text-embedding-3-small")


def test_the_shipped_prices_follow_the_rules_of_their_providers(table: PriceTable) -> None:
    for model in table.prices:
        price = table.price(model)
        assert price is not None
        assert price.provider in ("anthropic", "openai", "gemini"), model
        assert price.source == f"prices of {table.as_of}" and not price.own
        assert price.cache_read <= price.input <= price.cache_write_5m <= price.cache_write_1h, model
        assert price.long_input >= 1 and price.long_output >= 1
        match price.provider:
            case "anthropic":
                assert price.cache_write_5m == pytest.approx(1.25 * price.input), model
                assert price.cache_write_1h == pytest.approx(2 * price.input), model
                assert price.cache_read <= 0.1 * price.input + 1e-12, model
                assert 512 <= price.least_cacheable <= 4096 and not price.ttl and not price.storage
            case "openai" if not model.startswith("text-"):
                new = model.startswith(("gpt-5.6", "gpt-6"))
                assert price.cache_write_5m == pytest.approx((1.25 if new else 1) * price.input), model
                assert price.least_cacheable == 1024 and price.ttl == (1800 if new else 300)
            case "gemini":
                assert price.cache_read == pytest.approx(0.1 * price.input), model
                assert price.storage > 0 and price.least_cacheable >= 1024


def test_a_call_costs_the_price_of_its_tokens() -> None:
    assert cost_of("claude-haiku-4-5", 1_000_000, 0) == pytest.approx(1.0)
    assert cost_of("claude-haiku-4-5-20251001", 0, 1_000_000) == pytest.approx(5.0)
    assert cost_of("gpt-4o-mini-2024-07-18", 1_000_000, 0) == pytest.approx(0.15)
    assert cost_of("gpt-4o-mini", 1000, 0, cached=1000) == pytest.approx(0.000075)
    assert cost_of("somebody-elses-model", 1, 1) is None
    assert cost_of("claude-haiku-4-5", 1, 1, elsewhere=True) is None


def saved(table: PriceTable, model: str, usage: Usage) -> float:
    price = table.price(model)
    assert price is not None
    return price.saved(usage)


def test_anthropic_costs_match_a_manual_calculation(table: PriceTable) -> None:
    # Opus 5: $5 sent, $.50 read, $6.25 written for 5 minutes, $10 for an hour, $25 answered.
    usage = Usage(10_000, 6_000, 3_000, 1_000, 400)
    # 1,000 new, 6,000 read, 2,000 written for five minutes, 1,000 for an hour.
    by_hand = (1_000 * 5 + 6_000 * 0.5 + 2_000 * 6.25 + 1_000 * 10 + 400 * 25) / MILLION
    assert by_hand == pytest.approx(0.0405)
    assert table.cost("claude-opus-5", usage) == pytest.approx(by_hand)
    assert saved(table, "claude-opus-5", usage) == pytest.approx((10_000 * 5 + 400 * 25) / MILLION - by_hand)


def test_openai_costs_match_a_manual_calculation(table: PriceTable) -> None:
    # GPT-5.6 Luna: $.20 sent, $.02 read, $.25 written, $1.20 answered.
    usage = Usage(10_000, 6_000, 3_000, 0, 400)
    assert table.cost("gpt-5.6-luna", usage) == pytest.approx(
        (1_000 * 0.20 + 6_000 * 0.02 + 3_000 * 0.25 + 400 * 1.20) / MILLION
    )
    # Before 5.6, cache writes cost no more than input.
    assert table.cost("gpt-5-nano", usage) == pytest.approx(
        (4_000 * 0.05 + 6_000 * 0.005 + 400 * 0.40) / MILLION
    )


def test_gemini_costs_match_a_manual_calculation(table: PriceTable) -> None:
    # 3.5 Flash: $1.50 sent, $.15 read, $9 answered, $1 for a million tokens in a cache for an hour.
    usage = Usage(10_000, 8_000, 0, 0, 1_000)
    assert table.cost("gemini-3.5-flash", usage) == pytest.approx(
        (2_000 * 1.50 + 8_000 * 0.15 + 1_000 * 9) / MILLION
    )
    assert saved(table, "gemini-3.5-flash", usage) == pytest.approx(8_000 * 1.35 / MILLION)
    assert table.storage("gemini-3.5-flash", 200_000, 1_800) == pytest.approx(0.1)
    assert table.storage("nobodys", 200_000, 1_800) is None


@pytest.mark.parametrize(
    ("model", "limit", "below", "above"),
    [
        ("claude-haiku-5-5", 100_000, 100_000 * 0.10, 100_001 * 0.50),
        ("gpt-6-sol", 272_000, 272_000 * 2.00, 272_001 * 4.00),
        ("gemini-3.1-pro", 200_000, 200_000 * 2.00, 200_001 * 4.00),
    ],
)
def test_long_prompts_cost_more(
    table: PriceTable, model: str, limit: int, below: float, above: float
) -> None:
    assert table.cost(model, Usage(limit)) == pytest.approx(below / MILLION)
    assert table.cost(model, Usage(limit + 1)) == pytest.approx(above / MILLION)
    price = table.price(model)
    assert price and table.cost(model, Usage(limit + 1, output_tokens=1000)) == pytest.approx(
        (above + 1000 * price.output * price.long_output) / MILLION
    )


def test_a_cache_write_that_is_never_read_has_negative_savings(table: PriceTable) -> None:
    assert saved(table, "claude-sonnet-5-5", Usage(10_000, 0, 10_000, 0, 0)) == pytest.approx(
        -10_000 * 0.5 / MILLION
    )
    assert saved(table, "claude-sonnet-5-5", Usage(10_000, 0, 0, 0, 500)) == 0


def test_inconsistent_token_counts_cost_no_less_than_their_parts(table: PriceTable) -> None:
    assert table.cost("claude-opus-5", Usage(10, 1_000, 1_000, 5_000, 0)) == pytest.approx(
        (1_000 * 0.5 + 1_000 * 10) / MILLION
    )


def test_the_cacheable_minimum_is_that_of_the_model_or_its_provider(table: PriceTable) -> None:
    assert table.least_cacheable("claude-haiku-4-5-20251001", "anthropic") == 4096
    assert table.least_cacheable("claude-opus-9", "anthropic") == 1024
    assert table.least_cacheable("", "local") == 0


def test_the_users_own_prices_override_single_fields(table: PriceTable, tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    own = of(
        path,
        "# mine\nas_of: 2027-01\nmodels:\n  gpt-6-sol: {input: 1}\n  qwen: {input: 0.5, output: 1.5}\n",
    )
    assert own.problems == () and own.as_of == table.as_of
    sol, before = own.price("gpt-6-sol"), table.price("gpt-6-sol")
    assert sol and before
    assert (sol.input, sol.output, sol.cache_read) == (1, before.output, before.cache_read)
    assert (sol.source, sol.own) == (str(path), True)
    qwen = own.price("qwen")
    assert qwen and (qwen.cache_read, qwen.cache_write_5m, qwen.cache_write_1h) == (0.5, 0.5, 0.5)
    assert own.price("claude-opus-5") == table.price("claude-opus-5")
    assert own.price("qwen", elsewhere=True) == qwen and own.price("gpt-6-luna", elsewhere=True) is None


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("models:\n  gpt-6-sol: {input: 1, outptu: 5}\n", 2, "gpt-6-sol: unknown field outptu; write it as"),
        ("models:\n  gpt-6-sol:\n    input: cheap\n", 3, "gpt-6-sol: input is 'cheap'"),
        ("models:\n  gpt-6-sol: {input: -1}\n", 2, "gpt-6-sol: input is '-1'"),
        ("models:\n  gpt-6-sol: {input: nan}\n", 2, "gpt-6-sol: input is 'nan'"),
        ("models:\n  gpt-6-sol: {input: [1]}\n", 2, "gpt-6-sol: input is \"['1']\""),
        ("models:\n  gpt-6-sol: {ttl: 1.5}\n", 2, "gpt-6-sol: ttl is '1.5'"),
        ("\nmodels:\n  mine: {input: 1}\n", 3, "mine: has no input and output"),
        ("models: 3\n", 1, "lists no prices; list them below models: MODEL:"),
        ("gpt-6-sol: {input: 1}\n", 1, "lists no prices"),
        ("models:\n  gpt-6-sol: {input: 1\n", 3, "is not valid YAML"),
        ("- 1\n", 1, "no 'key: value' lines"),
    ],
)
def test_a_broken_price_file_names_the_line_and_keeps_the_shipped_prices(
    table: PriceTable, tmp_path: Path, text: str, line: int, what: str
) -> None:
    path = tmp_path / "prices.yaml"
    own = of(path, text)
    assert len(own.problems) == 1
    assert problems_of(own)[0].startswith(f"{path}:{line}: {what}")
    assert own.price("gpt-6-sol") == table.price("gpt-6-sol") and own.prices == table.prices


def test_valid_entries_count_despite_invalid_ones(tmp_path: Path) -> None:
    own = of(tmp_path / "p.yaml", "models:\n  gpt-6-sol: {input: x}\n  gpt-6-luna: {input: 9}\n")
    luna = own.price("gpt-6-luna")
    assert len(own.problems) == 1 and luna and luna.input == 9


def test_an_unreadable_price_file_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_bytes(b"models: \xff\n")
    assert problems_of(PriceTable.load(path))[0].startswith(f"{path}: cannot be read: ")
    path.unlink()
    assert PriceTable.load(path).problems == ()
    path.mkdir()
    assert problems_of(PriceTable.load(path))[0].startswith(f"{path}: cannot be read: ")


def test_a_change_of_the_price_file_takes_effect_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = pricing.own_file()
    if os.name == "posix" and not str(path).startswith(str(tmp_path)):
        pytest.skip("this system keeps settings elsewhere")
    assert cost_of("gpt-6-luna", 100_000, 0) == pytest.approx(0.01)
    path.parent.mkdir()
    path.write_text("models:\n  gpt-6-luna: {input: 1}\n")
    assert cost_of("gpt-6-luna", 100_000, 0) == pytest.approx(0.1)
    path.unlink()
    assert cost_of("gpt-6-luna", 100_000, 0) == pytest.approx(0.01)


def test_importing_prices_and_costs_is_light() -> None:
    heavy = {
        "yaml",
        "platformdirs",
        "asyncio",
        "numpy",
        "pydantic",
        "anthropic",
        "openai",
        "google",
        "filelock",
    }
    assert not modules_loaded_by("import engine.providers.pricing") & heavy
    assert not modules_loaded_by("import engine.costs.costs") & heavy


def test_the_price_table_is_part_of_the_package() -> None:
    project = (Path(pricing.__file__).parents[2] / "pyproject.toml").read_text()
    assert '"providers/data/*"' in project


def test_the_settings_determine_the_priced_provider() -> None:
    made = completer_for(GateSettings(provider="anthropic", model="haiku"))
    assert isinstance(made, Anthropic) and made.model == "claude-haiku-5-5"
    made = completer_for(GateSettings(provider="openai", base_url="http://localhost:1/v1"))
    assert isinstance(made, OpenAI) and made.address == "http://localhost:1/v1" and made.model == "gpt-6-luna"
    made = completer_for(GateSettings(provider="gemini", model="flash-lite"))
    assert isinstance(made, Gemini) and made.model == "gemini-3.5-flash-lite"
    made = completer_for(GateSettings(provider="claude-code"))
    assert isinstance(made, ClaudeCode) and made.model == "haiku"
    assert completer_for(GateSettings()) is None
    assert completer_for(GateSettings(provider="ask")) is None
