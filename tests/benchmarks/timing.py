"""Times several ways to do one thing: in turns, so that a machine that drifts favours none."""

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
"""What is timed. Given a number that never repeats, to choose its input by; its result is dropped."""


@dataclass(frozen=True, slots=True)
class Timings:
    """How long each run of one action took.

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
        """The least time within which 95 % of the runs were done, seconds; of few runs the longest."""
        ordered = sorted(self.seconds)
        return ordered[math.ceil(len(ordered) * 0.95) - 1]

    def per(self, count: int) -> Timings:
        """The times of one item, where every run did ``count`` of them."""
        return Timings(tuple(seconds / count for seconds in self.seconds))


def alternate(
    actions: Sequence[Action],
    *,
    rounds: int,
    warm_up: int = 1,
    before: Action | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Timings]:
    """Run the actions in turns, A B A B …, and time every run by itself.

    Args:
        actions: What to time. All get the same number in the same round; warm-up rounds count as well, so an
            action sees no number twice.
        rounds: Times each is run and timed.
        warm_up: Rounds before, untimed.
        before: Called untimed at the start of every round, with the round's number.
        clock: Gives seconds.

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
    """The time of a single run, for work that is long or cannot be repeated; and what came of it."""
    gc.collect()
    started = clock()
    result = action()
    return Timings((clock() - started,)), result
