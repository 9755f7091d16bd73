"""Deadlines that pass when a test says so, however fast or slow the machine is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

LATER = 600.0
"""A deadline that no test waits for."""


@contextmanager
def passed_once(met: Callable[[], object]) -> Iterator[None]:
    """Requests with the deadline ``LATER`` miss it as soon as the condition is met."""
    real, over, watching = asyncio.timeout, False, list[asyncio.Task[None]]()

    async def watch(limit: asyncio.Timeout) -> None:
        while not over and not met():
            await asyncio.sleep(0.01)
        with suppress(RuntimeError):  # the request has ended
            limit.reschedule(asyncio.get_running_loop().time())

    def timeout(delay: float | None) -> asyncio.Timeout:
        limit = real(delay)
        if delay == LATER:
            watching.append(asyncio.get_running_loop().create_task(watch(limit)))
        return limit

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio, "timeout", timeout)
        yield
    over = True
