"""What came of rules since the person accepted them: told again all the same, or needed no more."""

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
    from engine.lifecycle.rules.grouping import Told
    from engine.rules.rulebook import Rule

DAYS = 60
"""Days in which a rule is neither told nor called for, after which it is shown for review."""


@dataclass(frozen=True, slots=True)
class Since:
    """Sessions in which a rule was told after the day on which it was accepted."""

    told: int
    stood: int = 0  # of these, those in which the prompt before held it
    left_out: int = 0  # of these, those in which it did not
    # Of the others no prompt was recorded, or before prompts named their rules.

    @property
    def words(self) -> str:
        """What the person is told; empty where there is nothing to tell."""
        if not self.told:
            return ""
        unknown = self.told - self.stood - self.left_out
        parts = ("stood in the prompt", self.stood), ("was left out", self.left_out)
        said = [f"it {what}{self._times(number)}" for what, number in parts if number]
        if unknown:
            these = "these sessions" if self.told > 1 else "this session"
            said.append(f"no prompt of ours in {these if unknown == self.told else f'{unknown} of {these}'}")
        return f"told {_count(self.told)} since; {', '.join(said)}"

    def _times(self, number: int) -> str:
        return "" if self.told == 1 else " each time" if number == self.told else f" {_count(number)}"


class Prompts:
    """The prompts of conversations that were recorded with the rules they held.

    Args:
        read: A conversation by its path.
    """

    def __init__(self, recorded: Iterable[Injection], read: Callable[[str], Conversation | None]) -> None:
        self._read = read
        self._found: dict[str, list[tuple[int, RulesShown]]] = defaultdict(list)
        for each in recorded:
            key = TurnKey.of(each.turn)
            if key is not None and each.rules is not None:
                self._found[key.path].append((key.ordinal, each.rules))

    def before(self, path: str, line: int) -> RulesShown | None:
        """The rules in the prompt by which the agent worked when a turn was said; of a first message that of
        its own. ``None`` where it was not recorded.

        Args:
            line: Of the turn's heading, from 1.
        """
        found = self._found.get(path)
        conversation = self._read(path) if found else None
        if not found or conversation is None:
            return None
        turns = enumerate(conversation.turns, conversation.first)
        at = next((ordinal for ordinal, turn in turns if turn.line == line), -1)
        earlier = [each for each in found if each[0] < at] or [each for each in found if each[0] == at]
        return max(earlier, key=lambda each: each[0])[1] if earlier else None


def since(rule: Rule, told: Sequence[Told], prompts: Prompts) -> Since:
    """What came of a rule since it was accepted; ``told`` is every time that it was said, oldest first."""
    first: dict[str, int] = {}
    for each in told:
        if each.said.day > rule.accepted:
            first.setdefault(each.session.path, each.said.line)
    shown = [prompts.before(path, line) for path, line in first.items()]
    known = [rule.id in each.held for each in shown if each is not None]
    return Since(len(first), sum(known), len(known) - sum(known))


@dataclass(frozen=True, slots=True)
class Fading:
    """Rules that nobody needed."""

    days: int
    rules: tuple[tuple[Rule, str], ...]
    """Each with the last day on which it was told, called for or accepted, the longest ago first."""
    prompts: int  # recorded in these days; without any, only what was told counts


def fading(rules: Iterable[Rule], recorded: Iterable[Injection], today: date, days: int) -> Fading:
    """Rules that count and were neither told, called for nor accepted in so many days. A line of the person's
    own without a day is none of them: since when it stands is not known.
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
