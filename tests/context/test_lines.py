"""The line numbers of a section in its source file."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.context.lines import READ_LIMIT, line_numbers, source_lines
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.cases import each_case
from tests.context.conftest import Space

HEADER = "---\ntitle: Soul\n---\n\n"


def test_a_whole_file_is_numbered_from_the_end_of_its_header() -> None:
    assert line_numbers("# Soul\n\nI am Wren.", f"{HEADER}# Soul\n\nI am Wren.\n") == (5, 6, 7)


def test_lines_that_are_in_no_file_have_no_number() -> None:
    text = "{knowledge}\n# Digest\n- one\n{/knowledge}"
    assert line_numbers(text, "# Digest\n- one\n") == (0, 1, 2, 0)


def test_an_excerpt_is_searched_from_its_first_line() -> None:
    file = "same\nother\nsame\nlast\n"
    assert line_numbers("same\nlast", file, 3) == (3, 4)
    assert line_numbers("same", file) == (1,)


def test_omitted_lines_do_not_shift_the_rest() -> None:
    assert line_numbers("one\nfour", "one\ntwo\nthree\nfour\n") == (1, 4)


def test_line_numbers_only_increase() -> None:
    assert line_numbers("b\na", "a\nb\n") == (2, 0)


@each_case(
    ("shown", "line"),
    [
        ("<\\!-- a comment", "<!-- a comment"),
        ("see {\\/knowledge} there", "see {/knowledge} there"),
        ("x", "x\r"),
    ],
)
def test_escaped_text_is_found_in_the_file(shown: str, line: str) -> None:
    assert line_numbers(shown, f"first\n{line}\n") == (2,)


def test_sections_of_a_prompt_are_located(space: Space) -> None:
    space.write("knowledge/identity/SOUL.md", f"{HEADER}# Soul\n\nI am Wren.\n")
    space.write("knowledge/digest.md", "# Knowledge digest\n\n## Facts\n- one\n")
    files = Files(Workspace.open(space.root))
    found = {each.label: source_lines(each, files) for each in space.compile().sections}
    assert found["identity:SOUL.md"] == (5, 6, 7)
    assert found["knowledge:digest.md"] == (0, 1, 2, 3, 4, 0)
    assert found["message"] == ()


@pytest.mark.parametrize("source", ["knowledge/gone.md", "../outside.md", "knowledge", ".git/config"])
def test_an_unreadable_source_has_no_line_numbers(space: Space, source: str) -> None:
    space.write("knowledge/identity/SOUL.md", "# Soul\n")
    section = next(each for each in space.compile().sections if each.source)
    files = Files(Workspace.open(space.root))
    assert source_lines(replace(section, source=source), files) == ()


def test_a_file_over_the_read_limit_has_no_line_numbers(space: Space) -> None:
    space.write("knowledge/identity/SOUL.md", "# Soul\n")
    section = next(each for each in space.compile().sections if each.source)
    space.write("knowledge/large.md", b"x" * (READ_LIMIT + 1))
    assert (
        source_lines(replace(section, source="knowledge/large.md"), Files(Workspace.open(space.root))) == ()
    )
