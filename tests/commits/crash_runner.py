"""Commits one batch in a process that a fault point may kill: ``crash_runner ROOT``."""

from __future__ import annotations

import sys

from engine.commits.commits import Cadence
from engine.engine import Engine
from tests.commits.conftest import NOW


def main() -> None:
    """Commits a batch half an hour after the first."""
    with Engine.open(sys.argv[1], clock=lambda: NOW) as engine:
        Cadence(
            engine.commits, lambda: engine.repository, lambda: engine.config.git, lambda: NOW, print
        ).commit_batch()


if __name__ == "__main__":
    main()
