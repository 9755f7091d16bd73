"""What the name beside a value says of it: that it is a password, a key, something else, or nothing.

A multinomial logistic regression over the words of a name and their runs of letters, so that ``bindpw``,
``JWT_SIGNING`` or ``wachtwoord2`` need not be listed. ``tests/training/secrets.py`` fits it.
"""

from __future__ import annotations

import json
import math
import sys
from array import array
from base64 import b64decode
from functools import lru_cache
from operator import add
from pathlib import Path
from typing import Any

from engine.startup.lazy import expression

DATA = Path(__file__).parent / "data" / "judge.json"
KINDS = ("nothing", "password", "key", "other")
"""What a name may say; *other* is an id, a hash, a count, a path or the like."""

_MOST_WORDS = 4
_MOST_LETTERS = 24
MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff\u0e30-\u0e4e"
"""Signs within words of Arabic, Hebrew, Thai and the scripts of India."""
_SPLIT = expression(rf"(?:[^\W\d_]|[{MARKS}])+")
_ASCII_WORD = expression(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]")

Meaning = tuple[float, float, float, float]
NOTHING: Meaning = (1.0, 0.0, 0.0, 0.0)


def words(name: str) -> list[str]:
    """The words of a name, in lower case: ``dbPassword2`` has *db* and *password*."""
    found: list[str] = []
    for part in _SPLIT.findall(name):
        found += _ASCII_WORD.findall(part) if part.isascii() else (part,)
    return [each.lower() for each in found]


def features(word: str, place: str) -> list[str]:
    """The features of a word: itself and its runs of letters.

    ``place`` is ``!`` for the only word of a name, ``$`` for its last and ``-`` for another.
    """
    word = word[:_MOST_LETTERS]
    found = [f"{place}={word}"]
    if place == "!":
        place = "$"
        found.append(f"{place}={word}")
    padded = f"^{word}$"
    for size in (3, 4) if word.isascii() else (2, 3, 4):
        found += [place + padded[at : at + size] for at in range(len(padded) - size + 1)]
    return found


def place_of(at: int, count: int) -> str:
    """The place of the word ``at``, from 1, in a name of ``count`` words."""
    return "-" if at < count else "!" if count == 1 else "$"


@lru_cache(maxsize=1)
def model() -> dict[str, Any]:
    """The fitted model: weights of names, transitions of letters, and trees."""
    tree: dict[str, Any] = json.loads(DATA.read_bytes())
    return tree


@lru_cache(maxsize=1)
def _names() -> tuple[dict[str, int], array[int]]:
    """The place of each feature's weights, and the weights of all features, in hundredths."""
    weights = array("h", b64decode(model()["weights"]))
    if sys.byteorder == "big":
        weights.byteswap()
    return {name: len(KINDS) * at for at, name in enumerate(model()["names"].split("\n"))}, weights


@lru_cache(maxsize=32_768)
def _weight(word: str, place: str) -> Meaning:
    places, weights = _names()
    nothing = password = key = other = 0
    for feature in features(word, place):  # every word of a text passes here
        at = places.get(feature)
        if at is not None:
            nothing += weights[at]
            password += weights[at + 1]
            key += weights[at + 2]
            other += weights[at + 3]
    return nothing / 100, password / 100, key / 100, other / 100


@lru_cache(maxsize=32_768)
def meaning(name: str) -> Meaning:
    """Probabilities of what a name says, in the order of ``KINDS``."""
    parts = words(name)[-_MOST_WORDS:]
    if not parts:
        return NOTHING
    scores = model()["base"]
    for at, word in enumerate(parts, 1):
        scores = list(map(add, scores, _weight(word, place_of(at, len(parts)))))
    top = max(scores)
    odds = [math.exp(each - top) for each in scores]
    whole = sum(odds)
    return (odds[0] / whole, odds[1] / whole, odds[2] / whole, odds[3] / whole)
