"""Builders of session logs in the formats of the agents."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

from engine.store.files import Files
from engine.transcripts.chats.any import read_text
from engine.transcripts.chats.read import read_chat
from engine.transcripts.format import render_turn
from engine.transcripts.turn import KnowledgeChange, Transcript, Turn

SESSION = "0f0e0d0c-1111-4222-8333-444455556666"


def dump(*records: dict[str, Any] | bytes) -> bytes:
    """One line per record; bytes are written unchanged."""
    lines = [record if isinstance(record, bytes) else json.dumps(record).encode() for record in records]
    return b"".join(line + b"\n" for line in lines)


class ClaudeCode:
    """Builds the records of one Claude Code session, a minute apart."""

    def __init__(self, session_id: str = SESSION) -> None:
        self.session_id = session_id
        self._numbers = count(1)
        self._messages = count(1)

    def record(self, kind: str, **fields: Any) -> dict[str, Any]:
        number = next(self._numbers)
        return {
            "parentUuid": None,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/robin/shop",
            "sessionId": self.session_id,
            "version": "2.1.12",
            "gitBranch": "main",
            "type": kind,
            "uuid": f"uuid-{number}",
            "timestamp": f"2026-02-16T{18 + number // 60:02}:{number % 60:02}:00.123Z",
            **fields,
        }

    def user(self, content: Any, **fields: Any) -> dict[str, Any]:
        return self.record("user", message={"role": "user", "content": content}, **fields)

    def reply(self, *blocks: dict[str, Any], message_id: str = "", **fields: Any) -> dict[str, Any]:
        message = {
            "model": "claude-opus-4-5-20251101",
            "id": message_id or f"msg_{next(self._messages)}",
            "type": "message",
            "role": "assistant",
            "content": list(blocks),
            "usage": {
                "input_tokens": 10,
                "cache_creation_input_tokens": 20,
                "cache_read_input_tokens": 70,
                "output_tokens": 5,
            },
        }
        return self.record("assistant", message=message, requestId="req_1", **fields)

    def says(self, text: str, **fields: Any) -> dict[str, Any]:
        return self.reply({"type": "text", "text": text}, **fields)

    def thinks(self, text: str) -> dict[str, Any]:
        return self.reply({"type": "thinking", "thinking": text, "signature": "Ep8CCkYIBRgC"})

    def calls(self, call_id: str, name: str, /, **arguments: Any) -> dict[str, Any]:
        return self.reply({"type": "tool_use", "id": call_id, "name": name, "input": arguments})

    def result(self, call_id: str, content: Any, **fields: Any) -> dict[str, Any]:
        block = {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}
        return self.user([block], toolUseResult={"stdout": content})


class Codex:
    """Builds the records of one Codex session, a minute apart."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def record(self, kind: str, **payload: Any) -> dict[str, Any]:
        return {
            "timestamp": f"2026-02-16T18:{next(self._numbers):02}:00.123Z",
            "type": kind,
            "payload": payload,
        }

    def meta(self) -> dict[str, Any]:
        return self.record(
            "session_meta",
            id=SESSION,
            timestamp="2026-02-16T18:00:30.000Z",
            cwd="/home/robin/shop",
            cli_version="0.98.0",
            instructions=None,
            git={"branch": "main"},
        )

    def event(self, kind: str, **fields: Any) -> dict[str, Any]:
        return self.record("event_msg", type=kind, **fields)

    def item(self, kind: str, **fields: Any) -> dict[str, Any]:
        return self.record("response_item", type=kind, **fields)

    def message(self, role: str, text: str) -> dict[str, Any]:
        part = "output_text" if role == "assistant" else "input_text"
        return self.item("message", role=role, content=[{"type": part, "text": text}])


def write(path: Path, *records: dict[str, Any] | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(dump(*records))
    return path


def read_transcript(files: Files, path: str) -> Transcript:
    return read_text(files.read(path), path)


def read_log(path: Path) -> Transcript:
    """Read a session log in place, without an import."""
    found = read_chat(path.read_bytes(), str(path))
    assert found is not None
    return found


def remember(files: Files, path: str, *changes: KnowledgeChange) -> None:
    """Write memory operations into a transcript, as an agent that edits it does."""
    files.append(path, f"\n{render_turn(Turn('agent', '18:52', changes, 'memory'))}".encode())
