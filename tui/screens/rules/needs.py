"""When the commands of the rules screen can be used."""

from __future__ import annotations

from dataclasses import dataclass

from tui.kit.command import Need, Situation


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesSituation(Situation):
    """What the commands of this screen depend on."""

    rule: str = ""
    """The id of the selected rule; empty where none is."""
    standing: str = ""
    project: str = ""
    """Where it holds alone, or would."""
    acceptable: int = 0
    """How many rules in prompts were not accepted."""
    model: bool = False
    """A model is set that words rules."""
    reading: bool = False
    """Sessions are being read."""
    seen: bool = False
    """The words of the selected rule tell what would show that it is broken."""
    watched: bool = False
    """A topic watches for what breaks the selected rule."""


A_RULE: Need[RulesSituation] = Need(lambda here: here.rule, "no rule is selected")

NOT_ACCEPTED: Need[RulesSituation] = Need(
    lambda here: here.standing not in ("accepted", "told again"), "it is accepted already"
)
