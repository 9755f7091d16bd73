"""The record of a flush, and how it is read from a log that may be damaged (spec 6.4)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from engine.store.typed import typed

Status = Literal["flushed", "nothing", "unflushed", "failed"]


@dataclass(frozen=True, slots=True)
class WrittenNote:
    """A note written to a file."""

    id: str  # a digest of its place and text
    path: str
    line: int  # 1-based, at the time of writing; 0 if a person had already removed it
    text: str


@dataclass(frozen=True, slots=True)
class HeldNote:
    """A note that was queued for review instead of being written."""

    to: str  # the place chosen by the model
    text: str
    reason: str  # why it needs review
    read: tuple[str, ...] = ()  # what the agent had read from outside, if that is the reason
    id: str = ""  # its id in the review queue


@dataclass(frozen=True, slots=True)
class FlushRecord:
    """The result of flushing turns that left the window or were about to."""

    id: str  # a digest of the conversation and its turns
    at: str  # ISO 8601, UTC
    session: str  # the session's id; may be empty
    path: str  # the conversation, workspace-relative
    first: int  # number of the first turn, from 1
    last: int
    turns: Mapping[int, str]  # the digest of every turn by number, except empty ones
    status: Status
    """``flushed``: notes were written; ``nothing``: the model had nothing to write; ``unflushed``: no model
    was asked; ``failed``: the model failed."""
    items: tuple[WrittenNote, ...] = ()
    held: tuple[HeldNote, ...] = ()  # pending in the review queue
    in_part: tuple[int, ...] = ()  # turns that were too long to be shown in full
    redacted: int = 0  # number of secrets redacted from the turns before sending
    provider: str = ""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None  # ``None`` if unknown
    error: str = ""  # why no model was asked, or what failed, in one line
    commit: str = ""  # the commit of what was written, if any
    uncommitted: str = ""  # why there is none


def record_in(tree: Mapping[str, Any]) -> FlushRecord | None:
    """The record in a line of the log; ``None`` if it is invalid."""
    try:
        found = typed(FlushRecord, tree)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return found if found.cost_usd is None or 0 <= found.cost_usd < math.inf else None
