"""The time as the workbench sees it, so that tests can stop it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Clock:
    """Where times come from."""

    now: Callable[[], datetime] = _utc_now
    """Wall-clock time, UTC."""
    monotonic: Callable[[], float] = time.monotonic
    """Seconds that never go back."""
    grace_s: float = 0.4
    """How long a question that just appeared takes no answer, so that a key meant for something else does not
    become one."""
