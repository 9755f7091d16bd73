"""A reply in progress: its text in pieces, and everything else a service reports."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.providers.chat import ToolUse, Usage


@dataclass(slots=True)
class ReplyInfo:
    """What a service has reported about a reply besides its text; other fields as in ``ChatReply``."""

    usage: Usage = field(default_factory=Usage)
    model: str = ""  # empty if not reported
    has_begun: bool = False  # any part of a reply has arrived
    has_ended: bool = False  # its end has been signalled
    cut: bool = False
    declined: str = ""  # why the model or the service refused to answer, in a few words; empty if it did not
    calls: list[ToolUse] = field(default_factory=list)
    items: list[Mapping[str, Any]] = field(default_factory=list)


class Pieces:
    """The text of one reply as it arrives, free of lone surrogates.

    A surrogate pair may be split across two pieces: it is joined. A lone surrogate becomes U+FFFD. Everything
    else passes through unchanged.

    ``info`` is everything else from the last attempt, ``characters`` the number passed on.
    """

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self.info = ReplyInfo()
        self._emitted: list[str] = []
        self._half = ""
        self.characters = 0

    @property
    def text(self) -> str:
        """All pieces so far."""
        return "".join(self._emitted)

    def add(self, text: str) -> None:
        """Passes a piece on."""
        text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        self._emit(text[: len(text) - len(self._half)])

    def end(self) -> None:
        """Ends the text: passes on what was held back."""
        half, self._half = self._half, ""
        self._emit(half)

    def discard_half(self) -> None:
        """Discards what was held back, after a failed attempt."""
        self._half = ""

    def _emit(self, text: str) -> None:
        if text:
            whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            self.characters += len(whole)
            self._emitted.append(whole)
            self._on_text(whole)


def count_of(value: object) -> int:
    """A token count from a service; 0 if it is invalid."""
    return value if isinstance(value, int) and 0 < value < 1 << 53 else 0


def usage_of(sent: object, written: object, cached: object, stored: object = 0, hour: object = 0) -> Usage:
    """Usage from a service's counts, with no part larger than its whole.

    Of the tokens ``sent``, ``cached`` were read from a cache and ``stored`` written to one, ``hour`` of them
    for an hour; the reply has ``written`` tokens.
    """
    whole = count_of(sent)
    read = min(count_of(cached), whole)
    kept = min(count_of(stored), whole - read)
    return Usage(whole, read, kept, min(count_of(hour), kept), count_of(written))


def tool_use(name: str, arguments: str, id: str) -> ToolUse:
    """A tool call from its arguments as JSON text."""
    try:
        given = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        given = None
    return ToolUse(name, given, id)
