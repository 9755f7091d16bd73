"""Detects the natural languages of a message (spec 4.2).

Function words decide if they are clear, and scripts if they belong to one language or to none that is wanted,
both within microseconds. Unclear texts go to py3langid, which takes half a second and 110 MB once in a
process; this only happens if a topic has a language trigger.

Limits, measured on 2,300 sentence beginnings in 23 languages, unseen during tuning, with the language wanted:
with three words 85 % are right, with five 96 % (87 to 91 % in English, Czech and Romanian), with ten 99 %;
most others are in no language. Of 2,000 English messages none was taken for German, French, Spanish, Italian
or Dutch, and three for Danish. A message of a single word that is not a function word, of names, or of code
is in no language. Among close relatives such as Danish and Norwegian a wanted one is preferred if both are
likely.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Set as AbstractSet
from functools import cache

from engine.activation.function_words import WORDS
from engine.activation.scan import compiled
from engine.topics.fields import word_set

_PLAIN = 1 / 3
"""Share of function words that decides for a language, if no other has more than half as many."""
_LIKELY = 0.5
_LEVEL = 0.25
_MAX_WORDS = 200
_MAX_CHARACTERS = 2_000
_MIN_BYTES = 8
# A line of fewer words, such as a greeting, is not considered on its own.
_MIN_WORDS = 3

_TOKEN = r"[^\W\d_]+(?:['’][^\W\d_]+)?"
# Paths, handles, identifiers and file names are in no language.
_ODD = r"[/\\_@#=<>{}]|\w\.\w"
_QUOTED = (
    r"(?m)^[ \t]*>.*$|(?<!\w)'[^'\n]{8,}'(?!\w)|\"[^\"\n]{8,}\"|“[^“”\n]{8,}”|„[^„“”\n]{8,}[“”]|«[^«»\n]{8,}»"
)
# Possible languages of a short text; others count only if they are wanted, since rare relatives of a language
# would claim its short texts.
_USUAL = word_set(
    "af am ar be bg bn bo ca cs da de el en es et fa fi fr gu he hi hr hu hy id is it ja ka kk km kn ko lo "
    "lt lv mk ml mr my nl no pl pt ro ru si sk sl sq sr sv ta te th tr uk ur vi zh"
)
# Relatives so close that a short text may be in any of them.
_NEAR = (
    frozenset({"da", "no", "sv"}),
    frozenset({"cs", "sk"}),
    frozenset({"bs", "hr", "sl", "sr"}),
    frozenset({"af", "nl"}),
    frozenset({"be", "bg", "mk", "ru", "sr", "uk"}),
    frozenset({"ca", "es", "gl", "it", "pt"}),
)
# By the first word of their letters' names; all other languages use Latin letters.
_SCRIPTS = {
    "ARABIC": "ar fa ps sd ug ur",
    "BENGALI": "as bn",
    "CJK": "ja zh",
    "CYRILLIC": "be bg kk ky mk mn ru sr tg tt uk",
    "DEVANAGARI": "hi mr ne sa",
    "GREEK": "el",
    "HANGUL": "ko",
    "HEBREW": "he yi",
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "THAI": "th",
}
_NOT_LATIN = word_set(" ".join(_SCRIPTS.values())) - {"sr"}
_BY_SCRIPT = {"el": "GREEK", "ja": "HIRAGANA KATAKANA CJK", "ko": "HANGUL", "th": "THAI"}
"""Languages identified by their scripts; CJK of ``ja`` is also Chinese."""
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
    ends = {lines[0], lines[-1]} if len(lines) > 1 else set()
    parts = [
        own,
        *(line for line in lines if line in ends and len(compiled(_TOKEN).findall(line)) >= _MIN_WORDS),
    ]
    found = (identify(part, wanted) for part in dict.fromkeys(parts))
    return tuple(dict.fromkeys(code for code in found if code))


def identify(text: str, wanted: AbstractSet[str] = frozenset()) -> str:
    """The language of a text.

    Args:
        text: The message without code and links.
        wanted: ISO 639-1 codes, preferred among close relatives.

    Returns:
        The ISO 639-1 code, or ``""`` if the text is too short or too mixed.
    """
    text = _without_quotes(text)
    if compiled(_ODD).search(text):
        text = " ".join(piece for piece in text.split() if not compiled(_ODD).search(piece))
    words = compiled(_TOKEN).findall(text)[:_MAX_WORDS]
    if plain := _by_function_words(words):
        return plain
    letters = Counter(unicodedata.name(each, "").partition(" ")[0] for each in "".join(words))
    if not _is_long_enough(words) or (wanted and not _are_written_in(letters.keys(), wanted)):
        return ""
    if alone := _by_script(letters):
        return alone
    weights = _weights(" ".join(words)[:_MAX_CHARACTERS], wanted)
    best = max(weights, key=lambda code: weights[code], default="")
    near = next((group for group in _NEAR if best in group), frozenset({best}))
    if sum(weights.get(code, 0.0) for code in near) < _LIKELY * sum(weights.values()):
        return ""
    level = [code for code in sorted(near & wanted) if weights.get(code, 0.0) >= _LEVEL * weights[best]]
    return level[0] if level else best


def _by_function_words(words: list[str]) -> str:
    """The language whose function words dominate a text, if any."""
    owners = _owners()
    counts = Counter(code for word in words for code in owners.get(word.lower().replace("’", "'"), ()))
    (best, count), (_, second) = [*counts.most_common(2), ("", 0), ("", 0)][:2]
    is_enough = count >= 2 or count == len(words)
    return best if is_enough and count >= _PLAIN * len(words) and count >= 2 * second else ""


@cache
def _owners() -> dict[str, tuple[str, ...]]:
    """The languages of each function word."""
    owners: dict[str, tuple[str, ...]] = {}
    for code, words in WORDS.items():
        for word in set(words.split()):
            owners[word] = (*owners.get(word, ()), code)
    return owners


def _are_written_in(scripts: AbstractSet[str], codes: AbstractSet[str]) -> bool:
    """Whether any of some languages is written in one of the scripts."""
    if not scripts <= _SCRIPTS.keys() and any(code not in _NOT_LATIN for code in codes):
        return True
    return any(code in _SCRIPTS[script].split() for code in codes for script in scripts & _SCRIPTS.keys())


def _by_script(letters: Counter[str]) -> str:
    """The language identified by the script of most of a text, if any."""
    for code, scripts in _BY_SCRIPT.items():
        counts = [letters[script] for script in scripts.split()]
        if counts[0] and 2 * sum(counts) > letters.total():
            return code
    return ""


def _is_long_enough(words: list[str]) -> bool:
    """Whether a text is more than a word or a few names."""
    if len("".join(words).encode(errors="replace")) < _MIN_BYTES:
        return False
    if len(words) == 1:
        # Scripts without capitals mostly have no spaces either.
        return words[0].lower() == words[0].upper()
    return len(words) > 3 or not all(word.istitle() for word in words)


def _weights(text: str, wanted: AbstractSet[str]) -> dict[str, float]:
    """The likelihood of each language relative to the most likely one; empty if unknown."""
    import py3langid  # noqa: PLC0415 — half a second, for unclear messages only

    try:
        ranked = py3langid.rank(text)
    except OSError:  # it unpacks its model to a temporary file
        return {}
    scores: dict[str, float] = {}
    for label, score in ranked:
        code = base(str(label))
        if code in _USUAL or code in wanted:
            scores[code] = max(scores.get(code, -math.inf), float(score))
    best = max(scores.values())
    # Scores are sums over the text; dividing by the root of the length makes them comparable.
    scale = math.sqrt(len(text.encode(errors="replace")))
    return {code: math.exp((score - best) / scale) for code, score in scores.items()}


def _without_quotes(text: str) -> str:
    """The text without quotations, unless nothing else is left."""
    if not any(sign in text for sign in "'>\"“„«"):
        return text
    own = compiled(_QUOTED).sub(" ", text)
    return own if len(compiled(_TOKEN).findall(own)) >= 2 else text
