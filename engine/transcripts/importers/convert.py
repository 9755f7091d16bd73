"""Whose session log a file is, and the log as turns without an import."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from engine.transcripts.days import iso
from engine.transcripts.importers import claude_code, codex
from engine.transcripts.importers.lines import read_lines
from engine.transcripts.importers.log import Kind, SessionLog
from engine.transcripts.importers.session import START
from engine.transcripts.turn import Transcript, Turn

_LOOK_AT = 50
_WHOLE = frozenset({"projectHash", "messages", "messageId"})


def kind_of(stream: BinaryIO) -> Kind | None:
    """Whose log a file is, by its first lines; ``None`` while they do not tell."""
    for number, line in enumerate(read_lines(stream)):
        for record in line.records:
            if codex.looks_like(record):
                return "codex"
            # Gemini CLI's sessions and exports of whole conversations have session ids as well.
            if claude_code.looks_like(record) and not _WHOLE & record.keys():
                return "claude-code"
        if number == _LOOK_AT:
            break
    return None


def read_stream(kind: Kind, path: Path, stream: BinaryIO, name: str) -> Transcript:
    """A whole session log that is open, or in memory, as a transcript.

    The session's id is taken from ``path``; ``name`` is the path the transcript is given.
    """
    log = SessionLog(kind, path, stream)
    turns: list[Turn] = []
    reader = log.read(START, turns.append)
    turns += reader.unfinished
    started = iso(reader.first) if reader.first else ""
    header: dict[str, object] = {"session_id": log.session_id(), "started": started}
    header |= {"model": reader.model, "channel": kind, "cwd": reader.cwd}
    title = reader.topic or reader.question.strip().partition("\n")[0]
    return Transcript(name, log.session_id(), started, "", title, header, tuple(turns))
