"""What a rule is about and what it chooses; whether two rules are the same, or the later one replaces the
other.

A rule has a topic (the words that say what it is about) and values (names, literals, numbers, and things of
which one excludes the others). Rules with one topic and the same values are one rule told again; with other
values, or turned round, the later one holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from engine.rules import words
from engine.startup.lazy import expression

Relation = Literal["same", "replaces", "ends", "different"]

_SAME = 0.55
"""Overlap of two topics from which two rules with the same values are one."""
_OTHER = 0.45
"""Overlap of two topics from which another value replaces the former."""
_TURNED = 0.7
"""Share of the smaller topic that a reversed rule must repeat."""
_LIFTED = 0.33
"""The same for a rule that ends another."""
_FEW_REJECTED = 3
"""Words up to which what a rule says no to is taken for a name."""
_MOVED = 0.5
"""The same for a rule that says that something is different from before."""
_MOVED_CLEARLY = 0.33
"""The same for one that says so in words such as "instead"."""
_FEW = 2
"""Words besides the choice up to which two choices are about the same."""
_WEAK = 0.4
"""Weight of a verb that belongs to any work; other words weigh 1, the things a rule is about 2."""

_LITERAL = expression(
    r"`(?P<code>[^`\n]{1,80})`|(?<![\w])['\"‘“](?P<quoted>[^'\"’”\n]{1,60})['\"’”](?!\w)"
    r"|(?<![\w./-])(?P<name>@\w[\w.-]*|--[a-z][\w-]+|[A-Za-z]\w*(?:[._/]\w+)+/?|\w+/(?!\w)|\w*_\w*"
    r"|[a-z]+[A-Z]\w+"
    r"|[A-Za-z]+\d[\w+]*)(?![\w/])"
)
_NUMBER = expression(
    r"(?<![\w.])\d[\d.,]*(?:\s?(?:%|px|kb|mb|ms|s))?(?![\w])|\b(?:one|two|three|four|five|six"
    r"|seven|eight|nine|ten)\b",
    re.IGNORECASE,
)
_WORD = expression(r"[a-zß-ɏͰ-ӿ]+|[\u30a0-\u30ff]{2,}|[\u4e00-\u9fff]{2}|[\uac00-\ud7af]{2,}")
_CHOICE_WORD = expression(r"[a-zß-ɏ0-9_/.-]+")
_ENDINGS = tuple(
    "ations ation ating izing ising ments ment ings ing ies ied ize ise ors or es ed y s e".split()  # noqa: SIM905
)

_OFF = expression(
    r"\b(?:do(?:n['’]?t| not)|never|no longer|stop(?:ped)?|without|avoid|no more|not|isn['’]?t"
    r"|shouldn['’]?t|can['’]?t"
    r"|mustn['’]?t|won['’]?t|quit|ban(?:ned)?|forbidden|skip|leave out|no(?= \w)|nie(?:mals)?"
    r"|nicht(?: mehr)?|kein\w*|jamais"
    r"|ne .{1,20}? (?:pas|plus)|nunca|non|niet|nooit|geen|não|никогда|не|больше не)\b"
    r"|不要|别再|别|禁止|しない|하지",
    re.IGNORECASE,
)
_ENDS = expression(
    r"\b(?:(?:do(?:n['’]?t| not)|no longer|needn['’]?t|never)(?: \w+){0,2}? (?:need|have|required?"
    r"|necessary|bother|apply|applies"
    r"|obliged)\b|no need (?:to|for)\b|no longer (?:need|necessary|required|appl|matter|import)"
    r"|not (?:needed|necessary|required) (?:any ?more|any longer)"
    r"|(?:you|we) can (?:stop|drop|forget|ignore|skip)|forget (?:about )?(?:the|that|what|my) "
    r"|scrap (?:the|that)"
    r"|ignore (?:the|that|my) (?:rule|earlier|old|previous)|drop (?:the|that) (?:rule|convention"
    r"|habit|requirement)"
    r"|(?:is|are) (?:off|gone|lifted|cancelled|over)\b|never ?mind (?:the|about)|optional (?:now"
    r"|from)|fine again|ok(?:ay)? again|allowed again"
    r"|(?:braucht|musst|müssen|brauchst|brauchen)\b.*\b(?:nicht mehr|keine?n? .* mehr)|nicht mehr nötig"
    r"|plus (?:besoin|nécessaire)|ya no (?:hace falta|es necesario|necesit\w+)|não (?:é|precisa) mais)",
    re.IGNORECASE,
)
"""Lifts an earlier rule and sets none in its place."""
_CONTRAST = expression(
    r"(?:\b(?:instead of|rather than|in place of|(?<=prefer )\S+ (?:over|to)|replac(?:e|es|ing)"
    r"|away from|(?:switch\w*|mov\w+|chang\w+|migrat\w+|went|go(?:ing)?) from"
    r"|statt|anstatt|anstelle(?: von)?|au lieu d[e']|plutôt que|en (?:vez|lugar) de|em vez de|invece di)"
    r"|(?:,|;| and| but|\() ?(?:not|never|no|no more|no longer|nicht|kein\w*|pas|no)\b)\s+(?:the |a |an )?"
    r"(?P<off>[^,.;:()]{1,60}?)(?=[,.;:()]|\b(?:but|to|for|in|with|use|and|any ?more|again|from"
    r" now|now)\b|$)",
    re.IGNORECASE,
)
"""Names what is not wanted any more."""
_OUT = expression(
    r"(?<![\w.+#-])(?P<off>[\w.+#-]+) (?:is|are|was|gets?) (?:now )?(?:out|banned|gone|dead|deprecated"
    r"|forbidden|off the table|shut down|retired|history)\b"
    r"|\b(?:forget|drop|ditch|no more|done with|stop using|moved? (?:away |off )?from|got rid of"
    r"|dropped|ditched|scrap) (?P<also>[\w.+#-]+)",
    re.IGNORECASE,
)
"""Says of something that it is not wanted any more."""
_ALLOWS = expression(
    r"\b(?:(?:is|are|it['’]s) (?:now )?(?:fine|ok(?:ay)?|allowed|enough|good|acceptable|welcome"
    r"|permitted|optional)|may (?:now )?|can (?:now )?(?:be|stay|go|have)"
    r"|you can|feel free|no problem|darf\w*|dürfen|ist (?:ok|erlaubt)|pode\w*|puede\w*|peut|peux"
    r"|autorisé|mag|można|можно)\b|可以|してよい|してもいい",
    re.IGNORECASE,
)
"""Permits what was forbidden."""
_MANY_HOLD = expression(
    r"\b(?:add|import|includ\w*|mention|run|check|list|decorat\w*|annotat\w*|apply)\b", re.IGNORECASE
)
"""Several of these can hold at once: another value adds to the former."""
_CHANGES = expression(
    r"\b(?:from (?:now on|today|here on)|going forward|as of|starting (?:now|today)|in future|now"
    r"|today|no more|instead|updat\w*|chang\w*|switch\w*|mov(?:e|ed|ing) (?:to|from)|no longer"
    r"|actually|rather than|replac\w*|new (?:rule|convention)"
    r"|correction|revis\w*|any ?more|ab (?:jetzt|sofort|heute)|künftig|doch|stattdessen|désormais|dorénavant"
    r"|finalement|en cambio|mejor|ahora|agora|ora in poi|mais)\b|今後|これから|现在|以后|이제|앞으로",
    re.IGNORECASE,
)
"""Says that something is different from before."""


_SETTING_OUT = expression(
    r"\b(?:start|begin|continue|keep|get used to|get into the habit of)\s+(?=\w+ing\b)", re.IGNORECASE
)
"""Says nothing of what a rule is about: "start ending your names with"."""
_CONCEDES = expression(r"\b(?:even (?:if|though|when)|regardless|whether)\b[^.;]*", re.IGNORECASE)
"""Says under what else a rule holds, and forbids or lifts nothing: "even if you don't need it"."""
_INSTEAD = expression(
    r"\b(?:instead|chang\w+ my mind|switch\w*|no longer|any ?more|nicht mehr|stattdessen|en cambio"
    r"|finalement|plutôt|doch lieber)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a rule is about, and what it chooses."""

    topic: frozenset[str]  # stems
    targets: frozenset[str]  # those of ``topic`` that name a thing
    values: frozenset[str]  # literals and numbers
    options: frozenset[tuple[int, int]]  # of ``words.CHOICES``
    rejected: frozenset[str]  # words it says no to
    is_off: bool  # forbids
    ends: bool  # only lifts an earlier rule
    changes: bool  # says that something is different from before
    many: bool  # others of its kind can hold beside it
    allows: bool  # permits what an earlier rule may have forbidden
    kinds: frozenset[tuple[str, str]]  # a word with the one before it: ("test", "integrat")


def stem(word: str) -> str:
    """A lower-case word without its ending; synonyms are one."""
    found = word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            found = word[: -len(ending)]
            break
    return words.SYNONYMS.get(word, words.SYNONYMS.get(found, found))


_THINGS = frozenset(map(stem, words.THINGS.split()))
_ENDS_OF_NAMES = frozenset({"start", "end"})


@lru_cache(maxsize=8_192)
def stems(text: str) -> frozenset[str]:
    """The stems of the words that say what a text is about."""
    found = (word for word in _WORD.findall(text.casefold()) if word not in words.SMALL and len(word) > 1)
    return frozenset(map(stem, found))


@lru_cache(maxsize=8_192)
def subject_of(text: str) -> Subject:
    """What a rule is about and what it chooses."""
    text = _CONCEDES.sub("", _SETTING_OUT.sub("", text)) or text
    plain = text.casefold()
    # More words than a few say something else: "not only the implementation but also …".
    off = [match["off"] for match in _CONTRAST.finditer(plain) if len(match["off"].split()) <= _FEW_REJECTED]
    off += [match["off"] or match["also"] for match in _OUT.finditer(plain)]
    rejected = frozenset(each for part in off for each in (*_CHOICE_WORD.findall(part), *stems(part)))
    literals = {
        next(filter(None, match.groups())).casefold().strip("`'\" ") for match in _LITERAL.finditer(text)
    }
    without = _LITERAL.sub(" ", text)
    numbers = {match[0].strip(" .,").casefold() for match in _NUMBER.finditer(without)}
    mine = {word.strip("-./") for word in _CHOICE_WORD.findall(plain)} - rejected
    found = {
        number: [place for place, option in enumerate(choice) if option & mine]
        for number, choice in enumerate(words.CHOICES)
    }
    options = frozenset((number, places[0]) for number, places in found.items() if len(places) == 1)
    chosen = {stem(word) for number, place in options for word in words.CHOICES[number][place]}
    topic = stems(without) - {
        each for each in rejected if not off or each not in stems(without.split(off[0])[0])
    }
    topic -= chosen - _THINGS
    topic |= {"end" if literal[0] == "_" else "start" for literal in literals if _is_affix(literal)}
    is_off = _OFF.search(_OUT.sub(" ", _CONTRAST.sub(" ", without)) if off else without) is not None
    targets = topic & _THINGS
    if stem("argument") in targets:
        targets -= {stem("function")}
    if targets - {stem("name"), "start", "end"}:
        targets -= {stem("name")}
    return Subject(
        topic,
        targets,
        frozenset((literals | numbers) - rejected),
        options,
        rejected,
        is_off,
        _ENDS.search(text) is not None,
        _CHANGES.search(text) is not None,
        _MANY_HOLD.search(plain) is not None,
        _ALLOWS.search(text) is not None,
        frozenset(_kinds(without.casefold())),
    )


def _is_affix(literal: str) -> bool:
    """Whether it is only the beginning of names, such as ``fn_``, or only their end, such as ``_fn``."""
    return len(literal) > 1 and (literal[0] == "_") != (literal[-1] == "_")


def _kinds(text: str) -> Iterator[tuple[str, str]]:
    """Each stem with the one before it, if both say what a text is about."""
    found = [
        "" if word in words.SMALL or len(word) < 2 or stem(word) in words.WEAK else stem(word)
        for word in _WORD.findall(text)
    ]
    yield from ((word, before) for before, word in pairwise(found) if word and before)


def _option_stems(subject: Subject) -> frozenset[str]:
    return frozenset(stem(word) for number, place in subject.options for word in words.CHOICES[number][place])


def _weight(found: frozenset[str]) -> float:
    return sum(2.0 if each in _THINGS else _WEAK if each in words.WEAK else 1.0 for each in found)


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    either = _weight(one | other)
    return _weight(one & other) / either if either else 1.0


def _contained(one: frozenset[str], other: frozenset[str]) -> float:
    """Share of the smaller topic that the other one repeats."""
    smaller = min(_weight(one), _weight(other))
    return _weight(one & other) / smaller if smaller else 0.0


_CLAUSE = expression(r"[,;.!?:()—–、。，]+\s*|\b(?:because|since|so|weil|porque|parce que)\b")
_ORDER: tuple[Relation, ...] = ("replaces", "ends", "same", "different")


@lru_cache(maxsize=8_192)
def relation(new: str, old: str, common: frozenset[str] = frozenset()) -> Relation:
    """How a rule relates to an older one; ``common`` are stems that many of the person's rules share, which
    say little about what one of them is about.

    ``same``: told again. ``replaces``: the new one holds in its place. ``ends``: the old one holds no longer,
    and the new one sets none. ``different``: both hold.
    """
    parts = _CLAUSE.split(new)
    clauses = [part for part in parts if len(stems(part)) > 1] if len(parts) > 1 else []
    found = {_relation(part, new, old, common) for part in (new, *clauses)}
    if found == {"different"} and words.SPEAK.match(new) and words.SPEAK.match(old):
        return "same" if stems(new) & stems(old) else "replaces"
    return next(each for each in _ORDER if each in found)


def _relation(part: str, new: str, old: str, common: frozenset[str]) -> Relation:
    """As ``relation``, for a part of the new rule."""
    one, other = subject_of(part), subject_of(old)
    changes = subject_of(new).changes
    left, right = one.topic | _option_stems(one), other.topic | _option_stems(other)
    shared = (left & right) - words.WEAK
    is_about_other = bool(one.targets - other.targets and other.targets - one.targets)
    contained = _contained(left, right)
    names = {word for number, place in other.options for word in words.CHOICES[number][place]} | other.values
    rejects = one.rejected | subject_of(new).rejected
    is_rejected = bool(rejects & (names | other.topic - _THINGS))
    if is_rejected and not other.is_off:
        return "replaces"
    mine, theirs = dict(one.options), dict(other.options)
    apart = {number for number in mine.keys() & theirs.keys() if mine[number] != theirs[number]}
    if is_about_other:
        return "different"
    if apart:
        small = max(len(one.topic - words.WEAK), len(other.topic - words.WEAK)) <= _FEW
        meets = small or _overlap(one.topic, other.topic) >= _OTHER / 2 or (changes and shared)
        return "replaces" if one.is_off == other.is_off and meets else "different"
    meet = not (one.values and other.values) or bool(one.values & other.values)
    # "Don't amend commits" is neither turned round by "commit first" nor ended by "no need to commit".
    is_same_act = bool(shared - _THINGS) or not (right - _THINGS - words.WEAK)
    if one.ends or (one.allows and other.is_off):
        is_lifted = meet and shared and contained >= _LIFTED and is_same_act
        return ("ends" if one.ends else "replaces") if is_lifted else "different"
    if one.is_off != other.is_off:
        # "Never test prototypes" does not turn "always test fixes" round.
        is_apart = left - right - words.WEAK and right - left - words.WEAK and not changes
        is_turned = contained >= _TURNED and meet and shared and is_same_act and not is_apart
        return "replaces" if is_turned else "different"
    overlap = _overlap(one.topic, other.topic)
    if one.values != other.values and one.values and other.values:
        if one.values & other.values:
            is_part = one.values <= other.values or other.values <= one.values
            return "same" if is_part and overlap >= _SAME else "different"
        is_slot = (
            not (one.many or other.many) and one.targets & _ENDS_OF_NAMES == other.targets & _ENDS_OF_NAMES
        )
        return "replaces" if is_slot and (overlap >= _OTHER or (changes and shared)) else "different"
    moved = _MOVED_CLEARLY if _INSTEAD.search(new) else _MOVED
    is_moved = shared - common and left - right and right - left and _plain_share(left, right) >= moved
    is_alike = (
        one.many == other.many and bool(mine) == bool(theirs) and bool(one.values) == bool(other.values)
    )
    if changes and is_moved and is_alike and not (one.is_off or one.many):
        return "replaces"
    whole = subject_of(new)  # a clause may only say when: "when naming arguments, …"
    mine_all, theirs_all = {*whole.values, *whole.options}, {*other.values, *other.options}
    if mine_all and theirs_all and mine_all.isdisjoint(theirs_all):
        return "different"
    if _differ_in_kind(whole, other):
        return "different"
    if bool(mine) != bool(theirs) and overlap < 1:
        return "different"
    if one.values != other.values and overlap < _SAME + 0.2:
        return "different"
    return "same" if overlap >= _SAME else "different"


def _differ_in_kind(one: Subject, other: Subject) -> bool:
    """Whether each names another kind of one thing: "unit tests" and "integration tests"."""
    first, second = dict(one.kinds), dict(other.kinds)
    return any(
        first[thing] != second[thing] and first[thing] not in other.topic and second[thing] not in one.topic
        for thing in first.keys() & second.keys()
    )


def _plain_share(one: frozenset[str], other: frozenset[str]) -> float:
    """Share of the smaller topic in words, without verbs that belong to any work."""
    one, other = one - words.WEAK, other - words.WEAK
    return len(one & other) / max(1, min(len(one), len(other)))
