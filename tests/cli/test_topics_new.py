"""``topics new``, ``replay``, ``suggest`` and ``import`` on the command line."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pexpect
import pytest

from tests.cli.conftest import Command

WAYS = (
    "load the new tables",
    "tables for 2027 are here",
    "import the almanac",
    "new constants?",
    "tide tables!",
)
WHEN = "New tide tables are loaded."


@pytest.fixture
def sample(sample: Path) -> Path:
    """The sample with the sessions of its last days alone: the commands replay them all."""
    for day in sorted((sample / "raw/conversations/2026").glob("*/*"))[:-4]:
        shutil.rmtree(day)
    return sample


def test_one_command_makes_a_playbook_and_shows_it_on_the_past(
    apo: Command, sample: Path, tmp_path: Path
) -> None:
    ways = tmp_path / "ways.txt"
    ways.write_text("\n".join(f"- {way}" for way in WAYS))
    arguments = ("-C", sample, "topics", "new", "Tide tables", "--when", WHEN, "--instructions", "-")
    made = apo(*arguments, "--example", "and the tides?", "--examples", ways, stdin="1. Compare.\n")
    assert made.code == 0 and "topics/tide-tables.md: 6 ways to ask; committed as" in made.out
    assert "tide-tables: would have fired on" in made.out and "no labels yet" in made.out
    topic = apo("-C", sample, "topics", "show", "tide-tables", "--json").json
    assert topic["examples"] == ["and the tides?", *WAYS] and topic["instructions"] == "1. Compare."
    again = apo(*arguments, stdin="")
    assert again.code == 1 and "there is a topic of this name" in again.err


def test_what_is_missing_is_asked_for_only_on_a_terminal(apo: Command, sample: Path) -> None:
    assert apo("-C", sample, "topics", "new", "Tide tables").code == 2
    made = apo("-C", sample, "topics", "new", "Tides", "--when", WHEN, "--no-replay", "--json")
    assert made.json["draft"]["when"] == WHEN and made.json["replay"] is None
    asked = apo("-C", sample, "topics", "new", "More", "--when", WHEN, "--ask")
    assert asked.code == 1 and "no model is configured" in asked.err
    assert not (sample / "topics/more.md").exists()


def test_the_draft_can_be_filled_in_in_the_editor(
    apo: Command, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor"
    editor.write_text(
        '#!/bin/sh\nsed -i "s/^# Title/# Tide tables/; s/^description: .*/description: Tides./" "$1"\n'
    )
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    assert apo("-C", sample, "topics", "new", "--edit", "--no-replay").code == 0
    assert apo("-C", sample, "topics", "show", "tide-tables", "--json").json["description"] == "Tides."
    editor.write_text("#!/bin/sh\nexit 3\n")
    failed = apo("-C", sample, "topics", "new", "Other", "--when", "x", "--edit")
    assert failed.code == 1 and "exit code 3; nothing was written" in failed.err


def test_past_messages_are_labelled_by_id_and_the_figures_move(apo: Command, sample: Path) -> None:
    before = apo("-C", sample, "topics", "replay", "release", "--json").json
    first, second = (
        next(row["id"] for row in before["rows"] if row["fired"] is fired) for fired in (True, False)
    )
    assert before["fired"] and before["precision"] is None
    after = apo(
        "-C", sample, "topics", "replay", "release", "--yes", first, "--no", second[:8], "--json"
    ).json
    assert (after["precision"], after["recall"], after["labelled"]) == (1.0, 1.0, 2)
    listed = apo("-C", sample, "decisions", "list", "--topic", "release", "--json").json
    assert {row["id"]: row["useful"] for row in listed if row["useful"] is not None} == {
        first: True,
        second: False,
    }
    cleared = apo("-C", sample, "topics", "replay", "release", "--clear", second, "--json").json
    assert cleared["labelled"] == 1
    unknown = apo("-C", sample, "topics", "replay", "release", "--yes", "ffffffff")
    assert unknown.code == 1 and "no message of the list has the id ffffffff" in unknown.err
    said = apo("-C", sample, "topics", "replay", "release", "--no", second).out
    moved = re.search(rf"{second[:10]}\s+noise\s+(\S+) → (\S+)\s+(fires|does not fire)", said)
    assert moved is not None and float(moved[2]) < float(moved[1]) < 1
    assert "labels so far" in said and "of the other messages it now fires on" in said
    shown = apo("-C", sample, "topics", "replay", "release", "--limit", "2").out
    assert "2 of " in shown and "--limit shows more" in shown and "--yes ID --no ID" in shown


def test_nothing_to_suggest_is_said(apo: Command, sample: Path) -> None:
    assert "nothing that you ask for in 3 sessions or more" in apo("-C", sample, "topics", "suggest").out
    assert apo("-C", sample, "topics", "suggest", "--json").json == {"proposed": [], "suggested": []}
    missing = apo("-C", sample, "topics", "suggest", "--write", "tides")
    assert missing.code == 1 and "no suggestion tides" in missing.err


def test_an_import_shows_first_and_writes_only_when_told_to(
    apo: Command, sample: Path, tmp_path: Path
) -> None:
    rules = tmp_path / "repository/.cursor/rules"
    rules.mkdir(parents=True)
    (rules / "tides.mdc").write_text("---\ndescription: Work on tides\nglobs: tides/**\n---\nUse metres.\n")
    (rules / "waves.mdc").write_text("---\ndescription: Work on waves\n---\nUse seconds.\n")
    folder = tmp_path / "repository"
    shown = apo("-C", sample, "topics", "import", folder, "--full")
    assert ["tides", "rule", ".cursor/rules/tides.mdc", "new"] in [
        line.split()[:4] for line in shown.out.split("\n")
    ]
    assert "Use metres." in shown.out and "to write 2 playbooks: --apply" in shown.out
    assert not (sample / "topics/tides.md").exists()
    written = apo("-C", sample, "topics", "import", folder, "--only", "tides", "--apply")
    assert "1 playbook written; committed as" in written.out
    assert (sample / "topics/tides.md").exists() and not (sample / "topics/waves.md").exists()
    again = apo("-C", sample, "topics", "import", folder, "--json").json["found"]
    assert {each["name"]: each["state"] for each in again} == {"tides": "same", "waves": "new"}
    assert apo("-C", sample, "topics", "import", folder, "--only", "tide").code == 1
    assert "no skills, commands, rules or AGENTS.md" in apo("-C", sample, "topics", "import", rules).out


def test_on_a_terminal_it_asks_shows_the_draft_and_labels_with_one_key(sample: Path) -> None:
    program = pexpect.spawn(
        sys.executable, ["-m", "tui.cli", "-C", str(sample), "topics", "new"],
        encoding="utf-8", timeout=60, dimensions=(40, 120),
    )  # fmt: skip
    for question, answer in (
        ("Title", "Released"), ("It applies when", "A version is released."), ("> ", "Tag it."), ("> ", ""),
        ("one a line", "cut 0.15"), ("> ", "is 0.15 out?"), ("> ", ""),
    ):  # fmt: skip
        program.expect(question)
        program.sendline(answer)
    program.expect("# Released")
    program.expect("quit")
    program.sendline("w")
    program.expect("topics/released.md: 2 ways to ask; committed as")
    program.expect("y yes, n no, s skip, u undo, q stop")
    program.expect(r"1 of \d+")
    program.send("y")
    program.expect("1 label so far")
    program.send("n")
    program.expect("2 labels so far")
    program.send("u")
    program.expect(r"2 of \d+")
    program.send("q")
    program.expect("1 label so far")
    program.expect(pexpect.EOF)
    program.close()
    assert program.exitstatus == 0
