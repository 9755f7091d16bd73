"""Writes that outlive their screens: waited for when the workbench closes, and reported if they failed."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from tui.kit.lanes import Lane
from tui.render.figures import plural


class Writes:
    def __init__(self) -> None:
        self._lanes: list[Lane[Any, Any]] = []
        self._problems: list[str] = []

    def leave(self, lanes: Iterable[Lane[Any, Any]]) -> None:
        """Takes over the lanes of a closed screen that are still busy."""
        self._lanes = [each for each in (*self._lanes, *lanes) if each.busy]

    def failed(self, problem: str) -> None:
        """Keeps an error that no screen can show; thread-safe."""
        self._problems.append(problem)

    def finish(self, deadline_s: float) -> list[str]:
        """Waits for the writes; returns what was not written and why."""
        until = time.monotonic() + deadline_s
        left = sum(lane.finish(max(0.0, until - time.monotonic())) for lane in self._lanes)
        late = [f"{plural(left, 'change')} could not be written in time"] if left else []
        return [*self._problems, *late]
