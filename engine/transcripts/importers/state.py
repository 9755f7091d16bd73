"""What was imported, as the headers of the transcripts record it.

Text and state reach the disk in one atomic replacement, so no crash can separate them; and a transcript that
is copied, restored or pulled from elsewhere brings its state along.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import BinaryIO

from engine.startup.records import dataclass
from engine.store.header import locate
from engine.store.paths import Workspace
from engine.transcripts.importers.session import Checkpoint
from engine.transcripts.places import AUTHOR_FIELD, head_fields, read_head, session_files

SOURCE_FIELD = "imported_from"
STATE_FIELD = "import_state"

PROMPTS_FIELD = "prompts_only"
"""Header field of a transcript that has only what the user typed, because nothing else is left."""

ALSO_FIELD = "also_imported_from"
"""The header field that lists other files of the session: fingerprint, bytes read and path of each."""

READER = 3
"""Current version of the log readers."""

_EDGE = 4096
_COUNTS = tuple(each.name for each in fields(Checkpoint) if each.type == "int")


@dataclass(frozen=True, slots=True)
class ImportState:
    """How far a source was read, and the transcript that resulted."""

    read: int  # bytes of the source
    turns: int  # in the transcript
    odd: int  # lines of the source that could not be read completely
    source: str  # fingerprint of the bytes read
    text: str  # fingerprint of the transcript below its header
    kept: int  # bytes of the transcript below its header that are final
    checkpoint: Checkpoint  # where the next import resumes
    reader: int = 0  # reader version of the import; those before ``READER`` left out some user messages

    def written(self) -> str:
        """Format as one line of ``name=value`` pairs, without zero values.

        Token counts come first and the id of a reply last: an id after the word "tokens", or what follows an
        id that ends like "pw", would look like a secret and keep the transcript from being committed.
        """
        own = {
            key: getattr(self, key) for key in ("read", "turns", "odd", "source", "text", "kept", "reader")
        }
        since = {f"from_{key.name}": getattr(self.checkpoint, key.name) for key in fields(Checkpoint)}
        found = {key: since.pop(key) for key in ("from_tokens_in", "from_tokens_out")} | own
        reply = {key: since.pop(key) for key in ("from_reply",)}
        return " ".join(f"{key}={value}" for key, value in (found | since | reply).items() if value)


def read_state(value: object) -> ImportState | None:
    """The state in a header; ``None`` if there is none or it is invalid."""
    if not isinstance(value, str):
        return None
    found = dict(part.partition("=")[::2] for part in value.split())
    try:
        since = Checkpoint(
            **{name: int(found.get(f"from_{name}", 0)) for name in _COUNTS},
            reply=found.get("from_reply", ""),
            left_out=found.get("from_left_out", ""),
            open=found.get("from_open", ""),
        )
        numbers = {key: int(found.get(key, 0)) for key in ("read", "turns", "odd", "kept", "reader")}
        state = ImportState(**numbers, source=found["source"], text=found["text"], checkpoint=since)
    except (KeyError, ValueError):
        return None
    return state if 0 <= since.offset <= state.read and state.kept >= 0 else None


def fingerprint(stream: BinaryIO, length: int) -> str:
    """Hash both ends of the first ``length`` bytes of a file: enough, since a log only grows at its end."""
    digest = hashlib.sha256(str(length).encode())
    for start in (0, max(length - _EDGE, 0)):
        stream.seek(start)
        digest.update(stream.read(min(_EDGE, length - start)))
    return digest.hexdigest()[:16]


def shown_source(path: Path) -> str:
    """A source's path as shown in a header, with the home folder as ``~``."""
    absolute = path.absolute()
    try:
        return f"~/{absolute.relative_to(Path.home()).as_posix()}".removesuffix("/.")
    except (ValueError, RuntimeError):
        return absolute.as_posix()


@dataclass(frozen=True, slots=True)
class FileProgress:
    """How far a file was imported."""

    read: int  # bytes
    source: str  # fingerprint of those bytes


def parse_siblings(header: Mapping[str, object]) -> dict[str, FileProgress]:
    """The other files of a session by shown path, from the header of its transcript."""
    found: dict[str, FileProgress] = {}
    listed = header.get(ALSO_FIELD)
    for each in listed if isinstance(listed, list) else []:
        source, size, path = (*str(each).split(" ", 2), "", "")[:3]
        if path and size.isascii() and size.isdigit():
            found[path] = FileProgress(int(size), source)
    return found


def format_siblings(files: Mapping[str, FileProgress]) -> list[str]:
    """The value of the header field that ``parse_siblings`` reads."""
    return [f"{progress.source} {progress.read} {path}" for path, progress in files.items()]


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
            found = head_fields(head, ("session_id", SOURCE_FIELD, STATE_FIELD, AUTHOR_FIELD))
            session_id, relative = found["session_id"], workspace.relative(path)
            self.transcripts.setdefault(session_id, relative)
            state = read_state(found[STATE_FIELD])
            if state is None:
                continue
            progress = FileProgress(state.read, state.source)
            self.sources[found[SOURCE_FIELD]].append(
                ImportedFile(relative, session_id, progress, state.turns, found[AUTHOR_FIELD])
            )
            if f"\n{ALSO_FIELD}:".encode() in head:
                for shown, each in parse_siblings(dict(locate(head).mapping or {})).items():
                    self.sources[shown].append(ImportedFile(relative, session_id, each, state.turns))
