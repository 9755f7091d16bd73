"""Local sync state: times of the last syncs and the user's decisions about conflicts.

It is kept in ``scratch/``: if lost, dates are unknown and decisions have to be made again.
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
    """The side to take in a conflict, valid for the two versions shown."""

    ours: str
    theirs: str
    take: Side


@dataclass(frozen=True, slots=True)
class State:
    """State of one remote branch."""

    synced: str = ""  # last time both were equal, ISO 8601, UTC
    checked: str = ""  # last contact with the remote
    decided: Mapping[str, Decision] = field(default_factory=dict)  # by path


def read(files: Files, reference: str) -> State:
    """The state of a branch, by ``Remote.seen``; empty if the file cannot be read."""
    return _all(files).get(reference, State())


def change(files: Files, reference: str, make: Callable[[State], State]) -> None:
    """Updates the state of a branch.

    Raises:
        WriteFailed, ReadOnly: It was not written.
    """
    with files.lock():
        states = _all(files)
        states[reference] = make(states.get(reference, State()))
        tree = {name: asdict(state) for name, state in states.items()}
        files.replace(PATH, json.dumps({"branches": tree}, indent=1).encode() + b"\n")


def decided(state: State, conflict: Conflict, take: Side) -> State:
    """The state with a decision about a conflict added."""
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
