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
from tui.cli import cache as cache_check

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
    first, second, third, before, after = lines[at + 1 : at + 6]
    assert first.endswith("  first") and second.endswith(": same")
    assert f"layer 6 (project context), {MEMORY}:{turns} changed, byte " in third
    assert third.endswith(" sent again")
    assert before.lstrip().startswith("- ") and "Vestrand" in before and "VESTRAND" in after


def test_an_edit_since_the_last_turn_is_reported_but_not_an_error(
    apo: Command, sample: Path, turns: int
) -> None:
    line = edit(sample, USER, "Marit", "Berit")
    ran = apo("-C", sample, "cache", "check", "--last", "1")
    assert ran.code == 0
    since = next(line for line in ran.out.splitlines() if line.startswith("since"))
    assert f"layer 5 (persona), {USER}:{line} changed" in since and " 0 tokens still cached" in since
    assert "last 1 of prompts without a session" in ran.out


def test_json_contains_every_field(apo: Command, sample: Path, turns: int) -> None:
    found = apo("-C", sample, "cache", "check", "--session", SESSION, "--last", "2", "--json").json
    assert found.keys() == {"prefix", "discussion", "turns", "used", "since"}
    assert found["since"] is None
    assert [turn["found"] is None for turn in found["turns"]] == [True, False]
    broken = found["turns"][1]["found"]
    assert (broken["what"], broken["layer"], broken["source"], broken["line"]) == (
        "changed",
        6,
        MEMORY,
        turns,
    )
    assert broken["usable"] > 0 and broken["lost"] > 0 and broken["exact"] is True


def test_the_check_records_nothing_and_calls_no_gate(apo: Command, sample: Path) -> None:
    edit(sample, "memory-config.yaml", "provider: agent ", "provider: ask ")
    before = sorted((sample / "logs").iterdir())
    assert apo("-C", sample, "cache", "check").code == 0
    assert sorted((sample / "logs").iterdir()) == before


def test_terminal_sequences_in_files_are_escaped(apo: Command, sample: Path) -> None:
    apo("-C", sample, "compile", "--record", "Hello")
    edit(sample, USER, "Marit", "[red]\x1b]52;c;x\x07")
    ran = apo("-C", sample, "cache", "check")
    assert "[red]␛" in ran.out and "\x1b" not in ran.out


def test_long_lines_are_cut_to_the_part_that_differs() -> None:
    before, after = cache_check._around("a" * 300 + "b" * 300, "a" * 300 + "c" * 300)
    assert before == f"…{'a' * 32}{'b' * 64}…" and after == f"…{'a' * 32}{'c' * 64}…"
    assert cache_check._around("one", "other") == ("one", "other")
    assert cache_check._around("", "x" * 200) == ("", f"{'x' * 96}…")


def test_the_hash_seed_does_not_change_the_prompt(sample: Path) -> None:
    command = [sys.executable, "-m", "tui.cli", "-C", str(sample), "compile", "What did Odile ask for?"]
    found = set()
    for seed in ("0", "4711"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        found.add(subprocess.run(command, capture_output=True, check=True, env=environment).stdout)
    assert len(found) == 1 and b"<!-- message -->" in found.pop()
