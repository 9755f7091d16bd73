"""The workbench's clock, replaceable in tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Clock:
    now: Callable[[], datetime] = _utc_now
    """Wall-clock time, UTC."""
    monotonic: Callable[[], float] = time.monotonic
    """Seconds that never go back."""
    grace_s: float = 0.4
    """How long a new question ignores answers, so that a key meant for something else does not answer it."""
