"""Sessions in which a person states working rules."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

Say = Callable[..., Path]


@pytest.fixture
def say(sample: Path) -> Say:
    """Return a function that writes a session with the given user turns."""
    # The sample's sessions contain rules too.
    shutil.rmtree(sample / "raw/conversations", ignore_errors=True)
    count = 0

    def write(
        day: str,
        *texts: str,
        cwd: str = "/home/robin/gauges",
        kind: str = "",
        agent: str = "claude-code",
    ) -> Path:
        nonlocal count
        count += 1
        folder = sample / f"raw/conversations/{day.replace('-', '/')}"
        folder.mkdir(parents=True, exist_ok=True)
        mark = f" [{kind}]" if kind else ""
        turns = "".join(
            f"\n## 10:{number:02} — user{mark}\n\n{text}\n\n## 10:{number:02} — agent\n\nDone.\n"
            for number, text in enumerate(texts)
        )
        path = folder / f"1000-ses_{count:08x}-work.md"
        path.write_text(
            f"---\nsession_id: ses_{count:08x}\nstarted: {day}T10:00:00Z\ncwd: {cwd}\n"
            f"channel: {agent}\n---\n\n# Work\n{turns}"
        )
        return path

    return write
