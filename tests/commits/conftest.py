"""A git workspace with a clock that tests control."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.events import EngineEvent, ErrorReported

NOW = datetime(2026, 6, 12, 12, tzinfo=UTC)


class Desk:
    """A small workspace with its engine, an editor, and a clock."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.now = NOW
        self.engine = Engine.open(root, clock=lambda: self.now)
        self.errors: list[str] = []
        self.engine.subscribe(self._on_event)

    def _on_event(self, event: EngineEvent) -> None:
        if isinstance(event, ErrorReported):
            self.errors.append(event.text)

    def write(self, path: str, text: str | bytes, *, ago_s: float = 60) -> None:
        """Writes a file whose mtime is ``ago_s`` seconds in the past."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        for each in (place, place.parent):
            os.utime(each, (self.now.timestamp() - ago_s,) * 2)

    def advance(self, **span: float) -> None:
        """Advances the clock."""
        self.now += timedelta(**span)

    def git(self, *words: str) -> str:
        """Runs git and returns its output."""
        done = subprocess.run(["git", *words], cwd=self.root, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def subjects(self, count: int = 20) -> list[str]:
        """Returns the subjects of the last commits, newest first, without the initial one."""
        return self.git("log", f"-{count}", "--format=%s").splitlines()[: count if count < 20 else -1]


@pytest.fixture(scope="session")
def _pristine_desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("desk") / "memory"
    for path, text in {
        "memory-config.yaml": "git:\n  commit_interval_minutes: 30\n  commit_message_deadline_s: 60\n",
        ".gitignore": "scratch/\nmemory.db*\nlogs/\n*.key\n",
        "knowledge/facts.md": "# Facts\n\n- One.\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run(["git", "-c", "user.name=R", "-c", "user.email=r@e.org", *words], cwd=root, check=True)
    return root


@pytest.fixture
def desk(_pristine_desk: Path, tmp_path: Path) -> Iterator[Desk]:
    root = tmp_path / "memory"
    subprocess.run(["cp", "-a", str(_pristine_desk), str(root)], check=True)
    opened = Desk(root)
    yield opened
    opened.engine.close()
