"""Which notes of files belong in a prompt: those of the files that its conversation works on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.knowledge.bindings import place_of_file

if TYPE_CHECKING:
    from engine.knowledge.notes import FileNotes
    from engine.store.paths import Workspace

MOST_FILES = 8
"""Files whose notes one prompt may hold: those named last."""

_LEAST_PARTS = 2


def in_scope(paths: Iterable[str], notes: Sequence[FileNotes], workspace: Workspace) -> tuple[str, ...]:
    """The files of notes that a conversation's paths lead to, by path.

    A path at which there is a file leads to the notes of that very file and to no others. A path of another
    machine leads to the notes whose file is named by its last parts, at least two of them, where only one is.

    ``paths`` are as tool calls name them, the newest first; relative ones are relative to ``workspace``.
    """
    by_key = {each.path: each.notes for each in notes}
    found: dict[str, None] = {}
    for path in dict.fromkeys(paths):
        if len(found) >= MOST_FILES or not by_key:
            break
        name = _notes_of(path, by_key, workspace)
        if name:
            found[name] = None
    return tuple(sorted(found))


def _notes_of(path: str, by_key: dict[str, str], workspace: Workspace) -> str:
    absolute = workspace.root / Path(path)  # an absolute path stays what it is
    try:
        is_here = absolute.is_file()
    except (OSError, ValueError):
        return ""
    if is_here:
        place = place_of_file(workspace, absolute)
        return "" if place is None else by_key.get(place.key, "")
    if path in by_key:
        return by_key[path]
    likely = [notes for key, notes in by_key.items() if _ends_alike(path, key)]
    return likely[0] if len(likely) == 1 else ""


def _ends_alike(path: str, key: str) -> bool:
    """Whether one of two paths ends with the whole of the other."""
    here, there = path.strip("/").split("/"), key.strip("/").split("/")
    short, long = sorted((here, there), key=len)
    return len(short) >= _LEAST_PARTS and long[-len(short) :] == short
