"""Edits of knowledge files are idempotent and change no other byte."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import DocumentError, WriteFailed
from engine.knowledge.apply import Applied, apply, is_there
from engine.knowledge.category_files import line_for, place_of
from engine.knowledge.item import Category, Edit, Item, Origin, item_id
from engine.store.faults import fail, trip
from engine.store.files import Files
from engine.store.paths import Workspace

ORIGIN = Origin("2026-06-12-a", "2026-06-12")
OPEN_TASK = "- Print table (Priya). [from: 2026-06-11-planning, 2026-06-11]"


@pytest.fixture
def files(tmp_path: Path) -> Files:
    (tmp_path / "memory-config.yaml").touch()
    (tmp_path / "knowledge").mkdir()
    return Files(Workspace.open(tmp_path))


def append(text: str, category: Category = "facts") -> Edit:
    item = Item(category, text)
    file, section = place_of(category)
    line = line_for(item, ORIGIN)
    return Edit(item_id(item, ORIGIN.name), category, "append", file.path, section, line, file.title)


def done(line: str = OPEN_TASK) -> Edit:
    return Edit("0" * 12, "tasks_done", "done", "knowledge/tasks.md", "Done", line, "# Tasks")


def common_prefix(first: bytes, second: bytes) -> int:
    """Returns the length in bytes of the common prefix."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(first), len(second)))


def write(files: Files, path: str, text: str | bytes) -> Path:
    target = files.workspace.root / path
    target.write_bytes(text if isinstance(text, bytes) else text.encode())
    return target


def test_a_missing_file_is_created_with_title_and_sections(files: Files) -> None:
    one, two = append("One."), append("Two.", "tasks_done")
    assert apply(files, one) == Applied("written", "knowledge/facts.md", 3)
    assert files.read("knowledge/facts.md").decode() == f"# Facts\n\n{one.line}\n"
    assert apply(files, two) == Applied("written", "knowledge/tasks.md", 7)
    assert files.read("knowledge/tasks.md").decode() == f"# Tasks\n\n## Open\n\n## Done\n\n{two.line}\n"


def test_an_empty_file_is_like_a_missing_one(files: Files) -> None:
    path = write(files, "knowledge/facts.md", "---\ntype: facts\n---\n")
    apply(files, append("One."))
    assert path.read_text() == f"---\ntype: facts\n---\n# Facts\n\n{append('One.').line}\n"


def test_new_lines_are_appended_to_their_section(files: Files) -> None:
    path = write(files, "knowledge/tasks.md", "# Tasks\n\n## Open\n\n- a\n\n## Done\n\n- c\n")
    edit = append("b", "tasks_open")
    assert apply(files, edit).line == 6 == is_there(files, edit)
    assert path.read_text() == f"# Tasks\n\n## Open\n\n- a\n{edit.line}\n\n## Done\n\n- c\n"


def test_a_missing_section_is_created(files: Files) -> None:
    path = write(files, "knowledge/tasks.md", "# Tasks\n\n- loose\n")
    edit = append("b", "tasks_open")
    apply(files, edit)
    assert path.read_text() == f"# Tasks\n\n- loose\n\n## Open\n\n{edit.line}\n"


def test_an_edit_is_applied_once(files: Files) -> None:
    edit = append("One.")
    assert [apply(files, edit).status for _ in range(3)] == ["written", "there", "there"]
    assert files.read("knowledge/facts.md").count(edit.line.encode()) == 1


def test_a_line_moved_by_the_person_counts_as_present(files: Files) -> None:
    edit = append("b", "tasks_open")
    write(files, "knowledge/tasks.md", f"# Tasks\n\n## Open\n\n## Done\n\n{edit.line}\n")
    assert apply(files, edit) == Applied("there", "knowledge/tasks.md", 7)


def test_a_task_is_moved_unchanged_with_its_nested_lines(files: Files) -> None:
    path = write(
        files,
        "knowledge/tasks.md",
        f"# Tasks\n\n## Open\n\n- a\n{OPEN_TASK}\n  - a note\n- z\n\n## Done\n\n- c\n\n## Later\n\n- d\n",
    )
    assert is_there(files, done()) == 0
    assert apply(files, done()) == Applied("moved", "knowledge/tasks.md", 11)
    assert path.read_text() == (
        f"# Tasks\n\n## Open\n\n- a\n- z\n\n## Done\n\n- c\n{OPEN_TASK}\n  - a note\n\n## Later\n\n- d\n"
    )
    assert apply(files, done()) == Applied("there", "knowledge/tasks.md", 11)


def test_a_task_moved_or_removed_by_the_person_is_not_duplicated(files: Files) -> None:
    path = write(files, "knowledge/tasks.md", f"# Tasks\n\n## Open\n\n## Done\n\n{OPEN_TASK}\n")
    assert apply(files, done()).status == "there"
    path.write_text("# Tasks\n\n## Open\n\n## Done\n")
    assert [apply(files, done()).status for _ in range(2)] == ["written", "there"]
    assert path.read_text().count(OPEN_TASK) == 1
    path.write_text(f"# Tasks\n\n## Open\n\n{OPEN_TASK}\n\n## Done\n\n{OPEN_TASK}\n")
    assert apply(files, done()).status == "moved"
    assert path.read_text().count(OPEN_TASK) == 1 and is_there(files, done())


def test_line_endings_and_byte_order_mark_are_kept(files: Files) -> None:
    path = write(
        files, "knowledge/tasks.md", "\ufeff# Tasks\r\n\r\n## Open\r\n\r\n- a\r\n\r\n## Done\r\n".encode()
    )
    apply(files, append("b", "tasks_open"))
    write_back = path.read_bytes()
    assert write_back.startswith(b"\xef\xbb\xbf# Tasks\r\n") and write_back.count(b"\n") == write_back.count(
        b"\r\n"
    )
    assert is_there(files, append("b", "tasks_open")) == 6


@pytest.mark.parametrize("data", [b"- caf\xe9\n", b"<<<<<<< a\n=======\n>>>>>>> b\n", b"a\0", b"```\n- a\n"])
def test_a_broken_file_is_refused_and_left_alone(files: Files, data: bytes) -> None:
    path = write(files, "knowledge/facts.md", data)
    with pytest.raises(DocumentError, match=r"knowledge/facts\.md:\d+: "):
        apply(files, append("One."))
    assert path.read_bytes() == data


LINES = st.sampled_from(
    [
        "- a",
        "  - below",
        "text",
        "",
        "",
        "# Facts",
        "## Open",
        "## Done",
        "### x",
        "```\n- code\n```",
        "<!-- c -->",
        "  ",
    ]
)


@given(st.lists(LINES, max_size=12), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_nothing_around_an_edit_changes(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], newline: str, ended: bool, is_task: bool
) -> None:
    root = tmp_path_factory.mktemp("w")
    (root / "memory-config.yaml").touch()
    (root / "knowledge").mkdir()
    files = Files(Workspace.open(root))
    edit = append("New.", "tasks_open" if is_task else "facts")
    data = newline.join(lines).replace("\n", newline).replace("\r\r\n", "\r\n").encode()
    data += newline.encode() if ended and data else b""
    path = write(files, edit.path, data)
    assert apply(files, edit).status == "written"
    new = path.read_bytes()
    assert apply(files, edit).status == "there" and path.read_bytes() == new
    head = common_prefix(data, new)
    tail = common_prefix(data[head:][::-1], new[head:][::-1])
    assert head + tail == len(data), "there is more than one insertion"
    added = [line for line in new[head : len(new) - tail].replace(b"\r", b"").split(b"\n") if line]
    assert new.count(edit.line.encode()) == 1 and len(added) <= 5


def test_text_saved_by_an_editor_during_an_edit_is_kept(files: Files) -> None:
    path = write(files, "knowledge/facts.md", "# Facts\n\n- a\n")
    saves = iter(["# Facts\n\n- a\n- the person's\n", "# Facts\n\n- a\n- the person's\n- and more\n"])

    def save() -> None:
        text = next(saves, None)
        if text is not None:
            temp = path.with_name(".editor")
            temp.write_text(text)
            os.replace(temp, path)

    edit = append("One.")
    with trip("replace:rename", save):
        assert apply(files, edit).status == "written"
    assert path.read_text() == f"# Facts\n\n- a\n- the person's\n- and more\n{edit.line}\n"


def test_an_editor_that_keeps_saving_is_reported(files: Files) -> None:
    path = write(files, "knowledge/facts.md", "# Facts\n")

    def save() -> None:
        path.write_text(path.read_text() + "- more\n")

    with trip("replace:rename", save), pytest.raises(WriteFailed, match="keeps replacing it"):
        apply(files, append("One."))
    assert "One." not in path.read_text()


def test_a_line_overwritten_by_a_stale_save_is_written_again(files: Files) -> None:
    path = write(files, "knowledge/facts.md", "# Facts\n\n- a\n")
    edit = append("One.")
    apply(files, edit)
    temp = path.with_name(".editor")
    temp.write_text("# Facts\n\n- a\n- stale\n")
    os.replace(temp, path)
    assert is_there(files, edit) == 0
    assert apply(files, edit) == Applied("written", "knowledge/facts.md", 5)


@pytest.mark.parametrize("point", ["temp:write", "temp:fsync", "replace:rename", "replace:folder-fsync"])
def test_a_failed_write_leaves_the_old_text_or_the_new(files: Files, point: str) -> None:
    path = write(files, "knowledge/facts.md", "# Facts\n\n- a\n")
    edit = append("One.")
    with trip(point, fail(28)), pytest.raises(WriteFailed):
        apply(files, edit)
    assert path.read_text() in ("# Facts\n\n- a\n", f"# Facts\n\n- a\n{edit.line}\n")
    apply(files, edit)
    assert path.read_text() == f"# Facts\n\n- a\n{edit.line}\n"


def test_file_notes_are_created_with_header_and_title(files: Files) -> None:
    (files.workspace.root / "topics").mkdir()
    write(files, "topics/a.md", "x" * 100)
    edit = Edit("1" * 12, "files", "note", "knowledge/files/topics-a.md.md", "", "- n", "# topics/a.md")
    assert apply(files, edit) == Applied("written", edit.path, 8)
    text = files.read(edit.path).decode()
    assert text.startswith('---\npath: "topics/a.md"\nfingerprint: 100-') and text.endswith(
        "\n# topics/a.md\n\n- n\n"
    )
