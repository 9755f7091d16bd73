"""``config``: settings listed, explained and changed on the command line."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Command


def test_a_setting_is_set_shown_and_unset(apo: Command, sample: Path) -> None:
    file = sample / "memory-config.yaml"
    before = file.read_bytes()
    ran = apo("-C", sample, "config", "set", "cache.anthropic_ttl", "1h")
    assert ran.code == 0 and "cache.anthropic_ttl: 5m → 1h (committed as " in ran.out
    assert file.read_bytes() == before + b"cache:\n  anthropic_ttl: 1h\n"
    line = file.read_text().splitlines().index("  anthropic_ttl: 1h") + 1
    assert ran.out.startswith(f"memory-config.yaml:{line}: ")

    shown = apo("-C", sample, "config", "show", "cache.anthropic_ttl")
    assert f"set in   memory-config.yaml:{line}\n" in shown.out
    assert "default  5m\n" in shown.out and "allowed  5m or 1h\n" in shown.out
    assert "How long the cache lives after its last use; writing it for `1h` costs" in shown.out

    again = apo("-C", sample, "config", "set", "cache.anthropic_ttl", "1h")
    assert "1h, unchanged (not committed: already set)" in again.out
    ran = apo("-C", sample, "config", "unset", "cache.anthropic_ttl")
    assert ran.out.startswith("memory-config.yaml: cache.anthropic_ttl: 1h → 5m (committed as ")
    assert file.read_bytes() == before


def test_settings_are_listed_with_their_lines(apo: Command, sample: Path) -> None:
    listed = apo("-C", sample, "config", "list", "gate")
    assert listed.code == 0
    rows = [line.split() for line in listed.out.splitlines()]
    assert rows[0] == ["setting", "value", "set", "in"]
    assert rows[1][:3] == ["gate.provider", "agent", "line"]
    assert ["gate.base_url", "–"] in rows
    assert all(row[0].startswith("gate.") for row in rows[1:])
    assert len(apo("-C", sample, "config", "list").out.splitlines()) > 80


def test_every_command_prints_json(apo: Command, sample: Path) -> None:
    found = {each["name"]: each for each in apo("-C", sample, "config", "list", "--json").json}
    assert found["gate.provider"]["value"] == "agent" and found["gate.provider"]["is_set"] is True
    shown = apo("-C", sample, "config", "show", "gate.provider", "--json").json
    assert shown == found["gate.provider"]
    done = apo("-C", sample, "config", "set", "imports.follow", "codex", "--json").json
    assert (done["before"], done["after"], len(done["commit"])) == ([], ["codex"], 40)
    undone = apo("-C", sample, "config", "unset", "imports.follow", "--json").json
    assert undone["line"] == 0 and undone["after"] == []
    path = apo("-C", sample, "config", "path", "--json").json["path"]
    assert apo("-C", sample, "config", "path").out == f"{path}\n"
    assert Path(path) == sample / "memory-config.yaml"


def test_refusals_are_one_line_and_write_nothing(apo: Command, sample: Path) -> None:
    before = (sample / "memory-config.yaml").read_bytes()
    for words, message in {
        ("set", "cache.anthropic_ttl", "2h"): "cache.anthropic_ttl cannot be '2h'; allowed: 5m or 1h",
        ("set", "costs.daily_usd", "-5"): "costs.daily_usd cannot be '-5'; allowed: a number of at least 0",
        ("set", "cache.antropic_ttl", "1h"): "did you mean cache.anthropic_ttl?",
        ("unset", "cache"): "cache is a group of settings; name one of them, such as cache.anthropic",
        ("show", "nope"): "no setting named nope; see: autopoiesis config list",
    }.items():
        ran = apo("-C", sample, "config", *words)
        assert ran.code == 1 and message in ran.err and len(ran.err.splitlines()) == 1
    assert (sample / "memory-config.yaml").read_bytes() == before


def test_wrong_usage_exits_with_2(apo: Command, sample: Path) -> None:
    assert apo("-C", sample, "config", "set", "cache.anthropic_ttl").code == 2
    ran = apo("-C", sample, "config", "list", "nope")
    assert ran.code == 2 and "no setting group 'nope'; groups: context_compiler, search" in ran.err


def test_an_invalid_settings_file_is_reported_with_its_line(apo: Command, sample: Path) -> None:
    (sample / "memory-config.yaml").write_text("gate:\n  provider: oracle\n")
    ran = apo("-C", sample, "config", "list")
    assert ran.code == 1 and "memory-config.yaml:2: gate.provider" in ran.err
    assert apo("-C", sample, "config", "path").code == 0
