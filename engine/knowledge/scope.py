"""Selects the file notes for a prompt: those of the files that the conversation works on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from engine.knowledge.bindings import place_of_file
from engine.store.spelling import composed, on_disk

if TYPE_CHECKING:
    from engine.knowledge.notes import FileNotes
    from engine.store.paths import Workspace

MAX_FILES = 8
"""Maximum number of files whose notes go into one prompt, last named first."""

_MIN_PARTS = 2


def in_scope(paths: Iterable[str], notes: Sequence[FileNotes], workspace: Workspace) -> tuple[str, ...]:
    """The notes files for the paths in a conversation, sorted.

    A path to an existing file matches only the notes of that file. A path on another machine matches the
    notes of a file with the same last parts, at least two, if there is exactly one.

    ``paths`` are as in the tool calls, newest first; relative ones are relative to ``workspace``.
    """
    by_key = {each.path: each.notes for each in notes}
    found: dict[str, None] = {}
    for path in dict.fromkeys(paths):
        if len(found) >= MAX_FILES or not by_key:
            break
        name = _notes_of(path, by_key, workspace)
        if name:
            found[name] = None
    return tuple(sorted(found))


def _notes_of(path: str, by_key: dict[str, str], workspace: Workspace) -> str:
    try:
        absolute = on_disk(workspace.root / path)  # an absolute path stays what it is
        is_here = absolute.is_file()
    except (OSError, ValueError):
        return ""
    if is_here:
        place = place_of_file(workspace, absolute)
        return "" if place is None else by_key.get(place.key, "")
    path = composed(path)
    if path in by_key:
        return by_key[path]
    likely = [notes for key, notes in by_key.items() if _ends_alike(path, key)]
    return likely[0] if len(likely) == 1 else ""


def _ends_alike(path: str, key: str) -> bool:
    """True if one path ends with the whole other path."""
    here, there = path.strip("/").split("/"), key.strip("/").split("/")
    short, long = sorted((here, there), key=len)
    return len(short) >= _MIN_PARTS and long[-len(short) :] == short
