from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

PROGRAM = """
import os, sys
import filelock
from engine.errors import AutopoiesisError, ReadOnly
from engine.store.files import Files
from engine.store.paths import Workspace
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
workspace = Workspace.open(sys.argv[1])
files = Files(workspace)
assert files.read("knowledge/facts.md") == b"# Facts\\n"
for attempt in (
    lambda: files.replace("knowledge/facts.md", b"x"),
    lambda: files.create("new.md", b"x"),
    lambda: files.append("knowledge/facts.md", b"x"),
    lambda: files.update("knowledge/facts.md", lambda old: b"x"),
    lambda: files.move("knowledge/facts.md", "b.md"),
    lambda: files.remove("knowledge/facts.md"),
):
    try:
        attempt()
    except ReadOnly as error:
        assert error.hint, error
    else:
        raise SystemExit("was written")
print("done")
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not below tmp_path, which another user cannot enter.
    root = Path(tempfile.mkdtemp(prefix="read-only-"))
    (root / "knowledge").mkdir()
    (root / "scratch").mkdir()
    (root / "memory-config.yaml").write_bytes(b"")
    (root / "knowledge" / "facts.md").write_bytes(b"# Facts\n")
    yield root
    for path in (root, root / "knowledge", root / "scratch"):
        path.chmod(0o755)
    shutil.rmtree(root)


@pytest.mark.parametrize("lock", [False, True], ids=["no lock yet", "another user's lock"])
def test_another_users_workspace_is_read_and_not_written(folder: Path, lock: bool) -> None:
    if lock:
        (folder / "scratch" / ".lock").write_bytes(b"")
        (folder / "scratch" / ".lock").chmod(0o444)
    for path in (folder / "knowledge", folder / "scratch", folder):
        path.chmod(0o555)
    (folder / "knowledge" / "facts.md").chmod(0o444)
    child = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder)],
        env={**os.environ, "PYTHONPATH": os.getcwd(), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.stdout == "done\n", child.stderr
    assert (folder / "knowledge" / "facts.md").read_bytes() == b"# Facts\n"


def test_an_unreadable_file_raises_a_clear_error(folder: Path) -> None:
    (folder / "knowledge" / "facts.md").chmod(0)
    program = PROGRAM.split("assert files.read", 1)[0] + (
        "try:\n    files.read('knowledge/facts.md')\nexcept AutopoiesisError as error:\n    print(error)\n"
    )
    folder.chmod(0o755)
    child = subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        env={**os.environ, "PYTHONPATH": os.getcwd()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "knowledge/facts.md: cannot be read (Permission denied)" in child.stdout, child.stderr
