"""Trying thresholds on logged messages, compared with a plain loop over them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from engine.activation.decisions import Decision
from engine.activation.policy import Thresholds
from engine.activation.tuning.fit import propose
from engine.activation.tuning.replay import figures, flips, histogram, overview
from engine.activation.tuning.table import MESSAGES_LIMIT
from tests.activation.support import topic
from tests.activation.tuning_cases import decision, table_of
from tests.benchmarks.rows import Row, agree
from tests.benchmarks.setting import Setting
from tests.benchmarks.timing import alternate, once

TOPICS = 50
FRAME_MS = 16
"""Duration of one frame at sixty frames per second."""


def run(setting: Setting) -> Iterator[Row]:
    """Time one topic with all messages, and fifty that share them."""
    count, rounds = setting.size(MESSAGES_LIMIT, 400), setting.size(60, 2)
    logged = log(count, 1)
    built, table = once(lambda: table_of(logged))
    looped, rows = once(lambda: [(each.score, each.useful) for each in logged])
    yield Row(f"columns of {count:,} messages", built, "a loop over them", looped)

    today = table.today("t")
    found = figures(table, "t", moved(7))
    agree(
        (found.useful_active, found.noise_active, found.offered) == loop(rows, moved(7)),
        "figures differ from those of the loop",
    )
    ours, peer = alternate(
        [lambda number: figures(table, "t", moved(number)), lambda number: loop(rows, moved(number))],
        rounds=rounds,
    )
    yield Row("figures of a moved threshold", ours, "a loop", peer, "one topic", share(ours.p95))

    def drag(number: int) -> None:
        figures(table, "t", moved(number))
        flips(table, "t", today, moved(number))
        histogram(table, "t", 60)

    def drag_in_a_loop(number: int) -> None:
        loop(rows, moved(number))
        loop(rows, today)

    ours, peer = alternate([drag, drag_in_a_loop], rounds=setting.size(20, 2))
    yield Row("figures, flips and plot of a move", ours, "a loop", peer, "one topic", share(ours.p95))

    names = [f"topic-{number:02}" for number in range(TOPICS)]
    many = table_of(log(count, TOPICS), [topic(name) for name in names])
    took, _ = once(lambda: overview(many))
    yield Row(f"figures of {TOPICS} topics", took)
    took, _ = once(lambda: propose(table, "t"))
    yield Row("fitted thresholds, held out", took)


def share(seconds: float) -> dict[str, float]:
    """The share of a frame that a duration takes."""
    return {"frames_p95": seconds * 1e3 / FRAME_MS}


def moved(number: int) -> Thresholds:
    return Thresholds(0.2 + number % 20 / 100, 0.5 + number % 20 / 100)


def log(count: int, topics: int) -> list[Decision]:
    """A log with every third decision labelled."""
    rng, found = random.Random(5), []
    for number in range(count):
        useful = rng.random() < 0.3
        score = round(min(1.0, max(0.0, rng.gauss(0.65 if useful else 0.35, 0.15))), 6)
        about = "t" if topics == 1 else f"topic-{number % topics:02}"
        found.append(decision(number, score, useful if number % 3 == 0 else None, about=about))
    return found


def loop(rows: Sequence[tuple[float, bool | None]], thresholds: Thresholds) -> tuple[int, int, int]:
    """Active useful messages, active noise and offers, counted one by one."""
    useful = noise = offered = 0
    for score, label in rows:
        if score >= (thresholds.activate or 0.0):
            useful += label is True
            noise += label is False
        elif score >= (thresholds.gate or 0.0):
            offered += 1
    return useful, noise, offered
