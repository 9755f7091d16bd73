"""Detects the natural languages of a message with py3langid (spec 4.2).

Its model takes most of a second and 110 MB to load, once in a process. This only happens if a topic has a
language trigger, and for a message that common words do not place.

Limits: a message of a single word, of names or of code is in no language. A short text may as well be in a
close relative (Danish and Norwegian), of which the wanted one is preferred.
"""

from __future__ import annotations

import math
import re
from collections.abc import Set as AbstractSet

from engine.activation.scan import is_unspaced
from engine.startup.lazy import expression
from engine.topics.fields import word_set

_LIKELY = 0.5
"""Minimum probability of a language and its close relatives."""
_LEVEL = 0.1
"""A wanted close relative of the most likely language is preferred from this probability relative to it."""
_MAX_CHARACTERS = 2_000
_MIN_BYTES = 8
# A line of fewer words, such as a greeting, is not considered on its own.
_MIN_WORDS = 3

_TOKEN = expression(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
# Paths, handles, identifiers and file names are in no language.
_ODD = expression(r"\S*(?:[/\\_@#=<>{}]|\w\.\w)\S*")
_QUOTED = expression(
    r"(?m)^[ \t]*>.*$|(?<!\w)'[^'\n]{8,}'(?!\w)|\"[^\"\n]{8,}\"|“[^“”\n]{8,}”|„[^„“”\n]{8,}[“”]|«[^«»\n]{8,}»"
)
# Words by which a message in one of these languages mostly is told at once, without loading the model.
_CLEAR = {
    "en": word_set(
        "the this that these those there you your with and are what how why which where when please it it's "
        "its could would should does did doing about from they them who our i'm i'll i'd i've don't didn't "
        "can't just only want know tell show give make need get any some much many than let let's if has"
    ),
    "de": word_set("das und nicht ist ein eine einen ich mit für bitte kannst wir auf wie auch zu kann"),
    "fr": word_set("est une pas peux vous dans avec cette où ça"),
    "es": word_set("qué puedes cómo dónde los las hay"),
}
# English words that other languages have, too; they count beside a clear one.
_ENGLISH = word_set("a i to of in is on we can my do be for by me an at or as so not was have but no")
_CLEAR_SHARE = 0.2
# Others count only if they are wanted: rare relatives of a language would claim its short texts.
_USUAL = word_set(
    "af am ar be bg bn bo ca cs da de el en es et fa fi fr gu he hi hr hu hy id is it ja ka kk km kn ko lo "
    "lt lv mk ml mr my nl no pl pt ro ru si sk sl sq sr sv ta te th tr uk ur vi zh"
)
_NEAR = (
    word_set("da no sv"),
    word_set("cs sk"),
    word_set("bs hr sl sr"),
    word_set("af nl"),
    word_set("be bg mk ru sr uk"),
    word_set("ca es gl it pt"),
)
_SAME = {"nb": "no", "nn": "no", "iw": "he", "in": "id"}


def base(code: str) -> str:
    """An ISO 639-1 code in the form used here: ``de-AT`` is ``de``, both forms of Norwegian are ``no``."""
    plain = re.split(r"[-_]", code.strip().lower(), maxsplit=1)[0]
    return _SAME.get(plain, plain)


def languages(text: str, wanted: AbstractSet[str] = frozenset()) -> tuple[str, ...]:
    """The languages of a message as a whole, and of its first and last line, without quotations.

    A person who pastes text in another language says before or after it what to do with it. Arguments are as
    for ``identify``.
    """
    own = _without_quotes(text)
    lines = [line for line in own.splitlines() if line.strip()]
    ends = [line for line in (lines[:1] + lines[-1:]) if len(_TOKEN.findall(line)) >= _MIN_WORDS]
    found = (identify(part, wanted) for part in dict.fromkeys((own, *ends)))
    return tuple(dict.fromkeys(code for code in found if code))


def identify(text: str, wanted: AbstractSet[str] = frozenset()) -> str:
    """The language of a text.

    Args:
        text: The message without code and links.
        wanted: ISO 639-1 codes, preferred among close relatives.

    Returns:
        The ISO 639-1 code, or ``""`` if the text is too short or too mixed.
    """
    words = _TOKEN.findall(_ODD.sub(" ", _without_quotes(text)))
    if not _is_long_enough(words):
        return ""
    lower = [word.lower().replace("’", "'") for word in words]
    counts = {code: sum(word in known for word in lower) for code, known in _CLEAR.items()}
    if counts["en"]:
        counts["en"] += sum(word in _ENGLISH for word in lower)
    clear = max(counts, key=lambda code: counts[code])
    if counts[clear] >= _CLEAR_SHARE * len(words) and counts[clear] > 0.7 * sum(counts.values()):
        return clear
    weights = _weights(" ".join(words)[:_MAX_CHARACTERS], wanted)
    best = max(weights, key=lambda code: weights[code], default="")
    near = next((group for group in _NEAR if best in group), frozenset((best,)))
    if sum(weights.get(code, 0.0) for code in near) < _LIKELY:
        return ""
    level = [code for code in sorted(near & wanted) if weights.get(code, 0.0) >= _LEVEL * weights[best]]
    return max(level, key=lambda code: weights[code], default=best)


def _is_long_enough(words: list[str]) -> bool:
    """Whether a text is more than a word or a few names."""
    if len("".join(words).encode(errors="replace")) < _MIN_BYTES:
        return False
    if len(words) == 1:
        return is_unspaced(words[0])
    return len(words) > 3 or not all(word.istitle() for word in words)


def _weights(text: str, wanted: AbstractSet[str]) -> dict[str, float]:
    """The probability of each usual or wanted language; empty if unknown."""
    import py3langid  # noqa: PLC0415 — most of a second, for topics of a language only

    try:
        ranked = py3langid.rank(text)
    except OSError:  # its model cannot be read
        return {}
    # Scores are sums over the text; dividing by the root of the length makes them comparable.
    scale = math.sqrt(len(text.encode(errors="replace")))
    best = max(float(score) for _, score in ranked)
    weights: dict[str, float] = {}
    for label, score in ranked:
        code = base(str(label))
        if code not in _USUAL and code not in wanted:
            continue
        weights[code] = weights.get(code, 0.0) + math.exp((float(score) - best) / scale)
    total = sum(weights.values())
    return {code: weight / total for code, weight in weights.items()}


def _without_quotes(text: str) -> str:
    """The text without quotations, unless nothing else is left."""
    own = _QUOTED.sub(" ", text)
    return own if len(_TOKEN.findall(own)) >= 2 else text
