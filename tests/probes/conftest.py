"""A small workspace for probes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.store.files import Files
from engine.store.paths import Workspace

NOW = datetime(2026, 6, 12, 9, 30, tzinfo=UTC)

HOSTS = """# Hosts

## Broker

The broker listens on port 8883 with TLS.
It was moved from the old rack in March.

## Archive

The archive answers on port 5433.
"""
ODILE = """---
type: person
name: Odile Ferrand
---

# Odile Ferrand

Oceanographer. She wants the **raw curves** of Vestrand before
the summer school begins, and no smoothing of any kind.
"""


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The root of a workspace with three files."""
    for path, text in {
        "memory-config.yaml": "",
        "knowledge/identity/SOUL.md": "# Soul\n\nYou keep the records of a tide gauge network.\n",
        "knowledge/reference/hosts.md": HOSTS,
        "knowledge/people/odile.md": ODILE,
    }.items():
        place = tmp_path / "memory" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return tmp_path / "memory"


@pytest.fixture
def files(root: Path) -> Files:
    return Files(Workspace.open(root))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def engine(root: Path, clock: Clock) -> Iterator[Engine]:
    with Engine.open(root, clock=clock) as opened:
        yield opened
