"""Conversations in SQLite: whose the words are, what is beside them, and what cannot be read."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ImportFailed
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.chats.chat import Chat
from engine.transcripts.chats.databases import with_log
from engine.transcripts.chats.importing import import_chats
from engine.transcripts.chats.read import may_be_chat, read_chats, why_empty
from engine.transcripts.importers.state import KnownSessions
from engine.transcripts.turn import COMMAND, ToolCall

_CRUSH = (
    "CREATE TABLE sessions (id TEXT, parent_session_id TEXT, title TEXT, created_at INTEGER)",
    "CREATE TABLE messages (id TEXT, session_id TEXT, role TEXT, parts TEXT, model TEXT, created_at INTEGER)",
)


def database(path: Path, tables: tuple[str, ...], rows: list[tuple[str, tuple[Any, ...]]]) -> bytes:
    made = sqlite3.connect(path)
    for table in tables:
        made.execute(table)
    for table, values in rows:
        made.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)
    made.commit()
    made.close()
    return path.read_bytes()


def parts(*found: tuple[str, dict[str, Any]]) -> str:
    return json.dumps([{"type": kind, "data": data} for kind, data in found])


def said(chat: Chat) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in chat.turns]


def test_crush_has_a_conversation_for_each_session(tmp_path: Path) -> None:
    init = "Please analyze this codebase and create a CRUSH.md file containing:\n1. Build/lint/test commands"
    data = database(
        tmp_path / "crush.db",
        _CRUSH,
        [
            ("sessions", ("a", None, "First", 1757120000)),
            ("sessions", ("b", "a", "New Agent Session", 1757120001)),
            ("messages", ("1", "a", "user", parts(("text", {"text": init})), None, 1757120000)),
            (
                "messages",
                (
                    "2", "a", "assistant",
                    parts(
                        ("reasoning", {"thinking": "hm"}),
                        ("text", {"text": "two"}),
                        ("tool_call", {"name": "view", "input": '{"file_path": "a.py"}'}),
                    ),
                    "m", 1757120060,
                ),
            ),
            ("messages", ("3", "a", "tool", parts(("tool_result", {"content": "x"})), None, 1757120061)),
            (
                "messages",
                (
                    "4", "a", "user",
                    parts(("text", {"text": "three"}), ("binary", {"Path": "p.png"})),
                    None, 1757120120,
                ),
            ),
            ("messages", ("5", "a", "user", "not JSON", None, 1757120121)),
            ("messages", ("6", "b", "user", parts(("text", {"text": "search"})), None, 1757120062)),
            ("messages", ("7", "b", "assistant", parts(("text", {"text": "found"})), "m", 1757120063)),
        ],
    )  # fmt: skip
    found = {chat.session_id: chat for chat in read_chats(data, "crush.db")}
    assert set(found) == {"a"}
    chat = found["a"]
    assert (chat.format, chat.title, chat.model) == ("crush", "First", "m")
    assert said(chat) == [("user", init), ("agent", "two"), ("user", "three")]
    assert [turn.time for turn in chat.turns] == ["00:53", "00:54", "00:55"]
    assert chat.turns[0].kind == COMMAND
    assert [block.name for block in chat.turns[1].blocks if isinstance(block, ToolCall)] == ["view"]
    assert chat.left_out == {"thinking": 1, "tool-output": 1, "images": 1, "sub-agent-logs": 1}


@pytest.mark.parametrize(
    "init",
    [
        "`Please analyze this codebase and create a **A.md**:\n\n- Build/lint/test commands - especially",
        "Analyze this codebase and create/update **AGENTS.md**.\n\n**First**: Check if directory is empty or"
        " contains only config files.",
    ],
)
def test_what_crushs_init_stands_for_is_a_command(tmp_path: Path, init: str) -> None:
    asked = [
        ("messages", (text, "a", "user", parts(("text", {"text": text})), None, number))
        for number, text in enumerate((init, init.partition("\n")[0]))
    ]
    data = database(tmp_path / "crush.db", _CRUSH, [("sessions", ("a", None, "T", 1)), *asked])
    (found,) = read_chats(data, "crush.db")
    assert [turn.kind for turn in found.turns] == [COMMAND, ""]


def test_opencodes_database_has_its_sessions(tmp_path: Path) -> None:
    data = database(
        tmp_path / "opencode.db",
        (
            "CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, title TEXT, time_created INT)",
            "CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT)",
            "CREATE TABLE part (id TEXT, message_id TEXT, data TEXT)",
        ),
        [
            ("session", ("ses_1", None, "/w", "T", 1)),
            ("session", ("ses_2", "ses_1", "/w", "Sub", 2)),
            ("message", ("m1", "ses_1", 1, json.dumps({"role": "user", "time": {"created": 1}}))),
            ("message", ("m2", "ses_1", 2, json.dumps({"role": "assistant", "modelID": "m"}))),
            ("message", ("m3", "ses_2", 3, json.dumps({"role": "user"}))),
            ("part", ("p1", "m1", json.dumps({"type": "text", "text": "one"}))),
            ("part", ("p2", "m1", json.dumps({"type": "text", "text": "a file", "synthetic": True}))),
            ("part", ("p3", "m2", json.dumps({"type": "text", "text": "two"}))),
            ("part", ("p4", "m3", json.dumps({"type": "text", "text": "find it"}))),
        ],
    )
    (found,) = read_chats(data, "opencode.db")
    assert (found.session_id, found.cwd, found.title, found.model) == ("ses_1", "/w", "T", "m")
    assert said(found) == [("user", "one"), ("agent", "two")]


def test_cursors_chats_and_composers_are_read(tmp_path: Path) -> None:
    composer = {"composerId": "c1", "name": "Old", "createdAt": 1731784818255}
    composer |= {"conversation": [{"type": 1, "text": "one"}, {"type": 2, "text": "two"}]}
    tab = {
        "tabId": "t1",
        "chatTitle": "Asked",
        "bubbles": [{"type": "user", "text": "ask"}, {"type": "ai", "rawText": "so"}],
    }
    apart = {"composerId": "c2", "fullConversationHeadersOnly": [{"bubbleId": "x"}, {"bubbleId": "y"}]}
    tool = {"name": "read_file", "rawArgs": '{"path": "a.py"}'}
    data = database(
        tmp_path / "state.vscdb",
        ("CREATE TABLE ItemTable (key TEXT, value BLOB)", "CREATE TABLE cursorDiskKV (key TEXT, value BLOB)"),
        [
            ("ItemTable", ("composer.composerData", json.dumps({"allComposers": [composer]}))),
            ("ItemTable", ("workbench.panel.aichat.view.aichat.chatdata", json.dumps({"tabs": [tab]}))),
            ("cursorDiskKV", ("composerData:c2", json.dumps(apart))),
            ("cursorDiskKV", ("bubbleId:c2:x", json.dumps({"type": 1, "text": "three"}))),
            (
                "cursorDiskKV",
                ("bubbleId:c2:y", json.dumps({"type": 2, "text": "four", "toolFormerData": tool})),
            ),
            ("cursorDiskKV", ("bubbleId:c2:z", b"\xff not JSON")),
        ],
    )
    found = {chat.session_id: chat for chat in read_chats(data, "state.vscdb")}
    assert {name: said(chat) for name, chat in found.items()} == {
        "c1": [("user", "one"), ("agent", "two")],
        "t1": [("user", "ask"), ("agent", "so")],
        "c2": [("user", "three"), ("agent", "four")],
    }
    assert found["c1"].title == "Old" and found["c1"].started is not None


def test_a_database_of_cursor_without_dialogue_names_the_one_that_has_it(tmp_path: Path) -> None:
    prompts = json.dumps([{"text": "one", "commandType": 4}])
    tables = ("CREATE TABLE ItemTable (key TEXT, value BLOB)",)
    data = database(tmp_path / "x.vscdb", tables, [("ItemTable", ("aiService.prompts", prompts))])
    assert not read_chats(data, "x.vscdb")
    assert why_empty(data, "x.vscdb") == "it has no dialogue; Cursor keeps that in globalStorage/state.vscdb"


def test_gooses_sessions_are_read(tmp_path: Path) -> None:
    def message(
        number: int, session: str, role: str, *found: dict[str, Any], hidden: bool = False
    ) -> tuple[str, tuple[Any, ...]]:
        about = json.dumps({"userVisible": not hidden})
        return "messages", (number, session, role, json.dumps(found), 1764694735 + number, about)

    def text(words: str) -> dict[str, Any]:
        return {"type": "text", "text": words}

    call = {"type": "toolRequest", "toolCall": {"value": {"name": "shell", "arguments": {"command": "ls"}}}}
    data = database(
        tmp_path / "sessions.db",
        (
            "CREATE TABLE sessions (id TEXT, description TEXT, session_type TEXT, working_dir TEXT,"
            " created_at TEXT)",
            "CREATE TABLE messages (id INTEGER, session_id TEXT, role TEXT, content_json TEXT,"
            " created_timestamp INTEGER, metadata_json TEXT)",
        ),
        [
            ("sessions", ("20251202_1", "T", "user", "/w", "2025-12-02 16:58:55")),
            ("sessions", ("20251202_2", "Sub", "sub_agent", "/w", "2025-12-02 16:59:55")),
            message(1, "20251202_1", "user", text("one")),
            message(2, "20251202_1", "assistant", text("two"), call),
            message(3, "20251202_1", "user", {"type": "toolResponse", "toolResult": {}}),
            message(4, "20251202_1", "user", text("a summary"), hidden=True),
            message(5, "20251202_1", "user", text("three")),
            message(6, "20251202_2", "user", text("find it")),
            message(7, "20251202_2", "assistant", text("found it")),
        ],
    )
    (found,) = read_chats(data, "sessions.db")
    assert (found.format, found.title, found.cwd) == ("goose", "T", "/w")
    assert said(found) == [("user", "one"), ("agent", "two"), ("user", "three")]
    assert [block.name for block in found.turns[1].blocks if isinstance(block, ToolCall)] == ["shell"]
    assert found.left_out == {"tool-output": 1, "injected": 1, "sub-agent-logs": 1}


def test_open_webuis_database_is_read_if_it_is_of_one_person(tmp_path: Path) -> None:
    def chat(name: str, person: str) -> tuple[str, tuple[Any, ...]]:
        asked = {"id": "a", "parentId": None, "childrenIds": ["b"], "role": "user", "content": name}
        said = {"id": "b", "parentId": "a", "childrenIds": [], "role": "assistant", "content": "two"}
        value = {"history": {"currentId": "b", "messages": {"a": asked, "b": said}}, "models": ["m"]}
        return "chat", (name, person, f"Title {name}", json.dumps(value), 1744170831)

    tables = ("CREATE TABLE chat (id TEXT, user_id TEXT, title TEXT, chat TEXT, created_at INTEGER)",)
    data = database(tmp_path / "webui.db", tables, [chat("one", "p"), chat("three", "p")])
    found = read_chats(data, "webui.db")
    assert [(each.format, each.session_id, each.title) for each in found] == [
        ("open-webui", "one", "Title one"),
        ("open-webui", "three", "Title three"),
    ]
    assert said(found[0]) == [("user", "one"), ("agent", "two")]
    several = database(tmp_path / "other.db", tables, [chat("one", "p"), chat("three", "q")])
    with pytest.raises(ImportFailed, match="several people"):
        read_chats(several, "webui.db")


def test_changes_that_are_not_merged_yet_are_read(tmp_path: Path) -> None:
    path = tmp_path / "crush.db"
    running = sqlite3.connect(path)
    running.execute("PRAGMA journal_mode = WAL")
    for table in _CRUSH:
        running.execute(table)
    running.execute("INSERT INTO sessions VALUES ('a', NULL, 'T', 1)")
    running.execute(
        "INSERT INTO messages VALUES ('1', 'a', 'user', ?, NULL, 1)", (parts(("text", {"text": "one"})),)
    )
    running.commit()
    before = path.read_bytes()
    (found,) = read_chats(with_log(before, path), "crush.db")
    assert said(found) == [("user", "one")]
    assert path.read_bytes() == before
    running.close()


def test_changes_without_their_database_are_named(tmp_path: Path) -> None:
    (tmp_path / "memory-config.yaml").write_bytes(b"")
    workspace = Workspace.open(tmp_path)
    files = Files(workspace)
    log = tmp_path / "crush.db-wal"
    log.write_bytes(b"\x37\x7f\x06\x82" + bytes(28))
    assert may_be_chat(log)
    (alone,) = import_chats(log, files, KnownSessions(workspace), clock=lambda: 0)
    assert (alone.status, alone.why) == ("skipped", "it has only changes to crush.db, which is not beside it")
    log.with_name("crush.db").write_bytes(b"")
    (beside,) = import_chats(log, files, KnownSessions(workspace), clock=lambda: 0)
    assert not may_be_chat(log) and beside.why == "it is read with crush.db"


def test_a_database_of_nobody_and_a_damaged_one_are_no_chat(tmp_path: Path) -> None:
    other = database(tmp_path / "x.db", ("CREATE TABLE notes (text TEXT)",), [("notes", ("one",))])
    empty = database(tmp_path / "y.db", _CRUSH, [])
    assert not read_chats(other, "x.db") and not why_empty(other, "x.db")
    assert not read_chats(empty, "y.db") and why_empty(empty, "y.db")
    assert not read_chats(empty[:200], "y.db")


def test_a_view_in_a_strangers_database_is_not_read(tmp_path: Path) -> None:
    data = database(
        tmp_path / "crush.db", (*_CRUSH[:1], "CREATE VIEW messages AS SELECT load_extension('x')"), []
    )
    assert not read_chats(data, "crush.db") and not why_empty(data, "crush.db")
