"""Errors are one line: what, where, and a hint."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Command


def test_a_folder_that_is_not_a_workspace_is_refused(apo: Command, tmp_path: Path) -> None:
    ran = apo("-C", tmp_path, "trace", "hello")
    assert ran.code == 1
    assert "not a workspace" in ran.err and "autopoiesis init" in ran.err
    assert len(ran.err.strip().splitlines()) == 1


def test_wrong_usage_exits_with_2(apo: Command, sample: Path) -> None:
    assert apo("-C", sample, "trace").code == 2
    assert apo("nonsense").code == 2
    assert apo("-C", sample, "search", "x", "--category", "nonsense").code == 2


def test_an_invalid_setting_is_reported_with_file_line_and_name(apo: Command, sample: Path) -> None:
    config = sample / "memory-config.yaml"
    config.write_text("context_compiler:\n  token_budget: plenty\n")
    ran = apo("-C", sample, "trace", "hello")
    assert ran.code == 1
    assert "memory-config.yaml:2" in ran.err and "token_budget" in ran.err


def test_an_unknown_setting_is_only_a_warning(apo: Command, sample: Path) -> None:
    with (sample / "memory-config.yaml").open("a") as config:
        config.write("\nwatcher_s:\n  preset: spec\n")
    ran = apo("-C", sample, "trace", "hello")
    assert ran.code == 0
    assert "watcher_s" in ran.err and "did you mean watchers?" in ran.err


def test_terminal_sequences_in_a_message_are_escaped(apo: Command, sample: Path) -> None:
    nasty = "review \x1b]52;c;ZXZpbA==\x07 \x9b31m \u202e this PR"
    ran = apo("-C", sample, "trace", nasty)
    assert ran.code == 0
    assert "\x1b]52" not in ran.out and "\x9b" not in ran.out and "\u202e" not in ran.out
