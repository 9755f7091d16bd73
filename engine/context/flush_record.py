"""The record of a flush as a value, and as a line of a log that anything may have happened to (spec 6.4)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from engine.store.typed import typed

Status = Literal["flushed", "nothing", "unflushed", "failed"]


@dataclass(frozen=True, slots=True)
class WrittenNote:
    """A note that stands in a file."""

    id: str  # a digest of its place and its line
    path: str
    line: int  # 1-based, when it was written; 0 when a person had already removed it
    text: str


@dataclass(frozen=True, slots=True)
class HeldNote:
    """A note that was not written."""

    to: str  # where the model wanted it
    text: str
    reason: str  # why it waits for a person
    read: tuple[str, ...] = ()  # what the agent had read from outside, where that is why
    id: str = ""  # under which it was put up for review; empty in records of earlier versions


@dataclass(frozen=True, slots=True)
class FlushRecord:
    """What became of turns that left the window or were about to."""

    id: str  # a digest of the conversation and its turns
    at: str  # ISO 8601, UTC
    session: str  # the session's id; may be empty
    path: str  # the conversation, workspace-relative
    first: int  # number of the first turn, from 1
    last: int
    turns: Mapping[int, str]  # by number, the digest of every turn that is meant; empty turns have none
    status: Status
    """``flushed``: notes were written. ``nothing``: the model was shown the turns, and nothing was written.
    ``unflushed``: no model was asked. ``failed``: one was asked, and nothing was written."""
    items: tuple[WrittenNote, ...] = ()
    held: tuple[HeldNote, ...] = ()  # what waits for a person
    in_part: tuple[int, ...] = ()  # turns that were too long to be shown whole
    redacted: int = 0  # places in which a secret was taken out of the turns before they were sent
    provider: str = ""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None  # ``None`` when it is not known
    error: str = ""  # why no model was asked, or what failed, in one line
    commit: str = ""  # the commit that holds what was written; empty where none was made
    uncommitted: str = ""  # why none was made of what was written


def record_in(tree: Mapping[str, Any]) -> FlushRecord | None:
    """A line of the log as a record; ``None`` when it is not one."""
    try:
        found = typed(FlushRecord, tree)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return found if found.cost_usd is None or 0 <= found.cost_usd < math.inf else None
