"""Fixtures for waiting on an engine's threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from engine.engine import Engine
from engine.events import EngineEvent

Found = TypeVar("Found")


class Witness:
    """Collects events and waits for a particular one."""

    def __init__(self) -> None:
        self.events: list[EngineEvent] = []
        self._changed = threading.Condition()

    def __call__(self, event: EngineEvent) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    def wait(
        self, kind: type[Found], like: Callable[[Found], bool] = lambda _event: True, timeout: float = 60
    ) -> Found:
        """Return the first event of a kind that matches ``like``; fail after ``timeout`` seconds."""
        end = time.monotonic() + timeout
        with self._changed:
            while True:
                for event in self.events:
                    if isinstance(event, kind) and like(event):
                        return event
                left = end - time.monotonic()
                if left <= 0:
                    pytest.fail(f"no {kind.__name__} within {timeout} s; there were {self.events[-20:]}")
                self._changed.wait(left)


def save(path: Path, text: str) -> None:
    """Write a file as editors do, so that a watcher never finds it empty or half written."""
    draft = path.with_name(f".tmp-{path.name}")
    draft.write_text(text)
    draft.replace(path)


@pytest.fixture
def engine(sample: Path) -> Iterator[Engine]:
    with Engine.open(sample) as opened:
        yield opened


@pytest.fixture
def live(engine: Engine) -> Iterator[tuple[Engine, Witness]]:
    """An engine that watches its workspace."""
    witness = Witness()
    engine.subscribe(witness)
    engine.start()
    yield engine, witness
    engine.stop()
