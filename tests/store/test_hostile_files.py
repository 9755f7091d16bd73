from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from engine.errors import AutopoiesisError, PathRefused
from engine.store.faults import trip
from engine.store.files import Files


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret").write_bytes(b"secret")
    return folder


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../outside/secret", "a/../../outside/secret", "a\0", "x" * 300, ""]
)
def test_paths_out_of_the_workspace_are_rejected_everywhere(files: Files, outside: Path, path: str) -> None:
    files.replace("a.md", b"x")
    for attempt in (
        lambda: files.read(path),
        lambda: files.replace(path, b"y"),
        lambda: files.create(path, b"y"),
        lambda: files.append(path, b"y"),
        lambda: files.update(path, lambda old: b"y"),
        lambda: files.remove(path),
        lambda: files.move(path, "b.md"),
        lambda: files.move("a.md", path),
    ):
        with pytest.raises(PathRefused):
            attempt()
    assert (outside / "secret").read_bytes() == b"secret"


@pytest.mark.parametrize("path", ["link-out", "folder-out/secret", "folder-out/new", "dangling-out", "chain"])
def test_symlinks_out_of_the_workspace_are_rejected_everywhere(
    files: Files, outside: Path, path: str
) -> None:
    root = files.workspace.root
    (root / "link-out").symlink_to(outside / "secret")
    (root / "folder-out").symlink_to(outside)
    (root / "dangling-out").symlink_to(outside / "new")
    (root / "chain").symlink_to("link-out")
    for attempt in (
        lambda: files.read(path),
        lambda: files.replace(path, b"y"),
        lambda: files.create(path, b"y"),
        lambda: files.append(path, b"y"),
        lambda: files.update(path, lambda old: b"y"),
    ):
        with pytest.raises(PathRefused):
            attempt()
    assert (outside / "secret").read_bytes() == b"secret"
    assert sorted(os.listdir(outside)) == ["secret"]


def test_symlinks_within_the_workspace_are_written_through(files: Files) -> None:
    files.replace("real/a.md", b"one\n")
    root = files.workspace.root
    (root / "alias.md").symlink_to("real/a.md")
    (root / "folder").symlink_to("real")
    files.replace("alias.md", b"two\n")
    files.append("folder/a.md", b"three\n")
    assert files.read("alias.md") == files.read("real/a.md") == b"two\nthree\n"
    assert (root / "alias.md").is_symlink()


def test_moving_or_removing_a_symlink_leaves_its_target(files: Files, outside: Path) -> None:
    root = files.workspace.root
    (root / "link").symlink_to(outside / "secret")
    files.move("link", "other")
    assert (root / "other").is_symlink()
    files.remove("other")
    assert (outside / "secret").read_bytes() == b"secret"


def test_a_folder_swapped_for_a_symlink_at_the_last_moment_is_rejected(files: Files, outside: Path) -> None:
    files.replace("folder/secret", b"mine")
    folder = files.workspace.root / "folder"

    def swap() -> None:
        folder.rename(files.workspace.root / "moved")
        folder.symlink_to(outside)

    original = files.workspace.resolve("folder/secret")
    swap()
    with pytest.raises(PathRefused):
        files.replace("folder/secret", b"overwritten")
    folder.unlink()
    (files.workspace.root / "moved").rename(folder)
    with trip("temp:create", swap):
        files.replace("folder/secret", b"mine again")
    assert original.name == "secret"
    assert (outside / "secret").read_bytes() == b"secret"
    assert (files.workspace.root / "moved" / "secret").read_bytes() == b"mine again"


def test_pipes_devices_and_sockets_are_rejected_without_waiting(files: Files) -> None:
    root = files.workspace.root
    os.mkfifo(root / "pipe")
    (root / "zero").symlink_to("/dev/zero")
    names = ["pipe", "zero"]
    if hasattr(os, "mknod") and os.geteuid() == 0:
        os.mknod(root / "device", 0o600 | 0o020000, os.makedev(1, 5))
        names.append("device")
    here = os.getcwd()
    os.chdir(root)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("socket")
    finally:
        os.chdir(here)
    for name in [*names, "socket"]:
        for attempt in (
            lambda name=name: files.read(name),
            lambda name=name: files.replace(name, b"y"),
            lambda name=name: files.append(name, b"y"),
        ):
            with pytest.raises(PathRefused):
                attempt()


def test_a_pipe_in_place_of_the_lock_raises_a_clear_error(files: Files) -> None:
    (files.workspace.root / "scratch").mkdir()
    (files.workspace.root / "scratch" / ".lock").mkdir()
    with pytest.raises(AutopoiesisError):
        files.replace("a.md", b"x")


def test_a_scratch_symlink_out_of_the_workspace_is_rejected(files: Files, outside: Path) -> None:
    (files.workspace.root / "scratch").symlink_to(outside)
    with pytest.raises(PathRefused):
        files.replace("a.md", b"x")
    assert sorted(os.listdir(outside)) == ["secret"]
