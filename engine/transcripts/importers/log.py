"""The session logs of agents: the folders they are in, and each as a file to read from any checkpoint on."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO, Literal

from engine.startup.records import dataclass
from engine.store.paths import valid_session_id
from engine.transcripts.importers import claude_code, codex
from engine.transcripts.importers.lines import plain_path, read_lines
from engine.transcripts.importers.session import Checkpoint, SessionReader, object_of
from engine.transcripts.importers.state import ImportState, fingerprint
from engine.transcripts.secrets import clean_turn
from engine.transcripts.turn import Turn

Kind = Literal["claude-code", "codex"]

_UUID_AT_END = re.compile(
    r"(?:^|-)([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$", re.IGNORECASE
)

LINES_CHECKED = 50
"""Lines by which a log is recognized."""
_OTHER_FORMATS = frozenset({"projectHash", "messages", "messageId", "display"})

_FOLDERS: dict[Kind, tuple[str, str, str]] = {
    "claude-code": ("CLAUDE_CONFIG_DIR", ".claude", "projects"),
    "codex": ("CODEX_HOME", ".codex", "sessions"),
}
"""Each agent's environment variable, default folder in the home folder, and log folder below that."""


def kind_of(stream: BinaryIO) -> Kind | None:
    """Which agent wrote a log, judged by its first lines; ``None`` if they do not tell."""
    for number, line in enumerate(read_lines(stream)):
        for record in line.records:
            if codex.looks_like(record):
                return "codex"
            if "parts" in object_of(record, "message") or "systemPayload" in record:
                return None  # Qwen Code, whose other records look like those of Claude Code
            # Gemini CLI, prompt histories and exports of whole conversations have session ids too.
            if claude_code.looks_like(record) and not _OTHER_FORMATS & record.keys():
                return "claude-code"
        if number == LINES_CHECKED:
            break
    return None


def id_in_name(path: Path) -> str:
    """The session id in a log's file name; empty if there is none."""
    named = _UUID_AT_END.search(plain_path(path).stem)
    return named[1].lower() if named else ""


@dataclass(frozen=True, slots=True)
class SessionLog:
    """An open session log."""

    kind: Kind  # the agent that wrote it
    path: Path
    stream: BinaryIO  # unbuffered
    redact: bool = False  # whether likely secrets are redacted in the transcript

    def session_id(self) -> str:
        """The session's id: from the file name, which the agent derives from it, or else from the lines."""
        if named := id_in_name(self.path):
            return named
        reader = self.reader(lambda turn: None, Checkpoint())
        for line in read_lines(self.stream):
            for record in line.records:
                reader.feed(record, line.start)
            if reader.session_id:
                break
        if not reader.session_id or valid_session_id(reader.session_id):
            return reader.session_id
        return f"{self.kind}-{hashlib.sha256(reader.session_id.encode('utf-8', 'replace')).hexdigest()[:16]}"

    def read(self, since: Checkpoint, finished: Callable[[Turn], None]) -> SessionReader:
        """Read everything from a checkpoint on.

        ``finished`` is called with each turn before the last one, in order; the turns are not kept in memory.
        """
        reader = self.reader(finished, since)
        self._recall(reader, since)
        reader.resume(lambda offset: next((line.records for line in read_lines(self.stream, offset)), ()))
        for line in read_lines(self.stream, since.offset):
            for place, record in enumerate(line.records):
                if line.start == since.offset and place < since.skip:
                    reader.remember(record, line.start)
                else:
                    reader.feed(record, line.start, place)
            reader.odd += line.odd
            reader.end = line.end
        return reader

    def clean(self, turn: Turn) -> Turn:
        """A turn as it is written to the transcript."""
        return clean_turn(turn) if self.redact else turn

    def continues(self, state: ImportState) -> bool:
        """Whether the log still begins with what was already imported."""
        return self.size >= state.read and fingerprint(self.stream, state.read) == state.source

    @property
    def size(self) -> int:
        """Current size of the log in bytes."""
        return os.fstat(self.stream.fileno()).st_size

    @property
    def written(self) -> float:
        """Modification time of the log in seconds since the epoch."""
        return os.fstat(self.stream.fileno()).st_mtime

    def reader(self, finished: Callable[[Turn], None], since: Checkpoint) -> SessionReader:
        """Create a reader for this kind of log."""
        if self.kind == "claude-code":
            return claude_code.ClaudeCodeReader(finished, since)
        by_events = codex.dialogue_is_in_events(self.stream)
        parents = () if since.offset else codex.parents_records(self.stream, self.path)
        return codex.CodexReader(finished, since, by_events=by_events, parents=parents)

    def _recall(self, reader: SessionReader, since: Checkpoint) -> None:
        """Let the reader recognize repetitions of records from shortly before the checkpoint."""
        start = max(since.offset - reader.memory_bytes, 0)
        if start >= since.offset:
            return
        self.stream.seek(max(start - 1, 0))
        is_whole = start == 0 or self.stream.read(1) == b"\n"
        for line in read_lines(self.stream, start):
            if line.start >= since.offset:
                break
            for record in line.records if is_whole else ():
                reader.remember(record, line.start)
            is_whole = True


def agent_folders(
    kind: Kind,
    named: Path | None = None,
    *,
    home: Path | None = None,
    variables: Mapping[str, str] = os.environ,
) -> tuple[Path, ...]:
    """An agent's folders, the usual one first; they need not exist.

    Its variable may name several, separated by commas, as other readers of the logs have it. Without one,
    some versions of Claude Code use ``~/.config/claude``, which counts if it exists.

    Args:
        named: The folder or folders to use instead; ``None`` for those of the variable.
        home: The person's home folder.
    """
    variable, name, _ = _FOLDERS[kind]
    home = home or Path.home()
    told = str(named or "") or variables.get(variable, "")
    parts = [Path(part.strip()).expanduser() for part in told.split(",") if part.strip()]
    if len(parts) > 1 and (whole := Path(told).expanduser()).is_dir():
        # Claude Code itself takes it for one folder.
        return (whole, *(part for part in parts if part.is_dir()))
    if parts:
        return tuple(dict.fromkeys(parts))
    other = Path(variables.get("XDG_CONFIG_HOME") or home / ".config") / "claude"
    return (home / name, other) if kind == "claude-code" and other.is_dir() else (home / name,)


def log_folders(kind: Kind, named: Path | None = None) -> tuple[Path, ...]:
    """The folders below which an agent keeps its session logs; see ``agent_folders``."""
    return tuple(folder / _FOLDERS[kind][2] for folder in agent_folders(kind, named))
