"""An engine on the sample, and past sessions to play."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from engine.engine import Engine

Write = Callable[..., str]


@pytest.fixture
def engine(sample: Path) -> Iterator[Engine]:
    with Engine.open(sample) as opened:
        yield opened


@pytest.fixture
def session(sample: Path) -> Write:
    """Writes a transcript in which the person says some things, one turn each; returns its path."""

    def write(day: str, number: int, said: Sequence[str], header: str = "") -> str:
        name = f"ses_{number:08x}"
        folder = sample / "raw/conversations" / day.replace("-", "/")
        folder.mkdir(parents=True, exist_ok=True)
        turns = "".join(
            f"## {9 + at:02}:00 — user\n{text}\n\n## {9 + at:02}:01 — agent\nDone.\n\n"
            for at, text in enumerate(said)
        )
        head = f"---\nsession_id: {name}\nstarted: {day}T09:00:00Z\n{header}---\n\n# Session\n\n"
        path = folder / f"0900-{name}-talk.md"
        path.write_text(head + turns)
        return path.relative_to(sample).as_posix()

    return write
