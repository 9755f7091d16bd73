"""Tier 1: all triggers of all topics against a message of 500 characters, beside a loop over ``re``."""

from __future__ import annotations

from collections.abc import Iterator

from engine.activation.patterns import PatternMatcher
from engine.activation.trace import Message
from tests.benchmarks.inputs import Words, topics
from tests.benchmarks.peers import PatternLoop
from tests.benchmarks.rows import Row, agree
from tests.benchmarks.setting import Setting
from tests.benchmarks.timing import alternate, once

CHARACTERS = 500


def run(setting: Setting) -> Iterator[Row]:
    """Matching with few, many and very many topics, and making ready for the most."""
    for count in setting.sizes(15, 1_000, 10_000):
        words = Words(1)
        known = topics(words, count, instructions=0)
        messages = [Message(words.even(CHARACTERS)) for _ in range(setting.size(60, 3))]
        made: list[PatternMatcher] = []
        loops: list[PatternLoop] = []
        prepared = once(lambda known=known, made=made: made.append(PatternMatcher(known)))
        compiled = once(lambda known=known, loops=loops: loops.append(PatternLoop(known)))
        matcher, loop = made[0], loops[0]
        for message in messages[:3]:
            ours, theirs = set(matcher.match(message)), loop.match(message.text)
            agree(ours == theirs, f"tier 1 finds {sorted(ours ^ theirs)} differently from re")

        def match(number: int, matcher: PatternMatcher = matcher, messages: list[Message] = messages) -> None:
            matcher.match(messages[number % len(messages)])

        def search(number: int, loop: PatternLoop = loop, messages: list[Message] = messages) -> None:
            loop.match(messages[number % len(messages)].text)

        # The loop takes most of a second over 40,000 expressions.
        rounds = setting.size(50 if count < 5_000 else 12, 2)
        ours_s, theirs_s = alternate([match, search], rounds=rounds, warm_up=2)
        hit = sum(len(matcher.match(message)) for message in messages) / len(messages)
        name = f"{count:,} topics × 4 triggers"
        yield Row(name, ours_s, "re, one by one", theirs_s, f"{hit:.1f} topics hit", {"topics_hit": hit})
        yield Row(f"{name}, made ready", prepared, "re.compile", compiled)
