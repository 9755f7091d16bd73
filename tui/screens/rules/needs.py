"""What the rules screen's commands depend on."""

from __future__ import annotations

from dataclasses import dataclass

from tui.kit.command import Need, Situation


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesSituation(Situation):
    rule: str = ""
    """The id of the selected rule; empty if none."""
    standing: str = ""
    project: str = ""
    """The project it is or would be limited to."""
    acceptable: int = 0
    """Number of rules in prompts that were not accepted yet."""
    model: bool = False
    """A model for wording rules is configured."""
    reading: bool = False
    """Sessions are being read."""
    seen: bool = False
    """Violations can be derived from the selected rule's text."""
    watched: bool = False
    """A topic watches for violations of the selected rule."""


A_RULE: Need[RulesSituation] = Need(lambda here: here.rule, "no rule is selected")

NOT_ACCEPTED: Need[RulesSituation] = Need(
    lambda here: here.standing not in ("accepted", "repeated"), "the rule is already accepted"
)
