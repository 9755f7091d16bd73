"""Judges of sentences: multinomial logistic regressions over words, pairs of words and runs of characters.

Runs see through endings and typing errors. ``tests/training`` fits the models; at run time a weight is looked
up for each feature, without scikit-learn.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from engine.startup.lazy import expression

WORD = 0.7
"""Value of a feature of words or form."""
_RUNS = (3, 4)
"""Lengths of the runs of characters."""
_OF_RUNS = 3.0
"""Length of the vector of all runs."""

_LITERAL = expression(r"`[^`\n]{1,80}`|(?<!\w)['\"‘“][^'\"’”\n]{1,60}['\"’”](?!\w)")
_NAME = expression(
    r"https?://\S+|@[\w-]{2,}|--[a-z][\w-]*|[\w~.-]*/[\w./*-]+|\b\w+\.(?:go|py|ts|tsx|js|md|json"
    r"|sh|ya?ml|toml|txt|rs|sql|css|html)\b"
    r"|\b[a-z]+[A-Z]\w+|\b\w*_\w+\b|#\d+|\b[A-Z]{2,}-\d+\b"
)
_NUMBER = expression(r"\b\d+\b")
_TOKEN = expression(r"<\w+>|[^\W\d_]+(?:['’][^\W\d_]+)?|[?!]")
WIDE = expression(r"[\u3040-\u30ff\u3400-\u9fff]+")
_HANGUL = expression(r"[\uac00-\ud7af]+")


class SentenceModel:
    """The weights of a fitted judge, read from a JSON file when they are first needed.

    Args:
        path: ``{"weights": {feature: [weight by kind]}, "base": [by kind]}``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def probabilities(self, features: Mapping[str, float]) -> tuple[float, ...]:
        """The probability of each kind, which sum to 1."""
        weights, base = self._fitted
        scores = list(base)
        for feature, value in features.items():
            for kind, weight in enumerate(weights.get(feature, ())):
                scores[kind] += weight * value
        top = max(scores)
        parts = [math.exp(score - top) for score in scores]
        whole = sum(parts)
        return tuple(part / whole for part in parts)

    @cached_property
    def _fitted(self) -> tuple[Mapping[str, list[float]], list[float]]:
        tree = json.loads(self.path.read_bytes())
        return tree["weights"], tree["base"]


def wording(sentence: str) -> dict[str, float]:
    """The features of a sentence with their values; quoted text, names and numbers are one word each."""
    text = _NUMBER.sub(" <num> ", _NAME.sub(" <name> ", _LITERAL.sub(" <literal> ", sentence)))
    found = dict.fromkeys(_tokens(text), WORD)
    padded = [f" {word} " for word in text.casefold().split()]
    runs = Counter(
        word[place : place + size]
        for word in padded
        for size in _RUNS
        for place in range(max(0, len(word) - size + 1))
    )
    norm = math.sqrt(sum(count * count for count in runs.values())) or 1.0
    found.update((f"={run}", _OF_RUNS * count / norm) for run, count in runs.items())
    return found


def _tokens(text: str) -> Iterator[str]:
    words = [word.casefold().replace("’", "'") for word in _TOKEN.findall(text) if not WIDE.match(word)]
    yield from words
    yield from (f"{one} {other}" for one, other in pairwise(words))
    yield from (f"{one} _ {other}" for one, other in zip(words, words[2:], strict=False))
    if words:
        yield f"^{words[0]}"
        yield "^" + " ".join(words[:2])
        yield f"{words[-1]}$"
    for run in (*WIDE.findall(text), *_HANGUL.findall(text)):
        yield from (run[place : place + 2] for place in range(len(run) - 1))
