"""Files saved by an editor during a change or deletion are read again and never deleted unread."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import WriteFailed
from engine.store.faults import trip
from engine.store.files import Files
from tests.store.write_steps import strays


def save_by_renaming(root: Path, data: bytes) -> None:
    """Save as editors do, by renaming a new file over the old one."""
    (root / "a.md.new").write_bytes(data)
    (root / "a.md.new").replace(root / "a.md")


def save_in_place(root: Path, data: bytes) -> None:
    """Save by writing into the same file."""
    (root / "a.md").write_bytes(data)


SAVES = pytest.mark.parametrize("save", [save_by_renaming, save_in_place])


@SAVES
def test_a_file_saved_while_deletion_is_decided_is_kept(
    files: Files, save: Callable[[Path, bytes], None]
) -> None:
    root = files.workspace.root
    files.replace("a.md", b"old\n")
    seen: list[bytes | None] = []

    def change(data: bytes | None) -> bytes | None:
        seen.append(data)
        if len(seen) == 1:
            save(root, b"theirs, longer\n")
            return None
        return data

    assert files.update("a.md", change) == b"theirs, longer\n"
    assert seen == [b"old\n", b"theirs, longer\n"]
    assert files.read("a.md") == b"theirs, longer\n"
    assert strays(root) == []


@pytest.mark.parametrize("point", ["remove:unlink", "replace:rename"])
@SAVES
def test_a_file_saved_right_before_the_step_is_kept(
    files: Files, point: str, save: Callable[[Path, bytes], None]
) -> None:
    root = files.workspace.root
    files.replace("a.md", b"old\n")
    new = None if point == "remove:unlink" else b"new\n"
    saved: list[None] = []

    def once() -> None:
        if not saved:
            saved.append(None)
            save(root, b"theirs, longer\n")

    with trip(point, once):
        files.update("a.md", lambda data: new if data == b"old\n" else data)
    assert files.read("a.md") == b"theirs, longer\n"
    assert strays(root) == []


def test_a_file_saved_at_the_moment_of_deletion_is_kept(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, rename = files.workspace.root, os.rename
    files.replace("a.md", b"old\n")
    saved: list[None] = []

    def late(*arguments: object, **keywords: object) -> None:
        if not saved:
            saved.append(None)
            save_by_renaming(root, b"theirs, longer\n")
        rename(*arguments, **keywords)  # type: ignore[arg-type]

    monkeypatch.setattr("engine.store.files.os.rename", late)
    assert files.update("a.md", lambda data: None if data == b"old\n" else data) == b"theirs, longer\n"
    assert files.read("a.md") == b"theirs, longer\n" and strays(root) == []


def test_a_file_created_while_the_change_is_decided_is_kept(files: Files) -> None:
    def change(data: bytes | None) -> bytes | None:
        if data is None:
            save_by_renaming(files.workspace.root, b"theirs\n")
        return None if data is None else data

    assert files.update("a.md", change) is None
    assert files.read("a.md") == b"theirs\n"


def test_a_file_saved_repeatedly_is_left_alone_with_an_error(files: Files) -> None:
    root = files.workspace.root
    files.replace("a.md", b"old\n")
    count = 0

    def change(_data: bytes | None) -> None:
        nonlocal count
        count += 1
        save_by_renaming(root, b"theirs " * count)

    with pytest.raises(WriteFailed, match="keeps replacing it"):
        files.update("a.md", change)
    assert files.read("a.md").startswith(b"theirs")


def test_an_unchanged_file_is_deleted(files: Files) -> None:
    files.replace("a.md", b"old\n")
    assert files.update("a.md", lambda _data: None) is None
    assert not (files.workspace.root / "a.md").exists() and strays(files.workspace.root) == []
