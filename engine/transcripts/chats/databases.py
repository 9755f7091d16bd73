"""Reads conversations in SQLite: of Crush and the first opencode, opencode, Cursor, Goose and Open WebUI.

A database is a stranger's file: it is opened in memory, and nothing in its schema is run.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from engine.errors import ImportFailed
from engine.transcripts.chats import opencode, records
from engine.transcripts.chats.chat import Chat
from engine.transcripts.chats.layouts import OUTPUT, calls, objects
from engine.transcripts.importers.lines import Record
from engine.transcripts.importers.session import json_in, list_of, object_of, text_of
from engine.transcripts.injected import is_init
from engine.transcripts.turn import COMMAND

MAGIC = b"SQLite format 3\0"
"""How a database begins."""

_LOG_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_LOG = "-wal"
"""What the name of a log of changes has behind that of its database."""

NAMES = ("crush.db", "opencode.db", "sessions.db", "state.vscdb", "webui.db")
"""File names of databases that contain conversations."""

_MODES = slice(18, 20)  # of the header: whether changes are in a file beside it
_JOURNAL = b"\x01\x01"
_COLUMNS = "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'"


def with_log(data: bytes, path: Path) -> bytes:
    """A database with the changes in the log beside it, which a running program has not yet merged."""
    log = path.with_name(f"{path.name}{_LOG}")
    if not data.startswith(MAGIC) or not log.is_file():
        return data
    with TemporaryDirectory() as folder, contextlib.suppress(OSError, sqlite3.Error):
        copy = Path(folder) / "copy.db"
        copy.write_bytes(data)
        shutil.copyfile(log, f"{copy}-wal")
        with contextlib.closing(sqlite3.connect(copy)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return database.serialize()
    return data


def is_log_alone(path: Path) -> bool:
    """Whether a file is, by its name, the log of a database that is not beside it."""
    name = path.name.removesuffix(_LOG)
    return name != path.name and name in NAMES and not path.with_name(name).exists()


def why_log_alone(data: bytes, path: Path) -> str:
    """Why nothing is read from a log of changes itself; empty for any other file."""
    name = path.name.removesuffix(_LOG)
    if name == path.name or not data.startswith(_LOG_MAGIC):
        return ""
    is_there = path.with_name(name).exists()
    return f"it is read with {name}" if is_there else f"it has only changes to {name}, which is not beside it"


def read(data: bytes) -> Iterator[Chat]:
    """The conversations in a database; a table that is damaged loses only what cannot be read."""
    content = bytearray(data)
    content[_MODES] = _JOURNAL
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(bytes(content))
        database.row_factory = sqlite3.Row
        for setting in ("trusted_schema = OFF", "query_only = ON"):
            database.execute(f"PRAGMA {setting}")
        with contextlib.suppress(sqlite3.Error):
            columns = {f"{row[0]}.{row[1]}" for row in database.execute(_COLUMNS)}
            for name, needed, find in LAYOUTS:
                if needed <= columns:
                    yield Chat(name, ())  # known even if nobody has said anything yet
                    yield from find(database)


def _rows(database: sqlite3.Connection, table: str, order: str) -> Iterator[Record]:
    """The rows of a table as far as they can be read."""
    with contextlib.suppress(sqlite3.Error):
        for row in database.execute(f"SELECT * FROM {table} ORDER BY {order}"):
            yield dict(row)


def _crush(database: sqlite3.Connection) -> Iterator[Chat]:
    messages: dict[str, list[Record]] = {}
    for row in _rows(database, "messages", "created_at, rowid"):
        messages.setdefault(text_of(row, "session_id"), []).append(row)
    for session in _rows(database, "sessions", "created_at, rowid"):
        # A sub-agent's session has a parent; what it is told, the agent wrote.
        is_sub_agents = bool(session.get("parent_session_id"))
        found = (
            message
            for row in messages.get(text_of(session, "id"), [])
            for message in _crush_message(row, not is_sub_agents)
        )
        yield from records.conversation(session, found, "crush", is_sub_agents=is_sub_agents)


def _crush_message(row: Record, is_persons: bool) -> Iterator[Record]:
    at, role = {"timestamp": row.get("created_at"), "model": row.get("model")}, text_of(row, "role")
    parts = [
        (text_of(each, "type"), object_of(each, "data"))
        for each in objects({"parts": json_in(text_of(row, "parts"))}, "parts")
    ]
    if role == "tool":
        yield from (OUTPUT for kind, _ in parts if kind == "tool_result")
        return
    texts = [text_of(data, "text") for kind, data in parts if kind == "text"]
    content = [*texts, *({"type": kind} for kind, _ in parts if kind in ("reasoning", "image_url"))]
    files = [{"file_name": text_of(data, "Path") or "file"} for kind, data in parts if kind == "binary"]
    about = {"kind": COMMAND} if role == "user" and any(map(is_init, texts)) else {}
    yield {
        "role": role,
        "content": content,
        "files": files,
        "synthetic": role == "user" and not is_persons,
        **about,
        **at,
    }
    yield calls(
        (
            (text_of(data, "name"), json_in(text_of(data, "input")))
            for kind, data in parts
            if kind == "tool_call"
        ),
        at,
    )


def _opencode(database: sqlite3.Connection) -> Iterator[Chat]:
    parts: dict[str, list[Record]] = {}
    for row in _rows(database, "part", "id"):
        parts.setdefault(text_of(row, "message_id"), []).append(
            object_of({"data": json_in(text_of(row, "data"))}, "data")
        )
    messages: dict[str, list[Record]] = {}
    for row in _rows(database, "message", "time_created, id"):
        info = object_of({"data": json_in(text_of(row, "data"))}, "data")
        one = {"info": info, "parts": parts.get(text_of(row, "id"), [])}
        messages.setdefault(text_of(row, "session_id"), []).append(one)
    for session in _rows(database, "session", "time_created, id"):
        about = {**session, "parentID": session.get("parent_id")}
        yield opencode.read({"info": about, "messages": messages.get(text_of(session, "id"), [])})


def _cursor(database: sqlite3.Connection) -> Iterator[Chat]:
    for table in ("ItemTable", "cursorDiskKV"):
        kept = {text_of(row, "key"): row.get("value") for row in _rows(database, table, "key")}
        values = {key: json_in(value) for key, value in kept.items() if _is_cursors(key) and value}
        composers = [
            *objects(values.get("composer.composerData"), "allComposers"),
            *(
                value
                for key, value in values.items()
                if key.startswith("composerData:") and isinstance(value, dict)
            ),
        ]
        for each in composers:
            name = text_of(each, "composerId")
            listed = [text_of(one, "bubbleId") for one in objects(each, "fullConversationHeadersOnly")]
            apart = [values.get(f"bubbleId:{name}:{one}") for one in listed]
            yield from _cursor_chat(name, each, [*list_of(each, "conversation"), *apart])
        for tab in objects(values.get("workbench.panel.aichat.view.aichat.chatdata"), "tabs"):
            yield from _cursor_chat(text_of(tab, "tabId"), tab, list_of(tab, "bubbles"))


def _is_cursors(key: str) -> bool:
    return key.startswith(("composerData:", "bubbleId:", "composer.", "workbench.panel.aichat."))


def _cursor_chat(name: str, about: Record, bubbles: Iterable[Any]) -> Iterator[Chat]:
    described = {"id": name, "title": text_of(about, "name") or text_of(about, "chatTitle")}
    begun = {"timestamp": about.get("createdAt") or about.get("lastSendTime")}
    messages = [
        _bubble(each, begun if not number else {})
        for number, each in enumerate(bubbles)
        if isinstance(each, dict)
    ]
    yield from records.conversation(described, messages, "cursor")


def _bubble(bubble: Record, begun: Record) -> Record:
    timing = bubble.get("createdAt") or object_of(bubble, "timingInfo").get("clientStartTime")
    at = {"timestamp": timing} if timing else begun
    if bubble.get("type") in (1, "user"):
        images = [{"type": "image"} for _ in list_of(bubble, "images") or list_of(bubble, "selectedImages")]
        return {"role": "user", "content": [text_of(bubble, "text"), *images], **at}
    tool = object_of(bubble, "toolFormerData")
    thinking = [{"type": "thinking"}] if object_of(bubble, "thinking") else []
    given = [(text_of(tool, "name"), json_in(text_of(tool, "rawArgs")))] if tool else []
    spoken = text_of(bubble, "rawText") or text_of(bubble, "text")
    model = text_of(object_of(bubble, "modelInfo"), "modelName") or text_of(bubble, "modelType")
    found = calls(given, at, spoken)
    return {**found, "content": [*thinking, *found["content"]], "model": model}


def _goose(database: sqlite3.Connection) -> Iterator[Chat]:
    messages: dict[str, list[Record]] = {}
    for row in _rows(database, "messages", "created_timestamp, id"):
        messages.setdefault(text_of(row, "session_id"), []).append(row)
    for session in _rows(database, "sessions", "created_at, id"):
        name = text_of(session, "id")
        title = text_of(session, "description") or text_of(session, "name")
        about = {"id": name, "title": title, "cwd": text_of(session, "working_dir")}
        is_persons = session.get("session_type") not in ("sub_agent", "scheduled")
        found = (message for row in messages.get(name, []) for message in _goose_message(row, is_persons))
        yield from records.conversation(about, found, "goose", is_sub_agents=not is_persons)


def _goose_message(row: Record, is_persons: bool) -> Iterator[Record]:
    at, role = {"timestamp": row.get("created_timestamp")}, text_of(row, "role")
    parts = objects({"parts": json_in(text_of(row, "content_json") or "[]")}, "parts")
    is_hidden = (
        object_of({"about": json_in(text_of(row, "metadata_json") or "{}")}, "about").get("userVisible")
        is False
    )
    yield from (OUTPUT for part in parts if text_of(part, "type") == "toolResponse")
    spoken = [part for part in parts if text_of(part, "type") in ("text", "image", "thinking")]
    is_programs = role == "user" and (is_hidden or not is_persons)
    if spoken:
        yield {"role": role, "content": spoken, "synthetic": is_programs, **at}
    used = [
        object_of(object_of(part, "toolCall"), "value")
        for part in parts
        if text_of(part, "type") == "toolRequest"
    ]
    if used:
        yield calls(((text_of(call, "name"), call.get("arguments")) for call in used), at)


def _open_webui(database: sqlite3.Connection) -> Iterator[Chat]:
    rows = [*_rows(database, "chat", "created_at, id")]
    if len({row.get("user_id") for row in rows}) > 1:
        raise ImportFailed(
            "it has the chats of several people",
            hint="export your own in Open WebUI: Settings, Data Controls",
        )
    for row in rows:
        value = json_in(text_of(row, "chat"))
        about = {key: row.get(key) for key in ("id", "title", "created_at")}
        if isinstance(value, dict):
            yield from records.read([({**value, **about}, 0)])


LAYOUTS: tuple[tuple[str, frozenset[str], Callable[[sqlite3.Connection], Iterator[Chat]]], ...] = (
    ("crush", frozenset({"sessions.id", "messages.parts"}), _crush),
    ("goose", frozenset({"sessions.id", "messages.content_json"}), _goose),
    ("opencode", frozenset({"session.id", "message.data", "part.data"}), _opencode),
    ("cursor", frozenset({"ItemTable.key"}), _cursor),
    ("open-webui", frozenset({"chat.user_id", "chat.chat"}), _open_webui),
)
"""Each program, the columns of its database, and how they are read."""
