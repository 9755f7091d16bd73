"""Fits the model of what past sessions are worth telling (``engine.recall.model``).

    python -m tests.training.recall [--out FILE] [--floor F] WORKSPACE…

Each workspace holds the sessions of one person or team; all of them count alike.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from engine.engine import Engine
from engine.recall.features import FEWEST_SESSIONS
from engine.recall.fitting import fitted
from engine.recall.model import DATA, Model, to_json
from engine.recall.replay import Played, prompts

FLOOR = 0.24
"""Until the person's own past decides (``engine.recall.own``)."""


def played(workspace: Path) -> list[Played]:
    """The prompts of a workspace's sessions, oldest first."""
    with Engine.open(workspace) as engine:
        engine.refresh_index()
        past = engine.index.past()
        sessions = range(FEWEST_SESSIONS, len(past.sessions))
        return [each for session in sessions for each in prompts(engine.index, past, session)]


def model_of(people: Iterable[Sequence[Played]], floor: float = FLOOR) -> Model:
    """The model of several people's prompts."""
    found = fitted(list(people), floor)
    if found is None:
        raise SystemExit("nothing to learn: no prompt could have been told something that came up later")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workspaces", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=DATA)
    parser.add_argument("--floor", type=float, default=FLOOR)
    asked = parser.parse_args()
    model = model_of(map(played, asked.workspaces), asked.floor)
    asked.out.write_text(to_json(model), encoding="utf-8")
    print(f"{model.prompts:,} prompts, {asked.out.stat().st_size / 1024:.0f} KB: {asked.out}")


if __name__ == "__main__":
    main()
