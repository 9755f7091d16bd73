"""Reads conversations in generic formats: labelled plain text, and JSON lines with a role.

Both can be forged: anyone who can add a paragraph that starts with ``user:`` speaks as the person. A label
therefore counts only at the start of a paragraph, and never in fenced code or a quotation.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from engine.provenance.tools import brings_outside, reads_document
from engine.transcripts.escape import Fences, outside
from engine.transcripts.importers.lines import Line, Record
from engine.transcripts.importers.session import text_of
from engine.transcripts.importers.tools import summary_of
from engine.transcripts.injected import strip_injected
from engine.transcripts.turn import TOOL, Role, Text, ToolCall, Turn

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


def labelled_turns(text: str) -> list[tuple[Turn, int]]:
    """The turns of a plain text with labelled paragraphs such as ``user: …``, each with its start index.

    ``text`` has ``\\n`` line ends. Text before the first label is a system turn. Empty unless both a person
    and an agent speak.
    """
    labels = list(outside(Fences(text).blocks(), _LABEL.finditer(text), lambda match: match.start("label")))
    speakers = [match["who"].lower() for match in labels]
    if not {"user", "agent"} <= {_ROLES[label] for label in speakers}:
        return []
    starts = [match.start("label") for match in labels]
    ends = [*starts[1:], len(text)]
    turns = [
        (_labelled_turn(label, text[match.end() : end]), start)
        for label, match, start, end in zip(speakers, labels, starts, ends, strict=True)
    ]
    above = text[: starts[0]].strip("\ufeff \t\n")
    return [(_labelled_turn("system", above), 0), *turns] if above else turns


def _labelled_turn(label: str, text: str) -> Turn:
    plain = "\n".join(line.rstrip(" \t") for line in text.split("\n")).strip()
    return Turn(_ROLES[label], "", (Text(plain),) if plain else (), TOOL if label in _OUTSIDE else "")


def turns_of(line: Line) -> list[Turn]:
    """The turns in a JSON line of a common format: ``{"role": …, "content": …}``, alone, as a ``message``, or
    in a list of ``messages``; empty if there is no role.
    """
    return [turn for record in line.records for turn in _turns_of(record)]


def _turns_of(record: Record) -> Iterator[Turn]:
    listed, nested = record.get("messages"), record.get("message")
    messages = listed if isinstance(listed, list) else [nested if isinstance(nested, dict) else record]
    for message in messages:
        label = (text_of(message, "role") or text_of(message, "sender")).lower()
        role = _ROLES.get(label)
        if role is not None:
            text = strip_injected("\n\n".join(_texts(message))).strip()
            kind = TOOL if label in _OUTSIDE else ""
            yield Turn(role, _clock(record), (Text(text),) if text else (), kind)


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


def calls_in(record: Any) -> Iterator[tuple[str, ToolCall]]:
    """The tool calls in a log record, each with the id of its result."""
    for part in _objects(record):
        name, kind = text_of(part, "name"), text_of(part, "type")
        call = text_of(part, "call_id") or text_of(part, "id")
        if call and (name or "call" in kind) and ("tool_use" in kind or kind.endswith("_call")):
            arguments: Any = part.get("input", part.get("arguments", part.get("action")))
            if isinstance(arguments, str):
                with contextlib.suppress(ValueError, RecursionError):
                    arguments = json.loads(arguments)
            yield call, ToolCall(name or kind, summary_of(name or kind, arguments))


def is_own_output(record: Any, calls: Mapping[str, ToolCall]) -> bool:
    """True if a log record has output of the agent's own commands that is not a document.

    ``calls`` are the earlier calls by id.
    """
    answered = [text_of(part, "tool_use_id") or text_of(part, "call_id") for part in _objects(record)]
    known = [calls[name] for name in answered if name in calls]
    return bool(known) and not any(brings_outside(call) or reads_document(call) for call in known)


def tool_output(record: Any) -> Iterator[str]:
    """The complete tool output in a log record.

    A transcript keeps only a short line of it, so text planted in the rest is visible only here.
    """
    stack: list[tuple[Any, bool]] = [(record, False)]
    while stack:
        value, within = stack.pop()
        if isinstance(value, str):
            if within:
                yield value
        elif isinstance(value, list):
            stack += [(each, within) for each in reversed(value)]
        elif isinstance(value, dict):
            kind = text_of(value, "type")
            within = within or "result" in kind or "output" in kind or text_of(value, "role") in _OUTSIDE
            stack += [
                (each, within or key in ("toolUseResult", "tool_result", "output"))
                for key, each in reversed(value.items())
                if key not in ("type", "id", "tool_use_id", "call_id", "role", "name")
            ]


def _objects(record: Any) -> Iterator[Record]:
    """All JSON objects in a record."""
    stack: list[Any] = [record]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            yield value
            stack += value.values()
        elif isinstance(value, list):
            stack += value


_OUTSIDE = frozenset({"tool", "function"})
