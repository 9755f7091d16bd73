"""The benefit of rules: how often they had to be repeated before and after acceptance, and their cost."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from engine.context.rules import cost

if TYPE_CHECKING:
    from engine.injections.model import Injection
    from engine.lifecycle.rules.grouping import Occurrence
    from engine.lifecycle.rules.sessions import SessionRead
    from engine.rules.rulebook import Rule

MIN_WEEKS = 3
"""Minimum weeks with sessions before and after acceptance for a comparison."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something was repeated."""

    told: int  # sessions with a repetition
    weeks: int  # with sessions

    @property
    def a_week(self) -> float | None:
        """Repetitions per week; ``None`` if there are too few weeks."""
        return self.told / self.weeks if self.weeks >= MIN_WEEKS else None


@dataclass(frozen=True, slots=True)
class RuleWorth:
    """Repetitions of a rule, not counting the first time."""

    rule: Rule
    before: Rate  # from the first time up to the day of acceptance
    after: Rate
    tokens: int  # in a prompt

    @property
    def is_comparable(self) -> bool:
        """Whether there are enough weeks on both sides."""
        return self.before.a_week is not None and self.after.a_week is not None


@dataclass(frozen=True, slots=True)
class Worth:
    """The benefit and cost of rules."""

    rules: tuple[RuleWorth, ...]  # accepted ones
    before: Rate  # of all comparable rules: per week of one rule
    after: Rate
    prompts: int  # recorded with their rules
    tokens: int  # of rules in these prompts
    of: int  # tokens of these prompts in total


def worth(
    rules: Iterable[Rule],
    occurrences: Callable[[Rule], Iterable[Occurrence]],
    sessions: Collection[SessionRead],
    recorded: Iterable[Injection],
) -> Worth:
    """Compares how often each accepted rule was repeated per week before and after.

    Weeks are periods of seven days before and after the day of acceptance; only weeks with a session count,
    or for a rule of one project, with a session of that project.
    """
    found = []
    for rule in rules:
        accepted = _date(rule.accepted)
        if accepted is not None and rule.state == "in force":
            held = {each.path: day for each in sessions if _is_in(rule, each) and (day := _day(each.path))}
            paths = {each.session.path for each in occurrences(rule)} & held.keys()
            found.append(_worth(rule, accepted, [held[path] for path in paths], held.values()))
    comparable = [each for each in found if each.is_comparable]
    shown = [(each.rules.tokens, each.tokens) for each in recorded if each.rules is not None]
    return Worth(
        tuple(found),
        _sum(each.before for each in comparable),
        _sum(each.after for each in comparable),
        len(shown),
        sum(mine for mine, _ in shown),
        sum(whole for _, whole in shown),
    )


def _worth(rule: Rule, accepted: date, stated: Collection[date], held: Iterable[date]) -> RuleWorth:
    first = min(stated, default=accepted)
    days = [(day - accepted).days for day in held if day >= first]
    earlier = sum(day <= accepted for day in stated)
    return RuleWorth(
        rule,
        Rate(max(0, earlier - 1), len({-day // 7 for day in days if day <= 0})),
        Rate(len(stated) - earlier, len({(day - 1) // 7 for day in days if day > 0})),
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
