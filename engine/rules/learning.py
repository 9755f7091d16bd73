"""Groups what the person said into rules, the later word holding, and updates the rules file with them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from engine.rules.reading import SessionRead, Statement
from engine.rules.rulebook import LONGEST, Rule, Rulebook, State, rule_id
from engine.rules.subject import Relation, relation, stems, subject_of
from engine.startup.lazy import expression

Effect = Literal["said", "replaced", "ended"]

MAX_WAITING = 40
"""Most rules that wait for the person; beyond it the least repeated ones are not written."""
_TOLD = 2
"""Sessions in which something must have been said that does not say that it holds on."""
_MAYBE = 2.0
"""Score from which it waits after the first time."""
_COMMON = 4
"""Rules from which a word that they share says little about what one of them is about."""
_COMPARED = 60
"""Rules that a statement is compared with, the latest first."""
_EVERYWHERE = expression(
    r"\b(?:everywhere|anywhere|(?:in |for |across )(?:all|any|every|each) (?:of )?(?:my |our |the"
    r" )?(?:projects?|repos?|repositor\w+))\b"
    r"|\büberall\b|\bpartout\b|\ben todas partes\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One statement of a rule, with its session."""

    session: SessionRead
    said: Statement

    def effect_on(self, rule: Rule) -> Effect:
        """What it did to a rule."""
        if {rule.id, *rule.also}.isdisjoint(self.said.over):
            return "said"
        return "ended" if self.said.ends else "replaced"


@dataclass(slots=True)
class Group:
    """The statements of one rule, oldest first."""

    id: str
    first: str  # its first wording
    occurrences: list[Occurrence] = field(default_factory=list)
    replaced: str = ""  # id of the rule that holds in its place; empty for none
    ended: str = ""  # day on which the person ended it; empty if not
    overruled: list[Occurrence] = field(default_factory=list)  # the statements that replaced or ended it

    @property
    def standing(self) -> bool:
        """Whether it was ever said to hold on.

        A long message that is sent again word for word on another day is a template, which may be another's.
        """
        days: dict[str, set[str]] = defaultdict(set)
        for each in self.occurrences:
            days[each.said.message].add(each.said.day)
        return any(each.said.standing and len(days[each.said.message]) == 1 for each in self.occurrences)

    @property
    def wording(self) -> str:
        """The latest statement that says that it holds on, and names what it chooses if any does; else the
        clearest."""
        said = [each.said for each in self.occurrences]
        clear = [each.text for each in said if each.standing]
        clear = [text for text in clear if subject_of(text).values] or clear
        text = clear[-1] if clear else max(said, key=lambda each: each.score).text if said else self.first
        line = f"{text[: LONGEST - 1]}…" if len(text) > LONGEST else text
        return line.replace("{#", "{ #")

    @property
    def overruled_on(self) -> str:
        """The last day on which it was replaced or ended; empty for none."""
        return max((each.said.day for each in self.overruled), default="")

    @property
    def sessions(self) -> int:
        """The number of times it was said: sessions, copies of one message counted once."""
        return len({each.said.message or each.session.path for each in self.occurrences})

    @property
    def last(self) -> str:
        """The day it was last said."""
        return max((each.said.day for each in self.occurrences), default="")

    @property
    def score(self) -> float:
        """How clearly it states a way of working."""
        return max((each.said.score for each in self.occurrences), default=0.0)


class Groups:
    """Assigns statements to rules in the order in which they were said.

    Args:
        seeds: The first wording of each existing rule by id; ids stay the same.
    """

    def __init__(self, seeds: Mapping[str, str]) -> None:
        self._groups: dict[str, Group] = {}
        self._by_word: dict[str, dict[str, None]] = defaultdict(dict)
        for name, text in seeds.items():
            self._add(name, text)

    def __iter__(self) -> Iterator[Group]:
        return (group for group in self._groups.values() if group.occurrences)

    def add(self, session: SessionRead) -> SessionRead:
        """Adds a session's statements and returns it with their rules."""
        placed: list[Statement] = []
        for (
            each
        ) in session.said:  # one after the other: a later one may replace an earlier one of the same session
            placed.append(self._place(each, session))
            self._record(placed[-1], session)
        return replace(session, said=tuple(placed))

    def _place(self, said: Statement, session: SessionRead) -> Statement:
        """A statement with the rule that it states, if it has none yet."""
        if said.group or said.ends:
            return said
        found: dict[Relation, list[Group]] = defaultdict(list)
        common = frozenset(word for word in stems(said.text) if len(self._by_word[word]) > _COMMON)
        for group in self._near(said.text):
            found_as = relation(said.text, group.wording, common)
            if found_as in ("replaces", "ends") and _is_of_another_project(group, said, session):
                found_as = "different"
            found[found_as].append(group)
        over = tuple(group.id for group in found["replaces"] if not group.replaced and not group.ended)
        ended = tuple(group.id for group in found["ends"] if not group.replaced and not group.ended)
        is_meant = said.standing or (subject_of(said.text).changes and not said.doubt)
        if ended and is_meant and not found["same"]:
            return replace(said, over=ended, ends=True)
        if not said.standing:
            over = ()
        same = next(iter(found["same"]), None)
        if same is None:
            same = self._add(rule_id(said.text), said.text)
        elif said.standing and same.replaced:
            over = tuple(dict.fromkeys((*over, same.replaced)))
        return replace(said, group=same.id, over=tuple(name for name in over if name != same.id))

    def _record(self, said: Statement, session: SessionRead) -> None:
        occurrence = Occurrence(session, said)
        for name in said.over:
            if (group := self._groups.get(name)) is not None:
                group.overruled.append(occurrence)
                if said.ends:
                    group.ended = said.day or "?"
                else:
                    group.replaced = said.group
        if not said.group:
            return
        group = self._groups.get(said.group) or self._add(said.group, said.text)
        group.occurrences.append(occurrence)
        self._index(group.id, said.text)
        if said.standing:
            group.replaced = group.ended = ""

    def _near(self, text: str) -> list[Group]:
        names: dict[str, int] = {}
        for word in _words(text):
            for name in list(self._by_word[word])[-_COMPARED:]:
                names[name] = names.get(name, 0) + 1
        best = sorted(names, key=names.__getitem__, reverse=True)[:_COMPARED]
        return [self._groups[name] for name in best]

    def _add(self, name: str, text: str) -> Group:
        group = self._groups.setdefault(name, Group(name, text))
        self._index(name, text)
        return group

    def _index(self, name: str, text: str) -> None:
        for word in _words(text):
            self._by_word[word][name] = None


def _is_of_another_project(group: Group, said: Statement, session: SessionRead) -> bool:
    """Whether a rule holds in one other project only, where what is said here changes nothing."""
    projects = {each.session.project for each in group.occurrences}
    return (
        len(projects) == 1
        and bool(session.project)
        and projects.isdisjoint({"", session.project})
        and _EVERYWHERE.search(said.text) is None
    )


def _words(text: str) -> set[str]:
    """What two rules must share to have to do with each other."""
    about = subject_of(text)
    chosen = {f"choice:{number}" for number, _ in about.options}
    return {*stems(text), *about.topic, *about.values, *about.rejected, *chosen}


def grouped(sessions: Iterable[SessionRead], seeds: Mapping[str, str]) -> tuple[Groups, list[SessionRead]]:
    """Groups the statements of sessions into rules; returns also the sessions with the rules of each
    statement.

    Args:
        sessions: Oldest first. Those read before keep their rules.
        seeds: As for ``Groups``.
    """
    groups = Groups(seeds)
    return groups, [groups.add(session) for session in sessions]


def occurrences_of(rule: Rule, groups: Iterable[Group]) -> tuple[Occurrence, ...]:
    """Every statement of a rule, and of what replaced or ended it, oldest first."""
    names = {rule.id, *rule.also}
    mine = [group for group in groups if group.id in names]
    found = [each for group in mine for each in (*group.occurrences, *group.overruled)]
    return tuple(sorted(found, key=lambda each: (each.said.day, each.session.path, each.said.line)))


@dataclass(frozen=True, slots=True)
class Learned:
    """The rules after learning, and what changed."""

    book: Rulebook
    new: tuple[Rule, ...] = ()
    first: Mapping[str, str] = field(default_factory=dict)  # first wording of those not in ``written``, by id
    again: tuple[Rule, ...] = ()  # accepted ones that were stated again
    gone: tuple[Rule, ...] = ()  # no longer stated in any session, and not decided by the person
    replaced: tuple[Rule, ...] = ()  # those whose place a later one took, or that the person ended


def learned(book: Rulebook, groups: Iterable[Group], written: Mapping[str, str]) -> Learned:
    """Updates the rules. The person's decisions are kept, but a later word of theirs replaces or ends a rule.

    Args:
        written: Every rule that was ever in the file, by id: one that is missing now was deleted and does not
            return.
    """
    alias = {name: rule.id for rule in book.rules for name in rule.also}
    mine: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        mine[alias.get(group.id, group.id)].append(group)
    before = {rule.id: rule for rule in book.rules}
    found: dict[str, Rule] = {}
    for name, parts in mine.items():
        rule = before.get(name) or (None if name in written else _new(parts[0]))
        if rule is not None:
            found[name] = _updated(rule, parts)
    for name, rule in found.items():
        later = [group for group in mine[name] if group.overruled_on >= rule.accepted]
        by = next((alias.get(group.replaced, group.replaced) for group in later if group.replaced), "")
        ended = next((group.ended for group in later if group.ended), "")
        if (by in found or ended) and rule.state in ("in force", "waiting") and not rule.by:
            found[name] = replace(rule, state="replaced", by=by if by in found else "", ended=ended)
        elif rule.state == "replaced" and not by and not ended and _is_overruled_by_words(rule, before):
            found[name] = replace(rule, state=_state(mine[name][0]), by="", ended="")
    rules = {rule.id: found.get(rule.id, rule) for rule in book.rules} | found
    gone = [rule for name, rule in before.items() if name not in found and rule.told and not rule.is_decided]
    for rule in gone:
        del rules[rule.id]
    kept = _limited(rules.values(), {name: max(part.score for part in parts) for name, parts in mine.items()})
    names = {rule.id for rule in kept}
    # Not written for lack of room, which is no decision: they may come back.
    gone += [rule for rule in book.rules if rule.id in rules and rule.id not in names]
    return Learned(
        replace(book, rules=tuple(kept)),
        new=tuple(rule for rule in kept if rule.id not in before),
        first={
            group.id: group.first
            for parts in mine.values()
            for group in parts
            if group.id not in written and group.id in names
        },
        again=tuple(
            rule for rule in kept if rule.accepted and rule.id in before and rule.told > before[rule.id].told
        ),
        gone=tuple(gone),
        replaced=tuple(
            rule
            for rule in kept
            if rule.state == "replaced" and (rule.id not in before or before[rule.id].state != "replaced")
        ),
    )


def _is_overruled_by_words(rule: Rule, before: Mapping[str, Rule]) -> bool:
    """Whether a rule was replaced or ended by something the person said, not by a merge."""
    other = before.get(rule.by)
    return bool(rule.ended) or (other is not None and rule.id not in other.also)


def _state(group: Group) -> State:
    return "in force" if group.standing else "waiting"


def _new(group: Group) -> Rule | None:
    if group.standing or group.sessions >= _TOLD or group.score >= _MAYBE:
        return Rule(group.id, group.wording, _state(group))
    return None


def _updated(rule: Rule, groups: Sequence[Group]) -> Rule:
    occurrences = [each for group in groups for each in group.occurrences]
    told = len({each.said.message or each.session.path for each in occurrences})
    last = max((group.last for group in groups), default=rule.last)
    text, state, project = rule.text, rule.state, rule.project
    wordings = {each.said.text[: LONGEST - 1] for each in occurrences} | {
        group.first[: LONGEST - 1] for group in groups
    }
    own = rule.own or not any(map(text.replace("{ #", "{#").startswith, wordings))
    if state == "resting" and last > rule.last:
        state = "in force" if rule.accepted or own else _state(groups[-1])
    if not own:
        latest = max(groups, key=lambda group: group.last)
        text = latest.wording if latest.standing or not rule.accepted else text
        is_plain = any(group.standing for group in groups)
        if state == "waiting" and is_plain:
            state = "in force"
        elif state == "in force" and not (is_plain or rule.accepted):
            state = "waiting"  # put in force by an earlier build
        projects = {each.session.project for each in occurrences if each.said.standing} or {
            each.session.project for each in occurrences
        }
        is_wide = len(projects) > 1 or _EVERYWHERE.search(text) is not None
        if not rule.accepted or (is_wide and project):
            project = "" if is_wide else next(iter(projects), "")
    return replace(rule, own=own, text=text, state=state, project=project, told=told, last=last)


def _limited(rules: Iterable[Rule], scores: Mapping[str, float]) -> list[Rule]:
    """Sorted by number of times said; of those that wait only the most repeated and clearest."""
    ordered = sorted(rules, key=lambda rule: -rule.told)
    waiting = [rule for rule in ordered if rule.state == "waiting"]
    best = sorted(waiting, key=lambda rule: (-rule.told, -scores.get(rule.id, 0.0)))
    kept = {rule.id for rule in best[:MAX_WAITING]}
    return [rule for rule in ordered if rule.state != "waiting" or rule.id in kept or rule.is_decided]
