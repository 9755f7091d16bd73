"""The values of a compile (spec 6, design 5): sections in order, what was left out, and the text."""

from __future__ import annotations

from typing import Literal

from engine.records import dataclass

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


@dataclass(frozen=True, slots=True)
class Section:
    """One piece of the prompt."""

    label: str
    """What it is, e.g. ``identity:SOUL.md`` or ``topic:email-triage``."""
    layer: int  # 1 to 12: where it stands
    priority: int  # 0 to 4: who got budget first
    slot: SlotName
    source: str  # workspace-relative path; empty when it comes from no file
    lines: str  # ``"12-40"``, 1-based and inclusive; empty for the whole file
    tokens: int  # of its text, without the marker above it; of a search result with the line above it
    score: float | None  # relevance; ``None`` where it was not ranked
    why: str  # one sentence
    text: str  # without the marker


Limit = Literal["", "room", "cap"]
"""What kept something out: the token budget, a cap, or neither."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that did not get into the prompt, and why; the other fields are as in ``Section``."""

    label: str
    priority: int
    slot: SlotName
    source: str = ""
    lines: str = ""
    tokens: int = 0
    score: float | None = None
    reason: str = ""  # one clause
    limit: Limit = ""
    """``room``: a larger token budget would have let it in; ``cap``: a larger cap would; empty: it was
    refused, or the prompt says it already."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One line of the budget: tokens used and the cap, both in tokens; ``None``: what remains."""

    name: SlotName
    priority: int
    used: int
    cap: int | None


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled prompt."""

    text: str
    tokens: int  # exact o200k tokens of ``text``; never more than ``budget`` less ``reply_reserve``
    budget: int
    reply_reserve: int  # tokens
    sections: tuple[Section, ...]  # in the order in which they stand in ``text``
    left_out: tuple[LeftOut, ...]  # what did not fit or was refused, largest priority first
    slots: tuple[Slot, ...]
    stable_prefix_length: int  # characters of ``text`` before the first volatile layer
    boundaries: tuple[int, ...]
    """Up to three character offsets at which a provider may place a cache breakpoint."""
    active_topics: tuple[str, ...]  # in the order in which they were given budget
    dropped_turns: int
    problems: tuple[str, ...] = ()  # one line each: what could not be read, and so is missing
    next_kb: tuple[LeftOut, ...] = ()
    """What 1 KiB more of token budget would have brought, in the order of its getting in; of the last one
    perhaps only a part."""
    model: str = ""  # empty where the settings name none
    window: int | None = None  # tokens that model takes; ``None`` where it is not known
    history_room: int = 0  # tokens that the history's turns could have taken
    flushed_turns: tuple[tuple[int, int], ...] = ()
    """Which of the dropped turns were flushed first (spec 6.4): first and last number of each run, as in the
    label ``history:3-8``."""
    unflushed_turns: int = 0  # how many of the dropped turns were not, and so stand in the transcript alone
