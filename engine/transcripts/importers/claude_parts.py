"""The records of a log of Claude Code as they come: their content, their sender, what came of a call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from engine.transcripts.brief import one_line
from engine.transcripts.importers.lines import Record
from engine.transcripts.importers.session import list_of, object_of, text_of
from engine.transcripts.turn import Attachment

_PERSONS = frozenset({"", "human", "sdk", "channel"})
_PROGRAMS = frozenset({"task-notification", "auto-continuation", "scheduled", "system"})


def content_of(record: Record) -> list[Record]:
    """The blocks of a message; a message that is one text has one."""
    message = object_of(record, "message")
    if isinstance(content := message.get("content"), str):
        return [{"type": "text", "text": content}]
    return [part for part in list_of(message, "content") if isinstance(part, dict)]


def text_in(record: Record) -> str:
    """The text of a message."""
    return "\n\n".join(text_of(part, "text") for part in content_of(record) if part.get("type") == "text")


def sender_of(record: Any) -> Literal["person", "program", "other"]:
    """Who entered a prompt: the versions say it in three ways, and the first ones not at all."""
    kind = (text_of(object_of(record, "origin"), "kind") or text_of(record, "turnOrigin")).replace("_", "-")
    if kind in _PROGRAMS or (not kind and text_of(record, "promptSource") == "system"):
        return "program"
    return "person" if kind in _PERSONS else "other"


def attachment_of(part: Record) -> Attachment:
    """An image or a document, which is mentioned and not kept."""
    source = part.get("source")
    address = text_of(source, "url") or text_of(source, "file_id")
    if address:
        return Attachment(one_line(address))
    kind = text_of(source, "media_type") or text_of(part, "type")
    number = len(text_of(source, "data")) * 3 // 4
    size = f"{number} B" if number < 1024 else f"{number / 1024:.0f} KB"
    return Attachment(one_line(f"{text_of(part, 'title') or kind} ({size}, not kept)"))


def result_text(content: Any) -> str:
    """What a tool gave back, as text."""
    return "\n".join(_result_parts(content))


def _result_parts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        yield text_of(content, "text") or text_of(content, "error_code") or text_of(content, "stdout")
    elif isinstance(content, list):
        for part in content:
            if text_of(part, "type") in ("image", "document"):
                yield f"[{attachment_of(part).path}]"
            elif isinstance(part, dict):
                yield text_of(part, "text") or text_of(part, "title") or text_of(part, "tool_name")
