"""What rules were worth: how often they had to be repeated before and after acceptance, and their cost."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from engine.context.rules import cost

if TYPE_CHECKING:
    from engine.injections.model import Injection
    from engine.lifecycle.rules.grouping import Told
    from engine.lifecycle.rules.sessions import SessionRead
    from engine.rules.rulebook import Rule

LEAST_WEEKS = 3
"""Minimum weeks with sessions before and after acceptance for a comparison."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something was repeated."""

    told: int  # sessions with a repetition
    weeks: int  # with sessions

    @property
    def a_week(self) -> float | None:
        """Repetitions per week; ``None`` if there are too few weeks."""
        return self.told / self.weeks if self.weeks >= LEAST_WEEKS else None


@dataclass(frozen=True, slots=True)
class RuleWorth:
    """Repetitions of a rule, not counting the first time."""

    rule: Rule
    before: Rate  # from the first time up to the day of acceptance
    after: Rate
    tokens: int  # it takes in a prompt

    @property
    def can_tell(self) -> bool:
        """Whether there are enough weeks on both sides."""
        return self.before.a_week is not None and self.after.a_week is not None


@dataclass(frozen=True, slots=True)
class Worth:
    """What rules were worth and cost."""

    rules: tuple[RuleWorth, ...]  # accepted ones
    before: Rate  # of all comparable rules: per week of one rule
    after: Rate
    prompts: int  # recorded with their rules
    tokens: int  # of rules in all of these
    of: int  # tokens of these prompts


def worth(
    rules: Iterable[Rule],
    told: Callable[[Rule], Iterable[Told]],
    sessions: Collection[SessionRead],
    recorded: Iterable[Injection],
) -> Worth:
    """Compares how often each accepted rule was repeated per week before and after.

    Weeks are periods of seven days before and after the day of acceptance; only weeks with a session count,
    for a rule of one project with a session of that project.
    """
    found = []
    for rule in rules:
        accepted = _date(rule.accepted)
        if accepted is not None and rule.state == "in force":
            held = {each.path: day for each in sessions if _is_in(rule, each) and (day := _day(each.path))}
            paths = {each.session.path for each in told(rule)} & held.keys()
            found.append(_worth(rule, accepted, [held[path] for path in paths], held.values()))
    telling = [each for each in found if each.can_tell]
    shown = [(each.rules.tokens, each.tokens) for each in recorded if each.rules is not None]
    return Worth(
        tuple(found),
        _sum(each.before for each in telling),
        _sum(each.after for each in telling),
        len(shown),
        sum(mine for mine, _ in shown),
        sum(whole for _, whole in shown),
    )


def _worth(rule: Rule, accepted: date, told: Collection[date], held: Iterable[date]) -> RuleWorth:
    first = min(told, default=accepted)
    days = [(day - accepted).days for day in held if day >= first]
    earlier = sum(day <= accepted for day in told)
    return RuleWorth(
        rule,
        Rate(max(0, earlier - 1), len({-day // 7 for day in days if day <= 0})),
        Rate(len(told) - earlier, len({(day - 1) // 7 for day in days if day > 0})),
        cost(rule),
    )


def _is_in(rule: Rule, session: SessionRead) -> bool:
    return rule.project in ("", session.project)


def _day(path: str) -> date | None:
    """The day in a transcript's path."""
    return _date("-".join(path.split("/")[-4:-1]))


def _date(text: str) -> date | None:
    with contextlib.suppress(ValueError):
        return date.fromisoformat(text)
    return None


def _sum(rates: Iterable[Rate]) -> Rate:
    rates = tuple(rates)
    return Rate(sum(each.told for each in rates), sum(each.weeks for each in rates))
