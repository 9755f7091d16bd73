"""Reads the notes of Nexus AI Chat Importer for Obsidian: each message is a callout, on lines with ``>``."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime

from engine.transcripts.chats.chat import Chat, ChatBuilder, when_in
from engine.transcripts.turn import Role

NAME = "nexus"

_NOTE = re.compile(
    r"\A---\n(?P<head>(?:[\w-]+:[^\n]*\n)*?nexus: nexus-ai-chat-importer\n(?:[^\n]*\n)*?)---\n"
)
_FIELD = re.compile(r"^(?P<key>\w+): \"?(?P<value>[^\n]*?)\"?$", re.MULTILINE)
_MARK = re.compile(
    r"^> ?\[!nexus_(?P<what>user|agent|attachment)\][+-]? \*\*(?P<who>[^*\n]*)\*\*"
    r"(?: \([^)\n]*\))?(?: - (?P<at>[^\n]*))?$"
)
_NESTED = re.compile(r"^>> ?\[!nexus_attachment\][+-]? \*\*(?P<name>[^*\n]*)\*\*")
_DATES = ("%m/%d/%Y at %I:%M %p", "%m/%d/%Y at %I:%M:%S %p")


def looks_like(text: str) -> bool:
    """Whether a text is a note of Nexus."""
    return _NOTE.match(text) is not None


def read(text: str) -> Chat:
    """The conversation in a note with ``\\n`` line ends."""
    chat = ChatBuilder()
    note = _NOTE.match(text)
    fields = {found["key"]: found["value"] for found in _FIELD.finditer(note["head"] if note else "")}
    chat.session_id, chat.title = fields.get("conversation_id", ""), fields.get("aliases", "")
    for role, at, lines, files, line in _messages(text.split("\n")):
        chat.say(role, "\n".join(lines), at, line=line)
        for name in files:
            chat.attach(role, name, at, line=line)
        chat.drop("images", len(files))
    return chat.chat(NAME)


def _messages(every: list[str]) -> Iterator[tuple[Role, datetime | str | None, list[str], list[str], int]]:
    """Each message: who said it, when, its lines, the names of its files, and where it begins."""
    message: tuple[Role, datetime | str | None, list[str], list[str], int] | None = None
    is_text = False
    for number, line in enumerate(every, 1):
        mark, nested = _MARK.match(line), _NESTED.match(line)
        if mark is not None and mark["what"] != "attachment":
            if message is not None:
                yield message
            role: Role = "user" if mark["what"] == "user" else "agent"
            message, is_text = (role, _moment(mark["at"] or ""), [], [], number), True
        elif message is not None and (found := nested or mark) is not None:
            message[3].append(found["name"] if found is nested else found["who"])
            is_text = False
        elif message is not None and is_text and line.startswith(">"):
            message[2].append(line[1:].removeprefix(" "))
        elif line.startswith("<!-- UID:"):
            is_text = False
    if message is not None:
        yield message


def _moment(text: str) -> datetime | str | None:
    for form in _DATES:
        with contextlib.suppress(ValueError, OverflowError):
            return datetime.strptime(text.strip(), form).astimezone(UTC)
    return when_in(text)
