"""What looks like a secret is named once, and one command says what becomes of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.conversations.imports import ImportRun, Source, import_sessions
from engine.engine import Engine
from engine.redaction.commits import ALLOWED
from engine.redaction.detect import PLACEHOLDER
from engine.workspace.doctor import examine
from tests.cli.conftest import Command, apo
from tests.redaction.test_imported import SESSION, line
from tests.redaction.test_kept_nowhere import KEY, OTHER, everything_below, git, root

__all__ = ["apo", "root"]


@pytest.fixture
def log(root: Path, tmp_path: Path) -> Path:
    """A session log with two keys, of which an import redacts none."""
    (root / "memory-config.yaml").write_text("git:\n  auto_commit: true\ncapture:\n  redact: false\n")
    found = tmp_path / f"{SESSION}.jsonl"
    found.write_text(f"{line('user', f'Use {KEY}', 1)}\n{line('assistant', f'Not {OTHER}?', 2)}\n")
    return found


def imported(root: Path, log: Path) -> ImportRun:
    with Engine.open(root) as engine:
        return import_sessions(engine, [Source(log)])


def test_an_allowed_finding_is_committed_by_the_next_import(root: Path, log: Path, apo: Command) -> None:
    (held,) = imported(root, log).held
    assert "GitHub token" in held.why
    allowed = apo("-C", root, "secrets", "allow", f"{held.path}:{held.lines[0]}")
    assert allowed.code == 0 and "1 finding allowed" in allowed.out
    assert git(root, "status", "--short", ALLOWED) == "", "other machines get it too"
    record = (root / ALLOWED).read_text()
    assert KEY not in record and json.loads(record)["line"] == held.lines[0]
    (still,) = imported(root, log).held
    assert set(still.lines) < set(held.lines), "the title has the first key too"
    assert apo("-C", root, "secrets", "allow", held.path).code == 0
    assert imported(root, log).committed == (held.path,)
    assert apo("-C", root, "secrets", "scan", "--history").code == 0
    assert apo("-C", root, "secrets", "allow", held.path).code == 1, "nothing is left to allow"


def test_what_one_machine_allows_another_accepts(root: Path, log: Path, apo: Command, tmp_path: Path) -> None:
    (held,) = imported(root, log).held
    apo("-C", root, "secrets", "allow", held.path)
    other = tmp_path / "other"
    git(root, "clone", "-q", str(root), str(other))
    (other / "memory-config.yaml").write_text("")
    (other / "knowledge").mkdir(exist_ok=True)
    (other / "knowledge/facts.md").write_text(f"- {KEY}\n")
    git(other, "add", "knowledge")
    assert not [each for each in examine(other, staged=True) if each.level == "error"]
    with Engine.open(other) as engine:
        assert engine.repository.commit(["knowledge/facts.md"], "memory: facts")


@pytest.mark.parametrize("verb", ["allow", "redact"])
def test_a_file_that_does_not_exist_is_named(verb: str, root: Path, apo: Command) -> None:
    asked = apo("-C", root, "secrets", verb, "knowledge/gone.md:3")
    assert asked.code == 1 and asked.err.startswith("autopoiesis: knowledge/gone.md: no such file")


def test_redacting_replaces_only_what_is_not_allowed(root: Path, apo: Command) -> None:
    place = root / "knowledge/facts.md"
    place.write_bytes(f"- {KEY}\n- caf\xe9 {OTHER}\n- {OTHER}\n".encode("latin-1"))
    assert apo("-C", root, "secrets", "allow", "knowledge/facts.md:1").code == 0
    one = apo("-C", root, "secrets", "redact", "knowledge/facts.md:3")
    assert one.code == 0 and "1 finding replaced" in one.out
    assert place.read_bytes() == f"- {KEY}\n- caf\xe9 {OTHER}\n- {PLACEHOLDER}\n".encode("latin-1")
    assert apo("-C", root, "secrets", "redact", "knowledge/facts.md", "--json").json == {"replaced": 1}
    assert place.read_bytes() == f"- {KEY}\n- caf\xe9 {PLACEHOLDER}\n- {PLACEHOLDER}\n".encode("latin-1")
    assert apo("-C", root, "secrets", "redact", "knowledge/facts.md").code == 1


def test_a_redacted_transcript_is_committed_and_can_grow(root: Path, log: Path, apo: Command) -> None:
    (held,) = imported(root, log).held
    assert apo("-C", root, "secrets", "redact", held.path).code == 0
    assert imported(root, log).committed == (held.path,)
    for number in (3, 5):
        added = (line("user", f"And {KEY}", number), line("assistant", "Done.", number + 1))
        log.write_text(log.read_text() + "\n".join(added) + "\n")
        (again,) = imported(root, log).held
        assert len(again.lines) == 1
        assert apo("-C", root, "secrets", "redact", again.path).code == 0
        assert imported(root, log).committed == (held.path,)
    text = everything_below(root / "raw")
    assert KEY not in text and OTHER not in text and text.count("— user") == 3 and text.count("Done.") == 2


def test_a_damaged_record_of_allowed_findings_allows_nothing_by_itself(root: Path, apo: Command) -> None:
    (root / "logs").mkdir()
    (root / ALLOWED).write_bytes(b"[1]\n{\xff\n{}\n")
    (root / "knowledge/facts.md").write_text(f"- {KEY}\n")
    assert apo("-C", root, "secrets", "scan").code == 1
    assert apo("-C", root, "secrets", "allow", "knowledge/facts.md").code == 0
    assert apo("-C", root, "secrets", "scan").code == 0
