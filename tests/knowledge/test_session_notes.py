"""Session notes are added below their heading, once, without changing another byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import DocumentError
from engine.knowledge.apply import is_there, write
from engine.knowledge.item import Edit, Item, Origin
from engine.knowledge.pages import (
    HEADING,
    MEMORY_BYTES,
    MEMORY_LINES,
    note_edit,
    note_text,
    path_of,
    place_of,
    projects,
)
from engine.store.files import Files
from engine.store.paths import Workspace
from tests.cases import each_case

DAY = "2026-06-12"


@pytest.fixture
def files(tmp_path: Path) -> Files:
    (tmp_path / "memory-config.yaml").touch()
    return Files(Workspace.open(tmp_path))


def note(to: str = "memory", text: str = "It is so.", first: int = 3, last: int = 8) -> Edit:
    return note_edit(Item("notes", text, path_of(to, DAY)), Origin("ses_1", DAY, (first, last)))


def add(files: Files, edit: Edit) -> int:
    return write(files, edit).line


def memory(files: Files, text: str) -> Path:
    path = files.workspace.root / "knowledge/memory/MEMORY.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def test_a_note_has_its_date_and_source() -> None:
    assert note().line == "- 2026-06-12: It is so. (session ses_1, turns 3–8)"
    assert note(first=3, last=3).line.endswith("(session ses_1, turn 3)")
    assert note("journal").path == "knowledge/journal/2026-06-12.md"
    assert note("project:tidemark").path == "knowledge/projects/tidemark/context.md"
    assert note().id != note("journal").id and len(note().id) == 12
    assert note_edit(Item("notes", "It is so.", note().path), Origin("ses_1", DAY)).line.endswith(
        "(session ses_1)"
    )


@each_case("to", ["journal", "memory", "project:tidemark"])
def test_a_note_is_recovered_from_its_path_and_line(to: str) -> None:
    assert place_of(path_of(to, DAY)) == to
    assert note_text(note(to, "So: it is (session or not).").line) == "So: it is (session or not)."


@each_case(
    "path",
    [
        "",
        "knowledge/identity/SOUL.md",
        "knowledge/journal/../identity/SOUL.md",
        "knowledge/journal/today.md",
        "knowledge/projects/../context.md",
        "knowledge/projects/a/b/context.md",
        "/etc/passwd",
    ],
)
def test_other_paths_are_not_places_for_notes(path: str) -> None:
    assert place_of(path) == ""


def test_the_section_is_created_at_the_end_and_then_extended(files: Files) -> None:
    path = memory(files, "---\ntype: memory\n---\n\n# Core Memory\n\n## Lessons\n- old")
    assert add(files, note()) == 12
    assert add(files, note(text="And so.")) == 13
    assert path.read_text() == (
        "---\ntype: memory\n---\n\n# Core Memory\n\n## Lessons\n- old\n\n## Notes from sessions\n\n"
        f"{note().line}\n{note(text='And so.').line}\n"
    )


def test_sections_below_are_kept_below(files: Files) -> None:
    path = memory(files, f"# M\n\n## {HEADING}\n\n- a\n\n\n## Doubts\n- b\n")
    assert add(files, note()) == 6
    assert path.read_text() == f"# M\n\n## {HEADING}\n\n- a\n{note().line}\n\n\n## Doubts\n- b\n"


def test_an_empty_section_is_used(files: Files) -> None:
    path = memory(files, f"# M\n\n## {HEADING}\n\n## Doubts\n")
    add(files, note())
    assert path.read_text() == f"# M\n\n## {HEADING}\n\n{note().line}\n\n## Doubts\n"


def test_a_heading_inside_code_is_ignored(files: Files) -> None:
    path = memory(files, f"# M\n\n```\n## {HEADING}\n```\n")
    add(files, note())
    assert path.read_text().endswith(f"```\n\n## {HEADING}\n\n{note().line}\n")


def test_the_line_endings_of_the_file_are_used(files: Files) -> None:
    path = memory(files, "\ufeff---\r\ntype: memory\r\n---\r\n# M\r\n- old\r\n")
    add(files, note())
    add(files, note(text="And so."))
    data = path.read_bytes()
    assert data.count(b"\n") == data.count(b"\r\n") and data.startswith(b"\xef\xbb\xbf---\r\n")
    assert add(files, note()) == is_there(files, note())
    assert data == path.read_bytes()


def test_memory_never_exceeds_its_limits(files: Files) -> None:
    path = memory(files, "# M\n" + "- x\n" * (MEMORY_LINES - 5))
    add(files, note())
    assert path.read_bytes().count(b"\n") == MEMORY_LINES - 4 + 4
    full = path.read_bytes()
    with pytest.raises(DocumentError, match="more than 200 lines"):
        add(files, note(text="One too many."))
    assert path.read_bytes() == full
    add(files, note())
    path = memory(files, "# M\n" + "- " + "x" * (MEMORY_BYTES - 20) + "\n")
    with pytest.raises(DocumentError, match=r"25\.\d KB"):
        add(files, note())


def test_journals_have_no_such_limit(files: Files) -> None:
    path = files.workspace.journal / f"{DAY}.md"
    path.parent.mkdir(parents=True)
    path.write_text("## x\n" + "- x\n" * 500)
    assert add(files, note("journal")) == 505


def test_a_missing_project_gets_no_file(files: Files) -> None:
    with pytest.raises(DocumentError):
        add(files, note("project:gone"))
    assert not files.workspace.projects.exists()


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
    try:
        place = add(files, note(to))
    except DocumentError as error:
        assert "has an unclosed code block" in str(error) and path.read_bytes() == old
        # After "text" without a line end, a fence is part of that line and opens nothing.
        assert parts.count("```\n") % 2 or "text" in parts
        return
    new = path.read_bytes()
    assert new.split(b"\n")[place - 1].rstrip(b"\r") == note(to).line.encode()
    rest = iter(new.split(b"\n"))
    kept = [line for line in old.split(b"\n") if line.strip()]
    assert all(any(line.rstrip(b"\r") == wanted.rstrip(b"\r") for line in rest) for wanted in kept)
    extra = len(new) - len(old) - (0 if old.strip() else len(note(to).title) + 1)
    assert extra <= len(note(to).line.encode()) + len(HEADING) + 16
