"""Imported sessions are written once, without the keys typed in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.conversations.imports import ImportRun, Source, import_sessions
from engine.engine import Engine
from engine.redaction.detect import PLACEHOLDER
from engine.transcripts.importers.existing import BodyDigest
from tests.cli.conftest import Command, apo
from tests.redaction.test_kept_nowhere import KEY, OTHER, everything_below, git, root

__all__ = ["apo", "root"]

SESSION = "0b3f6a52-6c1e-4f7e-9a55-0d5b7f6f2c11"


def line(role: str, text: str, number: int) -> str:
    message = {"role": role, "content": text if role == "user" else [{"type": "text", "text": text}]}
    return json.dumps(
        {
            "type": role,
            "uuid": f"00000000-0000-4000-8000-{number:012}",
            "sessionId": SESSION,
            "timestamp": f"2026-02-16T10:{number:02}:00.000Z",
            "cwd": "/work",
            "message": message,
        }
    )


def header(root: Path) -> str:
    (path,) = (root / "raw").rglob("*.md")
    return path.read_text().split("\n---\n", 1)[0]


def body(root: Path) -> str:
    (path,) = (root / "raw").rglob("*.md")
    return path.read_text().split("\n---\n", 1)[1]


@pytest.mark.parametrize("before", [True, False])
def test_a_growing_session_log_is_imported_without_typed_keys(
    root: Path, tmp_path: Path, before: bool
) -> None:
    log = tmp_path / f"{SESSION}.jsonl"
    lines = [line("user", f"Use {KEY} please", 1), line("assistant", f"I use {KEY}.", 2)]
    log.write_text("\n".join(lines) + "\n")
    if not before:  # as an earlier version wrote it, without redaction
        (root / "memory-config.yaml").write_text("capture:\n  redact: false\n")
        with Engine.open(root) as engine:
            import_sessions(engine, [Source(log)])
        assert KEY in everything_below(root / "raw")
        (root / "memory-config.yaml").write_text("capture:\n  redact: true\n")
    else:
        with Engine.open(root) as engine:
            run = import_sessions(engine, [Source(log)])
        assert KEY not in everything_below(root) and run.committed and not run.held
        assert run.left_out["redacted"] == body(root).count(PLACEHOLDER) == 3, (
            "the title, and one in each turn"
        )
    log.write_text(
        "\n".join([*lines, line("user", f"And again {KEY}", 3), line("assistant", "Done.", 4)]) + "\n"
    )
    with Engine.open(root) as engine:
        grown = import_sessions(engine, [Source(log)])
        again = import_sessions(engine, [Source(log)]).results[0]
    assert again.status == "unchanged" and not again.left_out
    assert f"redacted: {body(root).count(PLACEHOLDER)}" in header(root)
    assert grown.left_out["redacted"] == body(root).count(PLACEHOLDER)
    text = everything_below(root / "raw")
    assert text.count("— user") == 2 and f"And again {PLACEHOLDER}" in text
    if before:
        assert KEY not in everything_below(root)


def test_a_chat_of_another_program_is_imported_without_typed_keys(root: Path, tmp_path: Path) -> None:
    chat = tmp_path / "chat.md"
    chat.write_text(f"## User\n\nUse {KEY} please\n\n## Assistant\n\nI use {KEY}.\n")
    for added in ("", f"\n## User\n\nAnd {OTHER}?\n"):
        chat.write_text(chat.read_text() + added)
        with Engine.open(root) as engine:
            (result,) = import_sessions(engine, [Source(chat)]).results
        assert result.status == ("grown" if added else "new"), result
        assert KEY not in everything_below(root) and OTHER not in everything_below(root)
        assert f"redacted: {body(root).count(PLACEHOLDER)}" in header(root)
        assert result.left_out["redacted"] == body(root).count(PLACEHOLDER) == (4 if added else 3)


def test_the_report_states_the_number_of_secrets_only_if_there_are_any(
    root: Path, tmp_path: Path, apo: Command
) -> None:
    log = tmp_path / f"{SESSION}.jsonl"
    log.write_text(f"{line('user', 'Hello', 1)}\n")
    assert "[secret]" not in apo("-C", root, "import", log).out and "redacted" not in header(root)
    log.write_text(f"{log.read_text()}{line('user', f'Use {KEY}', 2)}\n")
    assert "1 secret, written as [secret]" in apo("-C", root, "import", log).out


def test_a_placeholder_split_across_two_chunks_is_counted_once() -> None:
    text = f"{PLACEHOLDER} and {PLACEHOLDER}{PLACEHOLDER}".encode()
    for size in range(1, len(text)):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert BodyDigest(pieces).redacted == BodyDigest(pieces).copy().redacted == 3


def test_a_transcript_with_an_already_committed_secret_can_still_grow(root: Path, tmp_path: Path) -> None:
    (root / "memory-config.yaml").write_text("capture:\n  redact: false\n")
    log = tmp_path / f"{SESSION}.jsonl"
    log.write_text(f"{line('user', f'Use {KEY}', 1)}\n")

    def imported(text: str = "", number: int = 0) -> ImportRun:
        if text:
            log.write_text(f"{log.read_text()}{line('user', text, number)}\n")
        with Engine.open(root) as engine:
            return import_sessions(engine, [Source(log)])

    (held,) = imported().held
    git(root, "add", held.path)
    git(root, "commit", "-q", "--no-verify", "-m", "by hand")
    grown = imported("Go on", 2)
    assert grown.committed == (held.path,) and not grown.held
    (held_again,) = imported(f"And {OTHER}", 3).held
    assert len(held_again.lines) == 1 and held_again.lines > held.lines
