"""A command line runs as the shell would run it, and its failures come back in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import AutopoiesisError
from tui.screens.workbench import commandline


def test_it_is_the_same_command_line(tmp_path: Path) -> None:
    output = commandline.run_line(tmp_path, "--help")
    assert "Usage: autopoiesis" in output and "trace" in output
    assert "\x1b" not in output


def test_a_command_that_fails_says_what_it_printed(tmp_path: Path) -> None:
    with pytest.raises(AutopoiesisError, match="No such command 'nonsense'"):
        commandline.run_line(tmp_path, "nonsense")


def test_a_line_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AutopoiesisError, match="close its quotes"):
        commandline.run_line(tmp_path, "trace 'open")


def test_what_needs_a_screen_is_sent_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(AutopoiesisError, match="watch needs a terminal of its own"):
        commandline.run_line(tmp_path, "watch --json")


def test_what_takes_too_long_is_stopped(tmp_path: Path) -> None:
    with pytest.raises(AutopoiesisError, match="run it in a shell"):
        commandline.run_line(tmp_path, "--help", deadline_s=0.001)


def test_words_are_passed_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(AutopoiesisError) as caught:
        commandline.run_line(tmp_path, "'$(touch pwned); x'")
    assert "$(touch pwned); x" in str(caught.value)
    assert not list(tmp_path.iterdir())
