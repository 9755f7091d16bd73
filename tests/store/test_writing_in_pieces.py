"""Files that do not fit in memory are written piece by piece, and still atomically."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.errors import DocumentError, PathRefused, WriteFailed
from engine.store.faults import VARIABLE, fail, trip
from engine.store.files import Files
from tests.store.write_steps import OLD, strays

PIECES = [b"one\n" * 1000, b"", b"two\n" * 1000, b"three\n" * 1000]
MIB = 1024 * 1024


def temporary(root: Path) -> Path:
    (name,) = strays(root)
    return root / name


def on_nth_call(number: int, action: Callable[[], None]) -> Callable[[], None]:
    """A function that runs ``action`` the n-th time it is called."""
    hits = iter(range(1, 1_000_000))

    def act() -> None:
        if next(hits) == number:
            action()

    return act


def test_pieces_are_joined(files: Files) -> None:
    files.replace("a.md", iter(PIECES))
    assert files.read("a.md") == b"".join(PIECES)
    assert files.create("b.md", PIECES)
    assert files.read("b.md") == b"".join(PIECES)
    files.replace("a.md", [])
    assert files.read("a.md") == b""
    assert strays(files.workspace.root) == []


def test_replacing_with_pieces_keeps_the_mode(files: Files) -> None:
    files.replace("a.md", OLD)
    path = files.workspace.root / "a.md"
    path.chmod(0o640)
    files.replace("a.md", PIECES)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("name", ["replace", "create"])
def test_each_piece_is_written_before_the_next_is_requested(files: Files, name: str) -> None:
    sizes: list[int] = []

    def pieces() -> Iterator[bytes]:
        for _ in range(4):
            sizes.append(temporary(files.workspace.root).stat().st_size)
            yield b"x" * MIB

    getattr(files, name)("a.md", pieces())
    assert sizes == [0, MIB, 2 * MIB, 3 * MIB]
    assert len(files.read("a.md")) == 4 * MIB


def test_no_piece_is_requested_if_the_file_exists(files: Files) -> None:
    files.replace("a.md", OLD)
    pieces = iter(PIECES)
    assert not files.create("a.md", pieces)
    assert list(pieces) == PIECES
    assert files.read("a.md") == OLD


def broken(error: BaseException) -> Iterator[bytes]:
    yield b"new " * MIB
    raise error


@pytest.mark.parametrize("error", [ValueError("half way"), KeyboardInterrupt(), DocumentError("gone")])
def test_an_error_while_producing_pieces_leaves_the_old_file(files: Files, error: BaseException) -> None:
    files.replace("a.md", OLD)
    with pytest.raises(type(error)) as caught:
        files.replace("a.md", broken(error))
    assert caught.value is error
    with pytest.raises(type(error)):
        files.create("b.md", broken(error))
    assert files.read("a.md") == OLD
    assert not (files.workspace.root / "b.md").exists()
    assert strays(files.workspace.root) == []
    files.replace("a.md", PIECES)
    assert files.read("a.md") == b"".join(PIECES), "the lock was not released"


def test_an_os_error_while_producing_pieces_is_propagated(files: Files) -> None:
    files.replace("a.md", OLD)
    with pytest.raises(WriteFailed) as caught:
        files.replace("a.md", broken(OSError(errno.EIO, os.strerror(errno.EIO))))
    assert caught.value.where == "a.md"
    assert files.read("a.md") == OLD
    assert strays(files.workspace.root) == []


@pytest.mark.parametrize("number", range(1, len(PIECES) + 1))
def test_a_disk_that_fills_up_between_pieces_leaves_the_old_file(files: Files, number: int) -> None:
    files.replace("a.md", OLD)
    pieces = iter(PIECES)
    with trip("temp:write", on_nth_call(number, fail(errno.ENOSPC))), pytest.raises(WriteFailed) as caught:
        files.replace("a.md", pieces)
    assert "disk space" in caught.value.hint
    assert list(pieces) == PIECES[number:], "further pieces were requested after the error"
    assert files.read("a.md") == OLD
    assert strays(files.workspace.root) == []


@pytest.mark.parametrize("point", ["temp:write:kill:1", "temp:write:kill:3", "temp:fsync:kill"])
def test_a_process_killed_between_pieces_leaves_the_old_file(files: Files, point: str) -> None:
    files.replace("a.md", OLD)
    root = files.workspace.root
    program = f"""
from engine.store.files import Files
from engine.store.paths import Workspace
Files(Workspace.open({str(root)!r})).replace("a.md", (b"new" for _ in range(5)))
"""
    child = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, VARIABLE: point}, capture_output=True, check=False
    )
    assert child.returncode == -9, child.stderr
    assert files.read("a.md") == OLD
    assert len(strays(root)) == 1


def test_a_file_can_be_rewritten_from_itself(files: Files) -> None:
    old = os.urandom(3 * MIB + 17)
    files.replace("a.md", old)

    def pieces() -> Iterator[bytes]:
        yield b"head\n"
        yield from files.read_blocks("a.md")
        yield b"tail\n"

    files.replace("a.md", pieces())
    assert files.read("a.md") == b"head\n" + old + b"tail\n"


def test_a_file_is_read_in_blocks(files: Files) -> None:
    old = os.urandom(3 * MIB + 17)
    files.replace("a.md", old)
    blocks = files.read_blocks("a.md")
    first = next(blocks)
    files.replace("a.md", b"another file by now")
    rest = list(blocks)
    assert b"".join([first, *rest]) == old
    assert max(map(len, [first, *rest])) == MIB
    assert list(files.read_blocks("a.md")) == [b"another file by now"]


def test_reading_blocks_requires_a_regular_file(files: Files) -> None:
    root = files.workspace.root
    os.mkfifo(root / "pipe")
    (root / "folder").mkdir()
    (root / "out").symlink_to("/etc/passwd")
    files.replace("a.md", OLD)
    for path, error in (
        ("pipe", PathRefused),
        ("folder", PathRefused),
        ("out", PathRefused),
        ("../a.md", PathRefused),
        ("missing.md", FileNotFoundError),
        ("a.md/b.md", FileNotFoundError),
    ):
        blocks = files.read_blocks(path)
        with pytest.raises(error):
            next(blocks)
