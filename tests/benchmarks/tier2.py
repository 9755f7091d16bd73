"""Tier 2: TF-IDF likeness of a message to every topic, beside the specification's scikit-learn loop."""

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
    """Scoring and fitting. The scores themselves must be the same."""
    import sklearn.feature_extraction.text
    import sklearn.metrics.pairwise  # noqa: F401 — neither side's first fit should pay for the import

    for count in setting.sizes(15, 150, 1_000):
        words = Words(2)
        known = topics(words, count)
        messages = [words.text(CHARACTERS) for _ in range(setting.size(60, 3))]
        made: list[TfidfScorer] = []
        loops: list[SimilarityLoop] = []
        fitted = once(lambda known=known, made=made: made.append(TfidfScorer(known)))
        refitted = once(lambda known=known, loops=loops: loops.append(SimilarityLoop(known)))
        scorer, loop = made[0], loops[0]
        apart = max(_apart(scorer, loop, message) for message in messages[:20])
        agree(apart < TOLERANCE, f"tier 2 differs from scikit-learn by {apart:.2g} at {count} topics")

        def score(number: int, scorer: TfidfScorer = scorer, messages: list[str] = messages) -> None:
            scorer.score(messages[number % len(messages)])

        def reference(number: int, loop: SimilarityLoop = loop, messages: list[str] = messages) -> None:
            loop.score(messages[number % len(messages)])

        ours, theirs = alternate([score, reference], rounds=setting.size(60, 2), warm_up=3)
        name = f"{count:,} topics"
        note = f"scores differ by {apart:.0e} at most"
        yield Row(name, ours, "scikit-learn", theirs, note, {"largest_difference": apart})
        yield Row(f"{name}, fitted", fitted, "fit_transform", refitted)


def _apart(scorer: TfidfScorer, loop: SimilarityLoop, message: str) -> float:
    ours, theirs = scorer.score(message), loop.score(message)
    return max(abs(ours[name][0].value - value) for name, value in theirs.items())
