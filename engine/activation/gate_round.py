"""One round of gate questions: concurrent, with one deadline and nothing left running."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Sequence
from dataclasses import replace

from engine.activation.gate_question import GateProvider, GateQuestion, timed_out
from engine.activation.trace import GateOutcome
from engine.errors import AutopoiesisError

_GRACE = 0.5
"""Seconds to wait for cancelled questions to end."""

in_thread = asyncio.to_thread
"""For disk access, so that an event loop that draws a screen never waits for it."""


async def ask_all(
    provider: GateProvider,
    questions: Sequence[GateQuestion],
    *,
    deadline: float,
    concurrency: int,
) -> tuple[GateOutcome, ...]:
    """The outcome of each question, asked at most ``concurrency`` at a time, within ``deadline`` seconds in
    all.
    """
    ends = time.monotonic() + deadline
    places = asyncio.Semaphore(concurrency)
    latencies = [deadline * 1000] * len(questions)

    async def one(index: int, question: GateQuestion) -> GateOutcome:
        async with places:
            started = time.monotonic()
            try:
                return await provider.ask(question, timeout=max(0.001, ends - started))
            finally:
                latencies[index] = (time.monotonic() - started) * 1000

    tasks = [asyncio.ensure_future(one(index, question)) for index, question in enumerate(questions)]
    try:
        await asyncio.wait(tasks, timeout=deadline)
    except asyncio.CancelledError:
        await _cancel(tasks)
        raise
    late = [task for task in tasks if not task.done()]
    await _cancel(late)
    return tuple(
        replace(_outcome(task, task in late, provider, deadline), latency_ms=latency)
        for task, latency in zip(tasks, latencies, strict=True)
    )


async def _cancel(tasks: Collection[asyncio.Task[GateOutcome]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_GRACE)


def _outcome(
    task: asyncio.Task[GateOutcome], late: bool, provider: GateProvider, deadline: float
) -> GateOutcome:
    if late or task.cancelled() or not task.done():
        if task.done() and not task.cancelled():
            task.exception()  # retrieved, or the loop would log it as never retrieved
        return timed_out(provider, deadline)
    error = task.exception()
    if error is None:
        return task.result()
    # A foreign error may quote its input, including a key, so only its type is reported.
    reason = str(error) if isinstance(error, AutopoiesisError) else f"unexpected {type(error).__name__}"
    return GateOutcome("failed", provider.name, provider.model, reason=reason)
