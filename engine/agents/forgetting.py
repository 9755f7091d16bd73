"""A person who tells their agent to forget a rule: the hook turns the rule down at once.

Only what the person typed counts. An agent may have been talked into it by a page, so what it asks for by
itself (the MCP tool) takes effect only if the person has just asked for it in a prompt
(``Rules.note_request``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.context.delimiters import INJECTED, one_line, outside
from engine.rules.rulebook import LONGEST, Rule
from engine.startup.lazy import expression

if TYPE_CHECKING:
    from engine.rules.rules import Rules

ASKED = "the person asks to forget a rule"
"""In the hook log: what the prompt of a run says."""

_MOST_CHARACTERS = 400
_LISTED = 8
_ASKS = expression(
    r"\b(?:forget|drop|scrap|delete|remove|cancel|turn (?:off|down)|get rid of|stop following"
    r"|ignore|vergiss|streich\w*|lösch\w*|oublie|supprime"
    r"|olvida|elimina|borra|esquece|dimentica)\b.{0,30}?\b(?:rules?|regeln?|règles?|reglas?"
    r"|regras?|regol[ae])\b[\s:：,–—-]*(?P<what>.*)",
    re.IGNORECASE | re.DOTALL,
)
_ABOUT = expression(r"^(?:about|on|that|with|for|über|zu|sur|sobre|su)\b\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The outcome of a request to forget a rule."""

    text: str  # what the agent is told
    said: str  # for the hook log
    rule: Rule | None = None  # the rule that was turned down


def may_ask(prompt: str) -> bool:
    """Whether a prompt may ask to forget a rule: quick, because every prompt waits for it."""
    return _ASKS.search(prompt[:_MOST_CHARACTERS]) is not None


def forget(rules: Rules, prompt: str, recent: tuple[str, ...] = ()) -> Forgotten | None:
    """Turns down the rule that a prompt asks to forget; ``None`` if it asks for nothing of the kind.

    Args:
        recent: Ids of the rules that the session was told, for "forget that rule".

    Raises:
        WriteFailed, ReadOnly, DocumentError, PathRefused: The rules could not be read or written.
    """
    from engine.transcripts.typed import passages  # noqa: PLC0415 — not for most prompts

    typed = " ".join(passage.text for passage in passages(prompt) if not passage.why)
    asks = _ASKS.search(typed) if len(typed) <= _MOST_CHARACTERS else None
    if asks is None:
        return None
    known = [rule for rule in rules.book().rules if rule.counts]
    told = [rule for rule in known if rule.id in recent] or known
    what = _ABOUT.sub("", asks["what"].strip(" .!\"'“”`"))
    rule = rules.meant(what) if what else (told[0] if len(told) == 1 else None)
    if rule is None:
        rules.note_request()
        lines = "\n".join(
            f"- {each.id}: {_shown(each)}" for each in (told if len(told) <= _LISTED else known)[:_LISTED]
        )
        ask = (
            f"{ASKED}, and it is not clear which. In force are:\n{lines}"
            if known
            else f"{ASKED}; none is in force."
        )
        rest = (
            "\nAsk which one, and call forget_rule with its id; by hand: autopoiesis rules drop ID"
            if known
            else ""
        )
        return Forgotten(_framed(f"{ask[0].upper()}{ask[1:]}{rest}"), ASKED)
    rules.turn_down([rule.id])
    taken_back = f"(autopoiesis rules accept {rule.id} takes it back.)"
    text = "A rule was turned down because the person asked for it; do not follow it any more"
    said = f"{ASKED}: {rule.id} turned down"
    return Forgotten(_framed(f"{text}: {_shown(rule)}\n{taken_back}"), said, rule)


def _shown(rule: Rule) -> str:
    return outside(one_line(rule.text, LONGEST))


def _framed(text: str) -> str:
    return f"{INJECTED[0]}{text}{INJECTED[1]}\n"
