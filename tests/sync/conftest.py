from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.sync.machines import Machine, copied, pair


@pytest.fixture(autouse=True)
def _identity() -> Iterator[None]:
    """Uses one identity on both machines; the scripted clock sets the commit dates."""
    with _one_identity():
        yield


@pytest.fixture(scope="session")
def _pristine() -> Iterator[Path]:
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else None) as folder:
        with _one_identity():
            pair(Path(folder) / "pristine")
        yield Path(folder)


@pytest.fixture(scope="module")
def _start(_pristine: Path, request: pytest.FixtureRequest) -> Path:
    """The machines that the tests of a module begin with; ``SYNCED`` in it names files that both have."""
    files: dict[str, str] = getattr(request.module, "SYNCED", {})
    if not files:
        return _pristine / "pristine"
    place = _pristine / str(request.module.__name__)
    with _one_identity():
        desk, laptop, _ = copied(_pristine / "pristine", place)
        for path, text in files.items():
            desk.write(path, text)
        desk.sync()
        laptop.sync()
    return place


@contextmanager
def _one_identity() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for role in ("AUTHOR", "COMMITTER"):
            patch.setenv(f"GIT_{role}_NAME", "Robin Example")
            patch.setenv(f"GIT_{role}_EMAIL", "robin@example.org")
            patch.setenv(f"GIT_{role}_DATE", "2026-06-12T08:00:00+00:00")
        patch.setenv("AUTOPOIESIS_TRUST", "all")
        yield


@pytest.fixture
def machines(_pristine: Path, _start: Path) -> Iterator[tuple[Machine, Machine, Path]]:
    """The desk, the laptop, and the bare repository between them, all in sync."""
    place = _pristine / "own"
    yield copied(_start, place)
    shutil.rmtree(place)
