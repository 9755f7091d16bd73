"""Notes are added to memory's files: below their heading, once, and every other byte stays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import PathRefused
from engine.flush.notes import (
    HEADING,
    MEMORY_BYTES,
    MEMORY_LINES,
    NoteLine,
    NoteRefused,
    add,
    line_for,
    line_of,
    projects,
)
from engine.store.files import Files
from engine.store.paths import Workspace

DAY = "2026-06-12"


@pytest.fixture
def files(tmp_path: Path) -> Files:
    (tmp_path / "memory-config.yaml").touch()
    return Files(Workspace.open(tmp_path))


def note(to: str = "memory", said: str = "It is so.", first: int = 3, last: int = 8) -> NoteLine:
    return line_for(to, said, day=DAY, session="ses_1", first=first, last=last)


def memory(files: Files, text: str) -> Path:
    path = files.workspace.memory / "MEMORY.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def test_a_line_says_when_and_where_from() -> None:
    assert note().text == "- 2026-06-12: It is so. (session ses_1, turns 3–8)"
    assert note(first=3, last=3).text.endswith("(session ses_1, turn 3)")
    assert note("journal").path == "knowledge/journal/2026-06-12.md"
    assert note("project:tidemark").path == "knowledge/projects/tidemark/context.md"
    assert note().id != note("journal").id and len(note().id) == 12


def test_the_section_is_made_at_the_end_and_then_grows(files: Files) -> None:
    path = memory(files, "---\ntype: memory\n---\n\n# Core Memory\n\n## Lessons\n- old")
    assert add(files, note(), DAY) == 12
    assert add(files, note(said="And so."), DAY) == 13
    assert path.read_text() == (
        "---\ntype: memory\n---\n\n# Core Memory\n\n## Lessons\n- old\n\n## Notes from sessions\n\n"
        f"{note().text}\n{note(said='And so.').text}\n"
    )


def test_a_note_that_is_there_is_not_added_again(files: Files) -> None:
    path = memory(files, "# M\n")
    assert add(files, note(), DAY) == add(files, note(), DAY) == 5
    assert path.read_text().count("It is so.") == 1


def test_sections_below_stay_below(files: Files) -> None:
    path = memory(files, f"# M\n\n## {HEADING}\n\n- a\n\n\n## Doubts\n- b\n")
    assert add(files, note(), DAY) == 6
    assert path.read_text() == f"# M\n\n## {HEADING}\n\n- a\n{note().text}\n\n\n## Doubts\n- b\n"


def test_an_empty_section_is_used(files: Files) -> None:
    path = memory(files, f"# M\n\n## {HEADING}\n\n## Doubts\n")
    add(files, note(), DAY)
    assert path.read_text() == f"# M\n\n## {HEADING}\n\n{note().text}\n\n## Doubts\n"


def test_a_heading_inside_code_is_none(files: Files) -> None:
    path = memory(files, f"# M\n\n```\n## {HEADING}\n```\n")
    add(files, note(), DAY)
    assert path.read_text().endswith(f"```\n\n## {HEADING}\n\n{note().text}\n")


def test_line_ends_are_those_of_the_file(files: Files) -> None:
    path = memory(files, "\ufeff---\r\ntype: memory\r\n---\r\n# M\r\n- old\r\n")
    add(files, note(), DAY)
    add(files, note(said="And so."), DAY)
    data = path.read_bytes()
    assert data.count(b"\n") == data.count(b"\r\n") and data.startswith(b"\xef\xbb\xbf---\r\n")
    assert add(files, note(), DAY) == line_of(files, note())
    assert data == path.read_bytes()


def test_memory_is_never_filled_beyond_its_limits(files: Files) -> None:
    path = memory(files, "# M\n" + "- x\n" * (MEMORY_LINES - 5))
    add(files, note(), DAY)
    assert path.read_bytes().count(b"\n") == MEMORY_LINES - 4 + 4
    full = path.read_bytes()
    with pytest.raises(NoteRefused, match="more than 200 lines"):
        add(files, note(said="One too many."), DAY)
    assert path.read_bytes() == full
    add(files, note(), DAY)
    path = memory(files, "# M\n" + "- " + "x" * (MEMORY_BYTES - 20) + "\n")
    with pytest.raises(NoteRefused, match=r"25\.\d KB"):
        add(files, note(), DAY)


def test_journals_have_no_such_limit(files: Files) -> None:
    path = files.workspace.journal / f"{DAY}.md"
    path.parent.mkdir(parents=True)
    path.write_text("## x\n" + "- x\n" * 500)
    assert add(files, note("journal"), DAY) == 505


def test_a_project_that_is_gone_gets_no_file(files: Files) -> None:
    with pytest.raises(NoteRefused):
        add(files, note("project:gone"), DAY)
    assert not files.workspace.projects.exists()


def test_a_file_that_is_no_text_is_left_alone(files: Files) -> None:
    path = memory(files, "")
    path.write_bytes(b"# M\n\xff\xfe\n")
    with pytest.raises(NoteRefused, match="UTF-8"):
        add(files, note(), DAY)
    assert path.read_bytes() == b"# M\n\xff\xfe\n"


def test_a_symlink_out_of_the_workspace_is_refused(
    files: Files, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "x.md"
    outside.write_text("# x\n")
    folder = files.workspace.projects / "a"
    folder.mkdir(parents=True)
    os.symlink(outside, folder / "context.md")
    with pytest.raises(PathRefused):
        add(files, note("project:a"), DAY)
    assert outside.read_text() == "# x\n"


def test_projects_are_folders_with_a_context(files: Files) -> None:
    for name in ("tidemark", "_old", ".hidden", "odd\nname", "empty"):
        (files.workspace.projects / name).mkdir(parents=True)
        if name != "empty":
            (files.workspace.projects / name / "context.md").touch()
    (files.workspace.projects / "_active.md").touch()
    assert projects(files.workspace) == ["tidemark"]
    assert projects(Workspace(Path("/nowhere"))) == []


pieces = st.lists(
    st.sampled_from(
        [
            "# M\n",
            f"## {HEADING}\n",
            "- a\n",
            "\n",
            "## B\n",
            "text",
            "```\n",
            "\r\n",
            "- b\r\n",
            "ä\n",
            f"### {HEADING}\n",
        ]
    ),
    max_size=12,
)


@given(pieces, st.sampled_from(["memory", "journal", "project:p"]))
def test_only_whole_lines_are_added(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], to: str
) -> None:
    root = tmp_path_factory.mktemp("w")
    (root / "memory-config.yaml").touch()
    files = Files(Workspace.open(root))
    path = root / note(to).path
    path.parent.mkdir(parents=True)
    old = "".join(parts).encode()
    path.write_bytes(old)
    place = add(files, note(to), DAY)
    new = path.read_bytes()
    assert new.split(b"\n")[place - 1].rstrip(b"\r") == note(to).text.encode()
    rest = iter(new.split(b"\n"))
    kept = [line for line in old.split(b"\n") if line.strip()]
    assert all(any(line.rstrip(b"\r") == wanted.rstrip(b"\r") for line in rest) for wanted in kept)
    extra = len(new) - len(old)
    assert extra <= len(note(to).text.encode()) + len(HEADING) + 16
