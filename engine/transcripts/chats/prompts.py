"""Reads the prompt histories of Claude Code and Codex (``history.jsonl``): what a person typed.

They are a last resort, for sessions whose logs are gone: the agents delete old logs, but not the history.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from engine.transcripts.chats.chat import Chat, ChatBuilder, stamp
from engine.transcripts.importers.lines import Record
from engine.transcripts.importers.log import Kind
from engine.transcripts.importers.session import object_of, text_of
from engine.transcripts.turn import COMMAND, Turn

FILE = "history.jsonl"
"""The name of a history, in the agent's folder."""

_COMMAND = re.compile(r"/[A-Za-z][\w:-]*(?:\s|$)")


def kind_of_history(record: Record) -> Kind | None:
    """Whose history a record is from; ``None`` if from none."""
    if isinstance(record.get("display"), str) and ("pastedContents" in record or "project" in record):
        return "claude-code"
    is_codex = {"session_id", "ts", "text"} <= record.keys() and isinstance(record["text"], str)
    return "codex" if is_codex and "role" not in record else None


def read(records: Iterable[Record]) -> Iterator[Chat]:
    """The prompts of each session or, where the history names none, of each project and day.

    Sessions without any words, only commands, are left out and counted with the first session.
    """
    chats: dict[str, tuple[Kind, ChatBuilder]] = {}
    for record in records:
        kind = kind_of_history(record)
        if kind is None:
            continue
        at = stamp(record.get("timestamp") or record.get("ts"))
        project = text_of(record, "project")
        name = text_of(record, "sessionId") or text_of(record, "session_id")
        if not name:
            day = f"{at:%Y-%m-%d}" if at else ""
            name = f"prompts-{hashlib.sha256(f'{project} {day}'.encode('utf-8', 'replace')).hexdigest()[:16]}"
        _, chat = chats.setdefault(name, (kind, ChatBuilder()))
        chat.session_id, chat.cwd = name, chat.cwd or project
        text = _with_line_ends(text_of(record, "display") or text_of(record, "text"))
        chat.say("user", text, at, kind=COMMAND if _COMMAND.match(text) else "")
        for paste in object_of(record, "pastedContents").values():
            if text_of(paste, "type") == "image":
                chat.drop("images")
            elif content := text_of(paste, "content"):
                chat.paste("user", _with_line_ends(content), at)
    read = [builder.chat(kind) for kind, builder in chats.values()]
    spoken = [found for found in read if any(map(_has_words, found.turns))]
    commands = sum(len(found.turns) for found in read) - sum(len(found.turns) for found in spoken)
    if read and not spoken:
        yield replace(read[0], turns=())
    for found in spoken:
        left_out = {**found.left_out, "commands": commands} if commands else found.left_out
        yield replace(found, prompts_only=True, left_out=left_out)
        commands = 0


def _with_line_ends(text: str) -> str:
    """A text with ``\\n`` line ends: what is pasted into a terminal has ``\\r``."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _has_words(turn: Turn) -> bool:
    """Whether a turn is more than a command's name."""
    return turn.kind != COMMAND or len(turn.text.split(maxsplit=1)) > 1


def names_session(chat: Chat) -> bool:
    """Whether the history named the session of the prompts."""
    return not chat.session_id.startswith("prompts-")
