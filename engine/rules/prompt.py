"""Which rules stand in a prompt: those in force in the stable part, and those that a message calls for next
to it.

What waits for the person is never told to an agent.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence

from engine.rules.rulebook import LONGEST, Rule, rules_of
from engine.rules.subject import stem, stems
from engine.rules.words import SMALL, WEAK
from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.transcripts.turn import Turn

IN_FORCE = "How I work; keep to it without being told:"
CALLED_FOR = "Of my rules, these apply here:"

_MAX_READ = 1_000
"""Rules considered for a prompt: anyone can edit the file, and a prompt must not wait for it."""
_MAX_CALLED = 8
"""Rules next to the message: first those about files in use, then those that share its words."""
_LAST = 6
"""Number of turns before the message whose tool calls may name files."""
_CLOSE = 8
"""Words of the message between the first and the last one that it shares with a rule, inclusive."""
_SHORT = 2
"""Words up to which a message may call a rule by one word: "commit this"; in Chinese two letters make one."""
_SHARE = 0.5
"""Share of a rule's words that the message must contain close together."""
_EXCHANGE = 1_500
"""Characters of the message that are compared with rules."""
_NO_FILE = expression(r"[^\w@./-]+")
_WORD = expression(r"[^\W\d_]+")
_PAIR = expression(r"[\u4e00-\u9fff]{1,2}|[^\W\d_\u4e00-\u9fff]+")


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rules of one prompt."""

    standing: tuple[Rule, ...] = ()
    called: tuple[Rule, ...] = ()
    missing: tuple[Rule, ...] = ()  # those that apply and have no room


def chosen(
    text: str,
    message: str,
    history: Sequence[Turn],
    project: Sequence[str],
    agent: str,
    room: int,
    cost: Callable[[Rule], int],
) -> Chosen:
    """The rules for a prompt; the stable part depends only on the file, the project, the agent and the room.

    Args:
        text: The rules file, below its header.
        project: The slugs of the session's project; empty if it is unknown.
        agent: The agent that gets the prompt, if known.
        room: Tokens for rules in the stable part.
        cost: Tokens of a rule in a prompt.
    """
    rules = [
        rule
        for rule in rules_of(text, _MAX_READ)
        if rule.counts
        and not (rule.project and project and rule.project not in project)
        and not (rule.agent and agent not in ("", rule.agent))
    ]
    if not rules:
        return Chosen()
    tools = {call.name.casefold() for turn in history[-_LAST:] for call in turn.tools}
    here = _in_play(message, history)
    at_hand = [rule for rule in rules if rule.is_about(here, tools)]
    always = [rule for rule in rules if not rule.is_occasional]
    kept = _fitting(always, room, cost)
    at_hand.sort(key=kept.__contains__)
    # Without room they were told when the session began.
    near = _called_for(always, kept or always, message)
    called = tuple(dict.fromkeys((*at_hand, *near)))[:_MAX_CALLED]
    missing = [rule for rule in dict.fromkeys((*always, *at_hand)) if rule not in kept and rule not in called]
    return Chosen(tuple(kept), called, tuple(missing))


def _in_play(message: str, history: Sequence[Turn]) -> set[str]:
    """Possible file names in the message and in the last tool calls before it."""
    calls = [call.summary for turn in history[-_LAST:] for call in turn.tools]
    words = (word for text in (message[:_EXCHANGE], *calls) for word in _NO_FILE.split(text))
    return {word.strip("./@") for word in words if "/" in word or "." in word}


def _fitting(rules: Sequence[Rule], room: int, cost: Callable[[Rule], int]) -> list[Rule]:
    """The rules that fit: first those that the person accepted or wrote, then the most repeated, then the
    latest.
    """
    kept: list[Rule] = []
    latest = sorted(rules, key=lambda rule: rule.last, reverse=True)
    for rule in sorted(latest, key=lambda rule: (not rule.decided, -rule.told)):
        if (taken := cost(rule)) <= room:
            room -= taken
            kept.append(rule)
    return kept


def _called_for(rules: Sequence[Rule], standing: Container[Rule], message: str) -> list[Rule]:
    """The rules that a message calls for, the closest first. Those without room in the stable part need only
    one word in common, since they are nowhere else.
    """
    words = (word for word in message[:_EXCHANGE].split() if "_" not in word and word.count("/") < 2)
    plain = " ".join(word for word in words if "." not in word.strip(".,;:!?")).casefold()
    asked = [stem(word) for word in _WORD.findall(plain) if word not in SMALL]
    is_short = sum(len(_PAIR.findall(word)) for word in set(asked)) <= _SHORT
    found: list[tuple[float, Rule]] = []
    for rule in rules:
        mine = stems(rule.text[:LONGEST]) - WEAK
        shared = max((len(mine.intersection(asked[at : at + _CLOSE])) for at in range(len(asked))), default=0)
        if shared and (rule not in standing or is_short or (shared > 1 and shared >= _SHARE * len(mine))):
            found.append((shared / len(mine), rule))
    return [rule for _, rule in sorted(found, key=lambda each: -each[0])]


def held(rules: Iterable[Rule], texts: Iterable[str], line: Callable[[Rule], str]) -> tuple[str, ...]:
    """The ids of the rules in the texts of a prompt's sections."""
    lines = {each for text in texts for each in text.split("\n")}
    return tuple(rule.id for rule in rules if rule.counts and line(rule) in lines)
