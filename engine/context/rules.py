"""The person's rules in a prompt: those that apply in the stable part, and those relevant to the message
again next to it.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence

from engine.context import tokens
from engine.context.budget import Candidate
from engine.context.caps import Cap
from engine.context.compiled import LeftOut, Section
from engine.context.delimiters import RULES, one_line, outside
from engine.context.sources import Reader
from engine.rules.alike import Rarity, core, stem_sequence, stems
from engine.rules.rulebook import LONGEST, PATH, Rule, rules_of
from engine.startup.records import dataclass
from engine.transcripts.turn import Turn

CALLED = "rules:now"
"""The label of the section with the rules relevant to the message."""

IN_FORCE = "How I work; keep to it without being told:"
SAID = "I have asked for this before, so expect it:"
CALLED_FOR = "Of my rules, these apply here:"

_MAX_READ = 1_000
"""Rules considered for a prompt: anyone can edit the file, and a prompt must not wait for it."""
_MAX_CALLED = 4
"""Rules next to the message: first those about files in use, then those that share its words."""
_LAST = 6
"""Number of turns before the message whose tool calls may name files."""
_NO_FILE = re.compile(r"[^\w@./-]+")
_SHARE = 0.4
"""Part of a rule's words, by rarity, that the message must contain close together for the rule to be repeated
next to it. Words of the agent's last turn count half.
"""
_CLOSE = 8
"""Words of the message between the first and the last one of a rule, inclusive."""
_SHORT = 3
"""Content words up to which a message may call a rule by one word: "commit this". In a longer one a single
word is more often its subject than what to do.
"""
_MANY = 4
"""Words close together that are enough of a long rule."""
_MANNERS = stems("always never only first before after instead without each every")
"""Words that say how, not what a rule is about."""
_ANY_WORK = stems("use keep add write")
"""Ways of working that belong to any work."""
_EXCHANGE = 1500
"""Characters of the message, and of the agent's last turn, that are compared with rules."""


@dataclass(frozen=True, slots=True)
class RuleSections:
    """The rules of one prompt."""

    standing: Candidate | None = None
    called: Candidate | None = None
    left_out: tuple[LeftOut, ...] = ()


def rules_for(
    reader: Reader,
    message: str,
    history: Sequence[Turn],
    project: Sequence[str],
    agent: str,
    room: int,
    caps: Iterable[Cap],
) -> RuleSections:
    """The rules for a prompt; the stable part depends only on the file, the project, the room and the caps.

    Args:
        project: The slugs of the session's project; empty if it is unknown.
        agent: The agent that gets the prompt, if known.
        room: Tokens for rules in the stable part.
    """
    rules = [
        rule
        for rule in _rules(reader)
        if rule.counts
        and not (rule.project and project and rule.project not in project)
        and not (rule.agent and agent not in ("", rule.agent))
    ]
    if not rules:
        return RuleSections()
    limit = min([room, *(cap.left if cap.unit == "tokens" else cap.left // 4 for cap in caps)])
    tools = {call.name.casefold() for turn in history[-_LAST:] for call in turn.tools}
    here = _in_play(message, history)
    at_hand = [rule for rule in rules if rule.is_about(here, tools)]
    rules = [rule for rule in rules if not rule.is_occasional]
    kept = _fitting(rules, limit)
    at_hand.sort(key=kept.__contains__)
    # Without room they were injected when the session began.
    near = _called_for(rules, kept or rules, message, history)
    called = [*at_hand, *(rule for rule in near if rule not in at_hand)][:_MAX_CALLED]
    missing = [rule for rule in dict.fromkeys((*rules, *at_hand)) if rule not in kept and rule not in called]
    left_out = (_left_out(missing, limit),) if missing else ()
    return RuleSections(_standing(kept), _called(called), left_out)


def _in_play(message: str, history: Sequence[Turn]) -> set[str]:
    """Possible file names in the message and in the last tool calls before it."""
    calls = [call.summary for turn in history[-_LAST:] for call in turn.tools]
    words = (word for text in (message[:_EXCHANGE], *calls) for word in _NO_FILE.split(text))
    return {word.strip("./@") for word in words if "/" in word or "." in word}


def _rules(reader: Reader) -> Sequence[Rule]:
    loaded = reader.load(PATH)
    return rules_of(loaded.text, _MAX_READ) if loaded is not None else ()


def _fitting(rules: Sequence[Rule], limit: int) -> list[Rule]:
    """The rules that fit, by worth: those accepted or written by the person, then the most repeated, then
    explicit ones. What was repeated will be repeated, however it was worded.
    """
    kept: list[Rule] = []
    left = limit - tokens.count(f"{RULES[0]}{IN_FORCE}\n{SAID}{RULES[1]}\n\n<!-- rules:standing -->\n")
    for rule in sorted(rules, key=lambda each: (not each.decided, -each.told, each.state != "in force")):
        if (taken := cost(rule)) <= left:
            left -= taken
            kept.append(rule)
    return kept


def _standing(rules: Sequence[Rule]) -> Candidate | None:
    parts = []
    for state, head in (("in force", IN_FORCE), ("said", SAID)):
        lines = [_line(rule) for rule in rules if rule.state == state]
        parts += ["\n".join((head, *lines))] if lines else []
    if not parts:
        return None
    return Candidate(
        label="rules:standing",
        layer=6,
        priority=1,
        slot="rules",
        text="\n".join(parts),
        why=f"{len(rules)} of your rules apply here",
        source=PATH,
        order=(-1,),
        wrap=RULES,
    )


def _called_for(
    rules: Sequence[Rule], standing: Container[Rule], message: str, history: Sequence[Turn]
) -> list[Rule]:
    """The rules most relevant to the message and the agent's last turn. Those that did not fit in the stable
    part need only a word in common, since they are nowhere else.
    """
    reply = next((turn.text for turn in reversed(history) if turn.role == "agent"), "")
    asked, around = stem_sequence(_prose(message[:_EXCHANGE])), stems(reply[-_EXCHANGE:])
    is_short = len(set(filter(None, asked))) <= _SHORT
    rarity = Rarity(rule.text[:LONGEST] for rule in rules)
    found: list[tuple[float, int, Rule]] = []
    for number, rule in enumerate(rules):
        text = rule.text[:LONGEST]
        mine = stems(text) - _MANNERS
        shared = max(_close(asked, mine), key=rarity.of, default=frozenset())
        if not shared:
            continue
        share = (rarity.of(shared) + rarity.of(mine & around - shared) / 2) / rarity.of(mine)
        ways = core(text) & mine - _ANY_WORK
        names_way = bool(shared & ways) if ways else len(shared) > 1
        is_enough = share >= _SHARE and (len(shared) > 1 or is_short)
        is_relevant = names_way and (is_enough or len(shared) >= _MANY)
        if is_relevant or rule not in standing:
            found.append((-share, number, rule))
    return [rule for _, _, rule in sorted(found, key=lambda each: each[:2])]


def _prose(message: str) -> str:
    """A message without file names, addresses and identifiers: the words in them are not about working."""
    words = (word for word in message.split() if "_" not in word and word.count("/") < 2)
    return " ".join(word for word in words if "." not in word.strip(".,;:!?"))


def _close(asked: Sequence[str], mine: frozenset[str]) -> set[frozenset[str]]:
    """The stems of a rule in each stretch of ``_CLOSE`` words of the message that starts with one."""
    at = [place for place, stem in enumerate(asked) if stem in mine]
    return {frozenset(asked[other] for other in at if place <= other < place + _CLOSE) for place in at}


def _called(rules: Sequence[Rule]) -> Candidate | None:
    if not rules:
        return None
    return Candidate(
        label=CALLED,
        layer=12,
        priority=1,
        slot="rules",
        text="\n".join((CALLED_FOR, *map(_line, rules))),
        why="relevant to the message",
        order=(-1,),
        wrap=RULES,
    )


def held(rules: Iterable[Rule], sections: Iterable[Section]) -> tuple[str, ...]:
    """The ids of the rules in sections of a prompt."""
    lines = {line for section in sections for line in section.text.split("\n")}
    return tuple(rule.id for rule in rules if rule.counts and _line(rule) in lines)


def cost(rule: Rule) -> int:
    """Tokens of a rule in a prompt."""
    return tokens.count(_line(rule)) + 1


def _line(rule: Rule) -> str:
    return f"- {outside(one_line(rule.text, LONGEST))}"


def _left_out(rules: Sequence[Rule], limit: int) -> LeftOut:
    names = "; ".join(one_line(rule.text, 40) for rule in rules[:3])
    more = f"; and {len(rules) - 3} more" if len(rules) > 3 else ""
    return LeftOut(
        "rules",
        1,
        "rules",
        PATH,
        tokens=sum(tokens.count(_line(rule)) for rule in rules),
        reason=f"{len(rules)} rules did not fit the {limit:,} tokens for rules: {names}{more}",
        limit="cap",
    )
