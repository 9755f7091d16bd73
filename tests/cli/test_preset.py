"""``preset``: created, used in prompts, and removed on the command line."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.conftest import Command

HOSTS = "knowledge/reference/hosts.md"


def test_a_preset_is_created_used_and_removed(apo: Command, sample: Path) -> None:
    for path in (sample / "presets").iterdir():
        path.unlink()
    assert (
        apo("-C", sample, "preset", "list").out
        == "no presets yet; create one with: autopoiesis preset add NAME PATH\n"
    )
    ran = apo(
        "-C", sample, "preset", "add", "staging", HOSTS, "--lines", "8-14, 20-22", "--note", "Ask first."
    )
    assert ran.code == 0 and f"presets/staging.md: + {HOSTS}:8-14, 20-22 (committed as " in ran.out
    assert "not active; activate it with: autopoiesis preset use staging\n" in ran.out
    assert apo("-C", sample, "preset", "use", "staging").out.startswith("active: staging (committed as ")
    listed = apo("-C", sample, "preset", "list")
    assert listed.out.splitlines()[1].split()[:3] == ["●", "staging", "1"]
    shown = apo("-C", sample, "preset", "show", "staging")
    assert f"{HOSTS}:9-14   Ask first.\n" in shown.out and f"{HOSTS}:20-22\n" in shown.out

    explained = apo("-C", sample, "compile", "Hello", "--explain").out
    assert re.search(rf"P2 +preset +{HOSTS}:9-14\s+listed by the preset staging\n", explained)
    sections = apo("-C", sample, "compile", "Hello", "--json").json["sections"]
    assert [each["lines"] for each in sections if each["slot"] == "preset"] == ["9-14", "20-22"]

    ran = apo("-C", sample, "preset", "remove", "staging", HOSTS)
    assert f"presets/staging.md: - {HOSTS}:8-14, 20-22 (committed as " in ran.out
    assert apo("-C", sample, "preset", "off").out.startswith("active: none (committed as ")
    assert not (sample / "presets/active").exists()


def test_the_reading_commands_print_json(apo: Command, sample: Path) -> None:
    apo("-C", sample, "preset", "add", "staging", HOSTS, "--lines", "8-14", "--title", "Staging")
    used = apo("-C", sample, "preset", "use", "staging", "--json").json
    assert used["active"] == ["staging"] and len(used["commit"]) == 40
    tree = apo("-C", sample, "preset", "list", "--json").json
    assert tree["active"] == ["staging"] and tree["problems"] == []
    shown = apo("-C", sample, "preset", "show", "staging", "--json").json
    assert shown in tree["presets"]
    assert shown["files"] == [{"path": HOSTS, "spans": [[8, 14]], "note": "", "index": 0, "line": 5}]
    assert shown["tokens"] > shown["sections"][0]["tokens"] > 0 and shown["active"] is True


def test_problems_are_printed_to_standard_error(apo: Command, sample: Path) -> None:
    (sample / "presets/odd.md").write_text("---\ntype: preset\nfiles: [none.md]\n---\n")
    (sample / "presets/active").write_text("odd\ngone\n")
    listed = apo("-C", sample, "preset", "list")
    assert listed.code == 0
    assert "presets/active:2: there is no preset gone; run: autopoiesis preset off gone" in listed.err
    assert "presets/odd.md:3: lists none.md, which does not exist" in listed.err
    shown = apo("-C", sample, "preset", "show", "odd")
    assert "–  none.md   no such file" in shown.out and "presets/odd.md:3" in shown.err
    compiled = apo("-C", sample, "compile", "Hello")
    assert compiled.code == 0 and "presets/odd.md:3" in compiled.err


def test_refusals_are_one_line(apo: Command, sample: Path) -> None:
    for words, message in {
        ("show", "nope"): "there is no preset nope; see: autopoiesis preset list",
        ("use", "nope"): "there is no preset nope",
        ("off", "nope"): "preset nope is not active; active: none",
        ("add", "a", "../x"): "contains '..'",
        ("add", "a", HOSTS, "--lines", "5-1"): "lines: '5-1' ends before it starts; give lines as",
    }.items():
        ran = apo("-C", sample, "preset", *words)
        assert ran.code == 1 and message in ran.err and len(ran.err.splitlines()) == 1
    assert apo("-C", sample, "preset", "use").code == 2
