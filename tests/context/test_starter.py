"""Starter files of a new workspace are in prompts only after they have been changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.context import delimiters
from engine.context.fixed import starter_text
from engine.engine import Engine
from engine.workspace.initialise import initialise

STARTERS = [
    *(f"knowledge/identity/{name}.md" for name in ("SOUL", "USER", "AGENTS", "TOOLS")),
    "knowledge/memory/MEMORY.md",
    "knowledge/projects/_active.md",
]


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    initialise(tmp_path / "ws")
    return tmp_path / "ws"


def test_a_new_workspace_has_a_short_prompt_and_names_unchanged_starters(fresh: Path) -> None:
    with Engine.open(fresh) as engine:
        compiled = engine.compile("Who are you, and what is in my core memory?")
    assert {section.label for section in compiled.sections} == {"system:system.md", "discussion", "message"}
    reasons = {left.source: left.reason for left in compiled.left_out}
    assert {path: reasons[path] for path in STARTERS} == dict.fromkeys(
        STARTERS, "unchanged from the starter file; write something into it"
    )


def test_a_changed_starter_file_is_in_every_prompt(fresh: Path) -> None:
    with Engine.open(fresh) as engine:
        for number, path in enumerate(STARTERS, 1):
            place = fresh / path
            place.write_text(place.read_text() + "\nAnd the walrus.\n")
            compiled = engine.compile("hello")
            assert compiled.text.count("And the walrus.") == number, path
            assert {left.source for left in compiled.left_out} >= set(STARTERS[number:])
            assert path not in {left.source for left in compiled.left_out}


def test_the_system_prompt_names_the_blocks_and_needs_no_escaping(fresh: Path) -> None:
    text = (fresh / "knowledge/prompts/system.md").read_text()
    assert delimiters.outside(text) == text
    with Engine.open(fresh) as engine:
        assert text.strip() in engine.compile("hello").text
    for tag, _ in (delimiters.KNOWLEDGE, delimiters.RETRIEVED):
        name = tag.strip("{}\n")
        assert f"block {name} " in " ".join(text.split())


def test_other_files_have_no_starter() -> None:
    for path in ("knowledge/people/ann.md", "knowledge", "../config.py", "", "a\0b"):
        assert starter_text(path) is None
