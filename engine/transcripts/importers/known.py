"""Which sessions were imported, and how far each of their files was taken in: read from the transcripts."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from engine.store.header import locate
from engine.store.paths import Workspace
from engine.transcripts.importers.second import ALSO_FIELD, Taken, also_taken
from engine.transcripts.importers.state import SOURCE_FIELD, STATE_FIELD, read_state
from engine.transcripts.places import head_fields, read_head, session_files


@dataclass(frozen=True, slots=True)
class Entry:
    """A transcript that a file went into."""

    path: str  # workspace-relative
    session_id: str
    taken: Taken  # how far the file was taken in
    turns: int  # in the transcript then


def is_imported(path: Path) -> bool:
    """Whether a file is a transcript that an import wrote."""
    return bool(head_fields(read_head(path), (SOURCE_FIELD,))[SOURCE_FIELD])


class Known:
    """The transcripts of a workspace by session, and by the files they were imported from.

    ``transcripts`` are workspace-relative paths by session; ``sources`` says what became of each file, by its
    path as a header shows it.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.transcripts: dict[str, str] = {}
        self.sources: defaultdict[str, list[Entry]] = defaultdict(list)
        for path in session_files(workspace):
            head = read_head(path)
            fields = head_fields(head, ("session_id", SOURCE_FIELD, STATE_FIELD))
            session_id, relative = fields["session_id"], workspace.relative(path)
            self.transcripts.setdefault(session_id, relative)
            state = read_state(fields[STATE_FIELD])
            if state is None:
                continue
            taken = Taken(state.read, state.source)
            self.sources[fields[SOURCE_FIELD]].append(Entry(relative, session_id, taken, state.turns))
            if f"\n{ALSO_FIELD}:".encode() in head:
                for shown, each in also_taken(dict(locate(head).mapping or {})).items():
                    self.sources[shown].append(Entry(relative, session_id, each, state.turns))
