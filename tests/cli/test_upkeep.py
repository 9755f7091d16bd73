"""``condense``, ``prune`` and ``archive``: dry run, --apply, and undo."""

from __future__ import annotations

import subprocess
from datetime import date, timedelta
from pathlib import Path

from tests.cli.conftest import Command

DAY = "2026-06-11"
MEMORY = "knowledge/memory/MEMORY.md"


def git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, capture_output=True, check=True, text=True).stdout


def test_condensing_a_day_and_a_week_is_shown_queued_and_applied(apo: Command, sample: Path) -> None:
    journal = sample / f"knowledge/journal/{DAY}.md"
    before, memory = journal.read_text(), (sample / MEMORY).read_text()
    shown = apo("-C", sample, "condense", "daily", "--day", DAY)
    assert "; dry run; pass --apply to write what" in shown.out and journal.read_text() == before
    assert "  - Asked: " in shown.out
    done = apo("-C", sample, "condense", "daily", "--day", DAY, "--apply")
    assert " written; committed as " in done.out and {*before.splitlines()} <= {
        *journal.read_text().splitlines()
    }
    assert apo("-C", sample, "condense", "daily", "--day", DAY, "--apply").out == "nothing to do\n"
    journal.write_text(f"{journal.read_text()}\n- Decided: The crane lifts forty tonnes from July on\n")
    week = apo("-C", sample, "condense", "weekly", "--day", DAY, "--apply")
    assert "undo: git revert " in week.out and "+- Decided" not in week.out
    assert (sample / MEMORY).read_text() != memory
    assert "nothing to do" in apo("-C", sample, "condense", "weekly", "--day", DAY, "--apply").out
    git(sample, "revert", "--no-edit", week.out.rpartition("git revert ")[2].split()[0])
    assert (sample / MEMORY).read_text() == memory
    (tree,) = apo("-C", sample, "condense", "weekly", "--day", DAY, "--json").json
    assert tree["proposal"]["diff"][0] == f"--- {MEMORY}" and tree["waiting"] and not tree["applied"]
    assert apo("-C", sample, "condense", "daily", "--day", "soon").code == 2


def test_pruning_is_a_dry_run_and_many_files_need_confirmation(apo: Command, sample: Path) -> None:
    for number in range(60):
        day = date(2025, 1, 1) + timedelta(days=number)
        (sample / f"knowledge/journal/{day}.md").write_text(f"## {day}\n\n- Day {number}\n")
    dry = apo("-C", sample, "prune")
    assert dry.out.startswith("MEMORY.md: 109 lines, 6.")
    assert "knowledge/journal/2025-01-01.md → archive/journal/2025-01-01.md" in dry.out
    assert (sample / "knowledge/journal/2025-01-01.md").is_file()
    refused = apo("-C", sample, "prune", "--apply")
    assert (refused.code, refused.out) == (1, "") and "files would be archived, " in refused.err
    count = refused.err.rpartition("--archive ")[2].strip()
    assert f"autopoiesis prune --apply --archive {count}" in dry.out
    done = apo("-C", sample, "prune", "--apply", "--archive", count)
    assert done.code == 0 and "undo: git revert" in done.out
    assert not (sample / "knowledge/journal/2025-01-01.md").exists()
    found = apo("-C", sample, "search", "Day 41", "--category", "archive", "--json").json
    assert found and {each["category"] for each in found} == {"archive"}
    assert all(each["path"].startswith("archive/") for each in found)
    prompt = apo("-C", sample, "compile", "What was on Day 41?", "--json").json
    assert all(
        each["layer"] > 7 for each in prompt["sections"] if (each["source"] or "").startswith("archive/")
    )


def test_a_file_is_archived_and_restored(apo: Command, sample: Path) -> None:
    path, cold = "knowledge/people/jonas-brandt.md", "archive/people/jonas-brandt.md"
    data = (sample / path).read_bytes()
    assert apo("-C", sample, "archive", "list").out == "no archived files\n"
    dry = apo("-C", sample, "archive", "add", path)
    assert dry.out.startswith(f"{path} → {cold} (") and dry.out.endswith(
        "nothing was moved; pass --apply to do it\n"
    )
    assert "will be a broken link" in dry.out and (sample / path).is_file()
    done = apo("-C", sample, "archive", "add", path, "--apply")
    assert "undo: git revert" in done.out and (sample / cold).read_bytes() == data
    assert apo("-C", sample, "archive", "list", "--json").json == {
        "files": [{"path": cold, "bytes": len(data)}], "entries": []
    }  # fmt: skip
    for words, why in {
        ("add", "knowledge/identity/SOUL.md"): "it is part of every prompt",
        ("add", "knowledge/reference/datums.md"): "remove it there first",
        ("restore", "nobody.md"): "no such file",
    }.items():
        ran = apo("-C", sample, "archive", *words)
        assert ran.code == 1 and why in ran.err, words
    back = apo("-C", sample, "archive", "restore", path, "--apply", "--json").json
    assert back["done"]["applied"] and (sample / path).read_bytes() == data
    assert git(sample, "status", "--porcelain", "--", "knowledge", "archive") == ""
