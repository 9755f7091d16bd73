"""Why items are held for review, how they are grouped, and which are shown (design 6.4).

A person settles a whole group at once: all commands, all decisions, everything said after outside text was
read. Only items that look dangerous are settled one by one, whoever said them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, cast, get_args

from engine.knowledge.commands import is_plain
from engine.provenance.hold import OUTSIDE, PASTED, REPEATED, Doubt, doubt_of

if TYPE_CHECKING:
    from engine.knowledge.item import Category, Item
    from engine.provenance.voices import Voices

Group = Literal[
    "commands", "decisions", "lessons", "tasks", "questions", "facts", "procedures", "upkeep", "person",
    "agent", "pasted", "outside", "repeated", "other", "risky",
]  # fmt: skip
GROUPS: tuple[Group, ...] = get_args(Group)
"""In list order: what is most useful first, what could do harm last."""

Reason = Literal[
    "command",
    "named",
    "correction",
    "plan",
    "marked",
    "lesson",
    "summary",
    "upkeep",
    "person",
    "agent",
    "outside",
]

TOO_LONG = "is longer than "
NO_PROJECT = "no such project: "
REFUSED = "cannot be written: "
"""Prefixes of reasons that do not depend on the speaker."""

WHY: dict[Reason, str] = {
    "command": "this command succeeded repeatedly",
    "named": "you named this command, and it succeeded",
    "correction": "you corrected the agent or gave it a rule",
    "plan": "you approved this plan",
    "marked": "it is marked in the conversation",
    "lesson": "it is a lesson",
    "summary": "the agent summed this up at the end",
    "upkeep": "it changes existing files",
    "person": "you said this about someone",
    "agent": "an agent asked to remember it",
    "outside": OUTSIDE,
}
"""The reasons that do not come from a doubt about the text."""

_KINDS: Mapping[Category, Group] = {
    "decisions": "decisions",
    "tasks_open": "tasks",
    "tasks_done": "tasks",
    "questions": "questions",
    "playbooks": "procedures",
}
_BY_REASON: Mapping[Reason, Group] = {
    "command": "commands",
    "named": "commands",
    "lesson": "lessons",
    "correction": "decisions",
    "plan": "decisions",
    "marked": "facts",
    "summary": "facts",
}
"""The group of a reason, unless the category decides; other reasons are groups themselves."""

TITLES: dict[Group, str] = {
    "commands": "commands that you named, or that worked again and again",
    "decisions": "decisions and corrections",
    "lessons": "lessons",
    "tasks": "tasks",
    "questions": "open questions",
    "facts": "facts",
    "procedures": "procedures",
    "upkeep": "file changes that keep memory short and current",
    "person": "what you said about people",
    "agent": "what agents asked to remember",
    "pasted": "what you may have pasted",
    "outside": "said after the agent had read text from outside",
    "repeated": "repeats what a tool or a file said",
    "other": "cannot be written as they are",
    "risky": "held back because they could do harm",
}
"""The heading of each group in a list."""

BY_AGENT = "mcp-"
"""Prefix of the origin's name if an agent proposed the item, rather than a conversation."""

MIN_SUCCESSES = 3
"""Successes of a command, across all conversations, before it is proposed."""


def group_of(why: str, category: Category = "facts") -> Group:
    """The group of an item by its reason and category; an unknown reason counts as risky."""
    if why in REPEATED:
        return "repeated"
    if why.startswith(PASTED):
        return "pasted"
    if why.startswith((TOO_LONG, NO_PROJECT, "there is no project ", REFUSED)):
        return "other"
    reason = next((reason for reason, words in WHY.items() if words == why), None)
    if reason is None:
        return "risky"
    if reason in ("marked", "plan", "summary") and category in _KINDS:
        return _KINDS[category]
    return _BY_REASON.get(reason) or cast("Group", reason)


def is_shown(why: str, times: int) -> bool:
    """True if an item with this reason and number of occurrences is shown for review."""
    return why != WHY["command"] or times >= MIN_SUCCESSES


def why_held(item: Item, voices: Voices) -> Doubt | None:
    """Why an item is held for review; ``None`` if it may be written.

    Items proposed without a model are always held. The reason is then that of the proposal, unless there is a
    more serious one, because a whole group may be accepted at once. A session note may be in the model's own
    words; the model also says who it comes from.
    """
    is_note = item.category == "notes"
    is_target = item.category in ("notes", "pages")  # the path is our own target file
    is_marked = item.why in (WHY["marked"], WHY["lesson"]) or item.why.startswith(PASTED)
    is_rule = bool(item.why) and item.voice == "person" and not is_note and not is_marked
    doubt = doubt_of(
        item.text,
        voices,
        path="" if is_target else item.path,
        is_tool=is_note and item.voice == "tool",
        needs_ground=not is_note,
        may_order=is_rule,
    )
    if is_note and item.why:
        return Doubt(item.why) if doubt is None or group_of(item.why) == "risky" else doubt
    if not item.why or (doubt is not None and item.why.startswith(TOO_LONG)):
        return doubt
    is_own = item.voice == "person" or (
        group_of(item.why) == "commands" and is_plain(item.text.partition("**: ")[2])
    )
    if doubt is not None and (group_of(doubt.reason) == "risky" or (doubt.reason == OUTSIDE and not is_own)):
        return doubt
    return Doubt(item.why)
