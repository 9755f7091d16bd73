from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.store.files import Files
from engine.store.paths import Workspace
from engine.transcripts.capture import ConversationCapture

STARTED = datetime(2026, 2, 16, 18, 45, tzinfo=UTC)


class Clock:
    """A clock that stands still until it is advanced."""

    def __init__(self) -> None:
        self.now = STARTED

    def __call__(self) -> datetime:
        return self.now

    def advance(self, minutes: float) -> None:
        self.now += timedelta(minutes=minutes)


class Pause(threading.Event):
    """An event whose ``wait`` returns at once, after calling ``passes`` with the timeout."""

    def __init__(self, passes: Callable[[float], object] = lambda seconds: None) -> None:
        super().__init__()
        self._passes = passes

    def wait(self, timeout: float | None = None) -> bool:
        self._passes(timeout or 0)
        return self.is_set()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "memory-config.yaml").write_bytes(b"")
    return Workspace.open(root)


@pytest.fixture
def files(workspace: Workspace) -> Files:
    return Files(workspace)


@pytest.fixture
def capture(files: Files, clock: Callable[[], datetime]) -> ConversationCapture:
    return ConversationCapture(files, clock=clock)


@pytest.fixture
def memory_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory if available, where the thousands of fsyncs, irrelevant here, take no time."""
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        yield Path(folder)
