"""Why things wait for a person, how they are grouped, and which are shown (design 6.4).

A group is what a person settles at once: all corrections, all commands, all that was said after a page was
read. Only what looks dangerous, whichever speaker said it, is settled one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from engine.provenance.hold import OUTSIDE, REPEATED, Doubt, doubt_of

if TYPE_CHECKING:
    from engine.knowledge.item import Item
    from engine.provenance.voices import Voices

Group = Literal[
    "risky", "upkeep", "correction", "person", "plan", "summary", "agent", "command", "outside",
    "repeated", "other",
]  # fmt: skip
GROUPS: tuple[Group, ...] = get_args(Group)
"""In the order in which they are listed: the dangerous first, then what a person said."""

TOO_LONG = "is longer than "
NO_PROJECT = "there is no project "
REFUSED = "cannot be written: "
"""How reasons begin that do not depend on who said it."""

WHY: dict[Group, str] = {
    "upkeep": "it changes what stands in files",
    "correction": "you corrected the agent or set it a rule",
    "person": "you said so of somebody",
    "plan": "you approved this plan",
    "summary": "the agent said so at the end",
    "agent": "an agent asked for it to be remembered",
    "command": "this command succeeded again and again",
    "outside": OUTSIDE,
}
"""Why an item of a group waits, where all wait for one reason."""

TITLES: dict[Group, str] = {
    "risky": "held back, because they could do harm",
    "upkeep": "changes of files, to keep memory short and current",
    "correction": "corrections and rules of yours",
    "person": "what you said of somebody",
    "plan": "plans you approved",
    "summary": "what the agent said it had done",
    "agent": "what agents asked to remember",
    "command": "commands that succeeded again and again",
    "outside": "said after the agent had read text from outside",
    "repeated": "repeats what a tool or a file said",
    "other": "could not be written as they are",
}
"""What a list calls a group."""

BY_AGENT = "mcp-"
"""How the name of an origin begins that is an agent's proposal, and no conversation's."""

LEAST_SUCCESSES = 3
"""How often a command must have succeeded, in all conversations together, before it is proposed."""


def group_of(why: str) -> Group:
    """The group of what waits for a reason; an unknown reason counts as the worst."""
    if why in REPEATED:
        return "repeated"
    if why.startswith((TOO_LONG, NO_PROJECT, REFUSED)):
        return "other"
    return next((group for group, words in WHY.items() if words == why), "risky")


def is_shown(why: str, times: int) -> bool:
    """Whether something that conversations show so many times is put before a person."""
    return why != WHY["command"] or times >= LEAST_SUCCESSES


def why_held(item: Item, said: Voices) -> Doubt | None:
    """Why an item waits for a person; ``None`` when it may be written.

    What is proposed without a model always waits. It says why it was proposed, unless there is a reason to
    look twice: a group of proposals is accepted at once. A note of a session may be in words of the model's
    own, which also says whom it comes from.
    """
    is_note = item.category == "notes"
    is_place = item.category in ("notes", "pages")  # the path says where it goes, and is ours
    is_rule = bool(item.why) and item.voice == "person" and not is_note
    doubt = doubt_of(
        item.text,
        said,
        path="" if is_place else item.path,
        is_tool=is_note and item.voice == "tool",
        needs_ground=not is_note,
        may_order=is_rule,
    )
    if is_note and item.why:
        return Doubt(item.why) if doubt is None or group_of(item.why) == "risky" else doubt
    if not item.why or (doubt is not None and item.why.startswith(TOO_LONG)):
        return doubt
    if doubt is not None and (
        group_of(doubt.reason) == "risky" or (doubt.reason == OUTSIDE and item.voice != "person")
    ):
        return doubt
    return Doubt(item.why)
