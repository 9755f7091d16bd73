"""Capturing a session call by call, and importing sessions of other agents."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Command


def claude_log(*turns: tuple[str, str], session: str = "0d9f2c1e-aaaa-4bbb-8ccc-1234567890ab") -> str:
    """A session log as Claude Code writes it."""
    lines = []
    parent = None
    for number, (role, text) in enumerate(turns):
        uuid = f"{number:08x}-0000-4000-8000-000000000000"
        content: object = text if role == "user" else [{"type": "text", "text": text}]
        lines.append(
            {
                "parentUuid": parent, "isSidechain": False, "cwd": "/home/robin/gauge", "sessionId": session,
                "version": "2.1.3", "type": role, "uuid": uuid,
                "timestamp": f"2026-06-10T09:{number:02d}:00.000Z",
                "message": {"role": role, "model": "claude-sonnet-5", "content": content},
            }
        )  # fmt: skip
        parent = uuid
    return "".join(json.dumps(line) + "\n" for line in lines)


def test_a_session_is_captured_from_start_to_commit(apo: Command, sample: Path) -> None:
    name = apo("-C", sample, "session", "start", "--title", "Fix the parser").out.strip()
    assert apo("-C", sample, "session", "message", name, "user", "The parser drops the last line.").code == 0
    assert apo("-C", sample, "session", "tool", name, "exec", "pytest -q", "1 failed").code == 0
    assert apo("-C", sample, "session", "memory", name, "updated", "knowledge/tasks.md", "two left").code == 0
    assert (
        apo("-C", sample, "session", "message", name, "agent", "-", stdin="## 10:00 — user\nis no turn").code
        == 0
    )
    ended = apo("-C", sample, "session", "end", name, "--tag", "parser", "--tokens-in", "120")
    assert "committed as" in ended.out
    path = ended.out.split()[0]
    written = (sample / path).read_text()
    assert "agent [memory]\n> [knowledge:updated] knowledge/tasks.md — two left\n" in written
    assert (
        "knowledge_changes:\n  - path: knowledge/tasks.md\n    action: updated\n    summary: two left\n"
        in written
    )
    log = subprocess.run(
        ["git", "-C", str(sample), "log", "-1", "--format=%s", "--", path],
        capture_output=True,
        text=True,
        check=True,
    )
    assert log.stdout.strip() == "conversation: fix-the-parser"
    listed = apo("-C", sample, "session", "list", "--limit", "1", "--json").json
    assert listed[0]["session_id"] == name
    again = apo("-C", sample, "session", "message", name, "user", "One more thing")
    assert again.code == 1 and "ended" in again.err


def test_importing_again_changes_nothing_and_a_longer_log_adds_its_new_turns(
    apo: Command, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    projects = tmp_path / "claude" / "projects" / "-home-robin-gauge"
    projects.mkdir(parents=True)
    log = projects / "0d9f2c1e-aaaa-4bbb-8ccc-1234567890ab.jsonl"
    log.write_text(claude_log(("user", "Why does the build fail?"), ("assistant", "A missing header.")))
    dry = apo("-C", sample, "import", "claude-code", "--dry-run")
    assert "1 new" in dry.out and "nothing written" in dry.out
    first = apo("-C", sample, "import", "claude-code", "--json").json
    assert [result["status"] for result in first["sessions"]] == ["new"]
    target = sample / first["sessions"][0]["target"]
    once = target.read_bytes()
    assert b"Why does the build fail?" in once

    assert "1 unchanged" in apo("-C", sample, "import", "claude-code").out
    assert target.read_bytes() == once

    log.write_text(
        claude_log(
            ("user", "Why does the build fail?"),
            ("assistant", "A missing header."),
            ("user", "Add it, please."),
        )
    )
    assert "1 grown" in apo("-C", sample, "import", "claude-code").out
    body = once.partition(b"\n# ")[2]
    assert body and body in target.read_bytes() and b"Add it, please." in target.read_bytes()


def test_named_files_and_folders_are_imported(apo: Command, sample: Path, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.jsonl").write_text(claude_log(("user", "Hello there")))
    for other in ("subagents", "tool-results"):
        (tmp_path / "logs" / other).mkdir()
        (tmp_path / "logs" / other / "b.jsonl").write_text(claude_log(("user", "Look"), session=f"x-{other}"))
        (tmp_path / "logs" / other / "b.txt").write_text("User: printed\n\nAssistant: by a tool\n")
    (tmp_path / "odd.jsonl").write_text("this is no log\n{}\n")
    ran = apo("-C", sample, "import", "claude-code", tmp_path / "logs", tmp_path / "odd.jsonl")
    assert ran.code == 0
    assert "1 new" in ran.out and "skipped" in ran.out
    assert "1 unchanged" in apo("-C", sample, "import", tmp_path / "logs").out, "nor without the agent's name"


def test_a_conversation_that_cline_keeps_twice_is_imported_once(
    apo: Command, sample: Path, tmp_path: Path
) -> None:
    sent = [
        {"role": "user", "content": "<task>\nfix it\n</task>"},
        {"role": "assistant", "content": "Fixed."},
    ]
    shown = [{"ts": 1767644899093, "type": "say", "say": "task", "text": "fix it"}]
    for folder, files in (
        ("both", {"api_conversation_history.json": sent, "ui_messages.json": shown}),
        ("one", {"ui_messages.json": shown}),
    ):
        (tmp_path / folder).mkdir()
        for name, content in files.items():
            (tmp_path / folder / name).write_text(json.dumps(content))
    assert "1 new" in apo("-C", sample, "import", tmp_path / "both").out
    assert "1 new" in apo("-C", sample, "import", tmp_path / "one").out


def test_a_conversation_stays_one_when_its_file_tells_its_date_for_the_first_time(
    apo: Command, sample: Path, tmp_path: Path
) -> None:
    """As the date of a Cline task that was imported before it was read."""
    file = tmp_path / "api_conversation_history.json"
    asked = {"type": "text", "text": "<task>\nfix it\n</task>"}
    said = [{"role": "assistant", "content": "Fixed."}]
    file.write_text(json.dumps([{"role": "user", "content": [asked]}, *said]))
    assert "1 new" in apo("-C", sample, "import", file).out
    now = (
        "<environment_details>\n# Current Time\n1/22/2026, 6:47:34 AM (UTC, UTC+0:00)\n</environment_details>"
    )
    dated = {"role": "user", "content": [asked, {"type": "text", "text": now}]}
    file.write_text(
        json.dumps([dated, *said, {"role": "user", "content": "<feedback>\nthanks\n</feedback>"}])
    )
    assert "1 grown" in apo("-C", sample, "import", file).out
