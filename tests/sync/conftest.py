from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sync.machines import Machine, copied, pair


@pytest.fixture(autouse=True)
def _identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uses one identity on both machines; the scripted clock sets the commit dates."""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Robin Example")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "robin@example.org")
        monkeypatch.setenv(f"GIT_{role}_DATE", "2026-06-12T08:00:00+00:00")


@pytest.fixture(scope="session")
def _pristine() -> Iterator[Path]:
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else None) as folder:
        with pytest.MonkeyPatch.context() as patch:
            for role in ("AUTHOR", "COMMITTER"):
                patch.setenv(f"GIT_{role}_NAME", "Robin Example")
                patch.setenv(f"GIT_{role}_EMAIL", "robin@example.org")
            patch.setenv("AUTOPOIESIS_TRUST", "all")
            pair(Path(folder) / "pristine")
        yield Path(folder)


@pytest.fixture
def machines(_pristine: Path) -> Iterator[tuple[Machine, Machine, Path]]:
    """The desk, the laptop, and the bare repository between them, all in sync."""
    place = _pristine / "own"
    yield copied(_pristine / "pristine", place)
    shutil.rmtree(place)
