"""Details that make two similar sentences mean different things.

A number, a name, a path or a "not" hardly affects word similarity but changes the meaning. They are therefore
compared separately, exactly and in order, before any similarity counts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

READ = 4_000
"""Characters of a text that are examined; our own lines are far shorter."""

_KEPT = 20_000


def _words(text: str) -> list[str]:
    return text.split()


_NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        _words(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
            " fifteen sixteen seventeen eighteen nineteen twenty"
        )
    )
} | {
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "sixty": "60",
    "seventy": "70",
    "eighty": "80",
    "ninety": "90",
    "hundred": "100",
    "thousand": "1000",
    "million": "1000000",
    "half": "1/2",
    "quarter": "1/4",
    "once": "1x",
    "twice": "2x",
    "third": "3.",
    "fourth": "4.",
    "fifth": "5.",
}

_NEGATIONS = frozenset(
    _words(
        "not no never without none nor neither cannot nothing nobody nowhere hardly barely rarely"
        " seldom except unless lacks lacking fails fail failed refuses refuse refused nicht kein"
        " keine keinen keiner keinem nie niemals ohne weder"
    )
)
_NOT = re.compile(r"n['’]t$")

_OPPOSITES = frozenset(
    _words(
        "only some any most least less fewer few either before after until since during below under"
        " over down out off left right first last new newest latest old oldest earliest high higher"
        " low lower maximum max minimum min largest smallest slow slower fast faster decrease"
        " decreases decreased shrink shrinks fall falls remove removes removed delete deletes"
        " deleted drop drops dropped deny denies denied forbid forbids forbidden reject rejects"
        " rejected disable disables disabled close closed closes stop stops stopped end ends ended"
        " start starts started read reads write writes written input output receive receives"
        " received pull pulls push pushes split splits unlock unlocks unlocked manual manually"
        " automatic automatically asynchronous async synchronous sync local locally remote remotely"
        " public private internal external unsafe false true failure optional required mandatory"
        " must may should might could again still yet already different unequal primary replica"
        " secondary production staging development parent child north south east west upper inbound"
        " outbound ascending descending lossy lossless weekly daily hourly monthly yearly noon"
        " midnight monday tuesday wednesday thursday friday saturday sunday january february march"
        " april june july august september october november december today tomorrow yesterday nur"
        " erst letzte vor nach alte neue"
    )
)
"""Words that reverse a sentence when replaced by their opposite; one of each pair is enough."""

_UNIT = (
    r"%|‰|°c|°f|°|ns|µs|us|ms|s|sec|secs|seconds?|min|mins|minutes?|h|hrs?|hours?|d|days?|weeks?|months?|years?"
    r"|bytes?|kb|mb|gb|tb|kib|mib|gib|tib|bits?|mm|cm|m|km|hz|khz|mhz|ghz|eur|usd|€|\$|x|times|rows?|lines?"
    r"|files?|tokens?|points?"
)
_PASSIVE = re.compile(
    r"\b(?:is|are|was|were|gets?|got|been)\s+(?:\w+ly\s+)?\w+(?:ed|en|wn|nt|pt|ld|lt|de|ne)\b.*\bby\b"
)
_NUMBER = re.compile(rf"(?<![\w.])[#$€v]?\d[\d.,:/–-]*(?:\s?(?:{_UNIT})(?![\w]))?", re.IGNORECASE)
_CODE = re.compile(r"`([^`]+)`")
_BLOB = re.compile(r"\w{120,}")
"""Encoded data rather than a word; compared as a whole: the other patterns would take quadratic time."""
_IDENTIFIER = re.compile(
    r"https?://\S+|[\w~./\\-]*[/\\][\w~./\\-]+|--?[a-z][\w-]+|\w+(?:[._:@-]\w+)+|[A-Za-z]+\d\w*|\d+[A-Za-z]\w*"
    r"|[a-z]+[A-Z]\w*|#\w+|\w+\(\)"
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_ALIASES = {"seconds": "s", "second": "s", "secs": "s", "sec": "s", "minutes": "min", "minute": "min",
            "mins": "min", "hours": "h", "hour": "h", "hr": "h", "hrs": "h", "days": "d", "day": "d",
            "kib": "kb", "mib": "mb", "gib": "gb", "tib": "tb", "months": "month", "weeks": "week",
            "years": "year", "times": "x", "rows": "row", "lines": "line", "files": "file",
            "tokens": "token", "points": "point", "bytes": "byte", "bits": "bit"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Signs:
    """Details that must agree in two texts with the same meaning."""

    exact: tuple[str, ...]
    """Numbers with units, identifiers, paths, acronyms and text in backquotes, in order."""
    polar: tuple[str, ...]
    """Words that reverse a sentence: negations, opposites, days; sorted."""
    words: tuple[str, ...]  # all other words, case folded and stemmed, in order
    names: frozenset[str]  # stems of capitalised words
    is_passive: bool = False  # "is drained by"


@lru_cache(maxsize=_KEPT)
def signs_of(text: str) -> Signs:
    """The signs of a one-line text, or of its first ``READ`` characters."""
    plain = unicodedata.normalize("NFKC", text[:READ]).replace("’", "'")
    exact: list[tuple[int, str]] = []
    rest = list(plain)
    for pattern in (_CODE, _BLOB, _IDENTIFIER, _NUMBER):
        for match in pattern.finditer("".join(rest)):
            exact.append((match.start(), _exact(match[0])))
            rest[match.start() : match.end()] = " " * (match.end() - match.start())
    polar: list[str] = []
    words: list[str] = []
    names: set[str] = set()
    for match in _WORD.finditer("".join(rest)):
        word = match[0]
        folded = word.casefold()
        if folded in _NUMBER_WORDS:
            exact.append((match.start(), _NUMBER_WORDS[folded]))
        elif folded in _NEGATIONS or _NOT.search(folded):
            polar.append("not")
        elif folded in _OPPOSITES:
            polar.append(stem(folded))
        elif len(word) > 1 and word.isupper():
            exact.append((match.start(), word))
        else:
            words.append(stem(folded))
            if word[0].isupper():
                names.add(stem(folded))
    found = tuple(sign for _, sign in sorted(exact))
    is_passive = _PASSIVE.search(plain) is not None
    return Signs(found, tuple(sorted(polar)), tuple(words), frozenset(names), is_passive)


def difference(first: Signs, second: Signs) -> str:
    """Why two texts differ, one clause; empty if they do not."""
    if first.exact != second.exact:
        return f"{_apart(first.exact, second.exact)} differ"
    if first.polar != second.polar:
        return f"{_apart(first.polar, second.polar)} differ"
    for here, there in ((first, second), (second, first)):
        unknown = here.names.difference(there.words, COMMON)
        if unknown:
            return f"only one of them names {sorted(unknown)[0]}"
    return ""


_IRREGULAR = dict(
    pair.split(":")
    for pair in _words(
        "kept:keep sent:send ran:run built:build held:hold wrote:write written:write took:take taken:take"
        " found:find lost:lose began:begin begun:begin broke:break broken:break chose:choose chosen:choose"
        " drew:draw drawn:draw fed:feed gave:give given:give grew:grow grown:grow knew:know known:know"
        " led:lead meant:mean met:meet paid:pay said:say saw:see seen:see sold:sell shown:show spent:spend"
        " stood:stand stuck:stick taught:teach told:tell thought:think threw:throw thrown:throw"
        " understood:understand won:win"
    )
)
"""Irregular verb forms."""


def stem(word: str) -> str:
    """A case-folded word without its most common endings."""
    word = re.sub(r"'s?$", "", word)
    word = _IRREGULAR.get(word, word)
    for ending in ("ments", "ment", "ingly", "edly", "ing", "ies", "ied", "es", "ed", "ly", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word[: -len(ending)]
    return word


COMMON = frozenset(
    stem(word)
    for word in _words(
        "the a an and or but of to for at by with from as in on is are was were be been being it"
        " its this that these those there here he she they we you i his her their our your who which"
        " what when where why how if then than so because while do does did done has have had having"
        " also just about into per via between please let us each own such will would can get gets"
        " got go goes going take takes taking make makes making"
    )
)
"""Stop words."""


def _exact(sign: str) -> str:
    plain = sign.strip("`").strip(".,:;–-").casefold()
    number = re.fullmatch(r"([#$€v]?[\d.,:/–-]*\d)\s*(\D*)", plain)
    if number is None:
        return plain
    value = number[1].replace("–", "-")
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", value):
        value = value.replace(",", "")
    unit = number[2].strip()
    return f"{value} {_ALIASES.get(unit, unit)}".strip()


def _apart(first: Sequence[str], second: Sequence[str]) -> str:
    only = sorted({*first} ^ {*second})
    return ", ".join(only[:3]) if only else "the order of the names"
