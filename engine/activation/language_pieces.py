"""How a text divides among languages by the pieces of two to four bytes that it is made of.

The weights are those of the py3langid model, cut down to what short messages in the languages of Europe
and its neighbours need: 200 KB that are read in milliseconds, where the model itself takes a second. Where
they come from and their licence (BSD, 3 clauses) stand at the head of ``language_pieces.bin``.
"""

from __future__ import annotations

import json
import math
import unicodedata
import zlib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

from engine.errors import AutopoiesisError

_PATH = Path(__file__).with_name("language_pieces.bin")
_LONGEST = 4
_READ = 1_000
# Weights are sums of logarithms that know nothing of each other; divided by this they agree with how often
# the best language is the right one.
_SCALE = 3.0


class _Table(NamedTuple):
    languages: tuple[str, ...]
    priors: tuple[float, ...]
    unit: float
    pieces: dict[bytes, int]
    weights: memoryview


def shares(text: str) -> dict[str, float]:
    """What each language's part is in explaining a text, in sum 1; nothing for a text without a known piece.

    Args:
        text: Read are the first 1,000 bytes of it.

    Raises:
        AutopoiesisError: The table is missing or damaged.
    """
    table = _table()
    data = unicodedata.normalize("NFC", text.lower() if text.isupper() else text)
    found = _pieces_of(data.encode("utf-8", errors="replace")[:_READ], table.pieces)
    if not found:
        return {}
    width = len(table.languages)
    sums = [0.0] * width
    for piece, count in found.items():
        often = math.log1p(count)
        row = table.weights[piece * width : (piece + 1) * width]
        sums = [total + often * weight for total, weight in zip(sums, row, strict=True)]
    scores: dict[str, float] = {}
    for language, total, prior in zip(table.languages, sums, table.priors, strict=True):
        # Some languages are in it twice, in two scripts or two written forms.
        scores[language] = max(scores.get(language, -math.inf), total * table.unit + prior)
    most = max(scores.values())
    parts = {language: math.exp((score - most) / _SCALE) for language, score in scores.items()}
    whole = sum(parts.values())
    return {language: part / whole for language, part in parts.items()}


@cache
def known() -> frozenset[str]:
    """The languages that are told apart, as ISO 639-1 codes."""
    return frozenset(_table().languages)


def _pieces_of(data: bytes, pieces: dict[bytes, int]) -> Counter[int]:
    """How often each piece occurs; where several end at the same place the longest counts."""
    found: Counter[int] = Counter()
    for end in range(2, len(data) + 1):
        for size in range(min(_LONGEST, end), 1, -1):
            piece = pieces.get(data[end - size : end])
            if piece is not None:
                found[piece] += 1
                break
    return found


@cache
def _table() -> _Table:
    try:
        head, packed = _PATH.read_bytes().split(b"\n", 1)
        about = json.loads(head)
        data = zlib.decompress(packed)
        pieces: dict[bytes, int] = {}
        at = 0
        for number in range(about["pieces"]):
            size = data[at]
            pieces[data[at + 1 : at + 1 + size]] = number
            at += 1 + size
        weights = memoryview(data)[at:].cast("b")
        languages = tuple(about["languages"])
        if len(weights) != len(pieces) * len(languages):
            raise ValueError(f"{len(weights)} weights for {len(pieces)} pieces")
        return _Table(languages, tuple(about["priors"]), about["unit"], pieces, weights)
    except (OSError, ValueError, LookupError, zlib.error) as error:
        raise AutopoiesisError(
            f"the table of languages cannot be read ({error})", where=str(_PATH), cure="reinstall autopoiesis"
        ) from error
