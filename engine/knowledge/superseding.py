"""Finds earlier knowledge that new knowledge ends: a decision that is replaced, a task that is done.

Only the new line says so, as ``(supersedes: “start of the earlier one”, its day)``. Existing lines are never
changed, so a wrong link costs a place in the digest but loses no text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from engine.knowledge.category_files import DONE, Entry
from engine.knowledge.item import normalised
from engine.knowledge.similarity import COMMON, Signs, overlap, signs_of, vectors

if TYPE_CHECKING:
    from engine.knowledge.item import Item

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
    table = vectors().embed([item.text, *(_claim(text_without_link(entry)) for entry in current)])
    mine = signs_of(item.text)
    has_cue = _CUE.search(item.text) is not None
    ranked: list[tuple[float, int]] = []
    for at, entry in enumerate(current):
        claim = signs_of(_claim(text_without_link(entry)))
        if _is_other_value(signs_of(_claim(item.text)), claim):
            ranked.append((1.0 + overlap(mine.words, claim.words), at))
        elif has_cue:
            score = _relatedness(mine, claim, float(table[0] @ table[at + 1]))
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
    table = vectors().embed([item.text, *(entry.text for entry in current)])
    mine = signs_of(item.text)
    ranked: list[tuple[float, int]] = []
    for at, entry in enumerate(current):
        theirs = signs_of(entry.text)
        if _identities(mine) and _identities(theirs) and not _identities(mine) & _identities(theirs):
            continue
        score = _relatedness(mine, theirs, float(table[0] @ table[at + 1]))
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


def _relatedness(first: Signs, second: Signs, meaning: float) -> float:
    """How closely two texts are related, 0 to 1."""
    here = {*_content(first), *first.exact}
    there = {*_content(second), *second.exact}
    shared = len(here & there) / min(len(here), len(there)) if here and there else 0.0
    return 0.5 * max(meaning, 0.0) + 0.5 * shared


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
