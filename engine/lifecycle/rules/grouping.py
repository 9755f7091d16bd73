"""Which sayings are one rule, which of them words it best, and which later one takes an older one back."""

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
"""What a rule gains in weight each time the number of its sessions doubles."""
_OFTEN = 3
"""Sessions from which a rule shows a second wording."""
_SHORT = 40
"""Characters of that at most."""
_COMPARED = 8
"""Sayings of a group that others are compared with: the first ones."""


@dataclass(frozen=True, slots=True)
class Told:
    """One time that a rule was said."""

    session: SessionRead
    said: Said


@dataclass(slots=True)
class Group:
    """The sayings that are one rule."""

    id: str
    first: str  # as it was said first
    told: list[Told] = field(default_factory=list)
    replaced: str = ""  # id of the group that takes it back; empty for none

    @property
    def texts(self) -> set[str]:
        """How the wordings begin that it may have had."""
        return {text[: LONGEST - 1] for text in (self.first, *(each.said.text for each in self.told))}

    @property
    def sessions(self) -> int:
        """In how many sessions it was said."""
        return len({each.session.path for each in self.told})

    @property
    def weight(self) -> float:
        """How plainly it is a rule: the plainest saying, and more for every time it was said again."""
        plainest = max((each.said.weight for each in self.told), default=0.0)
        return plainest + _AGAIN * math.log2(max(1, self.sessions))

    @property
    def last(self) -> str:
        """The day on which it was said last."""
        return max((each.said.day for each in self.told), default="")

    @property
    def standing(self) -> bool:
        """Whether it was said as a rule, and not only time and again."""
        return any(each.said.standing for each in self.told)

    @property
    def wording(self) -> str:
        """The plainest saying; of equals the shortest."""
        fitting = [each.said for each in self.told if len(each.said.text) <= LONGEST]
        best = min(fitting, key=lambda said: (-said.weight, len(said.text)), default=None)
        if best is None:
            return self.first[: LONGEST - 1] + "…" if len(self.first) > LONGEST else self.first
        text = f"{best.text} ({best.fails} must pass)" if best.fails else best.text
        return f"{text}{self._other(best)}".replace("{#", "{ #")

    def _other(self, best: Said) -> str:
        """The way in which it was said most often otherwise, where that is short: two say more than one."""
        others = [each.said for each in self.told if stems(each.said.text) != stems(best.text)]
        texts = Counter(said.text for said in others if len(said.text) <= _SHORT)
        if self.sessions < _OFTEN or not texts:
            return ""
        weights = {said.text: said.weight for said in others}
        return f" / {max(texts, key=lambda text: (texts[text], weights[text], -len(text)))}"


def told_of(rule: Rule, groups: Iterable[Group]) -> tuple[Told, ...]:
    """Every time that a rule was said, oldest first."""
    names = {rule.id, *rule.also}
    found = [each for group in groups if group.id in names for each in group.told]
    return tuple(sorted(found, key=lambda each: each.said.day))


def grouped(sessions: Iterable[SessionRead], known: Mapping[str, str]) -> list[Group]:
    """The rules that sayings make, in the order in which they were first said.

    Args:
        sessions: With their sayings, oldest first.
        known: The first words of each rule there is, by its id: these stay rules of their own, so that an id
            means the same for good.
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
        likeness = max(rarity.likeness(said.text, text) for text in dict.fromkeys(texts))
        if likeness > most and not contradicts(said.text, texts[-1]):
            best, most = group, likeness
    return best


def _takes_back(new: Group, text: str, groups: Iterable[Group]) -> None:
    """Notes of the older rules that a new one contradicts that it replaces them."""
    for group in groups:
        if (
            group is not new
            and not group.replaced
            and contradicts(text, group.told[-1].said.text if group.told else group.first)
        ):
            group.replaced = new.id
