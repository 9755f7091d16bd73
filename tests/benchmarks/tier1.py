"""Tier 1: all triggers of all topics against a message of 500 characters, compared with a loop over ``re``.

The loop is the specification's, extended to try every trigger and to support words and names.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from engine.activation.patterns import PatternMatcher
from engine.activation.trace import Message
from tests.benchmarks.inputs import Words, topics
from tests.benchmarks.peers import PatternLoop
from tests.benchmarks.rows import Row, agree
from tests.benchmarks.setting import Setting
from tests.benchmarks.timing import alternate, once

CHARACTERS = 500


def run(setting: Setting) -> Iterator[Row]:
    """Time matching with few and many topics, and the preparation."""
    for count in setting.sizes(15, 300, 1_000):
        yield from _compared(count, setting)


def _compared(count: int, setting: Setting) -> Iterator[Row]:
    words = Words(1)
    known = topics(words, count, instructions=0)
    messages = [Message(words.even(CHARACTERS)) for _ in range(setting.size(20, 3))]
    prepared, matcher = once(lambda: PatternMatcher(known))
    compiled, loop = once(lambda: PatternLoop(known))
    for message in messages[:3]:
        ours, theirs = set(matcher.match(message)), loop.match(message.text)
        agree(ours == theirs, f"tier 1 finds {sorted(ours ^ theirs)} differently from re")

    # The first round over the messages compiles what they need.
    matched, searched = alternate(
        [
            lambda number: matcher.match(messages[number % len(messages)]),
            lambda number: loop.match(messages[number % len(messages)].text),
        ],
        rounds=setting.size(60, 2),
        warm_up=len(messages),
    )
    # One-time costs: the first message of a process, and the first after a change of a topic.
    started = PatternMatcher(known)
    first, _ = once(lambda: started.match(messages[0]))
    first_there, _ = once(lambda: loop.match(messages[0].text))
    changes = (
        [*known[1:], replace(known[0], triggers=known[n % count].triggers)] for n in itertools.count(1)
    )

    def change(number: int) -> None:
        matcher.update(next(changes))
        matcher.match(messages[number % len(messages)])

    (changed,) = alternate([change], rounds=setting.size(30, 2))
    hit = sum(len(matcher.match(message)) for message in messages) / len(messages)
    name = f"{count:,} topics × 4 triggers"
    yield Row(name, matched, "re, one by one", searched, f"{hit:.1f} topics hit", {"topics_hit": hit})
    yield Row(f"{name}, made ready", prepared, "re.compile", compiled)
    yield Row(f"{name}, first message", first, "re, one by one", first_there)
    yield Row(f"{name}, one topic changed", changed, "re.compile of all", compiled)
