"""The shape of a value: whether it looks like chance, like a password that a person chose, or like a name."""

from __future__ import annotations

from functools import lru_cache

from engine.redaction.names import meaning
from engine.redaction.names import model as model
from engine.redaction.values import is_id
from engine.startup.lazy import expression

MOST = 200
"""Characters of a value that are judged."""

_RUN = expression(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^A-Za-z\d]+")
_HEX = expression(r"(?:0x)?(?:[0-9a-f]{6,}|[0-9A-F]{6,})")
_UUID = expression(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_NUMBER = expression(r"[\d.,:/+xX%-]*\d[\d.,:/+xX%TZ-]*[a-zA-Z]{0,3}")
_NAME = expression(r"[.@/]?(?:[A-Za-z]{2,}\d{0,2}|\d{1,3})(?:[-_./:@ ](?:[A-Za-z]+\d{0,3}|\d{1,4}))*/?")
_EXTENSION = expression(r"\.(?!\d)[A-Za-z]\w{0,4}$")
_GROUPS = expression(r"[A-Z0-9]{3,8}(?:-[A-Z0-9]{3,8}){1,7}")
_CHOSEN = expression(r"[!-/:-@]?\d?[A-Za-z]{3,}[!-/:-@_]?(?:[A-Za-z]{3,})?[!-/:-@_]?\d{1,4}[!-/:-@]{0,2}")
_CAMEL = expression(r"[a-z]*(?:[A-Z]+\d?[a-z]{2,})+[A-Z]*\d{0,2}")
_NAME_SIZE = 40
"""Characters up to which a value may be a name."""
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"


_NUMBERED = expression(r"[A-Za-z]+-?\d[A-Za-z\d]*|\d{1,4}[A-Za-z][A-Za-z\d]*")
"""Words with digits in them."""
SHAPE = (
    "length", "letters", "digits", "capitals", "marks", "separators", "surprise", "all surprise", "runs",
    "longest run", "variety", "words", "is hexadecimal", "is UUID", "is number", "is name",
    "has extension", "slashes", "dots", "is in groups", "is chosen", "is camel case", "is digits",
    "is padded", "is not ASCII", "is capitalized", "is lower case", "is id", "known", "says",
)  # fmt: skip


@lru_cache(maxsize=8_192)
def shape(value: str) -> tuple[float, ...]:
    """The features of a value, of its first ``MOST`` characters, as ``SHAPE`` names them."""
    text = value[:MOST]
    size = len(text)
    runs = _RUN.findall(text)
    letters = [each.lower() for each in runs if each[0].isascii() and each[0].isalpha()]
    count = sum(map(len, letters))
    digits = sum(map(str.isdigit, text))
    upper = sum(map(str.isupper, text))
    plain = sum(text.count(each) for each in "-_./ ")
    surprise, pairs = _surprise(letters)
    long = max(map(len, letters), default=0)
    return (
        float(min(len(value), 400)),
        count / size,
        digits / size,
        upper / size,
        (size - count - digits - plain) / size,
        float(plain),
        surprise / pairs if pairs else 0.0,
        surprise,
        len(runs) / size,
        float(long),
        len(set(text)) / min(size, 64),
        float(len(text.split(" "))),
        float(_HEX.fullmatch(text) is not None),
        float(size == 36 and _UUID.fullmatch(text) is not None),
        float(_NUMBER.fullmatch(text) is not None),
        float(_NAME.fullmatch(text) is not None),
        float("." in text and _EXTENSION.search(text) is not None),
        float(text.count("/")),
        float(text.count(".")),
        float("-" in text and _GROUPS.fullmatch(text) is not None),
        float(_CHOSEN.fullmatch(text) is not None),
        float(_CAMEL.fullmatch(text) is not None),
        float(text.isdigit()),
        float(text.endswith("=")),
        float(not text.isascii()),
        float(text[0].isupper() and text[1:].islower()),
        float(text.islower()),
        float(is_id(text)),
        _known(text) if digits else 0.5,
        1.0 - meaning(text)[0] if size <= _NAME_SIZE else 0.0,
    )


def _known(text: str) -> float:
    """The share of its words with digits that code uses, too, such as ``utf8``; .5 if there are none."""
    words = _NUMBERED.findall(text)
    numbered = model()["numbered"]
    return sum(each.lower().replace("-", "") in numbered for each in words) / len(words) if words else 0.5


def _surprise(parts: list[str]) -> tuple[float, int]:
    """Bits by which the letters are less likely in words than by chance, and the number of their pairs."""
    table = model()["pairs"]
    total, count = 0.0, 0
    for part in parts:
        before = 26
        for letter in part[:24]:
            at = _ALPHABET.find(letter)
            if at < 0:
                break
            total += table[before * 26 + at]
            before = at
            count += 1
    return total / 10, count
