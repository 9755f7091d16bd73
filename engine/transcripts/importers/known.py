"""Finds out from the transcripts which sessions were imported, and how far each of their files was read."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from engine.store.header import locate
from engine.store.paths import Workspace
from engine.transcripts.importers.sibling_logs import ALSO_FIELD, FileProgress, parse_siblings
from engine.transcripts.importers.state import SOURCE_FIELD, STATE_FIELD, read_state
from engine.transcripts.places import AUTHOR_FIELD, head_fields, read_head, session_files


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A file's import into a transcript."""

    path: str  # of the transcript, workspace-relative
    session_id: str
    progress: FileProgress
    turns: int  # number of turns in the transcript after the import
    author: str = ""  # of the transcript, as its header says


def is_imported(path: Path) -> bool:
    """Whether a file is a transcript written by an import."""
    return bool(head_fields(read_head(path), (SOURCE_FIELD,))[SOURCE_FIELD])


class KnownSessions:
    """The transcripts of a workspace by session, and by the files they were imported from.

    ``transcripts`` are workspace-relative paths by session id; ``sources`` are the imports of each file, by
    its path as shown in a header.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.transcripts: dict[str, str] = {}
        self.sources: defaultdict[str, list[ImportedFile]] = defaultdict(list)
        for path in session_files(workspace):
            head = read_head(path)
            fields = head_fields(head, ("session_id", SOURCE_FIELD, STATE_FIELD, AUTHOR_FIELD))
            session_id, relative = fields["session_id"], workspace.relative(path)
            self.transcripts.setdefault(session_id, relative)
            state = read_state(fields[STATE_FIELD])
            if state is None:
                continue
            progress = FileProgress(state.read, state.source)
            self.sources[fields[SOURCE_FIELD]].append(
                ImportedFile(relative, session_id, progress, state.turns, fields[AUTHOR_FIELD])
            )
            if f"\n{ALSO_FIELD}:".encode() in head:
                for shown, each in parse_siblings(dict(locate(head).mapping or {})).items():
                    self.sources[shown].append(ImportedFile(relative, session_id, each, state.turns))
