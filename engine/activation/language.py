"""Which natural language a message is in, without a model for the clear cases (spec 4.2).

A statistical identifier takes most of a second for its first answer, which a message that starts a process
would have to wait for. Scripts and function words decide nearly every message in microseconds; the identifier
is asked only about longer ones that stay unclear and might be in a language somebody waits for.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Set as AbstractSet
from functools import cache

from engine.activation.function_words import CHARACTERS, ENDINGS, WORDS

_LONG_ENOUGH = 60
_LONG_ENOUGH_UNLISTED = 25
_SURE = 0.85
_MOST_WORDS = 200

_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
# Paths, handles, identifiers and file names speak no language.
_ODD = re.compile(r"[/\\_@#=<>{}]|\w\.\w")
_QUOTED = re.compile(
    r"(?m)^[ \t]*>.*$|(?<!\w)'[^'\n]{8,}'(?!\w)|\"[^\"\n]{8,}\"|“[^“”\n]{8,}”|„[^„“”\n]{8,}[“”]|«[^«»\n]{8,}»"
)
_RELATIVES = (frozenset({"da", "no", "sv"}), frozenset({"cs", "pl"}), frozenset({"es", "pt", "it"}))
_DENSE = 0.2
_SCRIPTS = {
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "CJK": "zh",
    "HANGUL": "ko",
    "CYRILLIC": "ru",
    "GREEK": "el",
    "HEBREW": "he",
    "ARABIC": "ar",
    "DEVANAGARI": "hi",
    "BENGALI": "bn",
    "TAMIL": "ta",
    "TELUGU": "te",
    "GUJARATI": "gu",
    "KANNADA": "kn",
    "MALAYALAM": "ml",
    "THAI": "th",
    "LAO": "lo",
    "KHMER": "km",
    "MYANMAR": "my",
    "GEORGIAN": "ka",
    "ARMENIAN": "hy",
    "SINHALA": "si",
    "TIBETAN": "bo",
    "ETHIOPIC": "am",
}
# Languages that share a script, told apart by letters that only one of them has.
_SAME_SCRIPT = {
    "ru": (("uk", "іїєґ"), ("be", "ў"), ("sr", "ђћџљњј"), ("mk", "ѓќѕ"), ("kk", "қңғүұһә"), ("ru", "ыэё")),
    "ar": (("ur", "ٹڈڑںے"), ("fa", "پچژگ")),
    "hi": (("mr", "ळ"),),
}
_SAME = {"nb": "no", "nn": "no", "iw": "he", "in": "id"}


def base(code: str) -> str:
    """An ISO 639-1 code in the form used here: ``de-AT`` is ``de``, both kinds of Norwegian are ``no``."""
    plain = re.split(r"[-_]", code.strip().lower(), maxsplit=1)[0]
    return _SAME.get(plain, plain)


def identify(text: str, wanted: AbstractSet[str] = frozenset()) -> str:
    """The language of a text.

    Args:
        text: The message without code and links.
        wanted: ISO 639-1 codes somebody waits for; the slow identifier is asked only on their account.

    Returns:
        The ISO 639-1 code, or ``""`` when the text is too short or too mixed to say.
    """
    text = _without_quotes(text)
    if _ODD.search(text):
        text = " ".join(piece for piece in text.split() if not _ODD.search(piece))
    words = _TOKEN.findall(text)[:_MOST_WORDS]
    if not words:
        return ""
    other = _by_script("".join(words))
    if other:
        return other
    scores = _scores(words)
    best = _clear(scores, len(words), wanted)
    if best and not (wanted - WORDS.keys() and scores[best] < len(words) * _DENSE):
        return best
    most = max(scores.values(), default=0.0)
    plausible = {code for code in wanted if code not in WORDS or scores[code] >= max(1.0, most / 3)}
    enough = _LONG_ENOUGH_UNLISTED if wanted - WORDS.keys() else _LONG_ENOUGH
    if sum(map(len, words)) < enough or not plausible:
        return best
    return _identified(" ".join(words))


def _clear(scores: dict[str, float], words: int, wanted: AbstractSet[str]) -> str:
    """The language that stands out; among near relatives that are level, the one somebody waits for."""
    ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:4]
    if not ranked:
        return ""
    best, most = ranked[0]
    relatives = next((group for group in _RELATIVES if best in group), frozenset({best}))
    level = [code for code, score in ranked if code in relatives and score >= 0.8 * most]
    rest = max((score for code, score in ranked if code not in relatives), default=0.0)
    second = max((score for code, score in ranked[1:] if code in level), default=0.0)
    is_enough = most >= (1.0 if rest <= most / 2.5 else 1.5) and most >= 1.6 * rest and most >= words * 0.1
    if words <= 2:
        is_enough = most >= 0.5 * words and rest <= most / 2.5
    if not is_enough:
        return ""
    if second:
        wanted_here = [code for code in level if code in wanted]
        return wanted_here[0] if wanted_here else best
    return best


def _without_quotes(text: str) -> str:
    """The text without what it quotes, where something of its own is left."""
    own = _QUOTED.sub(" ", text)
    return own if len(_TOKEN.findall(own)) >= 2 else text


def _scores(words: list[str]) -> defaultdict[str, float]:
    """How much each language speaks for itself in a text in Latin letters."""
    table, endings = _weights(), _endings()
    scores: defaultdict[str, float] = defaultdict(float)
    for written in words:
        word = written.lower().replace("’", "'")
        known = table.get(word)
        if known is not None:
            languages, weight = known
            for language in languages:
                scores[language] += weight
            continue
        # Names carry their own letters into any language; capitals prove nothing.
        if written[:1].isupper():
            continue
        if not word.isascii():
            for character in set(word):
                for language, weight in _characters().get(character, ()):
                    scores[language] += weight
        if len(word) >= 6:
            for size in (2, 3, 4, 5):
                for language in endings.get(word[-size:], ()):
                    scores[language] += 0.5
    return scores


def _by_script(letters: str) -> str:
    """The language of a text that is mostly not in Latin letters."""
    if letters.isascii():
        return ""
    counts: Counter[str] = Counter()
    for letter in letters:
        if letter.isascii():
            counts["LATIN"] += 1
        else:
            counts[unicodedata.name(letter, "").split(" ", 1)[0]] += 1
    # One Chinese or Japanese character says as much as two or three Latin letters.
    dense = ("HIRAGANA", "KATAKANA", "CJK", "HANGUL")
    latin = counts.pop("LATIN", 0)
    weights: Counter[str] = Counter()
    for script, count in counts.items():
        if script in _SCRIPTS:
            weights[_SCRIPTS[script]] += count * (3 if script in dense else 1)
    if not weights or sum(weights.values()) <= latin:
        return ""
    if weights["ja"] and weights["ja"] * 10 >= weights["zh"]:
        return "ja"
    best = weights.most_common(1)[0][0]
    lower = letters.lower()
    for language, signs in _SAME_SCRIPT.get(best, ()):
        if any(sign in lower for sign in signs):
            return language
    return best


@cache
def _weights() -> dict[str, tuple[tuple[str, ...], float]]:
    """Per function word the languages that have it, and what it counts for each: less the more they are."""
    owners: dict[str, list[str]] = {}
    for language, words in WORDS.items():
        for word in words.split():
            owners.setdefault(word, []).append(language)
    return {word: (tuple(languages), 1 / len(languages)) for word, languages in owners.items()}


@cache
def _characters() -> dict[str, list[tuple[str, float]]]:
    owners: dict[str, list[str]] = {}
    for language, characters in CHARACTERS.items():
        for character in characters:
            owners.setdefault(character, []).append(language)
    return {
        character: [(language, len(languages) ** -0.5) for language in languages]
        for character, languages in owners.items()
    }


@cache
def _endings() -> dict[str, tuple[str, ...]]:
    owners: dict[str, tuple[str, ...]] = {}
    for ending, language in ENDINGS:
        owners[ending] = (*owners.get(ending, ()), language)
    return owners


def _identified(text: str) -> str:
    """The statistical identifier's answer, empty when it is not sure."""
    import py3langid  # noqa: PLC0415 — up to .9 s, for unclear cases only

    ranked = [(str(code), float(score)) for code, score in py3langid.rank(text)]
    best, most = ranked[0]
    # Its scores are sums over the text; dividing by the root of the length makes them comparable.
    scale = math.sqrt(len(text.encode(errors="replace")))
    total = sum(math.exp((score - most) / scale) for _, score in ranked)
    return base(best) if 1 / total >= _SURE else ""
