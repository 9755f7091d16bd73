"""A reply as a service tells of it: its text in pieces, and all else beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.providers.chat import ToolUse, Usage


@dataclass(slots=True)
class Told:
    """What a service has told of a reply beside the text; the rest as ``ChatReply``."""

    usage: Usage = field(default_factory=Usage)
    model: str = ""  # empty where the service does not say
    has_begun: bool = False  # anything came at all that belongs to a reply
    has_ended: bool = False  # the mark of its end came
    cut: bool = False
    declined: str = ""  # why the model or the service would not answer, in one word or some; else empty
    calls: list[ToolUse] = field(default_factory=list)
    items: list[Mapping[str, Any]] = field(default_factory=list)


class Pieces:
    """The text of one reply as it comes, in characters that can be written down.

    A character beyond the first 65,536 may arrive as two halves in two pieces: they are joined. A half that
    stays alone becomes U+FFFD. All else passes through unchanged.

    ``told`` is what the last attempt has told beside the text, ``characters`` how many were passed on.
    """

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self.told = Told()
        self._said: list[str] = []
        self._half = ""
        self.characters = 0

    @property
    def text(self) -> str:
        """All pieces so far."""
        return "".join(self._said)

    def add(self, text: str) -> None:
        """Takes a piece over."""
        text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        self._pass_on(text[: len(text) - len(self._half)])

    def end(self) -> None:
        """Nothing more comes: what was kept back is passed on."""
        half, self._half = self._half, ""
        self._pass_on(half)

    def forget_half(self) -> None:
        """What was kept back belonged to an attempt that failed."""
        self._half = ""

    def _pass_on(self, text: str) -> None:
        if text:
            whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            self.characters += len(whole)
            self._said.append(whole)
            self._on_text(whole)


def count_of(value: object) -> int:
    """A token count from outside: a number that a count can be, else 0."""
    return value if isinstance(value, int) and 0 < value < 1 << 53 else 0


def usage_of(sent: object, written: object, cached: object, stored: object = 0, hour: object = 0) -> Usage:
    """Tokens as a service tells them, no part larger than its whole.

    Of those ``sent``, the ``cached`` ones were read from a cache and the ``stored`` ones written to one, of
    which some stay an ``hour``; the reply is what was ``written``.
    """
    whole = count_of(sent)
    read = min(count_of(cached), whole)
    kept = min(count_of(stored), whole - read)
    return Usage(whole, read, kept, min(count_of(hour), kept), count_of(written))


def tool_use(name: str, arguments: str, id: str) -> ToolUse:
    """A call whose arguments are the JSON that a model wrote."""
    try:
        given = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        given = None
    return ToolUse(name, given, id)
