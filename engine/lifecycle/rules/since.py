"""What happened to rules since the user accepted them: still repeated, or no longer needed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from engine.conversations.conversations import TurnKey

if TYPE_CHECKING:
    from engine.conversations.conversations import Conversation
    from engine.injections.model import Injection, RulesShown
    from engine.lifecycle.rules.grouping import Occurrence
    from engine.rules.rulebook import Rule

DAYS = 60
"""Days without being stated or relevant after which a rule is listed for review."""


@dataclass(frozen=True, slots=True)
class Since:
    """Sessions in which a rule was stated after the day of its acceptance."""

    told: int
    stood: int = 0  # of these, those whose previous prompt contained it
    left_out: int = 0  # of these, those whose previous prompt did not
    # For the others, no prompt with its rules was recorded.

    @property
    def words(self) -> str:
        """A summary; empty if it was not stated again."""
        if not self.told:
            return ""
        unknown = self.told - self.stood - self.left_out
        parts = ("was in the prompt", self.stood), ("was left out", self.left_out)
        clauses = [f"it {what}{self._times(number)}" for what, number in parts if number]
        if unknown:
            these = "these sessions" if self.told > 1 else "this session"
            which = these if unknown == self.told else f"{unknown} of {these}"
            clauses.append(f"no prompt recorded in {which}")
        return f"repeated {_count(self.told)} since; {', '.join(clauses)}"

    def _times(self, number: int) -> str:
        return "" if self.told == 1 else " each time" if number == self.told else f" {_count(number)}"


class Prompts:
    """The recorded prompts of conversations with their rules.

    Args:
        read: Returns a conversation by its path.
    """

    def __init__(self, recorded: Iterable[Injection], read: Callable[[str], Conversation | None]) -> None:
        self._read = read
        self._found: dict[str, list[tuple[int, RulesShown]]] = defaultdict(list)
        for each in recorded:
            key = TurnKey.of(each.turn)
            if key is not None and each.rules is not None:
                self._found[key.path].append((key.ordinal, each.rules))

    def before(self, path: str, line: int) -> RulesShown | None:
        """The rules in the last prompt before a turn, or in its own for a first message; ``None`` if not
        recorded.

        Args:
            line: Of the turn's heading, 1-based.
        """
        found = self._found.get(path)
        conversation = self._read(path) if found else None
        if not found or conversation is None:
            return None
        turns = enumerate(conversation.turns, conversation.first)
        at = next((ordinal for ordinal, turn in turns if turn.line == line), -1)
        earlier = [each for each in found if each[0] < at] or [each for each in found if each[0] == at]
        return max(earlier, key=lambda each: each[0])[1] if earlier else None


def since(rule: Rule, occurrences: Sequence[Occurrence], prompts: Prompts) -> Since:
    """What happened to a rule since it was accepted; ``occurrences`` are all of them, oldest first."""
    first: dict[str, int] = {}
    for each in occurrences:
        if each.said.day > rule.accepted:
            first.setdefault(each.session.path, each.said.line)
    shown = [prompts.before(path, line) for path, line in first.items()]
    known = [rule.id in each.held for each in shown if each is not None]
    return Since(len(first), sum(known), len(known) - sum(known))


@dataclass(frozen=True, slots=True)
class Fading:
    """Rules that were not needed."""

    days: int
    rules: tuple[tuple[Rule, str], ...]
    """Each with the last day it was stated, relevant or accepted, oldest first."""
    prompts: int  # recorded in these days; if none, only statements count


def fading(rules: Iterable[Rule], recorded: Iterable[Injection], today: date, days: int) -> Fading:
    """Rules in prompts that were neither stated, relevant nor accepted for some days. Lines added by the user
    without a day are excluded: their age is unknown.
    """
    start = date.fromordinal(max(1, today.toordinal() - days)).isoformat()
    called: dict[str, str] = {}
    prompts = 0
    for each in recorded:
        prompts += each.rules is not None and each.at[:10] >= start
        for name in each.rules.called if each.rules is not None else ():
            called[name] = max(called.get(name, ""), each.at[:10])
    needed = [(rule, max(rule.last, rule.accepted, called.get(rule.id, ""))) for rule in rules if rule.counts]
    found = sorted((each for each in needed if "" < each[1] < start), key=lambda each: each[1])
    return Fading(days, tuple(found), prompts)


def _count(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")
