"""The record of a flush as a value, and as a line of a log that anything may have happened to (spec 6.4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar, get_args

Status = Literal["flushed", "nothing", "unflushed", "failed"]

STATUSES: tuple[str, ...] = get_args(Status)


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
        return _value(FlushRecord, tree)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return None


T = TypeVar("T")


def _value(kind: type[T], tree: Mapping[str, Any]) -> T:
    """What a line says of a record, or of a note of one; each field as its type has it."""
    named = {each.name: str(each.type) for each in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: _READ[type_](tree[name]) for name, type_ in named.items() if name in tree})


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError
    return value


def _status(value: Any) -> Status:
    if value not in STATUSES:
        raise ValueError
    found: Status = value
    return found


def _dollars(value: Any) -> float | None:
    if value is not None and not 0 <= float(value) < math.inf:
        raise ValueError
    return None if value is None else float(value)


_READ: dict[str, Callable[[Any], object]] = {
    "str": _text,
    "int": _number,
    "float | None": _dollars,
    "Status": _status,
    "Mapping[int, str]": lambda turns: {int(number): _text(name) for number, name in turns.items()},
    "tuple[str, ...]": lambda texts: tuple(map(_text, texts)),
    "tuple[int, ...]": lambda numbers: tuple(map(_number, numbers)),
    "tuple[WrittenNote, ...]": lambda notes: tuple(_value(WrittenNote, note) for note in notes),
    "tuple[HeldNote, ...]": lambda notes: tuple(_value(HeldNote, note) for note in notes),
}
"""By type, how a field is read."""
