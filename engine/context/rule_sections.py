"""The person's rules as sections of a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.context import tokens
from engine.context.budget import Candidate, Cap
from engine.context.compiled import LeftOut
from engine.context.delimiters import RULES, one_line, outside
from engine.context.sources import Reader
from engine.rules.prompt import CALLED_FOR, IN_FORCE, chosen
from engine.rules.rulebook import LONGEST, PATH, Rule
from engine.startup.records import dataclass
from engine.transcripts.turn import Turn

CALLED = "rules:now"
"""The label of the section with the rules that the message calls for."""


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
    """The rules for a prompt; arguments as for ``engine.rules.prompt.chosen``."""
    loaded = reader.load(PATH)
    if loaded is None:
        return RuleSections()
    limit = min([room, *(cap.left if cap.unit == "tokens" else cap.left // 4 for cap in caps)])
    # The frame is counted with some tokens to spare: lines joined can cost more than each alone.
    frame = tokens.count(f"{RULES[0]}{IN_FORCE}\n{RULES[1]}\n\n<!-- rules:standing -->\n") + limit // 50
    found = chosen(loaded.text, message, history, project, agent, limit - frame, cost)
    return RuleSections(
        _section(
            "rules:standing", IN_FORCE, found.standing, f"{len(found.standing)} of your rules apply here"
        ),
        _section(CALLED, CALLED_FOR, found.called, "relevant to the message"),
        (_left_out(found.missing, limit),) if found.missing else (),
    )


def _section(label: str, head: str, rules: Sequence[Rule], why: str) -> Candidate | None:
    if not rules:
        return None
    is_standing = label != CALLED
    return Candidate(
        label=label,
        layer=6 if is_standing else 12,
        priority=1,
        slot="rules",
        text="\n".join((head, *map(line_of, rules))),
        why=why,
        source=PATH if is_standing else "",
        order=(-1,),
        wrap=RULES,
    )


def cost(rule: Rule) -> int:
    """Tokens of a rule in a prompt."""
    return tokens.count(line_of(rule)) + 1


def line_of(rule: Rule) -> str:
    """A rule as its line in a prompt."""
    return f"- {outside(one_line(rule.text, LONGEST))}"


def _left_out(rules: Sequence[Rule], limit: int) -> LeftOut:
    names = "; ".join(one_line(rule.text, 40) for rule in rules[:3])
    more = f"; and {len(rules) - 3} more" if len(rules) > 3 else ""
    return LeftOut(
        "rules",
        1,
        "rules",
        PATH,
        tokens=sum(tokens.count(line_of(rule)) for rule in rules),
        reason=f"{len(rules)} rules did not fit the {limit:,} tokens for rules: {names}{more}",
        limit="cap",
    )
