"""Conversations in forms that no importer of ours knows: labelled plain text, and JSON lines with a role.

Neither is unambiguous: whoever could write a paragraph that begins with ``user:`` into such a file has
spoken as the person. So a label counts only at the start of a paragraph, and never inside fenced code or a
quotation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from engine.transcripts.escape import Fences, outside
from engine.transcripts.importers.lines import Line, Record
from engine.transcripts.importers.session import text_of
from engine.transcripts.injected import strip_injected
from engine.transcripts.turn import Role, Text, Turn

_ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "agent",
    "agent": "agent",
    "model": "agent",
    "ai": "agent",
    "claude": "agent",
    "chatgpt": "agent",
    "system": "system",
    "developer": "system",
    "tool": "system",
    "function": "system",
}
_LABEL = re.compile(
    r"(?:\A\ufeff?\s*|\n[ \t]*\n)"
    rf"(?P<label>(?:\*\*)?(?P<who>{'|'.join(_ROLES)})(?:\*\*)?[ \t]*:(?:\*\*)?)(?=\s)",
    re.IGNORECASE,
)


def spoken(text: str) -> list[tuple[Turn, int]]:
    """The turns of a plain text whose paragraphs say who speaks, as ``user: …``.

    Args:
        text: The text, with ``\\n`` line ends.

    Returns:
        Each turn and the place at which it begins; nothing where not both a person and an agent are named.
        What stands before the first label is a system turn.
    """
    labels = list(outside(Fences(text).blocks(), _LABEL.finditer(text), lambda match: match.start("label")))
    roles = [_ROLES[match["who"].lower()] for match in labels]
    if not {"user", "agent"} <= set(roles):
        return []
    starts = [match.start("label") for match in labels]
    ends = [*starts[1:], len(text)]
    turns = [
        (_said(role, text[match.end() : end]), start)
        for role, match, start, end in zip(roles, labels, starts, ends, strict=True)
    ]
    above = text[: starts[0]].strip("\ufeff \t\n")
    return [(_said("system", above), 0), *turns] if above else turns


def _said(role: Role, text: str) -> Turn:
    plain = "\n".join(line.rstrip(" \t") for line in text.split("\n")).strip()
    return Turn(role, "", (Text(plain),) if plain else ())


@dataclass(slots=True)
class RecordReader:
    """Turns JSON lines of the common forms into turns: ``{"role": …, "content": …}``, alone, as a
    ``message``, or in a list of ``messages``.

    Attributes:
        turns: The turns so far. Whatever the agent says in a row is one for each line.
    """

    turns: list[Turn] = field(default_factory=list)

    def feed(self, line: Line) -> bool:
        """Take in a line; ``False`` when nothing on it says who speaks."""
        found = [turn for record in line.records for turn in _turns_of(record)]
        self.turns += found
        return bool(found)


def _turns_of(record: Record) -> Iterator[Turn]:
    listed, nested = record.get("messages"), record.get("message")
    messages = listed if isinstance(listed, list) else [nested if isinstance(nested, dict) else record]
    for message in messages:
        role = _ROLES.get((text_of(message, "role") or text_of(message, "sender")).lower())
        if role is not None:
            text = strip_injected("\n\n".join(_texts(message))).strip()
            yield Turn(role, _clock(record), (Text(text),) if text else ())


def _texts(message: Any) -> Iterator[str]:
    content = message.get("content", message.get("text"))
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, str):
                yield part
            elif text_of(part, "text"):
                yield text_of(part, "text")


def _clock(record: Record) -> str:
    found = re.search(r"T(\d\d:\d\d)", text_of(record, "timestamp")[:40])
    return found[1] if found else ""


def tool_output(record: Any) -> Iterator[str]:
    """What tools gave back as it stands in a record of a log, whole.

    A transcript keeps one short line of it. What was planted in the rest is known only here.

    Args:
        record: A JSON object of a log.
    """
    waiting: list[tuple[Any, bool]] = [(record, False)]
    while waiting:
        value, within = waiting.pop()
        if isinstance(value, str):
            if within:
                yield value
        elif isinstance(value, list):
            waiting += [(each, within) for each in reversed(value)]
        elif isinstance(value, dict):
            kind = text_of(value, "type")
            within = within or "result" in kind or "output" in kind or text_of(value, "role") in _OUTSIDE
            waiting += [
                (each, within or key in ("toolUseResult", "tool_result", "output"))
                for key, each in reversed(value.items())
                if key not in ("type", "id", "tool_use_id", "call_id", "role", "name")
            ]


_OUTSIDE = frozenset({"tool", "function"})
