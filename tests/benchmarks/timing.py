"""Times alternatives in turn, so that drift of the machine favours none of them."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

Result = TypeVar("Result")

Action = Callable[[int], object]
"""A timed action. It gets a number that never repeats, to choose its input; its result is discarded."""


@dataclass(frozen=True, slots=True)
class Timings:
    """The duration of each run of one action.

    Attributes:
        seconds: In the order of the runs; at least one.
    """

    seconds: tuple[float, ...]

    @property
    def p50(self) -> float:
        """The median, seconds."""
        return statistics.median(self.seconds)

    @property
    def p95(self) -> float:
        """The 95th percentile in seconds; with few runs the longest."""
        ordered = sorted(self.seconds)
        return ordered[math.ceil(len(ordered) * 0.95) - 1]

    def per(self, count: int) -> Timings:
        """The times per item if every run processed ``count`` of them."""
        return Timings(tuple(seconds / count for seconds in self.seconds))


def alternate(
    actions: Sequence[Action],
    *,
    rounds: int,
    warm_up: int = 1,
    before: Action | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Timings]:
    """Run the actions alternately, A B A B …, and time every run separately.

    Args:
        actions: The actions to time. All get the same number in the same round; warm-up rounds count too, so
            no action gets a number twice.
        rounds: How often each is run and timed.
        warm_up: Untimed rounds before.
        before: Called untimed at the start of every round, with the round's number.
        clock: Returns seconds.

    Returns:
        The times of each action, in the order of the actions.
    """
    measured: list[list[float]] = [[] for _ in actions]
    gc.collect()
    for number in range(warm_up + rounds):
        if before is not None:
            before(number)
        for action, seconds in zip(actions, measured, strict=True):
            started = clock()
            action(number)
            elapsed = clock() - started
            if number >= warm_up:
                seconds.append(elapsed)
    return [Timings(tuple(seconds)) for seconds in measured]


def once(
    action: Callable[[], Result], *, clock: Callable[[], float] = time.perf_counter
) -> tuple[Timings, Result]:
    """The time and result of a single run, for work that is long or cannot be repeated."""
    gc.collect()
    started = clock()
    result = action()
    return Timings((clock() - started,)), result
