"""``knowledge``: entries and skills on the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from engine.engine import Engine
from tests.cli.conftest import Command

INCIDENTS = "knowledge/tidemark-incidents"


def test_info_prints_exactly_what_agents_receive(apo: Command, sample: Path) -> None:
    with Engine.open(sample) as engine:
        answer = engine.knowledge_entries.answer("knowledge", {"action": "info"})
    ran = apo("-C", sample, "knowledge", "info")
    assert ran.code == 0 and ran.out == answer
    assert "(knowledge/tidemark-incidents/KNOWLEDGE.md; index of 2 entries)" in answer
    assert apo("-C", sample, "knowledge", "info", "--json").json == {"text": answer}


def test_the_list_shows_each_entry_below_its_index(apo: Command, sample: Path) -> None:
    lines = apo("-C", sample, "knowledge", "list").out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("tidemark-incidents"))
    assert lines[at + 1].startswith("  2026-05-22-wal-disk-full")
    assert lines[-1].split()[:2] == ["postgres-online-migration", "skill"]
    tree = apo("-C", sample, "knowledge", "list", "--json").json
    assert len(tree["entries"]) == 6 and tree["archived"] == []
    assert tree["entries"][0]["location"] == "knowledge/gauge-fleet/KNOWLEDGE.md"


def test_show_prints_an_entry_and_its_references(apo: Command, sample: Path) -> None:
    ran = apo("-C", sample, "knowledge", "show", "tidemark-incidents")
    assert ran.code == 0 and ran.err == ""
    assert "index of        knowledge/tidemark-incidents/2026-05-22-wal-disk-full/KNOWLEDGE.md\n" in ran.out
    assert "topics/incident.md:18\n" in ran.out and "# Tidemark incidents\n" in ran.out
    tree = apo("-C", sample, "knowledge", "show", INCIDENTS, "--json").json
    assert tree["name"] == "tidemark-incidents" and len(tree["outgoing"]) == 3
    assert tree["text"] == (sample / INCIDENTS / "KNOWLEDGE.md").read_text()
    assert apo("-C", sample, "knowledge", "show", "mail-contxt").err == (
        "autopoiesis: no such entry: mail-contxt; did you mean mail-context?\n"
    )


def test_check_exits_with_1_on_an_error(apo: Command, sample: Path) -> None:
    ran = apo("-C", sample, "knowledge", "check")
    assert (ran.code, ran.out) == (0, "6 entries, no problems\n")
    path = sample / "knowledge/mail-context/KNOWLEDGE.md"
    (sample / "knowledge/people/other.md").write_text("[[no such page]]\n")
    ran = apo("-C", sample, "knowledge", "check")
    assert ran.code == 0 and ran.out.startswith("warning: knowledge/people/other.md:1: [[no such page]]")
    path.write_text(path.read_text() + "See also: ../guage-fleet/KNOWLEDGE.md\n")
    ran = apo("-C", sample, "knowledge", "check")
    assert ran.code == 1 and "error: knowledge/mail-context/KNOWLEDGE.md:21: ../guage-fleet/" in ran.out
    ran = apo("-C", sample, "knowledge", "check", "--json")
    assert ran.code == 1 and [each["severity"] for each in ran.json] == ["error", "warning"]
    doctor = apo("-C", sample, "doctor").out
    assert "knowledge entries and skills: 2 problems\n    see: autopoiesis knowledge check\n" in doctor


def test_doctor_does_not_mention_valid_entries(apo: Command, sample: Path) -> None:
    assert "knowledge entries" not in apo("-C", sample, "doctor").out


def test_the_footprint_is_shown_and_recorded(apo: Command, sample: Path) -> None:
    ran = apo("-C", sample, "knowledge", "footprint")
    assert ran.out.startswith("3 entries, 2 entries nested in them; 6 files, ")
    assert ran.out.splitlines()[2].split()[0] == "tidemark-incidents"
    assert ran.out.endswith("recorded in logs/cleanup.jsonl; nothing was changed\n")
    tree = apo("-C", sample, "knowledge", "footprint", "--json").json
    assert tree["recorded"] and tree["top"][0]["folder"] == INCIDENTS
    assert len((sample / "logs/cleanup.jsonl").read_text().splitlines()) == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_a_footprint_that_cannot_be_recorded_is_reported(apo: Command, sample: Path) -> None:
    sample.chmod(0o555)
    try:
        assert "not recorded: the workspace is read-only" in (apo("-C", sample, "knowledge", "footprint").out)
    finally:
        sample.chmod(0o755)


def test_an_entry_is_archived_and_restored(apo: Command, sample: Path) -> None:
    entry = "knowledge/mail-context"
    before = (sample / entry / "KNOWLEDGE.md").read_bytes()
    assert "- mail-context: " in apo("-C", sample, "compile", "Hello").out
    dry = apo("-C", sample, "archive", "add", entry)
    assert dry.code == 0 and (sample / entry).exists()
    assert dry.out.startswith(f"{entry}/KNOWLEDGE.md → archive/mail-context/KNOWLEDGE.md (")
    done = apo("-C", sample, "archive", "add", entry, "--apply")
    assert done.code == 0 and "committed as " in done.out and not (sample / entry).exists()
    assert apo("-C", sample, "knowledge", "list").out.endswith("archived: archive/mail-context\n")
    assert "mail-context" not in apo("-C", sample, "knowledge", "info").out
    assert "- mail-context: " not in apo("-C", sample, "compile", "Hello").out
    assert apo("-C", sample, "archive", "list", "--json").json["entries"] == ["archive/mail-context"]
    back = apo("-C", sample, "archive", "restore", "archive/mail-context", "--apply")
    assert back.code == 0 and (sample / entry / "KNOWLEDGE.md").read_bytes() == before
    assert apo("-C", sample, "knowledge", "check").code == 0
    approved = [json.loads(line) for line in (sample / "logs/cleanup.jsonl").read_text().splitlines()]
    assert [(each["action"], each["human_approved"]) for each in approved] == [
        ("archived", True),
        ("restored", True),
    ]


def test_refusals_are_one_line(apo: Command, sample: Path) -> None:
    for words, message in {
        ("show", "nope"): "no such entry: nope; see: autopoiesis knowledge list",
        ("show", "../../etc/passwd"): "no such entry: ../../etc/passwd",
    }.items():
        ran = apo("-C", sample, "knowledge", *words)
        assert ran.code == 1 and message in ran.err and len(ran.err.splitlines()) == 1


def test_file_names_that_are_not_valid_text_are_escaped(apo: Command, sample: Path) -> None:
    folder = os.fsencode(sample) + b"/knowledge/\xff\x1b[2J"
    os.mkdir(folder)
    Path(os.fsdecode(folder), "KNOWLEDGE.md").write_text("---\nname: odd\ndescription: d\n---\n[[nope]]\n")
    for words in ("list", "check", "show odd", "info", "footprint"):
        ran = apo("-C", sample, "knowledge", *words.split())
        assert ran.code == (words == "check") and "\x1b" not in ran.out
    for words in ("list", "check", "show odd", "footprint"):
        assert apo("-C", sample, "knowledge", *words.split(), "--json").json
