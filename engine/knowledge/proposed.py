"""What is proposed for knowledge without a model: why it waits, how it is grouped, when it is shown.

A group is what a person settles at once: all corrections, all commands. Everything else that waits could be
planted, and is settled one by one.
"""

from __future__ import annotations

from typing import Literal, get_args

Group = Literal["correction", "plan", "summary", "command", "held"]
GROUPS: tuple[Group, ...] = get_args(Group)
"""In the order in which they are listed: what a person said first."""

WHY: dict[Group, str] = {
    "correction": "you corrected the agent or set it a rule",
    "plan": "you approved this plan",
    "summary": "the agent said so at the end",
    "command": "this command succeeded again and again",
}
"""Why an item of a group waits; ``held`` has many reasons."""

TITLES: dict[Group, str] = {
    "correction": "corrections and rules of yours",
    "plan": "plans you approved",
    "summary": "what the agent said it had done",
    "command": "commands that succeeded again and again",
    "held": "held back, because they could be planted",
}
"""What a list calls a group."""

LEAST_SUCCESSES = 3
"""How often a command must have succeeded, in all conversations together, before it is proposed."""


def group_of(why: str) -> Group:
    """The group of what waits for a reason."""
    return next((group for group, words in WHY.items() if words == why), "held")


def is_shown(why: str, times: int) -> bool:
    """Whether something that conversations show so many times is put before a person."""
    return why != WHY["command"] or times >= LEAST_SUCCESSES
