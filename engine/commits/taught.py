"""Which conversations taught what a commit adds: read from the provenance of its new lines."""

from __future__ import annotations

from collections.abc import Iterable

from engine.commits.describe import new_entries
from engine.commits.kinds import FileChange
from engine.knowledge.harvest.classify import TRANSCRIPTS, WORKING, paths_in
from engine.knowledge.harvest.reading import safe_name
from engine.store.files import Files
from engine.transcripts.places import find_session

MOST = 20
"""Conversations that a message names; of more, the first in the order of their files."""


def conversations_of(changes: Iterable[FileChange], files: Files) -> list[str]:
    """The transcripts and conversations that new lines name as ``[from: name, day]``, as far as they are
    there, by path.

    A name is a session's id, as a flush writes it, or that of the conversation's file.
    """
    wanted = {entry.source for change in changes for entry in new_entries(change)} - {""}
    if not wanted:
        return []
    found = {path for name in wanted if (path := find_session(files.workspace, name))}
    for folder in (TRANSCRIPTS, WORKING):
        found.update(path for path in paths_in(files, folder) if safe_name(path) in wanted)
    return sorted(found)[:MOST]
