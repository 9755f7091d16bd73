"""Finds existing knowledge that is equal or nearly equal to a text.

A lost fact is worse than a duplicate. Two texts are therefore the same only if all distinguishing details
agree and they share nearly all words in much the same order (``tests/knowledge/test_similarity.py``).

A number, a name, a path or a "not" hardly affects the words but changes the meaning. They are therefore
compared separately, exactly and in order.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

from engine.knowledge.category_files import DONE, Entry
from engine.knowledge.item import normalised

if TYPE_CHECKING:
    from engine.knowledge.item import Item

MIN_ORDER = 0.75
"""Minimum share of word pairs in the same order: "A before B" is not "B before A"."""

_MIN_WORDS = 3
_LONG = 6


@dataclass(frozen=True, slots=True)
class Match:
    """An entry equivalent to a text."""

    entry: Entry
    similarity: float  # 0 to 1; 1 for equal words


class SimilarEntries:
    """Finds entries by similarity."""

    def __init__(self, entries: Sequence[Entry] = ()) -> None:
        self._alike: dict[object, list[Entry]] = {}
        self._equal: dict[str, Entry] = {}
        for entry in entries:
            self.add(entry)

    def add(self, entry: Entry) -> None:
        self._equal.setdefault(normalised(entry.text), entry)
        if len(entry.text) <= READ:
            signs = signs_of(entry.text)
            self._alike.setdefault((signs.exact, signs.polar), []).append(entry)

    def find(self, text: str) -> Match | None:
        """The entry equivalent to a text: the first with equal words, else the most similar."""
        same = self._equal.get(normalised(text))
        if same is not None:
            return Match(same, 1.0)
        if len(text) > READ:
            return None
        mine = signs_of(text)
        alike = self._alike.get((mine.exact, mine.polar), ())
        found = [Match(entry, similarity(mine, signs_of(entry.text))) for entry in alike]
        best = max(found, key=lambda each: each.similarity, default=None)
        return best if best is not None and best.similarity else None


def similarity(item: Signs, entry: Signs) -> float:
    """Share of the words that a new text and an existing entry have in common, below 1; 0 if they may mean
    something else.

    The new text may not contain a word that the entry lacks; a long entry may contain one more word. "It is
    called by the gateway" is not "it calls the gateway".
    """
    if item.is_passive != entry.is_passive or difference(item, entry):
        return 0.0
    mine, there = _content(item), _content(entry)
    more = len({*there} - {*mine})
    if {*mine} - {*there} or more > (len({*mine}) >= _LONG) or len(mine) + len(item.exact) < _MIN_WORDS:
        return 0.0
    if order(mine, there) < MIN_ORDER or _are_exchanged(mine, there):
        return 0.0
    return min(overlap(mine, there), 0.99)


def overlap(first: Sequence[str], second: Sequence[str]) -> float:
    """Share of words that two texts have in common, 0 to 1."""
    here, there = Counter(first), Counter(second)
    total = here.total() + there.total()
    return 2 * (here & there).total() / total if total else 0.0


def order(first: Sequence[str], second: Sequence[str]) -> float:
    """Share of pairs of common words in the same order; 1 if there are no pairs."""
    places = {word: at for at, word in reversed(list(enumerate(second)))}
    seen = dict.fromkeys(word for word in first if word in places)
    pairs = [places[before] < places[behind] for before, behind in combinations(seen, 2)]
    return sum(pairs) / len(pairs) if pairs else 1.0


def _are_exchanged(first: Sequence[str], second: Sequence[str]) -> bool:
    """True if exactly two words, not adjacent, have changed places."""
    here = list(dict.fromkeys(word for word in first if word in second))
    there = list(dict.fromkeys(word for word in second if word in here))
    apart = [at for at, (one, other) in enumerate(zip(here, there, strict=True)) if one != other]
    return len(apart) == 2 and apart[1] - apart[0] > 1


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
} | dict(
    pair.split(":")
    for pair in _words(
        "thirty:30 forty:40 fifty:50 sixty:60 seventy:70 eighty:80 ninety:90 hundred:100 thousand:1000"
        " million:1000000 half:1/2 quarter:1/4 once:1x twice:2x third:3. fourth:4. fifth:5."
    )
)

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


QUOTED = 60
"""Characters of the earlier line quoted in a link."""

SAME_TOPIC = 0.5
"""Relatedness from which a decision that says it replaces another is about the same topic."""
SAME_CLAIM = 0.6
"""Word overlap from which two claims are the same claim with another value."""
SAME_TASK = 0.6
"""Relatedness from which a done task is an open one."""
MIN_LEAD = 0.06
"""Required lead of the best match over the next; otherwise the match is ambiguous."""

_NAMED_DAY = 0.3
_REASON = re.compile(r"[,;]?\s+(?:because|since|so that|as otherwise|weil|damit)\b|;\s", re.IGNORECASE)
_CUE = re.compile(
    r"\b(?:revers(?:es|ed|ing)|replac(?:es|ed|ing)|supersed(?:es|ed|ing)|overrul(?:es|ed|ing)|overturn(?:s|ed)"
    r"|revok(?:es|ed|ing)|withdraws?|withdrawn|abandon(?:s|ed)?|revert(?:s|ed|ing)?|instead of|rather than"
    r"|no longer|not any ?more|any longer|go(?:es)? back to|back to|in place of|after all"
    r"|ersetzt|statt|anstelle|nicht mehr|doch nicht|aufgehoben)\b",
    re.IGNORECASE,
)
_UNFINISHED = re.compile(
    r"\b(?:not|never|partly|partially|half|postponed|moved to|cancelled|canceled|blocked|still|started|begun"
    r"|planned|failed|except|nicht|teilweise|verschoben)\b",
    re.IGNORECASE,
)
_LINK = re.compile(r"\s*(?<!\\)\(supersedes: “([^”]*)”(?:, (\d{4}-\d{2}-\d{2}))?\)")
_VALUE = re.compile(r"[$€]?[\d.,:/–-]*\d(?:\s?\D*)?")
_VERSION = re.compile(r"v?\d+\.\d+\.\d+.*")


def link_to(earlier: Entry) -> str:
    """The link in the line of a later decision, before its provenance."""
    day = f", {earlier.day}" if earlier.day else ""
    return f" (supersedes: “{_quoted(earlier)}”{day})"


def text_without_link(entry: Entry) -> str:
    """The text of an entry without its link."""
    return _LINK.sub("", entry.text)


def superseded(entries: Sequence[Entry]) -> Mapping[Entry, Entry]:
    """The replaced decisions with their replacements, according to the links in the lines.

    A link quotes the start of a line and its day, and refers to the nearest such line above. If the person
    has changed that start, it refers to nothing.
    """
    found: dict[Entry, Entry] = {}
    for at, later in enumerate(entries):
        for link in _LINK.finditer(later.text):
            for earlier in reversed(entries[:at]):
                if _quoted(earlier) == link[1] and earlier.day == (link[2] or ""):
                    found[earlier] = later
                    break
    return found


def supersedes(item: Item, decisions: Sequence[Entry]) -> Entry | None:
    """The decision in force that a new one replaces, by saying so or by deciding the same question
    differently; ``None`` if there is none or it is ambiguous.

    ``decisions`` are in file order.
    """
    replaced = superseded(decisions)
    current = [entry for entry in decisions if entry not in replaced]
    if not current:
        return None
    mine = signs_of(item.text)
    has_cue = _CUE.search(item.text) is not None
    ranked: list[tuple[float, int]] = []
    for at, entry in enumerate(current):
        claim = signs_of(_claim(text_without_link(entry)))
        if _is_other_value(signs_of(_claim(item.text)), claim):
            ranked.append((1.0 + overlap(mine.words, claim.words), at))
        elif has_cue:
            score = _relatedness(mine, claim)
            if entry.day and entry.day in item.text:
                score += _NAMED_DAY
            if score >= SAME_TOPIC:
                ranked.append((score, at))
    found = _clear_best(ranked)
    return None if found is None else current[found]


def finished(item: Item, tasks: Sequence[Entry]) -> Entry | None:
    """The open task that a done task finishes; ``None`` if there is none or it is ambiguous.

    A task with exactly the same words always matches.
    """
    current = [entry for entry in tasks if entry.section != DONE and not entry.is_ticked]
    exact = [entry for entry in current if normalised(text_without_link(entry)) == normalised(item.text)]
    if exact:
        return exact[-1]
    if not current or _UNFINISHED.search(item.text):
        return None
    mine = signs_of(item.text)
    ranked: list[tuple[float, int]] = []
    for at, entry in enumerate(current):
        theirs = signs_of(entry.text)
        if _identities(mine) and _identities(theirs) and not _identities(mine) & _identities(theirs):
            continue
        score = _relatedness(mine, theirs)
        if score >= SAME_TASK:
            ranked.append((score, at))
    found = _clear_best(ranked)
    return None if found is None else current[found]


def _quoted(entry: Entry) -> str:
    text = re.sub(r"[“”]", '"', text_without_link(entry))
    return text if len(text) <= QUOTED else text[:QUOTED].rpartition(" ")[0] or text[:QUOTED]


def _claim(text: str) -> str:
    """A decision without its reason."""
    return _REASON.split(text, maxsplit=1)[0]


def _relatedness(first: Signs, second: Signs) -> float:
    """How closely two texts are related: the share of the shorter one's words in the other, 0 to 1."""
    here, there = ({*_content(each), *each.exact} for each in (first, second))
    return len(here & there) / min(len(here), len(there)) if here and there else 0.0


def _is_other_value(first: Signs, second: Signs) -> bool:
    """True if two claims differ only in a value, a "not" or a single chosen word."""
    here, there = _content(first), _content(second)
    if _identities(first) != _identities(second):
        return False
    if not here or not there:  # only a setting and its value
        return bool(_identities(first)) and here == there and _values(first) != _values(second)
    only_here, only_there = {*here} - {*there}, {*there} - {*here}
    names_apart = (first.names & only_here) | (second.names & only_there)
    is_polar, is_value = first.polar != second.polar, _values(first) != _values(second)
    if overlap(here, there) >= SAME_CLAIM and not names_apart and (is_polar or is_value):
        return len(only_here) <= 2 and len(only_there) <= 2
    is_choice = len(only_here) == len(only_there) == 1 and here[:2] == there[:2] and len(here) > 3
    return is_choice and not is_polar and not is_value


def _content(signs: Signs) -> list[str]:
    return [word for word in signs.words if word not in COMMON]


def _identities(signs: Signs) -> set[str]:
    """Signs that name a thing: issues, versions, paths, identifiers, but not plain values."""
    return {sign for sign in signs.exact if not _VALUE.fullmatch(sign) or _VERSION.fullmatch(sign)}


def _values(signs: Signs) -> list[str]:
    return [sign for sign in signs.exact if sign not in _identities(signs)]


def _clear_best(ranked: list[tuple[float, int]]) -> int | None:
    """The index with the best score, if it leads clearly."""
    ranked = sorted(ranked, key=lambda each: (-each[0], -each[1]))
    if not ranked or (len(ranked) > 1 and ranked[0][0] - ranked[1][0] < MIN_LEAD):
        return None
    return ranked[0][1]
