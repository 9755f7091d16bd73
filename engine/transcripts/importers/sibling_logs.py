"""Reads several log files of one session together, so that nothing is imported twice.

A session's log may be copied, moved with its project, resumed or forked; Codex also keeps archived rollouts.
Records with the same id are the same. Where an earlier file is gone, its turns in the transcript are matched
by speaker, time and content instead.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from engine.errors import ImportFailed
from engine.transcripts.days import moment
from engine.transcripts.importers.lines import Record, opened, read_lines
from engine.transcripts.importers.log import SessionLog
from engine.transcripts.importers.session import START, SessionReader, text_of
from engine.transcripts.importers.state import FileProgress, fingerprint, shown_source
from engine.transcripts.turn import Turn

_CONTEXT_KEYS = frozenset({"sessionId", "cwd", "gitBranch", "version"})
_START = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class MergedLogs:
    """The logs of a session, read as one."""

    turns: tuple[Turn, ...]  # each with its date
    reader: SessionReader
    progress: dict[str, FileProgress]  # of each log, by shown path
    odd: int  # lines that could not be read completely


def read_merged(log: SessionLog, others: Iterable[str]) -> MergedLogs:
    """Read a log together with others of its session: each record once, ordered by time.

    ``others`` are shown paths; files that no longer exist are left out.
    """
    with ExitStack() as stack:
        logs = [log]
        for shown in others:
            path = Path(shown).expanduser()
            with contextlib.suppress(ImportFailed, OSError, ValueError):
                stream = stack.enter_context(opened(path))
                logs.append(SessionLog(log.kind, path, stream))
        return _read(logs)


def _read(logs: Sequence[SessionLog]) -> MergedLogs:
    known: set[str] = set()
    records: list[tuple[datetime, Record]] = []
    progress: dict[str, FileProgress] = {}
    odd = 0
    for log in logs:
        last, end = _START, 0
        for line in read_lines(log.stream):
            for record in line.records:
                last = max(last, moment(record.get("timestamp")) or last)
                key = _record_key(record)
                if key not in known:
                    known.add(key)
                    records.append((last, record))
            odd += line.odd
            end = line.end
        progress[shown_source(log.path)] = FileProgress(end, fingerprint(log.stream, end))
    if len(logs) > 1:
        records.sort(key=lambda each: each[0])
    turns: list[Turn] = []
    reader = logs[0].reader(turns.append, START)
    reader.dates_all = True
    for number, (_, record) in enumerate(records):
        reader.feed(record, number)
    turns += reader.unfinished
    return MergedLogs(tuple(turns), reader, progress, odd)


def _record_key(record: Record) -> str:
    """A record's id, or a hash of its content without the session it belongs to."""
    uuid = text_of(record, "uuid")
    if uuid:
        return uuid
    content = {key: value for key, value in record.items() if key not in _CONTEXT_KEYS}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()
