"""``compile --as-of`` and ``--diff``: past prompts on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.test_terminal import Start, start
from tests.store.history import commit, git

__all__ = ["start"]

MESSAGE = "Can you review the PR that just came in?"


@pytest.fixture
def past(sample: Path) -> Path:
    """The sample, and a commit two days later with a changed topic, a renamed and a removed file."""
    git(sample, "config", "core.hooksPath", "/dev/null")
    topic = sample / "topics/github-pr-review.md"
    topic.write_text(topic.read_text().replace("request changes", "ask for changes"))
    (sample / "knowledge/identity/TOOLS.md").rename(sample / "knowledge/identity/GEAR.md")
    (sample / "knowledge/projects/_active.md").unlink()
    commit(sample, "two days later", "2026-06-14T08:00:00Z")
    return sample


def test_a_prompt_is_compiled_as_of_a_date_and_of_a_revision(apo: Command, past: Path) -> None:
    ran = apo("-C", past, "compile", MESSAGE, "--as-of", "2026-06-13")
    assert ran.code == 0
    assert "request changes" in ran.out and "Today is 2026-06-12." in ran.out
    assert f"as of {git(past, 'rev-parse', 'HEAD~1')[:8]} of 2026-06-12 07:31 UTC" in ran.err
    assert apo("-C", past, "compile", MESSAGE, "--as-of", "HEAD~1").out == ran.out
    later = apo("-C", past, "compile", MESSAGE, "--as-of", "main").out
    assert "ask for changes" in later and "Today is 2026-06-14." in later


def test_as_of_now_equals_a_plain_compile(apo: Command, past: Path) -> None:
    plain = apo("-C", past, "compile", MESSAGE)
    assert apo("-C", past, "compile", MESSAGE, "--as-of", "now").out == plain.out


def test_json_contains_the_prompt_and_the_revision(apo: Command, past: Path) -> None:
    now = apo("-C", past, "compile", MESSAGE, "--json").json
    then = apo("-C", past, "compile", MESSAGE, "--as-of", "HEAD~1", "--budget", "2048", "--json").json
    assert set(then) == {*now, "revision"}
    assert set(then["revision"]) == {"revision", "at", "author", "subject", "body"}
    assert then["revision"]["revision"] == git(past, "rev-parse", "HEAD~1")
    assert then["revision"]["at"] == "2026-06-12T07:31:00+00:00"
    assert then["budget"] == 2048
    assert apo("-C", past, "compile", MESSAGE, "--as-of", "now", "--json").json["revision"] is None


def test_explain_outlines_a_past_prompt(apo: Command, past: Path) -> None:
    ran = apo("-C", past, "compile", MESSAGE, "--as-of", "HEAD~1", "--explain")
    assert "knowledge/identity/TOOLS.md" in ran.out and "budget by slot" in ran.out


def test_a_past_prompt_includes_the_turns_of_a_session(apo: Command, past: Path) -> None:
    session = apo("-C", past, "session", "list", "--json").json[0]["session_id"]
    ran = apo("-C", past, "compile", MESSAGE, "--as-of", "HEAD", "--session", session, "--json")
    assert any(section["layer"] == 11 for section in ran.json["sections"])
    ran = apo("-C", past, "compile", MESSAGE, "--as-of", "HEAD", "--session", "nobody")
    assert ran.code == 1
    assert "no such session: nobody" in ran.err


def test_a_diff_is_printed_as_text(apo: Command, past: Path) -> None:
    ran = apo("-C", past, "compile", MESSAGE, "--diff", "2026-06-13", "now")
    assert ran.code == 0
    name = git(past, "rev-parse", "HEAD~1")[:8]
    assert f"before   {name}: " in ran.out and "after    now: " in ran.out
    assert "now: absent" in ran.out
    flat = ran.out.replace("\n         ", " ")
    assert "prefix   first difference in layer 5 (persona), identity:" in flat
    explained = apo("-C", past, "compile", MESSAGE, "--diff", "2026-06-13", "now", "--explain")
    assert explained.out.startswith(ran.out)
    assert explained.out.count("end of the stable prefix") == 2


def test_a_diff_is_printed_as_json(apo: Command, past: Path) -> None:
    ran = apo("-C", past, "compile", MESSAGE, "--diff", "HEAD~1", "now", "--json")
    assert ran.code == 0
    tree = ran.json
    assert set(tree) == {"equal", "sections", "unchanged", "prefix", "revisions"}
    first, second = tree["revisions"]
    assert first["revision"] == git(past, "rev-parse", "HEAD~1")
    assert second is None
    changed = [row for row in tree["sections"] if row["label"] == "topic:github-pr-review"]
    assert changed[0]["kind"] == "changed"
    assert any(line.startswith("-") and "request changes" in line for line in changed[0]["diff"])
    assert apo("-C", past, "compile", MESSAGE, "--diff", "HEAD~1", "now", "--json").json == tree


def test_identical_prompts_are_reported(apo: Command, past: Path) -> None:
    ran = apo("-C", past, "compile", MESSAGE, "--diff", "main", "HEAD")
    assert ran.code == 0
    assert "the two prompts are byte-identical" in ran.out


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--as-of", "nowhere"), "no such revision or date: “nowhere”"),
        (("--as-of", "-rf"), "no such revision or date: “-rf”"),
        (("--as-of", "2001-01-01"), "the first is "),
        (("--diff", "nowhere", "now"), "no such revision or date: “nowhere”"),
        (("--diff", "now", "\x1b[31m"), "no such revision or date: “\\x1b[31m”"),
    ],
)
def test_an_unknown_revision_or_date_is_a_one_line_error(
    apo: Command, past: Path, options: tuple[str, ...], expected: str
) -> None:
    ran = apo("-C", past, "compile", MESSAGE, *options)
    assert ran.code == 1
    assert ran.out == ""
    (line,) = ran.err.splitlines()
    assert expected in line


def test_as_of_needs_a_git_repository(apo: Command, past: Path) -> None:
    (past / ".git").rename(past / "no-git")
    ran = apo("-C", past, "compile", MESSAGE, "--as-of", "yesterday")
    assert ran.code == 1
    assert "the workspace is not a git repository; run: git init, and commit" in ran.err


def test_as_of_and_diff_cannot_be_combined(apo: Command, past: Path) -> None:
    ran = apo("-C", past, "compile", MESSAGE, "--as-of", "now", "--diff", "HEAD", "now")
    assert ran.code == 2
    assert "--as-of cannot be used with --diff" in ran.err


def test_terminal_sequences_in_a_commit_subject_are_escaped(apo: Command, past: Path) -> None:
    commit(past, "evil \x1b]52;c;aGk=\x07", "2026-06-15T08:00:00Z")
    ran = apo("-C", past, "compile", MESSAGE, "--as-of", "HEAD")
    assert "\x1b" not in ran.err and "evil" in ran.err


def test_a_terminal_shows_the_progress_of_a_checkout(start: Start, past: Path) -> None:
    terminal = start("-C", past, "compile", MESSAGE, "--as-of", "HEAD~1", "--explain")
    terminal.until(lambda text: "left out: " in text, "the outline")
    assert b"checking out the past" in terminal.raw
