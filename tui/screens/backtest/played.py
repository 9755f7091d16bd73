"""A finished backtest, which outlives the screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.recall.backtest import Backtest


@dataclass(frozen=True, slots=True)
class Played:
    found: Backtest
    trial: Backtest | None = None
    """With another setting."""
    changes: str = ""
    """This setting, ``name=value``."""
