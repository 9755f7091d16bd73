"""Groups sayings into rules, picks the best wording, and finds later ones that reverse earlier ones."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.rules.alike import SAME, Rarity, contradicts, stems
from engine.rules.rulebook import LONGEST, rule_id

if TYPE_CHECKING:
    from engine.lifecycle.rules.sessions import Said, SessionRead
    from engine.rules.rulebook import Rule

_AGAIN = 0.8
"""Added to a rule's weight each time the number of its sessions doubles."""
_OFTEN = 3
"""Sessions from which a second wording is shown."""
_SHORT = 40
"""Maximum characters of the second wording."""
_COMPARED = 8
"""First sayings of a group that others are compared with."""


@dataclass(frozen=True, slots=True)
class Told:
    """One occasion on which a rule was said."""

    session: SessionRead
    said: Said


@dataclass(slots=True)
class Group:
    """The sayings of one rule."""

    id: str
    first: str  # its first wording
    told: list[Told] = field(default_factory=list)
    replaced: str = ""  # id of the group that reverses it; empty for none

    @property
    def texts(self) -> set[str]:
        """The starts of all its wordings."""
        return {text[: LONGEST - 1] for text in (self.first, *(each.said.text for each in self.told))}

    @property
    def sessions(self) -> int:
        """The number of sessions in which it was said."""
        return len({each.session.path for each in self.told})

    @property
    def weight(self) -> float:
        """How clearly it is a rule: its clearest saying, plus a bonus for repetition."""
        plainest = max((each.said.weight for each in self.told), default=0.0)
        return plainest + _AGAIN * math.log2(max(1, self.sessions))

    @property
    def last(self) -> str:
        """The day it was last said."""
        return max((each.said.day for each in self.told), default="")

    @property
    def standing(self) -> bool:
        """Whether it was ever stated as a rule, rather than only repeated."""
        return any(each.said.standing for each in self.told)

    @property
    def wording(self) -> str:
        """The clearest saying; the shortest of equals."""
        fitting = [each.said for each in self.told if len(each.said.text) <= LONGEST]
        best = min(fitting, key=lambda said: (-said.weight, len(said.text)), default=None)
        if best is None:
            return self.first[: LONGEST - 1] + "…" if len(self.first) > LONGEST else self.first
        text = f"{best.text} ({best.fails} must pass)" if best.fails else best.text
        return f"{text}{self._other(best)}".replace("{#", "{ #")

    def _other(self, best: Said) -> str:
        """The most frequent other wording, if short: two say more than one."""
        others = [each.said for each in self.told if stems(each.said.text) != stems(best.text)]
        texts = Counter(said.text for said in others if len(said.text) <= _SHORT)
        if self.sessions < _OFTEN or not texts:
            return ""
        weights = {said.text: said.weight for said in others}
        return f" / {max(texts, key=lambda text: (texts[text], weights[text], -len(text)))}"


def told_of(rule: Rule, groups: Iterable[Group]) -> tuple[Told, ...]:
    """Every occasion on which a rule was said, oldest first."""
    names = {rule.id, *rule.also}
    found = [each for group in groups if group.id in names for each in group.told]
    return tuple(sorted(found, key=lambda each: each.said.day))


def grouped(sessions: Iterable[SessionRead], known: Mapping[str, str]) -> list[Group]:
    """Groups the sayings of sessions into rules, in the order in which they were first said.

    Args:
        sessions: Oldest first.
        known: The first wording of each existing rule by id. These stay separate, so that ids are stable.
    """
    told = [Told(session, said) for session in sessions for said in session.said]
    told.sort(key=lambda each: each.said.day)
    rarity = Rarity([each.said.text for each in told] + list(known.values()))
    groups: list[Group] = []
    by_stem: dict[str, set[int]] = defaultdict(set)

    def found(name: str, text: str) -> Group:
        group = Group(name, text)
        groups.append(group)
        for each in stems(text):
            by_stem[each].add(len(groups) - 1)
        return group

    for name, text in known.items():
        found(name, text)
    for each in told:
        text = each.said.text
        near = sorted({number for stem in stems(text) for number in by_stem[stem]})
        group = _most_like(each.said, [groups[number] for number in near], rarity)
        if group is None:
            group = found(rule_id(text), text)
            _takes_back(group, text, groups)
        else:
            for stem in stems(text):
                by_stem[stem].add(groups.index(group))
        group.told.append(each)
    return [group for group in groups if group.told]


def _most_like(said: Said, near: Sequence[Group], rarity: Rarity) -> Group | None:
    best, most = None, SAME
    for group in near:
        if group.told and group.told[0].said.key != said.key:
            continue
        if said.key and group.told:
            return group
        texts = [group.first, *(each.said.text for each in group.told[:_COMPARED])]
        similarity = max(rarity.similarity(said.text, text) for text in dict.fromkeys(texts))
        if similarity > most and not contradicts(said.text, texts[-1]):
            best, most = group, similarity
    return best


def _takes_back(new: Group, text: str, groups: Iterable[Group]) -> None:
    """Marks the older rules that a new one contradicts as replaced by it."""
    for group in groups:
        if (
            group is not new
            and not group.replaced
            and contradicts(text, group.told[-1].said.text if group.told else group.first)
        ):
            group.replaced = new.id
