"""``cache check``: recorded turns, and what broke their prefix."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.transcripts.capture import ConversationCapture
from tests.cli.conftest import Command

MEMORY = "knowledge/memory/MEMORY.md"
USER = "knowledge/identity/USER.md"
SESSION = "ses_check001"


def edit(sample: Path, path: str, before: str, after: str) -> int:
    """Replace the first occurrence of a text; return its line number."""
    file = sample / path
    text = file.read_text()
    file.write_text(text.replace(before, after, 1))
    return text[: text.index(before)].count("\n") + 1


@pytest.fixture
def turns(sample: Path) -> int:
    """Record three turns of a session with an edit before the last; return the number of the edited line."""
    with Engine.open(sample) as engine:
        agent = ConversationCapture(engine.files, clock=engine.clock)
        agent.start(SESSION, title="Odile")
        for text in ("What did Odile ask for?", "And when?"):
            engine.compile(text, session_id=SESSION, ask=False, record=True)
            agent.message(SESSION, "user", text)
    line = edit(sample, MEMORY, "Vestrand", "VESTRAND")
    with Engine.open(sample) as engine:
        engine.compile("Thanks.", session_id=SESSION, ask=False, record=True)
        engine.compile("Something else", ask=False, record=True)
    return line


def test_a_fresh_workspace_has_a_prefix_and_no_turns(apo: Command, sample: Path) -> None:
    ran = apo("-C", sample, "cache", "check")
    assert ran.code == 0 and ran.err == ""
    lines = ran.out.splitlines()
    assert lines[0].startswith("prefix   ") and "cache boundaries after " in lines[0]
    assert lines[1] == "turns    none recorded yet; record one with: autopoiesis compile --record TEXT"


def test_the_turns_of_a_session_are_compared(apo: Command, sample: Path, turns: int) -> None:
    ran = apo("-C", sample, "cache", "check", "--session", SESSION)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[1].startswith("since    ") and lines[1].endswith(": identical")
    at = lines.index(f"last 3 of {SESSION}")
    first, second, third = lines[at + 1 : at + 4]
    assert first.endswith("  first") and second.endswith(": same")
    assert f"layer 6 (project context), {MEMORY} changed, at or after byte " in third
    assert third.endswith(" sent again")


def test_an_edit_since_the_last_turn_is_reported_but_not_an_error(
    apo: Command, sample: Path, turns: int
) -> None:
    edit(sample, USER, "Marit", "Berit")
    ran = apo("-C", sample, "cache", "check", "--last", "1")
    assert ran.code == 0
    since = next(line for line in ran.out.splitlines() if line.startswith("since"))
    assert f"layer 5 (persona), {USER} changed" in since and " 0 tokens still cached" in since
    assert "last 1 of prompts without a session" in ran.out


def test_json_contains_every_field(apo: Command, sample: Path, turns: int) -> None:
    found = apo("-C", sample, "cache", "check", "--session", SESSION, "--last", "2", "--json").json
    assert found.keys() == {"prefix", "discussion", "turns", "used", "since"}
    assert found["since"] is None
    assert [turn["found"] is None for turn in found["turns"]] == [True, False]
    broken = found["turns"][1]["found"]
    assert (broken["what"], broken["layer"], broken["source"]) == ("changed", 6, MEMORY)
    assert broken["usable"] > 0 and broken["lost"] > 0


def test_the_check_records_nothing_and_calls_no_gate(apo: Command, sample: Path) -> None:
    edit(sample, "memory-config.yaml", "provider: agent ", "provider: ask ")
    before = sorted((sample / "logs").iterdir())
    assert apo("-C", sample, "cache", "check").code == 0
    assert sorted((sample / "logs").iterdir()) == before


def test_the_hash_seed_does_not_change_the_prompt(sample: Path) -> None:
    command = [sys.executable, "-m", "tui.cli", "-C", str(sample), "compile", "What did Odile ask for?"]
    found = set()
    for seed in ("0", "4711"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        found.add(subprocess.run(command, capture_output=True, check=True, env=environment).stdout)
    assert len(found) == 1 and b"<!-- message -->" in found.pop()
