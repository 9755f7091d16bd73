"""The real engine for tests of a screen."""

from __future__ import annotations

from engine.engine import Engine


class ThreadlessEngine(Engine):
    """The real engine without its background threads."""

    def start(self) -> None:
        """Starts no watchers."""
