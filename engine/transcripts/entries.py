"""The one-line entries of a turn (spec 2.1): tool calls, attachments, memory operations."""

from __future__ import annotations

import re

from engine.startup.lazy import expression
from engine.transcripts.escape import decode, encode_line, encode_name
from engine.transcripts.turn import Attachment, KnowledgeChange, ToolCall

Entry = ToolCall | Attachment | KnowledgeChange

_ENTRY = expression(r"> \[(tool|attachment|knowledge):([^\]]*)\](.*)")
_ARROW = expression(r" (→) ")
_DASH = expression(r" (—|–|-) ")
# A separator inside the first field gets a backslash; backslashes before a separator are doubled.
_ARROW_IN = expression(r"(?<!\\)(?:(\\+)(?=→)|(?:(?<= )|^)(?=→(?: |$)))")
_DASH_IN = expression(r"(?<!\\)(?:(\\+)(?=[—–-])|(?:(?<= )|^)(?=[—–-](?: |$)))")
_ARROW_OUT = expression(r"(?<!\\)(\\+)(?=→)")
_DASH_OUT = expression(r"(?<!\\)(\\+)(?=[—–-])")


def render_entry(entry: Entry) -> str:
    """The entry's line, without the line end."""
    match entry:
        case ToolCall(name, summary, result):
            return f"> [tool:{encode_name(name)}]{_join(summary, result, ' → ', _ARROW_IN)}"
        case KnowledgeChange(action, path, summary):
            return f"> [knowledge:{encode_name(action)}]{_join(path, summary, ' — ', _DASH_IN)}"
        case Attachment(path):
            return f"> [attachment:{encode_name(path)}]"


def parse_entry(line: str) -> Entry | None:
    """The entry on a line; ``None`` if the line is ordinary text."""
    match = _ENTRY.fullmatch(line)
    if match is None:
        return None
    kind, name, rest = match.groups()
    if rest and not rest.startswith(" "):
        return None
    name = decode(name)
    if kind == "tool":
        return ToolCall(name, *_split(rest, _ARROW, _ARROW_OUT))
    if kind == "knowledge":
        return KnowledgeChange(name, *_split(rest, _DASH, _DASH_OUT))
    return Attachment(name) if not rest.strip(" \t") else None


def _join(first: str, second: str, separator: str, inside: re.Pattern[str]) -> str:
    first = inside.sub(lambda match: (match[1] or "") * 2 if match[1] else "\\", encode_line(first))
    text = f" {first}" if first else ""
    return f"{text}{separator}{encode_line(second)}" if second else text


def _split(rest: str, separator: re.Pattern[str], inside: re.Pattern[str]) -> tuple[str, str]:
    found = separator.search(rest)
    first, second = (rest[: found.start()], rest[found.end() :]) if found else (rest, "")
    first = inside.sub(lambda match: "\\" * (len(match[1]) // 2), first.removeprefix(" "))
    return decode(first), decode(second)
