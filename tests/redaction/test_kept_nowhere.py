"""A typed key is in no transcript, log or commit, and existing ones are found without being shown."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import RepositoryError
from engine.knowledge.footprint import CleanupLog
from engine.knowledge.ledger import LedgerEntry, LedgerLine
from engine.redaction.detect import PLACEHOLDER, masked
from engine.store.files import Files
from engine.store.monthly import line_of
from engine.store.paths import Workspace
from engine.transcripts.capture import ConversationCapture
from engine.workspace.doctor import examine
from engine.workspace.initialise import initialise
from engine.workspace.secret_scan import FoundSecret, Skipped, scan_files, scan_history
from tests.cli.conftest import Command, apo

__all__ = ["apo"]

KEY = "gh" + "p_" + "Q7wE4rT9yU2iO5pA8sD1fG6hJ3kL0zX4cV7b"
OTHER = "xo" + "xb-123456789012-abcdefghijklmnop"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A workspace with its own repository."""
    for variable in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{variable}_NAME", "Ann")
        monkeypatch.setenv(f"GIT_{variable}_EMAIL", "ann@example.org")
    place = tmp_path / "memory"
    (place / "knowledge").mkdir(parents=True)
    (place / "memory-config.yaml").write_text("git:\n  auto_commit: true\n")
    with Engine.open(place) as engine:
        engine.repository.init()
    yield place


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def everything_below(root: Path) -> str:
    return "\n".join(
        (Path(folder) / name).read_bytes().decode("utf-8", "replace")
        for folder, _, names in os.walk(root)
        for name in names
    )


def capture_session(capture: ConversationCapture) -> str:
    capture.start("s1", title=f"deploy with {KEY}", started=datetime(2026, 2, 16, tzinfo=UTC))
    capture.message("s1", "user", f"Use {KEY} for the deploy", attachments=[f"a/{KEY}.png"])
    capture.tool_call("s1", "Bash", f"deploy --token {KEY}", f"sent {KEY}")
    return capture.end("s1")


def test_a_captured_transcript_is_redacted_and_records_the_number(root: Path) -> None:
    with Engine.open(root) as engine:
        path = capture_session(engine.capture)
        assert engine.capture.end("s1") == path
    text = (root / path).read_text()
    assert KEY not in everything_below(root) and KEY not in path
    assert f"Use {PLACEHOLDER} for the deploy" in text
    body = text.split("\n---\n", 1)[1]
    assert f"redacted: {body.count(PLACEHOLDER)}\n" in text


def test_with_redaction_off_the_text_is_kept_but_not_committed(root: Path) -> None:
    (root / "memory-config.yaml").write_text("capture:\n  redact: false\n")
    with Engine.open(root) as engine:
        engine.capture.start("s1")
        engine.capture.message("s1", "user", f"Use {KEY}")
        path = engine.capture.end("s1")
        assert KEY in (root / path).read_text()
        with pytest.raises(RepositoryError, match=r"a secret \(GitHub token\)") as refused:
            engine.repository.commit([path], "conversation: s1")
    assert KEY not in str(refused.value)
    assert any("capture.redact is off" in finding.text for finding in examine(root))


def test_the_program_commits_no_secret(root: Path) -> None:
    (root / "knowledge/facts.md").write_text(f"- fine\n- the token is {KEY}\n")
    with Engine.open(root) as engine:
        with pytest.raises(RepositoryError, match="line 2") as refused:
            engine.repository.commit(["knowledge/facts.md"], "memory: facts")
        assert KEY not in str(refused.value)
        (root / "knowledge/facts.md").write_text("- fine\n")
        assert engine.repository.commit(["knowledge/facts.md"], "memory: facts")


def test_a_log_line_contains_no_secret_and_offsets_are_preserved() -> None:
    text = f"use {KEY} now"
    assert KEY.encode() not in line_of({"a": [text, {"b": text}], "c": 1})
    assert len(masked(text)) == len(text) and masked(text).index("now") == text.index("now")


def test_the_decision_log_contains_no_typed_key(root: Path) -> None:
    (root / "topics").mkdir()
    (root / "topics/deploy.md").write_text(
        "---\ntype: topic\nname: deploy\ndescription: Deploys.\ntriggers:\n  - pattern: deploy\n---\nDo it.\n"
    )
    with Engine.open(root) as engine:
        trace = engine.pipeline.process(f"please deploy with {KEY}")
        assert trace.rows
        engine.decision_log.record(trace)
        if not engine.decision_log.last(1):
            engine.decision_log.ensure(trace, trace.rows[0].topic)
        assert engine.decision_log.last(1)
    assert KEY not in everything_below(root)


def test_the_pre_commit_check_reports_staged_secrets_without_their_value(root: Path) -> None:
    (root / "notes.txt").write_text(f"one\n{KEY}\n")
    git(root, "add", "notes.txt")
    (root / "notes.txt").write_text("clean on disk\n")
    found = [finding for finding in examine(root, staged=True) if finding.level == "error"]
    assert len(found) == 1 and "notes.txt:2" in found[0].text and "GitHub token" in found[0].text
    assert KEY not in f"{found[0].text}{found[0].hint}"


def test_the_scan_finds_files_and_history_without_showing_a_value(root: Path, apo: Command) -> None:
    (root / "old.md").write_text(f"{OTHER}\n")
    git(root, "add", "old.md")
    git(root, "commit", "-q", "-m", "old")
    revision = git(root, "rev-parse", "--short", "HEAD").strip()
    git(root, "rm", "-q", "old.md")
    git(root, "commit", "-q", "-m", "gone")
    clean = apo("-C", root, "secrets", "scan")
    assert clean.code == 0 and "no secrets" in clean.out
    (root / "knowledge/facts.md").write_text(f"fine\n{KEY}\n")
    ran = apo("-C", root, "secrets", "scan", "--history")
    assert ran.code == 1 and KEY not in ran.out and OTHER not in ran.out
    assert "knowledge/facts.md:2" in ran.out and "GitHub token" in ran.out
    assert "old.md:1" in ran.out and "Slack token" in ran.out and "revoke" in ran.out
    finding = apo("-C", root, "secrets", "scan", "--history", "--json").json["found"]
    assert {each["revision"] for each in finding} >= {""} and len(finding) == 2
    assert all(each["revision"] == "" or len(each["revision"]) >= len(revision) for each in finding)


def test_the_scan_skips_symlinks_binaries_and_caches(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text(KEY)
    (root / "link.md").symlink_to(tmp_path / "outside")
    (root / "image.bin").write_bytes(b"\0" + KEY.encode())
    (root / "scratch").mkdir(exist_ok=True)
    (root / "scratch/cache").write_text(KEY)
    files = Files(Workspace.open(root))
    assert list(scan_files(files)) == []
    (root / "a.md").write_text(f"x\n{KEY}\n")
    assert list(scan_files(files)) == [FoundSecret("a.md", 2, "GitHub token")]
    with Engine.open(root) as engine:
        assert not any(isinstance(each, Skipped) for each in scan_history(files, engine.repository))


def test_the_ledger_and_the_cleanup_log_contain_no_secret(root: Path) -> None:
    at = datetime(2026, 2, 16, tzinfo=UTC)
    entry = LedgerEntry(
        "conversations/call.md",
        "harvest-failed",
        at.isoformat(),
        lines=(LedgerLine("a1", "knowledge/facts.md", f"- the token is {KEY}"),),
        refused=(f"no category: {KEY}",),
        error=f"401 Unauthorized: {KEY}",
    )
    with Engine.open(root) as engine:
        engine.knowledge.ledger.record("a" * 64, entry)
        engine.knowledge.ledger.change("a" * 64, error=f"403 Forbidden: {KEY}")
        written = engine.knowledge.ledger.entries()["a" * 64]
        CleanupLog(engine.files, lambda: at).add(
            f"archived {KEY}",
            candidates=1,
            size=2,
            dry_run=False,
            human_approved=True,
            path=f"knowledge/{KEY}",
        )
        assert engine.repository.commit(["knowledge/ledger.json", "logs/cleanup.jsonl"], "memory: harvest")
    assert KEY not in everything_below(root)
    assert (written.path, written.error) == (entry.path, f"403 Forbidden: {PLACEHOLDER}")


def test_init_does_not_commit_a_secret_it_finds(tmp_path: Path, root: Path) -> None:
    place = tmp_path / "notes"
    place.mkdir()
    (place / "facts.md").write_text(f"- fine\n- the token is {KEY}\n")
    report = initialise(place)
    (problem,) = (each for each in report.problems if each.path == "facts.md")
    assert "line 2 contains what looks like a secret (GitHub token)" in problem.what and KEY not in str(
        problem
    )
    assert "run init again" in problem.hint
    (place / "facts.md").write_text("- fine\n")
    assert initialise(place).problems == [] and "facts.md" in git(place, "ls-files")


def commit_by_hand(root: Path, text: str) -> None:
    """Commit a file with a secret, bypassing the hook."""
    (root / "knowledge/facts.md").write_text(text)
    git(root, "add", "knowledge/facts.md")
    git(root, "commit", "-q", "--no-verify", "-m", "by hand")


@pytest.mark.parametrize("added", ["- an innocent line\n", f"- again {KEY}, on another line\n"])
def test_an_already_committed_secret_does_not_block_further_commits(root: Path, added: str) -> None:
    commit_by_hand(root, f"- the token is {KEY}\n")
    (root / "knowledge/facts.md").write_text(f"- first\n- the token is {KEY}\n{added}")
    with Engine.open(root) as engine:
        assert engine.repository.commit(["knowledge/facts.md"], "memory: facts")
    assert [each.line for each in scan(root)][:1] == [2], "it is still reported"
    (finding,) = (each for each in examine(root) if "contains a possible" in each.text)
    assert finding.text.startswith("knowledge/facts.md:2 contains a possible GitHub token")
    assert finding.level == "warning" and "secrets scan" in finding.hint and KEY not in finding.text


def test_a_new_secret_next_to_a_committed_one_is_refused(root: Path) -> None:
    commit_by_hand(root, f"- the token is {KEY}\n")
    (root / "knowledge/facts.md").write_text(f"- the token is {KEY}\n- and {OTHER}\n")
    git(root, "add", "knowledge/facts.md")
    with Engine.open(root) as engine:
        with pytest.raises(
            RepositoryError, match=r"line 2 contains what looks like a secret \(Slack token\);"
        ) as refused:
            engine.repository.commit(["knowledge/facts.md"], "memory: facts")
        assert OTHER not in str(refused.value)
    (found,) = (each for each in examine(root, staged=True) if each.level == "error")
    assert found.text == "knowledge/facts.md:2: contains what looks like a secret (Slack token)"


def test_a_file_name_with_a_secret_is_refused_by_hook_and_program(root: Path) -> None:
    (root / f"{KEY}.txt").write_text("fine\n")
    git(root, "add", f"{KEY}.txt")
    (found,) = (each for each in examine(root, staged=True) if each.level == "error")
    assert "its name contains what looks like a secret" in found.text
    with Engine.open(root) as engine, pytest.raises(RepositoryError, match="its name contains"):
        engine.repository.commit([f"{KEY}.txt"], "by the program")
    git(root, "commit", "-q", "--no-verify", "-m", "by hand")
    (root / f"{KEY}.txt").write_text("fine, and more\n")
    with Engine.open(root) as engine:
        assert engine.repository.commit([f"{KEY}.txt"], "by the program")


def scan(root: Path) -> list[FoundSecret]:
    return [each for each in scan_files(Files(Workspace.open(root))) if isinstance(each, FoundSecret)]
