"""The three tiers together on the sample, compared with plain loops for tiers 1 and 2."""

from __future__ import annotations

from collections.abc import Iterator

from engine.engine import Engine
from tests.benchmarks.inputs import messages_of
from tests.benchmarks.peers import PatternLoop, SimilarityLoop
from tests.benchmarks.rows import Row
from tests.benchmarks.setting import Setting
from tests.benchmarks.timing import alternate


def run(setting: Setting) -> Iterator[Row]:
    """Time ``Engine.trace`` over the messages of the sample's conversations."""
    messages = messages_of(setting.sample)
    with Engine.open(setting.sample) as engine:
        topics = engine.library.topics
        patterns, similarity = PatternLoop(topics), SimilarityLoop(topics)

        def trace(number: int) -> None:
            engine.trace(messages[number % len(messages)])

        def loops(number: int) -> None:
            text = messages[number % len(messages)]
            patterns.match(text)
            similarity.score(text)

        ours, theirs = alternate([trace, loops], rounds=setting.size(200, 3), warm_up=3)
        yield Row(f"trace, {len(topics)} topics", ours, "re and scikit-learn loops", theirs, "gate: local")
