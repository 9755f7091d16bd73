"""``costs``: spending so far, and remaining budgets."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.providers.chat import Usage
from tests.cli.conftest import Command


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def spent(sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sample workspace after three calls on two days, one of them to an unknown model."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    clock = Clock()
    with Engine.open(sample, clock=clock) as engine:
        log = engine.costs.log
        usage = Usage(10_000, 8_000, 0, 0, 500)
        log.record("chat", "anthropic", "claude-sonnet-5-5", usage, discussion="ses_1")
        clock.now = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)
        log.record("gate", "openai", "gpt-6-luna", Usage(400, output_tokens=1), topics=["release"])
        log.record("gate", "openai", "nobodys\x1b[31m", Usage(400, output_tokens=1))
    return sample


def test_an_empty_log_is_reported(apo: Command, sample: Path) -> None:
    ran = apo("-C", sample, "costs")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "no model calls yet",
        "today $0 (no limit) · this month $0 (no limit)",
    ]
    assert apo("-C", sample, "costs", "--json").json["rows"] == []


def test_days_are_listed_with_a_total_and_unpriced_calls(apo: Command, spent: Path) -> None:
    lines = apo("-C", spent, "costs").out.splitlines()
    assert lines[0].split() == ["day", "calls", "input", "cached", "output", "cost", "saved"]
    # 2,000 at $2, 8,000 at $.10, 500 at $10; saved 8,000 times $1.90.
    assert lines[1].split() == ["2026-11-21", "1", "10,000", "80%", "500", "$0.0098", "$0.0152"]
    assert lines[2].split() == ["2026-11-22", "2", "800", "0%", "2", "<$0.0001", "+?", "$0"]
    assert lines[3].split() == ["total", "3", "10,800", "74%", "502", "$0.0098", "+?", "$0.0152"]
    assert lines[4] == "not included: 1 call to nobodys␛[31m, whose price is unknown"
    assert lines[5].endswith("autopoiesis/prices.yaml, as models: {MODEL: {input: 1.00, output: 5.00}}")


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("model", ["claude-sonnet-5-5", "gpt-6-luna", "nobodys\x1b[31m"]),
        ("operation", ["chat", "gate"]),
        ("topic", ["", "release"]),
        ("discussion", ["ses_1", ""]),
    ],
)
def test_every_grouping_in_text_and_json(apo: Command, spent: Path, by: str, names: list[str]) -> None:
    tree = apo("-C", spent, "costs", "--by", by, "--json").json
    assert [row[by] for row in tree["rows"]] == names and tree["by"] == by
    assert tree["rows"][0].keys() == {
        *(by, "calls", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens"),
        *("cost_usd", "unpriced", "saved_usd", "cached_share", "estimated"),
    }
    assert tree["total"]["calls"] == 3 and tree["unpriced"] == {"nobodys\x1b[31m": 1}
    assert tree["standing"].keys() == {
        *("today_usd", "month_usd", "daily_usd", "monthly_usd", "today_unpriced", "month_unpriced", "warning")
    }
    out = apo("-C", spent, "costs", "--by", by).out
    assert out.splitlines()[0].startswith(by) and "\x1b" not in out


def test_locally_counted_tokens_are_marked(apo: Command, spent: Path) -> None:
    with Engine.open(spent) as engine:
        usage = Usage(input_tokens=100_000)
        engine.costs.log.record("chat", "openai", "gpt-6-luna", usage, estimated=True, discussion="ses_cut")
    by = apo("-C", spent, "costs", "--by", "discussion").out
    rows = {line.split()[0]: line for line in by.splitlines()}
    assert "~$0.01" in rows["ses_cut"] and "~" in rows["total"] and "~" not in rows["ses_1"]
    assert "~: includes 1 call that broke off, with tokens counted locally" in by
    tree = apo("-C", spent, "costs", "--by", "discussion", "--json").json
    assert tree["total"]["estimated"] == 1


def test_since_excludes_earlier_days(apo: Command, spent: Path) -> None:
    assert [
        row["day"] for row in apo("-C", spent, "costs", "--since", "2026-11-22", "--json").json["rows"]
    ] == ["2026-11-22"]
    wrong = apo("-C", spent, "costs", "--since", "yesterday")
    assert wrong.code == 2 and "does not match the format '%Y-%m-%d'" in wrong.err


def test_budgets_are_shown_with_their_warning(apo: Command, sample: Path) -> None:
    (sample / "memory-config.yaml").write_text("costs:\n  daily_usd: 1\n")
    with Engine.open(sample) as engine:
        engine.costs.log.record("chat", "openai", "gpt-6-sol", Usage(), cost_usd=0.9)
    *_, totals, warning = apo("-C", sample, "costs").out.splitlines()
    assert totals == "today $0.90 of $1.00 · this month $0.90 (no limit)"
    assert warning == "! $0.9 of $1.00 spent today"


def test_broken_price_files_are_reported(apo: Command, spent: Path, tmp_path: Path) -> None:
    path = tmp_path / "config/autopoiesis/prices.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("models:\n  gpt-6-luna: {input: free}\n")
    ran = apo("-C", spent, "costs")
    assert ran.code == 0 and ran.out
    assert ran.err.startswith(f"{path}:2: gpt-6-luna: input is 'free'; write it as MODEL: ")
