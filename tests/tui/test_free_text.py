"""The command line takes a text without quotes, as its own example does."""

from __future__ import annotations

from pathlib import Path

from tui.screens.workbench.commandline import _with_one_text, run_line


def test_words_of_one_text_are_joined_and_others_are_left() -> None:
    joined = _with_one_text(["trace", "can", "you", "review", "--json"])
    assert joined == ["trace", "can you review", "--json"]
    for line in ("trace review", "search two words", "topics check a b", "nope a b", "trace --json a b", ""):
        assert _with_one_text(line.split()) == line.split()


def test_the_example_and_help_run(sample: Path) -> None:
    assert "github-pr-review" in run_line(sample, "trace can you review")
    assert "Usage: autopoiesis" in run_line(sample, "help")
    assert "Usage: autopoiesis trace" in run_line(sample, "help trace")
