"""Groups the user's statements into rules, picks the best wording, and finds rules reversed by later ones."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.rules.alike import SAME, Rarity, contradicts, stems
from engine.rules.rulebook import LONGEST, rule_id

if TYPE_CHECKING:
    from engine.lifecycle.rules.sessions import SessionRead, Statement
    from engine.rules.rulebook import Rule

_AGAIN = 0.8
"""Added to a rule's weight each time the number of its sessions doubles."""
_OFTEN = 3
"""Sessions from which a second wording is shown."""
_SHORT = 40
"""Maximum characters of the second wording."""
_COMPARED = 8
"""Number of a group's first statements that others are compared with."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One statement of a rule, with its session."""

    session: SessionRead
    said: Statement


@dataclass(slots=True)
class Group:
    """The statements of one rule."""

    id: str
    first: str  # its first wording
    occurrences: list[Occurrence] = field(default_factory=list)
    replaced: str = ""  # id of the group that reverses it; empty for none

    @property
    def texts(self) -> set[str]:
        """The starts of all its wordings."""
        return {text[: LONGEST - 1] for text in (self.first, *(each.said.text for each in self.occurrences))}

    @property
    def sessions(self) -> int:
        """The number of sessions in which it was stated."""
        return len({each.session.path for each in self.occurrences})

    @property
    def weight(self) -> float:
        """How clearly it is a rule: its clearest statement, plus a bonus for repetition."""
        plainest = max((each.said.weight for each in self.occurrences), default=0.0)
        return plainest + _AGAIN * math.log2(max(1, self.sessions))

    @property
    def last(self) -> str:
        """The day it was last stated."""
        return max((each.said.day for each in self.occurrences), default="")

    @property
    def standing(self) -> bool:
        """Whether it was ever stated as a general rule, rather than only repeated."""
        return any(each.said.standing for each in self.occurrences)

    @property
    def wording(self) -> str:
        """The clearest statement; the shortest of equally clear ones."""
        fitting = [each.said for each in self.occurrences if len(each.said.text) <= LONGEST]
        best = min(fitting, key=lambda said: (-said.weight, len(said.text)), default=None)
        if best is None:
            return self.first[: LONGEST - 1] + "…" if len(self.first) > LONGEST else self.first
        text = f"{best.text} ({best.fails} must pass)" if best.fails else best.text
        return f"{text}{self._other(best)}".replace("{#", "{ #")

    def _other(self, best: Statement) -> str:
        """The most frequent other wording, if short: two wordings are clearer than one."""
        others = [each.said for each in self.occurrences if stems(each.said.text) != stems(best.text)]
        texts = Counter(said.text for said in others if len(said.text) <= _SHORT)
        if self.sessions < _OFTEN or not texts:
            return ""
        weights = {said.text: said.weight for said in others}
        return f" / {max(texts, key=lambda text: (texts[text], weights[text], -len(text)))}"


def occurrences_of(rule: Rule, groups: Iterable[Group]) -> tuple[Occurrence, ...]:
    """Every occurrence of a rule, oldest first."""
    names = {rule.id, *rule.also}
    found = [each for group in groups if group.id in names for each in group.occurrences]
    return tuple(sorted(found, key=lambda each: each.said.day))


def grouped(sessions: Iterable[SessionRead], known: Mapping[str, str]) -> list[Group]:
    """Groups the statements of sessions into rules, in the order in which they were first stated.

    Args:
        sessions: Oldest first.
        known: The first wording of each existing rule by id. These stay separate, so that ids are stable.
    """
    occurrences = [Occurrence(session, said) for session in sessions for said in session.said]
    occurrences.sort(key=lambda each: each.said.day)
    rarity = Rarity([each.said.text for each in occurrences] + list(known.values()))
    groups: list[Group] = []
    by_stem: dict[str, set[int]] = defaultdict(set)

    def add_group(name: str, text: str) -> Group:
        group = Group(name, text)
        groups.append(group)
        for each in stems(text):
            by_stem[each].add(len(groups) - 1)
        return group

    for name, text in known.items():
        add_group(name, text)
    for each in occurrences:
        text = each.said.text
        near = sorted({number for stem in stems(text) for number in by_stem[stem]})
        group = _most_similar(each.said, [groups[number] for number in near], rarity)
        if group is None:
            group = add_group(rule_id(text), text)
            _mark_reversed(group, text, groups)
        else:
            for stem in stems(text):
                by_stem[stem].add(groups.index(group))
        group.occurrences.append(each)
    return [group for group in groups if group.occurrences]


def _most_similar(said: Statement, near: Sequence[Group], rarity: Rarity) -> Group | None:
    best, most = None, SAME
    for group in near:
        if group.occurrences and group.occurrences[0].said.key != said.key:
            continue
        if said.key and group.occurrences:
            return group
        texts = [group.first, *(each.said.text for each in group.occurrences[:_COMPARED])]
        similarity = max(rarity.similarity(said.text, text) for text in dict.fromkeys(texts))
        if similarity > most and not contradicts(said.text, texts[-1]):
            best, most = group, similarity
    return best


def _mark_reversed(new: Group, text: str, groups: Iterable[Group]) -> None:
    """Marks the older rules that a new one contradicts as replaced by it."""
    for group in groups:
        if (
            group is not new
            and not group.replaced
            and contradicts(text, group.occurrences[-1].said.text if group.occurrences else group.first)
        ):
            group.replaced = new.id
