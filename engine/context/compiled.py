"""The result of a compile (spec 6, design 5): sections in order, what was left out, and the text."""

from __future__ import annotations

from typing import Literal

from engine.startup.records import dataclass

SlotName = Literal[
    "system",
    "identity",
    "rules",
    "memory",
    "journal",
    "projects",
    "preset",
    "topics",
    "knowledge",
    "history",
    "message",
]

SEARCH_FAILED = "search failed, nothing was retrieved"
"""How a problem begins that left out everything a search would have found."""

LAYERS: dict[int, str] = {
    1: "role",
    2: "function schema",
    3: "tools",
    4: "system prompt",
    5: "persona",
    6: "project context",
    7: "knowledge",
    8: "discussion",
    9: "topics",
    10: "retrieved",
    11: "history",
    12: "message",
}
"""The twelve layers, stable to volatile (``cache-friendly-context.md`` 1); 1 to 7 are the stable prefix."""

LAST_STABLE_LAYER = 7

HISTORY_LAYER = 11
"""The layer of the conversation's turns."""

OFFER_LINES = "1-1"
"""The lines of a topic's file that stand for an offer, so that the topic can still be given later."""


@dataclass(frozen=True, slots=True)
class Section:
    """One piece of the prompt."""

    label: str
    """E.g. ``identity:SOUL.md`` or ``topic:email-triage``."""
    layer: int  # 1 to 12
    priority: int  # 0 to 4, in the order of budgeting
    slot: SlotName
    source: str  # workspace-relative path; empty if it is not from a file
    lines: str  # ``"12-40"``, 1-based and inclusive; empty for the whole file
    tokens: int  # of its text without the marker; of a search result including the line above it
    score: float | None  # relevance, if ranked
    why: str  # one sentence
    text: str  # without the marker


Limit = Literal["", "room", "cap"]
"""Why something was left out: the token budget, a cap, or neither."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that was left out of the prompt, and why; other fields are as in ``Section``."""

    label: str
    priority: int
    slot: SlotName
    source: str = ""
    lines: str = ""
    tokens: int = 0
    score: float | None = None
    reason: str = ""  # one clause
    limit: Limit = ""
    """``room``: it needed a larger token budget; ``cap``: it needed a larger cap; empty: it was refused, or
    the prompt already has it."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One line of the budget: used tokens and the cap in tokens; ``None`` for the remainder."""

    name: SlotName
    priority: int
    used: int
    cap: int | None


@dataclass(frozen=True, slots=True)
class Density:
    """The tokens of a prompt by why they are in it; they add up to its tokens."""

    for_message: int = 0
    """What answers the message: search results and passages, playbooks that fired, and rules it calls for."""
    always: int = 0  # what any other message would have got too
    conversation: int = 0  # the message and the turns before it

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.for_message + self.always + self.conversation

    @property
    def shares(self) -> tuple[str, ...]:
        """``34 % for this message``, ``41 % always there``, ``25 % conversation``; none if empty."""
        parts = (
            (self.for_message, "for this message"),
            (self.always, "always there"),
            (self.conversation, "conversation"),
        )
        return tuple(f"{100 * each / self.tokens:.0f} % {name}" for each, name in parts if self.tokens)


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled prompt."""

    text: str
    tokens: int  # exact o200k tokens of ``text``; never more than ``budget`` less ``reply_reserve``
    budget: int
    reply_reserve: int  # tokens
    sections: tuple[Section, ...]  # in the order of ``text``
    left_out: tuple[LeftOut, ...]  # what did not fit or was refused, by priority
    slots: tuple[Slot, ...]
    stable_prefix_length: int  # characters of ``text`` before the first volatile layer
    boundaries: tuple[int, ...]
    """Up to three character offsets for a provider's cache breakpoints."""
    active_topics: tuple[str, ...]  # in the order of budgeting
    dropped_turns: int
    problems: tuple[str, ...] = ()  # one line each, about what is missing from the prompt
    next_pieces: tuple[LeftOut, ...] = ()
    """What 500 more tokens would have added, in order; the last one possibly in part."""
    density: Density = Density()
    history_room: int = 0  # tokens available to the history's turns
    flushed_turns: tuple[tuple[int, int], ...] = ()
    """Dropped turns that were flushed (spec 6.4): first and last number of each run, as in the label
    ``history:3-8``."""
    unflushed_turns: int = 0  # number of dropped turns that are only in the transcript
