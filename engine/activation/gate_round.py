"""One round of gate questions: concurrent, with one deadline and nothing left running."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Sequence
from dataclasses import replace

from engine.activation.gate_question import BatchGate, GateProvider, GateQuestion, timed_out
from engine.activation.trace import GateOutcome
from engine.errors import AutopoiesisError

_GRACE = 0.5
"""Seconds to wait for cancelled questions to end."""

in_thread = asyncio.to_thread
"""For disk access, so that an event loop that draws a screen never waits for it."""


async def ask_all(
    provider: GateProvider,
    calls: Sequence[Sequence[GateQuestion]],
    *,
    deadline: float,
    concurrency: int,
) -> tuple[tuple[GateOutcome, ...], ...]:
    """Makes every call, at most ``concurrency`` at a time, within ``deadline`` seconds in all.

    Args:
        calls: The questions of each call; more than one only for a provider that takes several.

    Returns:
        The outcomes of each call. A call that fails has failed for every question in it.
    """
    ends = time.monotonic() + deadline
    places = asyncio.Semaphore(concurrency)
    latencies = [deadline * 1000] * len(calls)

    async def one(index: int, questions: Sequence[GateQuestion]) -> tuple[GateOutcome, ...]:
        async with places:
            started = time.monotonic()
            try:
                return await _answers(provider, questions, timeout=max(0.001, ends - started))
            finally:
                latencies[index] = (time.monotonic() - started) * 1000

    tasks = [asyncio.ensure_future(one(index, questions)) for index, questions in enumerate(calls)]
    try:
        await asyncio.wait(tasks, timeout=deadline)
    except asyncio.CancelledError:
        await _cancel(tasks)
        raise
    late = [task for task in tasks if not task.done()]
    await _cancel(late)
    return tuple(
        tuple(
            replace(outcome, latency_ms=latency)
            for outcome in _outcomes(task, task in late, provider, deadline, len(questions))
        )
        for task, questions, latency in zip(tasks, calls, latencies, strict=True)
    )


async def _answers(
    provider: GateProvider, questions: Sequence[GateQuestion], *, timeout: float
) -> tuple[GateOutcome, ...]:
    if isinstance(provider, BatchGate):
        return tuple(await provider.ask_batch(questions, timeout=timeout))
    (question,) = questions
    return (await provider.ask(question, timeout=timeout),)


async def _cancel(tasks: Collection[asyncio.Task[tuple[GateOutcome, ...]]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_GRACE)


def _outcomes(
    task: asyncio.Task[tuple[GateOutcome, ...]],
    late: bool,
    provider: GateProvider,
    deadline: float,
    count: int,
) -> tuple[GateOutcome, ...]:
    if late or task.cancelled() or not task.done():
        if task.done() and not task.cancelled():
            task.exception()  # retrieved, or the loop would log it as never retrieved
        return (timed_out(provider, deadline),) * count
    error = task.exception()
    if error is None:
        return task.result()
    # A foreign error may quote its input, including a key, so only its type is reported.
    reason = str(error) if isinstance(error, AutopoiesisError) else f"unexpected {type(error).__name__}"
    return (GateOutcome("failed", provider.name, provider.model, reason=reason),) * count
