"""What the name beside a value says of it: that it is a password, a key, something else, or nothing.

A multinomial logistic regression over the words of a name and their runs of letters, so that ``bindpw``,
``JWT_SIGNING`` or ``wachtwoord2`` need not be listed. ``tests/training/secrets.py`` fits it.
"""

from __future__ import annotations

import json
import math
import sys
from array import array
from binascii import a2b_base64, crc32
from bisect import bisect_left
from functools import lru_cache
from operator import add
from pathlib import Path
from typing import Any

from engine.startup.lazy import expression

DATA = Path(__file__).parent / "data" / "judge.json"
KINDS = ("nothing", "password", "key", "other")
"""What a name may say; *other* is an id, a hash, a count, a path or the like."""

_FEW = 200
_MOST_WORDS = 4
_MOST_LETTERS = 24
_OF_DIGITS = ("pin", "pins")
"""Of digits alone (``commands``): elsewhere, a pin is a contact of a chip or a place on a map."""
MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0dff\u0e30-\u0e4e"
"""Signs within words of Arabic, Hebrew, Thai and the scripts of India."""
_SPLIT = expression(rf"(?:[^\W\d_]|[{MARKS}])+")
"""Not used for ASCII, since so large a set takes a millisecond to compile."""
_GLUED = expression(r"^(?:我的|我们的|你的|您的)|(?<=\w)(?:改成|改为|设为)$")
"""What is written as one word with a name in Chinese."""
_ASCII_WORD = expression(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]")

Meaning = tuple[float, float, float, float]
NOTHING: Meaning = (1.0, 0.0, 0.0, 0.0)


def words(name: str) -> list[str]:
    """The words of a name, in lower case: ``dbPassword2`` has *db* and *password*."""
    name = name.removesuffix("'s")
    if name.isascii():
        return [each.lower() for each in _ASCII_WORD.findall(name)]
    found: list[str] = []
    for part in _SPLIT.findall(_GLUED.sub("", name)):
        found += _ASCII_WORD.findall(part) if part.isascii() else (part,)
    return [each.lower() for each in found]


_SEEDS = {place: crc32(place.encode()) for place in "!$-"}


def features(word: str, place: str) -> list[int]:
    """The features of a word, itself and its runs of letters, each as a checksum of it and the place.

    ``place`` is ``!`` for the only word of a name, ``$`` for its last and ``-`` for another.
    """
    word = word[:_MOST_LETTERS]
    whole = f"={word}".encode()
    found = [crc32(whole, _SEEDS[place])]
    if place == "!":
        place = "$"
        found.append(crc32(whole, _SEEDS[place]))
    seed, padded = _SEEDS[place], f"^{word}$"
    if word.isascii():
        letters = padded.encode()  # every word of a text passes here
        for size in (3, 4):
            found += [crc32(letters[at : at + size], seed) for at in range(len(letters) - size + 1)]
    else:
        for size in (2, 3, 4):
            found += [crc32(padded[at : at + size].encode(), seed) for at in range(len(padded) - size + 1)]
    return found


def place_of(at: int, count: int) -> str:
    """The place of the word ``at``, from 1, in a name of ``count`` words."""
    return "-" if at < count else "!" if count == 1 else "$"


@lru_cache(maxsize=1)
def model() -> dict[str, Any]:
    """The fitted model: weights of names, transitions of letters, and trees."""
    return unpacked(json.loads(DATA.read_bytes()))


PACKED = {
    "names": "I",
    "weights": "h",
    "pairs": "b",
    "roots": "H",
    "column": "b",
    "limit": "f",
    "low": "H",
    "high": "H",
}
"""The tables of the model that are arrays in base64, which loads in a tenth of the time, and their types."""


def unpacked(tree: dict[str, Any]) -> dict[str, Any]:
    """The model as it is used."""
    for table, kind in PACKED.items():
        items = array(kind, a2b_base64(tree[table]))
        if sys.byteorder == "big":
            items.byteswap()
        tree[table] = items if table in {"names", "weights"} else items.tolist()
    tree["numbered"] = frozenset(tree["numbered"].split())
    return tree


@lru_cache(maxsize=1)
def _places() -> dict[int, int]:
    """The place of the weights of each feature."""
    tree = model()
    return dict(zip(tree["names"], range(0, len(tree["weights"]), len(KINDS)), strict=True))


@lru_cache(maxsize=32_768)
def _weight(word: str, place: str) -> Meaning:
    tree = model()
    known, weights = tree["names"], tree["weights"]
    # A table of all features pays only for many words.
    places = _places() if _weight.cache_info().misses > _FEW else None
    nothing = password = key = other = 0
    for feature in features(word, place):
        if places is None:
            at = len(KINDS) * bisect_left(known, feature)
            is_known = at < len(weights) and known[at // len(KINDS)] == feature
        else:
            at = places.get(feature, -1)
            is_known = at >= 0
        if is_known:
            nothing += weights[at]
            password += weights[at + 1]
            key += weights[at + 2]
            other += weights[at + 3]
    return nothing / 100, password / 100, key / 100, other / 100


@lru_cache(maxsize=32_768)
def meaning(name: str) -> Meaning:
    """Probabilities of what a name says, in the order of ``KINDS``."""
    parts = words(name)[-_MOST_WORDS:]
    if not parts or parts[-1] in _OF_DIGITS:
        return NOTHING
    scores = model()["base"]
    for at, word in enumerate(parts, 1):
        scores = list(map(add, scores, _weight(word, place_of(at, len(parts)))))
    top = max(scores)
    odds = [math.exp(each - top) for each in scores]
    whole = sum(odds)
    return (odds[0] / whole, odds[1] / whole, odds[2] / whole, odds[3] / whole)
