"""The ``notes`` command takes paths as the shell does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command, apo

__all__ = ["apo"]


def test_a_path_is_taken_from_the_current_folder(
    apo: Command, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "tidemark/src"
    (tmp_path / "tidemark/.git").mkdir(parents=True)
    folder.mkdir()
    (folder / "client.py").write_text("import this\n" * 9)
    monkeypatch.chdir(folder)
    assert apo("-C", sample, "notes", "client.py", "--add", "The retry counts from 0.").code == 0
    assert "The retry counts from 0." in apo("-C", sample, "notes", "client.py").out
    (folder / "client.py").rename(folder / "core.py")
    moved = apo("-C", sample, "notes", "core.py")
    assert "tidemark/src/client.py was renamed to tidemark/src/core.py" in moved.out
