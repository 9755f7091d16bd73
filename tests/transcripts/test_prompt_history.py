"""Prompts whose sessions have neither a log nor a transcript are read from the agents' histories."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.chats.importing import import_chats
from engine.transcripts.discovery import Found, discover_all
from engine.transcripts.importers.drafts import ImportResult
from engine.transcripts.importers.run import import_file
from engine.transcripts.importers.state import KnownSessions
from engine.transcripts.turn import COMMAND, Transcript
from tests.transcripts.logs import SESSION, ClaudeCode, Codex, dump, read_transcript, write

GONE = "11111111-2222-4333-8444-555566667777"
AT = datetime(2026, 2, 16, 18, 1, tzinfo=UTC).timestamp()
NOW = AT + 90 * 24 * 3600


def typed(text: str, session: str = GONE, minute: int = 0, **fields: Any) -> dict[str, Any]:
    """A record of Claude Code's history; without a session as older versions wrote it."""
    record = {"display": text, "pastedContents": {}, "timestamp": int((AT + 60 * minute) * 1000)}
    return {**record, "project": "/home/robin/shop", **({"sessionId": session} if session else {}), **fields}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def import_history(workspace: Workspace, files: Files) -> Callable[[Path], list[ImportResult]]:
    def run(path: Path) -> list[ImportResult]:
        return [*import_chats(path, files, KnownSessions(workspace), clock=lambda: NOW)]

    return run


def words(transcript: Transcript) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in transcript.turns]


def found_in(workspace: Workspace, home: Path) -> list[Found]:
    found = discover_all(KnownSessions(workspace), lambda _agent: None, home, ["claude-code", "codex"])
    return [each for each in found.found if each.is_history]


def test_prompts_of_sessions_without_a_log_become_transcripts(
    home: Path, workspace: Workspace, files: Files, import_history: Callable[[Path], list[ImportResult]]
) -> None:
    write(home / ".claude" / "projects" / "-shop" / f"{SESSION}.jsonl", ClaudeCode().user("has a log"))
    history = write(
        home / ".claude" / "history.jsonl",
        typed("Always use tabs."), typed("has a log", SESSION), typed("And now?", minute=60 * 24),
        typed("/clear", "only-a-command"), typed("/model opus", minute=60 * 24),
    )  # fmt: skip
    (found,) = found_in(workspace, home)
    assert (found.news, found.sessions, found.first, found.last) == ("new", 1, "2026-02-16", "2026-02-17")
    os.utime(history, (NOW, NOW))  # other sessions still write to it
    (result,) = import_history(history)
    transcript = read_transcript(files, result.target)
    assert transcript.ended == "2026-02-17T18:01:00Z"
    assert words(transcript) == [
        ("user", "Always use tabs."), ("user", "And now?"), ("user", "/model opus"),
    ]  # fmt: skip
    assert (transcript.turns[1].day, transcript.turns[2].kind) == ("2026-02-17", COMMAND)
    about = {key: transcript.header[key] for key in ("session_id", "channel", "cwd", "prompts_only")}
    assert about == {
        "session_id": GONE, "channel": "claude-code", "cwd": "/home/robin/shop", "prompts_only": "true",
    }  # fmt: skip
    before = files.read(result.target)
    assert [each.status for each in import_history(history)] == ["unchanged"]
    assert files.read(result.target) == before
    assert [each.news for each in found_in(workspace, home)] == ["imported"]


def test_a_history_of_codex_is_read(
    home: Path, workspace: Workspace, files: Files, import_history: Callable[[Path], list[ImportResult]]
) -> None:
    name = f"rollout-2026-02-16T18-00-00-{SESSION}.jsonl"
    write(home / ".codex" / "sessions" / "2026" / "02" / "16" / name, Codex().meta())
    lines = [{"session_id": each, "ts": int(AT), "text": f"of {each}"} for each in (SESSION, GONE)]
    history = write(home / ".codex" / "history.jsonl", *lines)
    assert [(each.agent, each.sessions) for each in found_in(workspace, home)] == [("codex", 1)]
    (result,) = import_history(history)
    assert words(read_transcript(files, result.target)) == [("user", f"of {GONE}")]


def test_of_a_command_in_a_history_of_codex_only_what_was_typed_is_the_persons(
    home: Path, files: Files, import_history: Callable[[Path], list[ImportResult]]
) -> None:
    text = "\n## User Input\n\n```text\nuse tabs\n```\n\nYou **MUST** consider the user input.\n\nPlan it."
    line = {"session_id": GONE, "ts": int(AT), "text": text}
    (result,) = import_history(write(home / ".codex" / "history.jsonl", line))
    (turn,) = read_transcript(files, result.target).turns
    assert (turn.kind, turn.text.split("\n")[0]) == ("command", "/prompt use tabs")


def test_pastes_are_quoted_and_images_counted(
    home: Path, files: Files, import_history: Callable[[Path], list[ImportResult]]
) -> None:
    pastes = {
        "1": {"id": 1, "type": "text", "content": "Always obey.\n```\nx\n```"},
        "2": {"id": 2, "type": "image", "mediaType": "image/png", "content": "aGk="},
    }
    line = typed("See [Pasted text #1 +3 lines] [Image #2]", pastedContents=pastes)
    (result,) = import_history(write(home / ".claude" / "history.jsonl", line))
    assert [text for _, text in words(read_transcript(files, result.target))] == [
        "See [Pasted text #1 +3 lines] [Image #2]", "````\nAlways obey.\n```\nx\n```\n````",
    ]  # fmt: skip
    assert result.left_out == {"images": 1}


def test_line_ends_of_a_terminal_are_line_ends(
    home: Path, files: Files, import_history: Callable[[Path], list[ImportResult]]
) -> None:
    line = typed("First\r\rthen\r\nthis", pastedContents={"1": {"type": "text", "content": "a\rb"}})
    (result,) = import_history(write(home / ".claude" / "history.jsonl", line))
    assert [text for _, text in words(read_transcript(files, result.target))] == [
        "First\n\nthen\nthis", "```\na\nb\n```",
    ]  # fmt: skip


def test_a_session_with_another_transcript_is_not_touched(
    home: Path, workspace: Workspace, files: Files, import_history: Callable[[Path], list[ImportResult]]
) -> None:
    log = write(home / "elsewhere" / f"{GONE}.jsonl", ClaudeCode(GONE).user("one"))
    target = import_file("claude-code", log, workspace, files).target
    before = files.read(target)
    history = write(home / ".claude" / "history.jsonl", typed("one"), typed("two"))
    assert found_in(workspace, home) == [] and import_history(history) == []
    assert files.read(target) == before


def test_more_prompts_of_a_session_are_added(
    home: Path, workspace: Workspace, files: Files, import_history: Callable[[Path], list[ImportResult]]
) -> None:
    history = write(home / ".claude" / "history.jsonl", typed("one"))
    (first,) = import_history(history)
    with history.open("ab") as stream:
        stream.write(dump(typed("two", minute=3), typed("other", "another-session")))
    assert [(each.news, each.sessions) for each in found_in(workspace, home)] == [("grown", 1), ("new", 1)]
    assert [each.status for each in import_history(history)] == ["grown", "new"]
    assert words(read_transcript(files, first.target)) == [("user", "one"), ("user", "two")]


def test_two_histories_may_share_a_session(
    home: Path, workspace: Workspace, files: Files, import_history: Callable[[Path], list[ImportResult]]
) -> None:
    later = write(home / "kept" / "tuesday.jsonl", typed("two", minute=2), typed("three", minute=3))
    earlier = write(home / "kept" / "monday.jsonl", typed("one"), typed("two", minute=2))
    ((first,), (second,)) = import_history(later), import_history(earlier)
    assert (second.status, second.target, second.turns_new) == ("grown", first.target, 1)
    said = words(read_transcript(files, first.target))
    assert sorted(text for _, text in said) == ["one", "three", "two"]
    before = files.read(first.target)
    again = [each.status for path in (earlier, later) for each in import_history(path)]
    assert again == ["unchanged", "unchanged"] and files.read(first.target) == before


def test_prompts_without_a_session_are_one_transcript_a_day_without_those_in_another(
    home: Path, workspace: Workspace, files: Files, import_history: Callable[[Path], list[ImportResult]]
) -> None:
    agent = ClaudeCode()
    log = write(
        home / ".claude" / "projects" / "-shop" / f"{SESSION}.jsonl",
        agent.user("in the log"), agent.user("See a\nb"),
    )  # fmt: skip
    import_file("claude-code", log, workspace, files)
    history = write(
        home / ".claude" / "history.jsonl",
        typed("in the log", ""), typed("only here", "", 1), typed("See [Pasted text #1 +1 lines]", "", 2),
        typed("another day", "", 24 * 60), typed("another project", "", 2, project="/home/robin/app"),
    )  # fmt: skip
    results = import_history(history)
    assert [words(read_transcript(files, each.target)) for each in results] == [
        [("user", "only here")], [("user", "another day")], [("user", "another project")],
    ]  # fmt: skip
    assert {each.status for each in import_history(history)} == {"unchanged"}
    assert [each.news for each in found_in(workspace, home)] == ["imported"]


def test_a_log_that_appears_later_becomes_the_transcript_without_double_prompts(
    home: Path, workspace: Workspace, files: Files, import_history: Callable[[Path], list[ImportResult]]
) -> None:
    paste = {"1": {"id": 1, "type": "text", "content": "a\nb"}}
    history = write(
        home / ".claude" / "history.jsonl",
        typed("Why?"), typed("Look: [Pasted text #1 +1 lines]", minute=2, pastedContents=paste),
        typed("Look: [Pasted text #2 +1 lines]", minute=4), typed("never sent", minute=6),
        typed("Why?", minute=7),
    )  # fmt: skip
    (only,) = import_history(history)
    agent = ClaudeCode(GONE)
    asked = [
        agent.user("Why?"), agent.says("Because."), agent.user("Look: a\nb"), agent.says("Seen."),
        agent.user("Look: c\nd"), agent.says("Seen too."),
    ]  # fmt: skip
    log = write(home / ".claude" / "projects" / "-shop" / f"{GONE}.jsonl", *asked)
    result = import_file("claude-code", log, workspace, files)
    assert (result.status, result.target) == ("grown", only.target)
    transcript = read_transcript(files, only.target)
    assert words(transcript) == [
        ("user", "Why?"), ("agent", "Because."), ("user", "Look: a\nb"), ("agent", "Seen."),
        ("user", "Look: c\nd"), ("agent", "Seen too."), ("user", "never sent"), ("user", "Why?"),
    ]  # fmt: skip
    assert "prompts_only" not in transcript.header
    before = files.read(only.target)
    assert import_file("claude-code", log, workspace, files).status == "unchanged"
    assert import_history(history) == [] and found_in(workspace, home) == []
    assert files.read(only.target) == before
    with log.open("ab") as stream:
        stream.write(dump(agent.user("More?")))
    import_file("claude-code", log, workspace, files)
    assert words(read_transcript(files, only.target)) == [*words(transcript), ("user", "More?")]


def test_secrets_in_prompts_are_not_written(
    home: Path, files: Files, import_history: Callable[[Path], list[ImportResult]]
) -> None:
    key = "gh" + "p_" + "Q7wE4rT9yU2iO5pA8sD1fG6hJ3kL0zX4cV7b"
    (result,) = import_history(write(home / ".claude" / "history.jsonl", typed(f"use {key}")))
    assert key not in json.dumps(words(read_transcript(files, result.target)))
