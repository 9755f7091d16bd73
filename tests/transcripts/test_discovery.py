"""Discovery of sessions: their agent, their time, and the logs that an import would read."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path

import pytest

from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.chats.read import read_chats
from engine.transcripts.discovery import AGENTS, Agent, Discovery, discover_all
from engine.transcripts.importers.run import import_file
from engine.transcripts.importers.state import KnownSessions, shown_source
from tests.transcripts.logs import SESSION, ClaudeCode, dump, write

NAME = f"{SESSION}.jsonl"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def discovered(workspace: Workspace, home: Path, *agents: Agent) -> Discovery:
    return discover_all(KnownSessions(workspace), lambda agent: home / agent, home, agents or AGENTS)


def test_discovery_lists_the_logs_an_import_would_read(
    workspace: Workspace, files: Files, home: Path
) -> None:
    log = ClaudeCode()
    first = write(home / "claude-code" / "projects" / "a" / NAME, log.user("one"))
    assert [each.news for each in discovered(workspace, home).found] == ["new"]
    import_file("claude-code", first, workspace, files)
    assert [each.news for each in discovered(workspace, home).found] == ["imported"]
    assert not discovered(workspace, home).pending
    with first.open("ab") as stream:
        stream.write(dump(log.user("two")))
    second = write(home / "claude-code" / "projects" / "b" / NAME, log.user("three"))
    assert [each.news for each in discovered(workspace, home).found] == ["grown", "second"]
    for path in (first, second):
        import_file("claude-code", path, workspace, files)
    assert [each.news for each in discovered(workspace, home).found] == ["imported", "imported"]


def test_only_the_requested_agents_are_listed(workspace: Workspace, home: Path) -> None:
    log = ClaudeCode()
    record = log.user("one", cwd=str(home / "work"))
    write(home / "claude-code" / "projects" / "a" / NAME, record)
    history = home / "work" / ".specstory" / "history" / "a.md"
    history.parent.mkdir(parents=True)
    history.write_text("_**User (2026-01-16 15:23:32Z)**_\n\nhello\n")
    assert [each.agent for each in discovered(workspace, home, "specstory").found] == ["specstory"]
    (found,) = discovered(workspace, home, "specstory").found
    assert (found.project, found.first, found.last) == (str(home / "work"), "2026-01-16", "2026-01-16")


def test_sessions_in_a_programs_own_folder_are_counted(workspace: Workspace, home: Path) -> None:
    record = ClaudeCode().user("Hello memory agent", cwd="/home/robin/.claude-mem/observer-sessions")
    write(home / "claude-code" / "projects" / "a" / NAME, record)
    found = discovered(workspace, home)
    assert (found.found, found.sub_agents) == ((), 1)


def test_a_gemini_project_is_identified_by_the_hash_of_its_path(workspace: Workspace, home: Path) -> None:
    name = sha256(str(home).encode()).hexdigest()
    chats = home / "gemini" / "tmp" / name / "chats"
    chats.mkdir(parents=True)
    (chats / "session-2026-02-16T10-00-11112222.json").write_text('{"timestamp": "2026-02-16T10:00:00Z"}')
    (found,) = discovered(workspace, home, "gemini").found
    assert (found.project, found.first) == (str(home), "2026-02-16")


def test_a_gemini_project_is_the_folder_that_the_program_named_above_the_first_prompt(
    workspace: Workspace, home: Path
) -> None:
    chats = home / "gemini" / "tmp" / "0123" / "chats"
    chats.mkdir(parents=True)
    text = (
        "<session_context>\nThis is the Gemini CLI. We are setting up the context for our chat.\n"
        "- **Workspace Directories:**\n  - C:\\new\\shop\n- **Directory Structure:**\n\n</session_context>"
    )
    said = [
        {"id": str(n), "type": "user", "content": [{"text": each}]} for n, each in enumerate((text, "hello"))
    ]
    record = {"sessionId": "11112222-3333-4444-8555-666677778888", "projectHash": "0123", "messages": said}
    path = chats / "session-2026-02-16T10-00-11112222.json"
    path.write_text(json.dumps(record))
    (found,) = discovered(workspace, home, "gemini").found
    assert found.project == "C:\\new\\shop"
    older = "This is the Gemini CLI.\nI'm currently working in the directory: /srv/shop\nHere"
    for shown, folder in (
        (text, "C:\\new\\shop"),
        (older, "/srv/shop"),
        ("I'm working in the directory: /x\n", ""),
    ):
        said[0]["content"] = [{"text": shown}]
        (chat,) = read_chats(json.dumps(record).encode(), str(path))
        assert chat.cwd == folder


def test_the_home_folder_is_shown_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    shown = [shown_source(path) for path in (tmp_path, tmp_path / "shop", Path("/srv"))]
    assert shown == ["~", "~/shop", "/srv"]


def test_unreadable_logs_are_skipped(workspace: Workspace, home: Path) -> None:
    folder = home / "claude-code" / "projects" / "a"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "empty.jsonl").write_bytes(b"")
    (home / "gemini" / "tmp" / "x").mkdir(parents=True)
    (home / "gemini" / "projects.json").write_text("[[[")
    assert discovered(workspace, home).found == ()


def test_a_log_that_cannot_be_read_is_listed_so_that_the_import_says_why(
    workspace: Workspace, home: Path
) -> None:
    log = home / "codex" / "archived_sessions" / "rollout-x.jsonl.zst"
    log.parent.mkdir(parents=True)
    log.write_bytes(b"not packed")
    (found,) = discovered(workspace, home).found
    assert (found.path, found.size, found.first, found.news) == (log, 10, "", "new")
