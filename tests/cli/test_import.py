"""``import``: found or named sessions are shown first, imported in one commit, and can be undone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from engine.engine import Engine
from tests.cli.conftest import Command
from tests.cli.test_sessions_and_import import claude_log
from tests.transcripts.logs import ClaudeCode, write

SESSION = "0d9f2c1e-aaaa-4bbb-8ccc-1234567890ab"
CHAT = "**You:** p1 please\n\n**Assistant:** fine\n\n**You:** p2\n"


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory with sessions of every agent and a project with SpecStory histories."""
    home = tmp_path / "home"
    project = home / "work"
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(home))
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Robin\n\temail = robin@example.org\n")
    logs = home / ".claude" / "projects" / "-home-robin-gauge"
    (logs / "sub" / "subagents").mkdir(parents=True)
    log = claude_log(("user", "Why does the build fail?"), ("assistant", "A missing header."))
    (logs / f"{SESSION}.jsonl").write_text(log.replace("/home/robin/gauge", str(project)))
    (logs / "sub" / "subagents" / "agent-1.jsonl").write_text(log)
    rollouts = home / ".codex" / "archived_sessions"
    rollouts.mkdir(parents=True)
    name = "rollout-2026-02-16T18-00-30-0f0e0d0c-1111-4222-8333-444455556666"
    (rollouts / f"{name}.jsonl").write_text(
        "".join(
            json.dumps({"timestamp": "2026-02-16T18:00:30.000Z", "type": kind, "payload": payload}) + "\n"
            for kind, payload in (
                ("session_meta", {"id": name[-36:], "cwd": str(project)}),
                ("event_msg", {"type": "user_message", "message": "archived words"}),
            )
        )
    )
    chats = home / ".gemini" / "tmp" / "shop" / "chats"
    chats.mkdir(parents=True)
    (chats.parent / ".project_root").write_text("/home/robin/shop")
    message = {"id": "1", "timestamp": "2026-02-17T10:00:00Z", "type": "user", "content": "gemini words"}
    session = {"sessionId": "11112222-3333-4444-8555-666677778888", "projectHash": "x", "messages": [message]}
    (chats / "session-2026-02-17T10-00-11112222.json").write_text(json.dumps(session))
    histories = project / ".specstory" / "history"
    histories.mkdir(parents=True)
    (histories / "a.md").write_text(
        "<!-- cursor Session 227b9a24-168c-4d87-810b-9ed83e62101e (2026-02-18 12:49Z) -->\n\n# Words\n\n"
        "_**User (2026-02-18 12:49Z)**_\n\nspecstory words\n\n---\n\n_**Agent (model m)**_\n\nok\n"
    )
    return home


def test_without_arguments_import_shows_what_it_found_and_the_next_command(
    apo: Command, sample: Path, home: Path
) -> None:
    shown = apo("-C", sample, "import")
    rows = {
        line.split()[0]: line for line in shown.out.splitlines() if line and not line.startswith("nothing")
    }
    assert "~/work" in rows["claude-code"] and "2026-06-10" in rows["claude-code"]
    assert "2026-02-16" in rows["codex"] and "1 new" in rows["codex"]
    assert "/home/robin/shop" in rows["gemini"] and "2026-02-17" in rows["gemini"]
    assert "~/work" in rows["specstory"] and "2026-02-18" in rows["specstory"]
    assert "to do it: autopoiesis import --yes" in shown.out
    assert not git(sample, "status", "--short")


def test_yes_imports_everything_in_one_commit(apo: Command, sample: Path, home: Path) -> None:
    ran = apo("-C", sample, "import", "--yes")
    assert ran.code == 0 and "4 new" in ran.out and "1 sub-agent log" in ran.out
    message = git(sample, "log", "-1", "--format=%B", "--", "raw")
    assert message.startswith("conversation: import 4 sessions\n")
    assert message.count("\nSession: raw/conversations/2026/") == 4
    assert len(git(sample, "show", "--format=", "--name-only", ":/^conversation: ").splitlines()) == 4
    assert not git(sample, "status", "--short")
    text = git(sample, "show", ":/^conversation: ")
    for phrase in ("Why does the build fail?", "archived words", "gemini words", "specstory words"):
        assert phrase in text
    again = apo("-C", sample, "import", "--yes")
    assert "everything is already imported" in again.out
    assert git(sample, "log", "-1", "--format=%B", "--", "raw") == message


def test_what_a_script_says_makes_no_rules_and_no_recaps(apo: Command, sample: Path, home: Path) -> None:
    folder = home / ".claude/projects/-home-robin-gauges"
    folder.mkdir(parents=True)
    for number in (1, 2, 3):
        log = ClaudeCode(f"0f0e0d0c-1111-4222-8333-44445555666{number}")
        asked = f"From now on, always correct every gauge in the log that is off by {number} centimetres."
        put = log.record("queue-operation", operation="enqueue", content=asked)
        sent = log.record("queue-operation", operation="dequeue")
        done = log.says("The gauge at the lock was off by a metre and is corrected now.")
        write(folder / f"{log.session_id}.jsonl", put, sent, log.user(asked), done)
    ran = apo("-C", sample, "import", "claude-code")
    assert "3 sessions held by a script" in ran.out
    assert "correct every gauge" not in apo("-C", sample, "rules").out
    assert not [
        path for path in (sample / "knowledge/journal").glob("*.md") if "at the lock" in path.read_text()
    ]
    assert "correct every gauge" in apo("-C", sample, "search", "correct every gauge").out


def test_prompts_whose_logs_are_gone_are_a_source_of_their_own(
    apo: Command, sample: Path, home: Path
) -> None:
    lines = [
        {"display": f"always use {name}", "pastedContents": {}, "timestamp": 1771322400000,
         "project": "/home/robin/gone", "sessionId": name}
        for name in (SESSION, "gone-1", "gone-2")
    ]  # fmt: skip
    lines.append({**lines[-1], "display": "From now on, always write the changelog in French."})
    (home / ".claude" / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    shown = apo("-C", sample, "import").out
    (row,) = (line for line in shown.splitlines() if "history.jsonl" in line)
    assert "2 new" in row and "2026-02-17" in row and "only prompts, their logs are gone" in row
    done = apo("-C", sample, "import", "--yes")
    assert "6 new" in done.out
    assert "everything is already imported" in apo("-C", sample, "import", "--yes").out
    assert git(sample, "log", "-1", "--format=%s", "--", "raw") == "conversation: import 6 sessions"
    text = git(sample, "show", ":/^conversation: ")
    assert text.count("+prompts_only: ") == 2 and "+always use gone-1" in text
    assert f"always use {SESSION}" not in text
    assert "write the changelog in French" in apo("-C", sample, "rules").out
    assert "always use gone-2" in apo("-C", sample, "search", "always use gone").out
    assert "unchanged" in apo("-C", sample, "import", home / ".claude" / "history.jsonl").out


def test_what_is_found_but_not_read_is_said_with_the_way_to_import_it(
    apo: Command, sample: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    assert "not read" not in apo("-C", sample, "import").out
    (home / "data" / "opencode").mkdir(parents=True)
    (home / "data" / "opencode" / "opencode.db").write_bytes(b"SQLite format 3\0")
    shown = apo("-C", sample, "import").out
    assert "autopoiesis import ~/data/opencode/opencode.db" in shown
    (home / "data" / "zed" / "threads").mkdir(parents=True)
    shown = apo("-C", sample, "import").out
    assert "Zed's store cannot be read; to import from it: open a thread as Markdown" in shown
    skipped = apo("-C", sample, "import", home / "data" / "opencode" / "opencode.db").out
    assert "it is the database of a program that is not known, or damaged" in skipped


def test_all_agents_sessions_in_a_folder_are_of_its_project(apo: Command, sample: Path, home: Path) -> None:
    apo("-C", sample, "import", "--yes")
    with Engine.open(sample) as engine:
        (work,) = (each for each in engine.projects.all() if each.name == "work")
        of = [engine.projects.names_of(path) for path in engine.workspace.transcripts.rglob("*.md")]
    assert work.keys == ("~/work",)
    assert of.count(("work",)) == 3, "of Claude Code and Codex, and the history that lies in the folder"
    assert git(sample, "log", "-1", "--format=%s", "--", "logs/projects") == "maintenance: names of projects"


@pytest.mark.parametrize(("answer", "imported"), [("\n", True), ("n\n", False)])
def test_import_asks_on_a_terminal(
    apo: Command, sample: Path, home: Path, monkeypatch: pytest.MonkeyPatch, answer: str, imported: bool
) -> None:
    monkeypatch.setattr("tui.cli.import_sessions.is_terminal", lambda: True)
    ran = apo("-C", sample, "import", stdin=answer)
    assert "Import 4 sessions? [Y/n]" in ran.out
    assert ("4 new" in ran.out) is imported
    assert ("import 4 sessions" in git(sample, "log", "-1", "--format=%s", "--", "raw")) is imported


def test_found_sessions_are_printed_as_json(apo: Command, sample: Path, home: Path) -> None:
    found = apo("-C", sample, "import", "--json").json
    assert [(each["agent"], each["news"], each["first"]) for each in found["found"]] == [
        ("claude-code", "new", "2026-06-10"),
        ("codex", "new", "2026-02-16"),
        ("gemini", "new", "2026-02-17"),
        ("specstory", "new", "2026-02-18"),
    ]
    done = apo("-C", sample, "import", "--yes", "--json").json
    assert len(done["committed"]) == 4 and done["commit"] and done["left_out"] == {"sub-agent-logs": 1}


def test_a_dry_run_writes_nothing(apo: Command, sample: Path, home: Path) -> None:
    ran = apo("-C", sample, "import", "--dry-run")
    assert "4 new" in ran.out and "nothing written" in ran.out
    assert not git(sample, "status", "--short")


@pytest.mark.parametrize("as_json", [False, True])
def test_what_was_imported_is_in_the_index_at_once(
    as_json: bool, apo: Command, sample: Path, home: Path
) -> None:
    apo("-C", sample, "import", "gemini", *(["--json"] if as_json else []))
    with Engine.open(sample) as engine:
        (best, *_) = engine.search("gemini words")
    assert best.source == "index" and "2026/02/17" in best.path


def test_the_sessions_of_a_named_agent_are_imported_without_asking(
    apo: Command, sample: Path, home: Path
) -> None:
    assert "1 new" in apo("-C", sample, "import", "gemini").out
    assert "1 new" in apo("-C", sample, "import", "specstory", home / "work").out


def test_the_searched_folders_are_named_if_nothing_is_found(
    apo: Command, sample: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home / "elsewhere"))
    shown = apo("-C", sample, "import")
    assert "no sessions found; looked in ~/.claude/projects, ~/.codex/sessions" in shown.out
    assert "no sessions found; looked in ~/.codex/sessions\n" in apo("-C", sample, "import", "codex").out


def test_a_history_of_aider_in_the_folder_is_named(
    apo: Command, sample: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home / "elsewhere"))
    monkeypatch.chdir(home)
    assert "Aider" not in apo("-C", sample, "import").out
    history = home / ".aider.chat.history.md"
    history.write_text("# aider chat started at 2026-03-01 10:00:00\n\n#### go  \n\nok\n")
    shown = apo("-C", sample, "import").out
    assert f"Aider's store is read if you name it: autopoiesis import {history}" in shown


def test_files_are_recognised_by_their_content(apo: Command, sample: Path, tmp_path: Path) -> None:
    folder = tmp_path / "exports"
    folder.mkdir()
    (folder / "chat.txt").write_text(CHAT)
    (folder / "log.jsonl").write_text(claude_log(("user", "Hello there")))
    (folder / "notes.md").write_text("# Notes\n\nBuy milk.\n")
    ran = apo("-C", sample, "import", folder)
    assert "2 new" in ran.out and "\n1 file is no conversation" in ran.out and "notes.md" not in ran.out
    named = apo("-C", sample, "import", folder / "notes.md")
    assert "notes.md: could not tell who speaks" in named.out
    assert (folder / "notes.md").exists()
    assert "1 skipped, 2 unchanged" in apo("-C", sample, "import", folder).out


def test_a_continued_chat_is_appended_to_its_transcript(apo: Command, sample: Path, tmp_path: Path) -> None:
    chat = tmp_path / "chat.md"
    chat.write_text(CHAT)
    (first,) = apo("-C", sample, "import", chat, "--json").json["sessions"]
    chat.write_text(CHAT + "\n**Assistant:** more\n\n**You:** p3\n")
    (result,) = apo("-C", sample, "import", chat, "--json").json["sessions"]
    assert (result["status"], result["turns_new"], result["target"]) == ("grown", 2, first["target"])
    text = (sample / first["target"]).read_text()
    assert [text.count(word) for word in ("p1 please", "p2", "p3", "fine", "more")] == [2, 1, 1, 1, 1]
    assert text.index("p2") < text.index("more") < text.index("p3")


def test_a_history_adds_only_turns_that_the_log_lacks(apo: Command, sample: Path, home: Path) -> None:
    apo("-C", sample, "import", "claude-code")
    history = home / "retold.md"
    history.write_text(
        f"<!-- Claude Code Session {SESSION} (2026-06-10 09:00:00Z) -->\n\n"
        "_**User (2026-06-10 09:00:00Z)**_\n\nWhy does the build fail?\n\n---\n\n"
        "_**Agent (m 2026-06-10 09:01:00Z)**_\n\nTold in other words.\n\n---\n\n"
        "_**User (2026-06-10 09:05:00Z)**_\n\nonly here\n\n---\n"
    )
    (result,) = apo("-C", sample, "import", history, "--json").json["sessions"]
    assert (result["status"], result["turns_new"]) == ("grown", 1)
    text = (sample / result["target"]).read_text()
    assert text.count("Why does the build fail?") == 2  # in the title and the turn
    assert "only here" in text and "Told in other words" not in text


def test_a_log_adds_only_turns_that_the_history_lacks(apo: Command, sample: Path, tmp_path: Path) -> None:
    history, log = tmp_path / "history.md", tmp_path / f"{SESSION}.jsonl"
    history.write_text(
        f"<!-- Claude Code Session {SESSION} (2026-06-10 09:00:00Z) -->\n\n"
        "_**User (2026-06-10 09:00:00Z)**_\n\nWhy does it fail?\n\n---\n\n"
        "_**Agent (m 2026-06-10 09:01:00Z)**_\n\nA missing header.\n\n---\n"
    )
    apo("-C", sample, "import", history)
    asked = [("user", "Why does it fail?"), ("assistant", "A missing header."), ("user", "Add it.")]
    turns = [*asked, ("assistant", "Added."), ("user", "More")]
    for number, new in ((4, 2), (5, 1)):
        log.write_text(claude_log(*turns[:number]))
        (result,) = apo("-C", sample, "import", log, "--json").json["sessions"]
        assert result["turns_new"] == new
    text = (sample / result["target"]).read_text()
    assert [text.count(phrase) for phrase in ("missing header", "Add it.", "Added.", "More")] == [1, 1, 1, 1]
    history.unlink()
    (result,) = apo("-C", sample, "import", log, "--json").json["sessions"]
    assert result["status"] == "unchanged"


def test_a_transcript_with_a_possible_secret_is_not_committed(
    apo: Command, sample: Path, tmp_path: Path
) -> None:
    (tmp_path / "good.md").write_text(CHAT)
    secret = "sk-ant-api03-" + "aZ3" * 20
    apo("-C", sample, "config", "set", "capture.redact", "false")
    (tmp_path / "bad.md").write_text(CHAT.replace("p1", f"use {secret}"))
    ran = apo("-C", sample, "import", tmp_path / "good.md", tmp_path / "bad.md")
    (held,) = git(sample, "status", "--short", "--untracked-files=all").splitlines()
    path = held.split()[1]
    lines = (sample / path).read_text().splitlines()
    (number,) = (number for number, line in enumerate(lines, 1) if secret[:20] in line)
    assert f"{path}, line {number}: contains what looks like a secret" in ran.out
    assert "1 sessions" not in git(sample, "log", "-1", "--format=%s", "--", "raw")
    (sample / path).write_text(re.sub(r"sk-ant-api03-\w+", "(taken out)", (sample / path).read_text()))
    assert "committed as" in apo("-C", sample, "import", tmp_path / "good.md").out
    assert not git(sample, "status", "--short")


def test_a_transcript_named_like_a_secret_is_not_committed(
    apo: Command, sample: Path, tmp_path: Path
) -> None:
    (tmp_path / "chat.md").write_text(CHAT.replace("p1", "sk-ant-api03-" + "az3" * 7))
    apo("-C", sample, "config", "set", "capture.redact", "false")
    apo("-C", sample, "import", tmp_path / "chat.md")
    (held,) = git(sample, "status", "--short", "--untracked-files=all").splitlines()
    path = sample / held.split()[1]
    path.write_text(path.read_text().replace("sk-ant-api03-" + "az3" * 7, "(taken out)"))
    assert "rename the file" in apo("-C", sample, "import", tmp_path / "chat.md").out


def test_an_import_leaves_recaps_which_its_undo_takes_back(
    apo: Command, sample: Path, tmp_path: Path
) -> None:
    log = tmp_path / f"{SESSION}.jsonl"
    words = ("user", "Why does the build of the gauge fail?"), ("assistant", "Added the missing header.")
    log.write_text(claude_log(*words))
    before = git(sample, "rev-parse", "HEAD:knowledge/journal")
    done = apo("-C", sample, "import", log)
    assert "what you did on 1 day is in knowledge/journal" in done.out
    shown = git(sample, "show", "--format=%s")
    assert shown.startswith("memory: recap of 1 session")
    assert "+- Asked: Why does the build of the gauge fail?\n+- Done: Added the missing header." in shown
    apo("-C", sample, "import", "--undo", "--yes")
    assert git(sample, "rev-parse", "HEAD:knowledge/journal") == before
    assert git(sample, "status", "--porcelain", "knowledge") == ""


def test_undo_reverts_the_last_import(apo: Command, sample: Path, tmp_path: Path) -> None:
    before = git(sample, "rev-parse", "HEAD:raw")
    chat = tmp_path / "chat.md"
    chat.write_text(CHAT)
    (result,) = apo("-C", sample, "import", chat, "--json").json["sessions"]
    once = (sample / result["target"]).read_bytes()
    chat.write_text(CHAT + "\n**Assistant:** more\n")
    apo("-C", sample, "import", chat)
    asked = apo("-C", sample, "import", "--undo")
    assert "restored" in asked.out and "--undo --yes" in asked.out
    assert "undone, committed as" in apo("-C", sample, "import", "--undo", "--yes").out
    assert (sample / result["target"]).read_bytes() == once
    assert "deleted" in apo("-C", sample, "import", "--undo", "--yes").out
    assert not (sample / result["target"]).exists()
    assert git(sample, "rev-parse", "HEAD:raw") == before
    gone = apo("-C", sample, "import", "--undo", "--yes")
    assert gone.code == 1 and "no import" in gone.err
    assert "1 new" in apo("-C", sample, "import", chat).out


def test_undo_refuses_a_transcript_changed_since_the_import(
    apo: Command, sample: Path, tmp_path: Path
) -> None:
    chat = tmp_path / "chat.md"
    chat.write_text(CHAT)
    (result,) = apo("-C", sample, "import", chat, "--json").json["sessions"]
    path = sample / result["target"]
    path.write_text(path.read_text() + "\nmy note\n")
    refused = apo("-C", sample, "import", "--undo", "--yes")
    assert refused.code == 1 and result["target"] in refused.err and "changed since" in refused.err
    assert path.read_text().endswith("my note\n")


def test_without_automatic_commits_nothing_is_committed(apo: Command, sample: Path, tmp_path: Path) -> None:
    (tmp_path / "chat.md").write_text(CHAT)
    apo("-C", sample, "config", "set", "git.auto_commit", "false")
    ran = apo("-C", sample, "import", tmp_path / "chat.md")
    assert "not committed: git.auto_commit is off" in ran.out


def test_wrong_usage_exits_with_2(apo: Command, sample: Path, tmp_path: Path) -> None:
    missing = apo("-C", sample, "import", tmp_path / "missing.md")
    assert missing.code == 2 and "is neither a path nor an agent" in missing.err
    assert apo("-C", sample, "import", "--undo", tmp_path).code == 2


def test_an_import_whose_reader_has_left_does_all_its_work(home: Path, tmp_path: Path) -> None:
    root = tmp_path / "memory"
    run = [sys.executable, "-m", "tui.cli", "-C", str(root)]
    where = {"cwd": Path(__file__).parents[2], "check": True}
    subprocess.run([*run, "init"], stdout=subprocess.DEVNULL, **where)  # type: ignore[call-overload]
    (logs := home / "chats").mkdir()
    log = claude_log(("user", "From now on, always run make lint before a commit."), ("assistant", "I will."))
    (logs / f"{SESSION}.jsonl").write_text(log)
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*run, "import", str(logs)], stdout=writer, stderr=subprocess.PIPE, **where)  # type: ignore[call-overload]
    os.close(writer)
    assert done.returncode == 0 and done.stderr == b""
    assert "make lint" in (root / "knowledge/rules.md").read_text()
