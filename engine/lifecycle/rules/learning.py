"""Updates the rules after reading sessions: new ones, repeated ones, reversed ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from engine.rules.instructions import PLAIN
from engine.rules.rulebook import Rule, Rulebook, State

if TYPE_CHECKING:
    from engine.lifecycle.rules.grouping import Group
    from engine.lifecycle.rules.sessions import SessionRead

MAX_RULES = 150
"""Maximum number of rules in prompts; beyond it the least clear ones rest."""

MIN_WEIGHT = 1.8
"""Weight from which a group of statements becomes a rule."""

AGENTS = frozenset({"claude-code", "codex", "gemini", "opencode"})
"""Agents that identify themselves to hooks; a rule for any other would reach none."""

_OF_ONE = 3
"""Sessions, all of one project or agent, from which a rule is limited to it. Work trees count as projects
too, and a missing rule costs more than an unnecessary one."""


@dataclass(frozen=True, slots=True)
class Learned:
    """The rules after learning, and what changed."""

    book: Rulebook
    new: tuple[Rule, ...] = ()
    first: Mapping[str, str] = field(default_factory=dict)  # first wording of those not in ``written``, by id
    again: tuple[Rule, ...] = ()  # accepted ones that were stated again
    gone: tuple[Rule, ...] = ()  # no longer stated in any session, and not decided by the user
    replaced: tuple[Rule, ...] = ()  # reversed by a later one


def learned(
    book: Rulebook, groups: Sequence[Group], written: Mapping[str, str], sessions: Sequence[SessionRead]
) -> Learned:
    """Updates the rules from groups of statements.

    The user's decisions are kept; only counts change. A resting rule returns when it is stated again.

    Args:
        written: Every rule that was ever in the file, by id: one that is missing now was deleted and does not
            return.
        sessions: All sessions read.
    """
    alias = {name: rule.id for rule in book.rules for name in rule.also}
    by_rule: dict[str, list[Group]] = {}
    for group in groups:
        by_rule.setdefault(alias.get(group.id, group.id), []).append(group)
    before = {rule.id: rule for rule in book.rules}
    found: dict[str, Rule] = {}
    weights: dict[str, float] = {}
    for name, mine in by_rule.items():
        weights[name] = max(group.weight for group in mine)
        rule = before.get(name)
        if rule is None:
            deleted = name in written
            rule = None if deleted or weights[name] < MIN_WEIGHT else _new(mine[0])
        if rule is not None:
            found[name] = _updated(_reactivated(rule, mine), mine, sessions)
    for name, rule in found.items():
        successor = next((group.replaced for group in by_rule[name] if group.replaced), "")
        successor = alias.get(successor, successor)
        if successor in found and rule.counts and not rule.accepted and not rule.by:
            found[name] = replace(rule, state="replaced", by=successor)
    rules = {rule.id: found.get(rule.id, rule) for rule in book.rules} | found
    gone = [rule for name, rule in before.items() if name not in found and rule.told and not _is_own(rule)]
    for rule in gone:
        del rules[rule.id]
    kept = _limited(_in_order(rules.values(), weights), weights)
    return Learned(
        replace(book, rules=tuple(kept)),
        new=tuple(rule for rule in kept if rule.id not in before),
        first={group.id: group.first for group in groups if group.id in found and group.id not in written},
        again=tuple(
            rule for rule in kept if rule.accepted and rule.id in before and rule.told > before[rule.id].told
        ),
        gone=tuple(gone),
        replaced=tuple(
            rule
            for rule in kept
            if rule.state == "replaced" and rule.id in before and before[rule.id].state != "replaced"
        ),
    )


def _is_own(rule: Rule) -> bool:
    """Whether the user has decided on a rule."""
    return bool(rule.own or rule.accepted or rule.also or rule.state in ("turned down", "replaced"))


def _new(group: Group) -> Rule:
    state: State = "in force" if group.standing and group.weight >= PLAIN else "said"
    return Rule(group.id, group.wording, state)


def _reactivated(rule: Rule, groups: Sequence[Group]) -> Rule:
    """Reactivates a resting rule that was stated again on a later day."""
    is_resting = rule.state == "resting" and not (rule.crowded or rule.worded)
    if not is_resting or max(group.last for group in groups) <= rule.last:
        return rule
    return replace(rule, state="in force" if rule.accepted or rule.own else "said")


def _updated(rule: Rule, groups: Sequence[Group], read: Sequence[SessionRead]) -> Rule:
    sessions = {each.session.path: each.session for group in groups for each in group.occurrences}
    projects = {session.project for session in sessions.values()}
    text, state, project, agent = rule.text, rule.state, rule.project, rule.agent
    wordings = {start for group in groups for start in group.texts}
    own = rule.own or not (rule.worded or any(map(text.startswith, wordings)))
    if not own and not rule.accepted:
        best = max(groups, key=lambda group: group.weight)
        text = rule.text if rule.worded else best.wording
        if state == "said" and best.standing and best.weight >= PLAIN:
            state = "in force"
        is_of_one = len(projects) == 1 and len(sessions) >= _OF_ONE
        project = next(iter(projects)) if is_of_one else ""
        agent = _agent(sessions.values(), read)
    last = max((group.last for group in groups), default=rule.last)
    return replace(
        rule, own=own, text=text, state=state, project=project, agent=agent, told=len(sessions), last=last
    )


def _agent(stated: Collection[SessionRead], read: Iterable[SessionRead]) -> str:
    """The only agent a rule applies to; empty if uncertain.

    Certain if the user stated it to that agent repeatedly, and to no other in at least as many later sessions
    on the same projects.
    """
    agents = {session.agent for session in stated}
    agent = next(iter(agents), "")
    if len(agents) > 1 or len(stated) < _OF_ONE or agent not in AGENTS:
        return ""
    first, projects = min(session.path for session in stated), {session.project for session in stated}
    later = [each for each in read if each.path >= first and each.project in projects]
    since = [each.agent for each in later if each.agent in AGENTS]
    return agent if 2 * since.count(agent) <= len(since) else ""


def _in_order(rules: Iterable[Rule], weights: Mapping[str, float]) -> list[Rule]:
    """Sorted by number of sessions, then by clarity."""
    return sorted(rules, key=lambda rule: (-rule.told, -weights.get(rule.id, 0.0)))


def _limited(rules: Sequence[Rule], weights: Mapping[str, float]) -> list[Rule]:
    """Sets the least clear ones beyond the limit to rest, and reactivates those for which there is room."""
    open_ = [
        rule
        for rule in rules
        if not (rule.accepted or rule.own) and (rule.counts or (rule.state == "resting" and rule.crowded))
    ]
    ids = {rule.id for rule in open_}
    room = MAX_RULES - sum(rule.counts for rule in rules if rule.id not in ids)
    open_.sort(key=lambda rule: (rule.state != "in force", -weights.get(rule.id, 0.0)))
    kept = {rule.id for rule in open_[: max(0, room)]}
    return [
        rule
        if rule.id not in ids or (rule.counts and rule.id in kept)
        else replace(rule, state="said", crowded=False)
        if rule.id in kept
        else replace(rule, state="resting", crowded=True)
        for rule in rules
    ]
