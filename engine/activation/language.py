"""Which natural languages a message is in, within microseconds and without a model to load (spec 4.2).

Scripts and function words decide most messages. What they leave open is decided together with the pieces
that the text is made of (``engine.activation.language_pieces``). Only about longer messages that might be in
a language that neither knows is a statistical identifier asked, which takes a second for its first answer.

Limits, measured on 500 short orders to an assistant in each of several languages, on which nothing was tuned:
where its language is waited for, 95 % are told right in Dutch, 93 % in German, English and Arabic, 92 % in
Indonesian and Lithuanian, 90 % in Turkish, Kazakh and Chinese, 89 % in Italian, 87 % in Danish, 80 % in
Norwegian and 67 % in Serbian; most others are in no language, because they are mostly names. One English
message in a thousand is taken for another language. A message of one word, of names, or of code is in no
language. Between near relatives such as Danish and Norwegian the one that somebody waits for is preferred
where both are likely.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import cache

from engine.activation.function_words import CHARACTERS, ENDINGS, WORDS
from engine.activation.scan import compiled
from engine.topics.fields import word_set

_LONG_ENOUGH = 25
_SURE = 0.85
_LIKELY = 0.6
_MOST_WORDS = 200
_LEAST_LETTERS = 8
# A line of fewer words, such as a greeting, does not count by itself.
_LEAST_WORDS = 3
# What a function word that no other language has adds to the logarithm of a language's share.
_WORD_WEIGHT = 1.5

_TOKEN = r"[^\W\d_]+(?:['’][^\W\d_]+)?"
# Paths, handles, identifiers and file names speak no language.
_ODD = r"[/\\_@#=<>{}]|\w\.\w"
_QUOTED = (
    r"(?m)^[ \t]*>.*$|(?<!\w)'[^'\n]{8,}'(?!\w)|\"[^\"\n]{8,}\"|“[^“”\n]{8,}”|„[^„“”\n]{8,}[“”]|«[^«»\n]{8,}»"
)
_RELATIVES = (
    frozenset({"da", "no", "sv"}),
    frozenset({"cs", "sk", "pl"}),
    frozenset({"hr", "sr", "sl"}),
    frozenset({"es", "pt", "it", "ca"}),
)
# Relatives so near that the pieces of a short text may not tell them apart.
_NEAR = (
    frozenset({"da", "no", "sv"}),
    frozenset({"cs", "sk"}),
    frozenset({"hr", "sr", "sl"}),
    frozenset({"nl", "af"}),
    frozenset({"ru", "uk", "be", "bg", "mk", "sr"}),
)
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
    "ru": (
        ("kk", "қңғүұһәө"),
        ("be", "ў"),
        ("uk", "їєґ"),
        ("mk", "ѓќѕ"),
        ("sr", "ђћ"),
        ("ru", "ыэё"),
        ("bg", "ъ"),
    ),
    "ar": (("ur", "ٹڈڑںے"), ("fa", "پچژگ")),
    "hi": (("mr", "ळ"),),
}
# Slovak reads like Czech to who knows no word of it, Catalan like Spanish, Estonian like Finnish.
_HAS_NEIGHBOURS = word_set("cs sk pl hr sr sl es it pt ca ro fi et tr hu lt")
_SHARED = {"ru": frozenset({"ru", "uk", "be", "bg", "mk", "sr", "kk"}), "ar": frozenset({"ar", "fa", "ur"})}
_SAME = {"nb": "no", "nn": "no", "iw": "he", "in": "id"}


def base(code: str) -> str:
    """An ISO 639-1 code in the form used here: ``de-AT`` is ``de``, both kinds of Norwegian are ``no``."""
    plain = re.split(r"[-_]", code.strip().lower(), maxsplit=1)[0]
    return _SAME.get(plain, plain)


def languages(text: str, wanted: AbstractSet[str] = frozenset()) -> tuple[str, ...]:
    """The languages of a message: that of all of it, and those of its first and its last line by themselves.

    Whoever pastes something in another language says what to do with it before or behind. Quotations do not
    count. Arguments as for ``identify``.
    """
    own = _without_quotes(text)
    lines = [line for line in own.splitlines() if line.strip()]
    ends = {lines[0], lines[-1]} if len(lines) > 1 else set()
    parts = [
        own,
        *(line for line in lines if line in ends and len(compiled(_TOKEN).findall(line)) >= _LEAST_WORDS),
    ]
    found = (identify(part, wanted) for part in dict.fromkeys(parts))
    return tuple(dict.fromkeys(code for code in found if code))


def identify(text: str, wanted: AbstractSet[str] = frozenset()) -> str:
    """The language of a text.

    Args:
        text: The message without code and links.
        wanted: ISO 639-1 codes somebody waits for: preferred among near relatives, and the slow identifier is
            asked only on their account.

    Returns:
        The ISO 639-1 code, or ``""`` when the text is too short or too mixed to say.
    """
    text = _without_quotes(text)
    if compiled(_ODD).search(text):
        text = " ".join(piece for piece in text.split() if not compiled(_ODD).search(piece))
    words = compiled(_TOKEN).findall(text)[:_MOST_WORDS]
    if not words:
        return ""
    other = _by_script(words, wanted)
    if other:
        return other
    scores = _scores(words)
    best = _clear(scores, len(words), wanted)
    if best and scores[best] >= len(words) * _DENSE and best not in _HAS_NEIGHBOURS:
        return best
    unlisted = wanted - WORDS.keys()
    if unlisted and sum(map(len, words)) >= _LONG_ENOUGH:
        from engine.activation.language_pieces import known  # noqa: PLC0415 — see _by_pieces

        if unlisted - known():
            return _identified(" ".join(words)) or best
    if best and best not in _HAS_NEIGHBOURS:
        return best
    return (_by_pieces(words, scores, wanted) if _says_enough(words) else "") or best


def _says_enough(words: list[str]) -> bool:
    """Whether a text has two words and more than a name or two."""
    plain = [word for word in words if not word.istitle()]
    return len(words) >= 2 and sum(map(len, words)) >= _LEAST_LETTERS and (bool(plain) or len(words) > 3)


def _by_pieces(words: list[str], scores: Mapping[str, float], wanted: AbstractSet[str]) -> str:
    """The language that pieces and function words together make likely; empty where they make none."""
    from engine.activation.language_pieces import shares  # noqa: PLC0415 — 4 ms that clear messages do not need

    found = shares(" ".join(words))
    weights = {code: share * math.exp(_WORD_WEIGHT * scores.get(code, 0.0)) for code, share in found.items()}
    return _likeliest(weights, wanted)


def _likeliest(weights: Mapping[str, float], wanted: AbstractSet[str]) -> str:
    if not weights:
        return ""
    best = max(sorted(weights), key=lambda code: weights[code])
    near = next((group for group in _NEAR if best in group), frozenset({best}))
    if sum(weights.get(code, 0.0) for code in near) < _LIKELY * sum(weights.values()):
        return ""
    level = [code for code in sorted(near & wanted) if weights.get(code, 0.0) >= 0.25 * weights[best]]
    return level[0] if level else best


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
    if not any(sign in text for sign in "'>\"“„«"):
        return text
    own = compiled(_QUOTED).sub(" ", text)
    return own if len(compiled(_TOKEN).findall(own)) >= 2 else text


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


def _by_script(words: list[str], wanted: AbstractSet[str]) -> str:
    """The language of a text that is mostly not in Latin letters."""
    letters = "".join(words)
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
    return _of_script(best, words, wanted)


def _of_script(usual: str, words: list[str], wanted: AbstractSet[str]) -> str:
    """Of the languages of a script the one that the pieces make likely, or the usual one."""
    group = _SHARED.get(usual)
    if group is None:
        return usual
    from engine.activation.language_pieces import shares  # noqa: PLC0415 — see _by_pieces

    found = {code: share for code, share in shares(" ".join(words)).items() if code in group}
    best = max(sorted(found), key=lambda code: found[code], default=usual)
    level = [code for code in sorted(group & wanted) if found.get(code, 0.0) >= 0.25 * found.get(best, 1.0)]
    return level[0] if level else best


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
