"""Tier 2: TF-IDF similarity of a message to every topic, compared with the specification's scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator

from engine.activation.similarity import TfidfScorer
from tests.benchmarks.inputs import Words, topics
from tests.benchmarks.peers import SimilarityLoop
from tests.benchmarks.rows import Row, agree
from tests.benchmarks.setting import Setting
from tests.benchmarks.timing import alternate, once

CHARACTERS = 500
TOLERANCE = 1e-9


def run(setting: Setting) -> Iterator[Row]:
    """Time scoring and fitting; both sides must give the same scores."""
    SimilarityLoop(topics(Words(0, 100), 2))  # Keep the import out of the first fit.
    for count in setting.sizes(15, 150, 1_000):
        yield from _compared(count, setting)


def _compared(count: int, setting: Setting) -> Iterator[Row]:
    words = Words(2)
    known = topics(words, count)
    messages = [words.text(CHARACTERS) for _ in range(setting.size(60, 3))]
    fitted, scorer = once(lambda: TfidfScorer(known))
    fitted_there, loop = once(lambda: SimilarityLoop(known))
    apart = max(_largest_difference(scorer, loop, message) for message in messages[:20])
    agree(apart < TOLERANCE, f"tier 2 differs from scikit-learn by {apart:.2g} at {count} topics")

    ours, theirs = alternate(
        [
            lambda number: scorer.score(messages[number % len(messages)]),
            lambda number: loop.score(messages[number % len(messages)]),
        ],
        rounds=setting.size(60, 2),
        warm_up=3,
    )
    name = f"{count:,} topics"
    note = f"scores differ by {apart:.0e} at most"
    yield Row(name, ours, "scikit-learn", theirs, note, {"largest_difference": apart})
    yield Row(f"{name}, fitted", fitted, "fit_transform", fitted_there)


def _largest_difference(scorer: TfidfScorer, loop: SimilarityLoop, message: str) -> float:
    ours, theirs = scorer.score(message), loop.score(message)
    return max(abs(ours[name] - value) for name, value in theirs.items())
