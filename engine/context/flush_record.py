"""The record of a flush as a value, and as a line of a log that anything may have happened to (spec 6.4)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["flushed", "nothing", "unflushed", "failed"]

STATUSES: frozenset[str] = frozenset({"flushed", "nothing", "unflushed", "failed"})


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
        turns = {int(number): _text(name) for number, name in tree["turns"].items()}
        status = tree["status"]
        cost = tree.get("cost_usd")
        if status not in STATUSES or (cost is not None and not 0 <= float(cost) < math.inf):
            return None
        return FlushRecord(
            id=_text(tree["id"]),
            at=_text(tree["at"]),
            session=_text(tree["session"]),
            path=_text(tree["path"]),
            first=_number(tree["first"]),
            last=_number(tree["last"]),
            turns=turns,
            status=status,
            items=tuple(
                WrittenNote(
                    _text(item["id"]), _text(item["path"]), _number(item["line"]), _text(item["text"])
                )
                for item in tree.get("items", ())
            ),
            held=tuple(
                HeldNote(
                    _text(item["to"]),
                    _text(item["text"]),
                    _text(item["reason"]),
                    tuple(map(_text, item.get("read", ()))),
                    _text(item.get("id", "")),
                )
                for item in tree.get("held", ())
            ),
            in_part=tuple(map(_number, tree.get("in_part", ()))),
            redacted=_number(tree.get("redacted", 0)),
            provider=_text(tree.get("provider", "")),
            model=_text(tree.get("model", "")),
            input_tokens=_number(tree.get("input_tokens", 0)),
            output_tokens=_number(tree.get("output_tokens", 0)),
            cost_usd=None if cost is None else float(cost),
            error=_text(tree.get("error", "")),
            commit=_text(tree.get("commit", "")),
            uncommitted=_text(tree.get("uncommitted", "")),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError
    return value
