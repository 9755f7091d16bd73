"""What this machine remembers of its syncs: when they were, and what a person has decided about conflicts.

It stands in ``scratch/``: losing it costs a date, and a decision that is asked for again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from engine.store.typed import typed
from engine.sync.model import Conflict, Side

if TYPE_CHECKING:
    from engine.store.files import Files

PATH = "scratch/sync.json"


@dataclass(frozen=True, slots=True)
class Decision:
    """Which side counts in a conflict, for the versions that were shown."""

    ours: str
    theirs: str
    take: Side


@dataclass(frozen=True, slots=True)
class State:
    """All that is remembered of one remote's branch."""

    synced: str = ""  # when both were equal last, ISO 8601, UTC
    checked: str = ""  # when the remote was asked last
    decided: Mapping[str, Decision] = field(default_factory=dict)  # by path


def read(files: Files, reference: str) -> State:
    """What is remembered of a branch, by ``Remote.seen``; nothing where the file cannot be read."""
    return _all(files).get(reference, State())


def change(files: Files, reference: str, make: Callable[[State], State]) -> None:
    """Changes what is remembered.

    Raises:
        WriteFailed, ReadOnly: It was not written.
    """
    with files.lock():
        states = _all(files)
        states[reference] = make(states.get(reference, State()))
        tree = {name: asdict(state) for name, state in states.items()}
        files.replace(PATH, json.dumps({"branches": tree}, indent=1).encode() + b"\n")


def decided(state: State, conflict: Conflict, take: Side) -> State:
    """With a decision about a conflict, as it was shown."""
    decision = Decision(*conflict.names, take)
    return replace(state, decided={**state.decided, conflict.path: decision})


def _all(files: Files) -> dict[str, State]:
    try:
        tree = json.loads(files.read(PATH))
        return {name: typed(State, each) for name, each in tree["branches"].items()}
    except (
        FileNotFoundError,
        AutopoiesisError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
    ):
        return {}
