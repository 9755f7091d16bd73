"""A workspace with a cost log, and a clock that tests can set."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from engine.costs.costs import CostGuard, CostLog, Costs
from engine.providers.chat import Usage
from engine.settings.model import CostSettings
from engine.store.files import Files
from engine.store.paths import Workspace

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
MILLION = 1_000_000


class Clock:
    """A clock that tests can set."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Till:
    """The costs of a workspace."""

    root: Path
    clock: Clock = field(default_factory=Clock)
    limits: CostSettings = field(default_factory=CostSettings)
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.root / "logs").mkdir(parents=True, exist_ok=True)
        (self.root / "memory-config.yaml").touch()
        self.files = Files(Workspace.open(self.root))
        self.costs = Costs(self.files, lambda: self.limits, self.clock, self.problems.append)

    @property
    def log(self) -> CostLog:
        return self.costs.log

    @property
    def guard(self) -> CostGuard:
        return self.costs.guard

    @property
    def month(self) -> Path:
        """This month's log file."""
        return self.root / f"logs/costs-{self.clock.now:%Y-%m}.jsonl"

    def lines(self) -> list[dict[str, Any]]:
        """The records in this month's file."""
        return [json.loads(line) for line in self.month.read_text().splitlines()]

    def spend(self, usd: float | None, **of: Any) -> None:
        """Record a call that cost ``usd``; ``None`` for a model without a known price."""
        model = "somebody-elses-model" if usd is None else "claude-sonnet-5-5"
        usage = of.pop("usage", Usage(input_tokens=100, output_tokens=10))
        self.log.record("chat", "anthropic", model, usage, cost_usd=usd, **of)


@pytest.fixture
def till(tmp_path: Path) -> Till:
    return Till(tmp_path / "memory")


def own_prices(text: str) -> Path:
    """Write the person's own prices; return the file."""
    from engine.providers.pricing import own_file

    path = own_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture(autouse=True)
def _isolated_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
