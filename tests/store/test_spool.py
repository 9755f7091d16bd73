"""A spool buffers any amount of data in memory or in an unlinked temporary file."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.errors import PathRefused, ReadOnly, WriteFailed
from engine.store.faults import VARIABLE, fail, trip
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.store.spool import Spool

MIB = 1024 * 1024


def scratch(files: Files) -> list[str]:
    folder = files.workspace.scratch
    return sorted(path.name for path in folder.rglob("*") if path.name != ".lock") if folder.exists() else []


@pytest.mark.parametrize("sizes", [[], [5], [MIB - 1], [MIB], [1, 3 * MIB, 1], [100_000] * 35])
def test_a_spool_can_be_read_repeatedly(files: Files, sizes: list[int]) -> None:
    pieces = [os.urandom(size) for size in sizes]
    with Spool(files) as spool:
        for number, piece in enumerate(pieces, 1):
            spool.write(piece)
            if number == len(pieces) // 2:
                assert b"".join(spool.read()) == b"".join(pieces[:number])
        for _ in range(2):
            assert b"".join(spool.read()) == b"".join(pieces)
        assert all(len(block) <= MIB for block in spool.read())


def test_little_data_is_kept_in_memory(workspace: Workspace) -> None:
    with Spool(Files(workspace, read_only=True)) as spool:
        spool.write(b"x" * 1000)
        assert b"".join(spool.read()) == b"x" * 1000
    assert not workspace.scratch.exists()


def test_the_temporary_file_has_no_name(files: Files) -> None:
    with Spool(files) as spool:
        spool.write(b"x" * 3 * MIB)
        assert scratch(files) == []
        assert sum(map(len, spool.read())) == 3 * MIB
    assert scratch(files) == []


def test_closing_frees_the_disk_space(files: Files) -> None:
    def opened() -> int:
        return len(os.listdir("/dev/fd"))

    before = opened()
    with pytest.raises(ValueError, match="half way"), Spool(files) as spool:
        spool.write(b"x" * 2 * MIB)
        assert opened() == before + 1
        raise ValueError("half way")
    assert opened() == before


@pytest.mark.parametrize("point", ["folder:create", "temp:create", "temp:write"])
def test_a_full_disk_raises_a_clear_error(files: Files, point: str) -> None:
    with trip(point, fail(errno.ENOSPC)), Spool(files) as spool, pytest.raises(WriteFailed) as caught:
        spool.write(b"x" * 2 * MIB)
    assert "disk space" in caught.value.hint
    assert scratch(files) == []


def test_a_read_only_workspace_is_not_written(workspace: Workspace) -> None:
    with Spool(Files(workspace, read_only=True)) as spool, pytest.raises(ReadOnly):
        spool.write(b"x" * 2 * MIB)


def test_a_scratch_symlink_out_of_the_workspace_is_rejected(files: Files, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    files.workspace.scratch.symlink_to(tmp_path / "outside")
    with Spool(files) as spool, pytest.raises(PathRefused):
        spool.write(b"x" * 2 * MIB)
    assert os.listdir(tmp_path / "outside") == []


def test_a_killed_process_leaves_nothing(files: Files) -> None:
    program = f"""
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.store.spool import Spool
with Spool(Files(Workspace.open({str(files.workspace.root)!r}))) as spool:
    for _ in range(5):
        spool.write(b"x" * {MIB})
"""
    child = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, VARIABLE: "temp:write:kill:3"},
        capture_output=True,
        check=False,
    )
    assert child.returncode == -9, child.stderr
    assert scratch(files) == []
