"""A session log as a file: read from any checkpoint on."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Literal

from engine.startup.records import dataclass
from engine.store.paths import valid_session_id
from engine.transcripts.importers import claude_code, codex
from engine.transcripts.importers.lines import read_lines
from engine.transcripts.importers.session import Checkpoint, SessionReader
from engine.transcripts.importers.state import ImportState, fingerprint
from engine.transcripts.turn import Turn

Kind = Literal["claude-code", "codex"]

_UUID_AT_END = re.compile(
    r"(?:^|-)([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$", re.IGNORECASE
)


_LOOK_AT = 50
_WHOLE = frozenset({"projectHash", "messages", "messageId"})


def kind_of(stream: BinaryIO) -> Kind | None:
    """Whose log a file is, by its first lines; ``None`` while they do not tell."""
    for number, line in enumerate(read_lines(stream)):
        for record in line.records:
            if codex.looks_like(record):
                return "codex"
            # Gemini CLI's sessions and exports of whole conversations have session ids as well.
            if claude_code.looks_like(record) and not _WHOLE & record.keys():
                return "claude-code"
        if number == _LOOK_AT:
            break
    return None


@dataclass(frozen=True, slots=True)
class SessionLog:
    """An open session log."""

    kind: Kind  # whose it is
    path: Path
    stream: BinaryIO  # unbuffered
    redact: bool = False  # whether what looks like a secret is taken out of what is written of it

    def session_id(self) -> str:
        """The session's id: from the log's name, which the agent makes from it, or else from its lines."""
        named = _UUID_AT_END.search(self.path.stem)
        if named:
            return named[1].lower()
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
        """Everything from a checkpoint on.

        ``finished`` is called with each turn before the last one, in order; none of them is held.
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

    def holds(self, state: ImportState) -> bool:
        """Whether the log still begins with what was imported."""
        return self.size >= state.read and fingerprint(self.stream, state.read) == state.source

    @property
    def size(self) -> int:
        """Bytes of the log now."""
        return os.fstat(self.stream.fileno()).st_size

    @property
    def written(self) -> float:
        """When the log was last written, in seconds since the epoch."""
        return os.fstat(self.stream.fileno()).st_mtime

    def reader(self, finished: Callable[[Turn], None], since: Checkpoint) -> SessionReader:
        """A reader for this kind of log."""
        if self.kind == "claude-code":
            return claude_code.ClaudeCodeReader(finished, since)
        by_events = codex.tells_dialogue_as_events(self.stream)
        return codex.CodexReader(finished, since, by_events=by_events)

    def _recall(self, reader: SessionReader, since: Checkpoint) -> None:
        """Let the reader recognise what is repeated from shortly before the checkpoint."""
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
