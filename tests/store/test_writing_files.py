from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

from engine.errors import DocumentError, PathRefused, ReadOnly, WriteFailed
from engine.store.faults import trip
from engine.store.files import Files, sweep_temps
from engine.store.paths import Workspace


def names(root: Path) -> list[str]:
    return sorted(
        path.relative_to(root).as_posix()
        for path in root.rglob("*")
        if path.is_file() and path.name != ".lock"
    )


def test_replace_creates_the_file_and_its_folders(files: Files) -> None:
    files.replace("knowledge/people/ada.md", b"one")
    files.replace("knowledge/people/ada.md", b"two\r\n\xff\x00")
    assert files.read("knowledge/people/ada.md") == b"two\r\n\xff\x00"
    assert names(files.workspace.root) == ["knowledge/people/ada.md", "memory-config.yaml"]


def test_replace_keeps_the_mode(files: Files) -> None:
    files.replace("run.sh", b"one")
    path = files.workspace.root / "run.sh"
    path.chmod(0o750)
    files.replace("run.sh", b"two")
    assert stat.S_IMODE(path.stat().st_mode) == 0o750


def test_a_new_file_has_the_default_mode_of_the_process(files: Files) -> None:
    old = os.umask(0o027)
    try:
        files.replace("a.md", b"")
        files.create("b.md", b"")
        files.append("c.md", b"x")
    finally:
        os.umask(old)
    modes = {stat.S_IMODE((files.workspace.root / name).stat().st_mode) for name in ("a.md", "b.md", "c.md")}
    assert modes == {0o640}


def test_replace_puts_another_inode_in_place(files: Files) -> None:
    files.replace("a.md", b"one")
    reader = (files.workspace.root / "a.md").open("rb")
    with reader:
        files.replace("a.md", b"two")
        assert reader.read() == b"one"


def test_create_does_not_overwrite(files: Files) -> None:
    assert files.create("x/a.md", b"one")
    assert not files.create("x/a.md", b"two")
    (files.workspace.root / "dangling").symlink_to("nowhere")
    assert files.create("dangling", b"three")
    assert files.read("x/a.md") == b"one"
    assert files.read("nowhere") == b"three"


def test_append_adds_at_the_end(files: Files) -> None:
    files.append("logs/a.jsonl", b"1\n")
    files.append("logs/a.jsonl", b"2\n")
    files.append("logs/a.jsonl", b"")
    assert files.read("logs/a.jsonl") == b"1\n2\n"


def test_append_starts_on_a_new_line(files: Files) -> None:
    files.replace("a.md", b"unfinished")
    files.append("a.md", b"next\n")
    assert files.read("a.md") == b"unfinished\nnext\n"


def test_append_follows_a_file_replaced_in_the_meantime(files: Files) -> None:
    files.replace("facts.md", b"old\n")
    path = files.workspace.root / "facts.md"
    done: list[bool] = []

    def editor() -> None:
        if not done:
            done.append(True)
            other = path.with_suffix(".new")
            other.write_bytes(b"edited\n")
            other.replace(path)

    with trip("append:write", editor):
        files.append("facts.md", b"mine\n")
    assert files.read("facts.md") == b"edited\nmine\n"


def test_append_gives_up_on_a_file_that_keeps_being_replaced(files: Files) -> None:
    files.replace("facts.md", b"old\n")
    path = files.workspace.root / "facts.md"

    def editor() -> None:
        other = path.with_suffix(".new")
        other.write_bytes(b"edited\n")
        other.replace(path)

    with trip("append:write", editor), pytest.raises(WriteFailed):
        files.append("facts.md", b"mine\n")


def test_a_failed_append_leaves_what_others_added(files: Files) -> None:
    files.replace("a.md", b"old\n")
    path = files.workspace.root / "a.md"

    def other_program_then_failure() -> None:
        with path.open("ab") as file:
            file.write(b"theirs\n")
        raise OSError(5, "broken")

    with trip("append:fsync", other_program_then_failure), pytest.raises(WriteFailed):
        files.append("a.md", b"mine\n")
    assert b"theirs\n" in path.read_bytes()


def test_update_reads_changes_and_writes(files: Files) -> None:
    assert files.update("a.md", lambda old: (old or b"") + b"1") == b"1"
    assert files.update("a.md", lambda old: (old or b"") + b"2") == b"12"
    assert files.read("a.md") == b"12"


def test_update_restarts_if_another_program_saved_in_the_meantime(files: Files) -> None:
    files.replace("a.md", b"one\n")
    path = files.workspace.root / "a.md"
    saves = [b"theirs\n", b"theirs, again\n"]
    seen: list[bytes | None] = []

    def save() -> None:
        if saves:
            temp = path.with_name("editor")
            temp.write_bytes(saves.pop(0))
            os.replace(temp, path)

    def change(old: bytes | None) -> bytes:
        seen.append(old)
        return (old or b"") + b"ours\n"

    with trip("replace:rename", save):
        assert files.update("a.md", change) == b"theirs, again\nours\n"
    assert seen == [b"one\n", b"theirs\n", b"theirs, again\n"]
    assert names(files.workspace.root) == ["a.md", "memory-config.yaml"]


def test_update_to_none_removes_the_file(files: Files) -> None:
    files.replace("a.md", b"x")
    assert files.update("a.md", lambda old: None) is None
    assert files.update("b.md", lambda old: None) is None
    assert names(files.workspace.root) == ["memory-config.yaml"]


def test_update_without_a_difference_writes_nothing(files: Files) -> None:
    files.replace("a.md", b"x")
    before = (files.workspace.root / "a.md").stat()
    files.update("a.md", lambda old: old)
    assert (files.workspace.root / "a.md").stat().st_ino == before.st_ino


def test_an_error_in_the_change_leaves_the_file(files: Files) -> None:
    files.replace("a.md", b"x")

    def change(old: bytes | None) -> bytes:
        raise ValueError

    with pytest.raises(ValueError):
        files.update("a.md", change)
    assert files.read("a.md") == b"x"
    files.replace("a.md", b"y")


def test_files_are_moved_and_removed(files: Files) -> None:
    files.replace("a/b.md", b"x")
    files.move("a/b.md", "archive/a/b.md")
    assert names(files.workspace.root) == ["archive/a/b.md", "memory-config.yaml"]
    files.move("archive/a", "z")
    files.remove("z/b.md")
    assert names(files.workspace.root) == ["memory-config.yaml"]


def test_move_does_not_overwrite(files: Files) -> None:
    files.replace("a.md", b"a")
    files.replace("b.md", b"b")
    with pytest.raises(WriteFailed):
        files.move("a.md", "b.md")
    assert (files.read("a.md"), files.read("b.md")) == (b"a", b"b")


@pytest.mark.parametrize("path", ["missing.md", "no/such/folder.md", "memory-config.yaml/inside"])
def test_a_missing_file_is_not_found(files: Files, path: str) -> None:
    with pytest.raises(FileNotFoundError):
        files.read(path)
    with pytest.raises(FileNotFoundError):
        files.remove(path)
    with pytest.raises(FileNotFoundError):
        files.move(path, "elsewhere.md")
    assert names(files.workspace.root) == ["memory-config.yaml"]


def test_a_file_in_place_of_a_folder_raises_a_clear_error(files: Files) -> None:
    for write in (files.replace, files.append, files.create):
        with pytest.raises(WriteFailed) as caught:
            write("memory-config.yaml/inside.md", b"x")
        assert caught.value.where == "memory-config.yaml/inside.md"


def test_folders_are_not_files(files: Files) -> None:
    files.replace("folder/a.md", b"")
    with pytest.raises(PathRefused):
        files.read("folder")
    for write in (files.replace, files.append):
        with pytest.raises(PathRefused):
            write("folder", b"x")
    with pytest.raises(PathRefused):
        files.remove("folder")
    assert files.create("folder", b"x") is False


def test_a_file_over_the_limit_is_not_read(files: Files) -> None:
    files.replace("a.md", b"x" * 1000)
    assert len(files.read("a.md", limit=1000)) == 1000
    assert len(files.read("a.md", limit=None)) == 1000
    with pytest.raises(DocumentError) as caught:
        files.read("a.md", limit=999)
    assert caught.value.where == "a.md"


def test_long_file_names_can_be_written(files: Files) -> None:
    for name in ("x" * 255, "é" * 127, "日" * 85):
        files.replace(name, b"x")
        files.replace(name, b"y")
        assert files.read(name) == b"y"


def test_every_write_fails_in_a_read_only_workspace(workspace: Workspace) -> None:
    Files(workspace).replace("a.md", b"x")
    files = Files(workspace, read_only=True)
    assert files.read("a.md") == b"x"
    for attempt in (
        lambda: files.replace("a.md", b"y"),
        lambda: files.create("b.md", b"y"),
        lambda: files.append("a.md", b"y"),
        lambda: files.update("a.md", lambda old: b"y"),
        lambda: files.move("a.md", "b.md"),
        lambda: files.remove("a.md"),
        lambda: files.lock().__enter__(),
    ):
        with pytest.raises(ReadOnly):
            attempt()
    assert files.read("a.md") == b"x"


def test_temporary_files_of_dead_processes_are_removed_after_an_hour(workspace: Workspace) -> None:
    (workspace.root / "knowledge").mkdir()
    (workspace.root / ".git").mkdir()
    old, young = workspace.root / "knowledge" / ".tmp-old", workspace.root / ".tmp-young"
    other = workspace.root / ".git" / ".tmp-git"
    mine = workspace.root / "knowledge" / "tmp-mine.md"
    for path in (old, young, other, mine):
        path.write_bytes(b"")
    for path in (old, other, mine):
        os.utime(path, (time.time() - 4000,) * 2)
    (workspace.root / ".tmp-folder").mkdir()
    os.utime(workspace.root / ".tmp-folder", (0, 0))
    assert sweep_temps(workspace) == 1
    assert [path.exists() for path in (old, young, other, mine)] == [False, True, True, True]
