"""Rules in a project's own agent files: recognized there, and exported without changing other text."""

from __future__ import annotations

import errno
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.engine import Engine
from engine.errors import AutopoiesisError, ChangeRefused, PathRefused
from engine.rules.agent_files import sections_of
from engine.rules.rulebook import Rule
from engine.store.faults import fail, trip
from tests.rules.conftest import Say

RULES = tuple(Rule(f"{n:07x}", text, "in force") for n, text in enumerate(("no amend", "draft <!-- PRs")))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project folder with sessions."""
    folder = tmp_path / "gauges"
    (folder / ".github").mkdir(parents=True)
    return folder


def rule_of(engine: Engine, word: str) -> Rule:
    return next(rule for rule in engine.rules.book().rules if word in rule.text)


def test_rules_in_project_files_are_recognized(sample: Path, say: Say, project: Path) -> None:
    said = "never amend commits", "always squash before we merge", "never push to main"
    say("2031-01-05", *said, "always cut a branch first", cwd=str(project))
    say("2031-01-06", *said, cwd=str(project / "gone"))
    (project / "CLAUDE.md").write_text("# Work\n\n- **Never** amend commits; it breaks links.\n")
    (project / ".github/copilot-instructions.md").write_text("Squash before merging. Be kind.\n")
    (project.parent / "outside.md").write_text("Never push to main.\n")
    (project / "AGENTS.md").symlink_to("../outside.md")
    (project / "GEMINI.md").write_bytes(b"Never push to main.\n" * 100_000)
    with Engine.open(sample) as engine:
        told: list[object] = []
        engine.subscribe(told.append)
        engine.rules.learn()
        found = engine.rules.known_elsewhere()
        assert [(rule_of(engine, word).known) for word in ("amend", "squash", "push", "branch")] == [
            "CLAUDE.md", ".github/copilot-instructions.md", "", "",
        ]  # fmt: skip
        assert [Path(place.path).name for place in found.found if place.line == 3] == ["CLAUDE.md"]
        assert engine.repository.show(found.commit.revision, "knowledge/rules.md").count(b"known=") == 2
        assert len(told) == 1 and "GEMINI.md" in str(told[0])  # too large; the symlink is skipped

        by_hand = engine.rules.known_elsewhere([project.parent / "outside.md"]).found
        assert {place.path for place in by_hand} >= {str(project.parent / "outside.md")}
        assert rule_of(engine, "push").known == "outside.md"
        engine.rules.narrow(rule_of(engine, "amend").id, project="other")
        (project / "CLAUDE.md").write_text("# Work\n\nNever amend commits.\nSquash before merging.\n")
        engine.rules.known_elsewhere()
        assert rule_of(engine, "amend").known == ""  # it applies only in another project
        with pytest.raises(ChangeRefused, match="no such file"):
            engine.rules.known_elsewhere([project / "none.md"])


def test_an_export_is_a_section_that_is_kept_up_to_date(sample: Path, project: Path) -> None:
    file = project / "CLAUDE.md"
    own = b"# Caf\xe9\r\n\r\n- Never amend commits, please.\r\n"
    file.write_bytes(own)
    file.chmod(0o640)
    with Engine.open(sample) as engine:
        for text in ("Don't amend commits.", "Open PRs as drafts.", "Answer briefly."):
            engine.rules.add(text)
        shown = engine.rules.export([], file)
        assert [place.line for place in shown.known] == [3] and not shown.is_written
        assert "+- Open PRs as drafts." in shown.diff and file.read_bytes() == own

        done = engine.rules.export([], file, apply=True)
        assert (
            done.is_written
            and rule_of(engine, "drafts").known == "CLAUDE.md" == rule_of(engine, "amend").known
        )
        written = file.read_bytes()
        assert written.startswith(own) and stat.S_IMODE(file.stat().st_mode) == 0o640
        assert written.count(b"\n") == written.count(b"\r\n") and b"- Answer briefly.\r\n" in written
        assert not engine.rules.export([], file, apply=True).is_written and file.read_bytes() == written

        engine.rules.turn_down([rule_of(engine, "drafts").id])
        file.write_bytes(written + b"\r\nmy last word")
        again = engine.rules.export([], file, apply=True)
        assert again.taken_out == (rule_of(engine, "drafts").id,)
        left = file.read_bytes()
        assert b"drafts" not in left and left.startswith(own) and left.endswith(b"\r\nmy last word")
        assert rule_of(engine, "drafts").known == ""
        with pytest.raises(ChangeRefused, match="turned down"):
            engine.rules.export([rule_of(engine, "drafts").id], file)


def test_an_export_follows_no_symlink_and_is_atomic(sample: Path, project: Path) -> None:
    file = project / "AGENTS.md"
    file.write_text("mine\n")
    (project / "link.md").symlink_to(file)
    (project.parent / "folder").symlink_to(project)
    with Engine.open(sample) as engine:
        engine.rules.add("Open PRs as drafts.")
        for path in (project / "link.md", project.parent / "folder/AGENTS.md"):
            with pytest.raises(
                PathRefused, match=r"path contains a symlink; name the file itself: .*AGENTS\.md"
            ):
                engine.rules.export([], path, apply=True)
        with trip("replace:rename", fail(errno.ENOSPC)), pytest.raises(AutopoiesisError):
            engine.rules.export([], file, apply=True)
        assert [path.name for path in project.iterdir() if path.name.startswith(".tmp")] == []
        file.write_text("mine\n<!-- end of autopoiesis rules export -->\n")
        with pytest.raises(ChangeRefused, match=r"AGENTS\.md:2: .* not a single pair"):
            engine.rules.export([], file, apply=True)
        assert engine.rules.export([], project / "NEW.md", apply=True).is_written


@given(st.binary(max_size=60).filter(lambda data: b"\0" not in data), st.binary(max_size=60))
def test_an_export_leaves_other_text_unchanged(before: bytes, after: bytes) -> None:
    def exported(data: bytes, *rules: Rule) -> bytes:
        return sections_of(data, "F").with_rules(rules).encode("utf-8", "surrogateescape")

    once = exported(before, *RULES)
    assert once.startswith(before) and exported(once, *RULES) == once
    grown = once + after.replace(b"\0", b"")
    parts = sections_of(grown, "F")
    assert parts.ids == tuple(rule.id for rule in RULES)
    fewer = exported(grown, RULES[0])
    assert fewer.startswith(before) and fewer.endswith(after.replace(b"\0", b""))
    gone = exported(once)
    assert gone.rstrip(b"\r\n") == before.rstrip(b"\r\n")
