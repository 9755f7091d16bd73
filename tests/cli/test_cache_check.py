"""``cache check``: the prefix compiled in two processes, recorded turns, and what broke their prefix."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from engine.context.compiled import Compiled
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
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile the second time in this process as well, where the fresh one is not the point."""
    monkeypatch.setattr(
        cache_check,
        "_compile_in_fresh_process",
        lambda engine, message, session: engine.compile(message, session_id=session, ask=False),
    )


@pytest.fixture
def turns(sample: Path, here: None) -> int:
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


def test_the_prefix_of_a_fresh_workspace_is_stable(apo: Command, sample: Path) -> None:
    ran = apo("-C", sample, "cache", "check")
    assert ran.code == 0 and ran.err == ""
    lines = ran.out.splitlines()
    assert lines[0].startswith("twice    the same ") and "in a fresh process" in lines[0]
    assert lines[1].startswith("prefix   ") and "cache boundaries after " in lines[1]
    assert lines[2] == "turns    none recorded yet; record one with: autopoiesis compile --record TEXT"


def test_the_turns_of_a_session_are_compared(apo: Command, sample: Path, turns: int) -> None:
    ran = apo("-C", sample, "cache", "check", "And now?", "--session", SESSION)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[2].startswith("since    ") and lines[2].endswith(": identical")
    at = lines.index(f"last 3 of {SESSION}")
    first, second, third, before, after = lines[at + 1 : at + 6]
    assert first.endswith("  first") and second.endswith(": same")
    assert f"layer 6 (project context), {MEMORY}:{turns} changed, byte " in third
    assert third.endswith(" sent again")
    assert before.lstrip().startswith("- ") and "Vestrand" in before and "VESTRAND" in after
    tally = ran.out.partition("broken prefixes")[2].splitlines()
    assert tally[1].startswith("  5 min cache: 2 in time, 1 with the prefix intact, 1 broken: ")
    assert tally[2].split()[:2] == ["1", "×"] and tally[2].endswith(f"layer 6 (project context)  {MEMORY}")


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
    assert found.keys() == {"repeat", "prefix", "discussion", "turns", "used", "since", "misses"}
    assert found["repeat"]["equal"] is True and found["since"] is None
    assert [turn["found"] is None for turn in found["turns"]] == [True, False]
    broken = found["turns"][1]["found"]
    assert (broken["what"], broken["layer"], broken["source"], broken["line"]) == (
        "changed",
        6,
        MEMORY,
        turns,
    )
    assert broken["usable"] > 0 and broken["lost"] > 0 and broken["exact"] is True
    assert [tally["ttl_s"] for tally in found["misses"]] == [300, 3600]


def test_the_message_can_come_from_standard_input(apo: Command, sample: Path, here: None) -> None:
    assert apo("-C", sample, "cache", "check", "-", stdin="What did Odile ask for?").code == 0


def test_the_check_records_nothing_and_calls_no_gate(apo: Command, sample: Path) -> None:
    edit(sample, "memory-config.yaml", "provider: agent ", "provider: ask ")
    before = sorted((sample / "logs").iterdir())
    assert apo("-C", sample, "cache", "check", "Can you look at the PR?").code == 0
    assert sorted((sample / "logs").iterdir()) == before


def test_two_compiles_that_differ_are_an_error(
    apo: Command, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = cache_check._compiled_from

    def changed(tree: dict[str, object]) -> Compiled:
        compiled = real(tree)
        soul = next(each for each in compiled.sections if each.label == "identity:SOUL.md")
        text = soul.text.replace("\n", "\nIt is 8:01.\n", 1)
        return replace(
            compiled,
            text=compiled.text.replace(soul.text, text),
            sections=tuple(replace(each, text=text) if each is soul else each for each in compiled.sections),
            stable_prefix_length=compiled.stable_prefix_length + len(text) - len(soul.text),
        )

    monkeypatch.setattr(cache_check, "_compiled_from", changed)
    ran = apo("-C", sample, "cache", "check")
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert lines[0].startswith("twice    DIFFERENT: the stable prefix differs at byte ")
    assert "layer 5 (persona), knowledge/identity/SOUL.md" in lines[0]
    assert "         +It is 8:01." in lines
    assert apo("-C", sample, "cache", "check", "--json").code == 1


def test_a_failed_second_compile_is_a_one_line_error(
    apo: Command, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_check, "_START", "raise SystemExit('no memory left')")
    ran = apo("-C", sample, "cache", "check")
    assert ran.code == 1 and ran.out == ""
    assert ran.err == "autopoiesis: the second compile failed: no memory left; run: autopoiesis doctor\n"


def test_terminal_sequences_in_files_are_escaped(apo: Command, sample: Path, here: None) -> None:
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
