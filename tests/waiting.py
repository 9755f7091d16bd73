"""Waits for what other threads and processes bring about."""

from __future__ import annotations

import time
from collections.abc import Callable

DEADLINE_S = 200
"""Far more than the slowest machine needs."""


def wait_until(condition: Callable[[], object]) -> None:
    """Wait for a condition; fail after ``DEADLINE_S`` seconds."""
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end, f"the condition was not met within {DEADLINE_S} s"
        time.sleep(0.01)
