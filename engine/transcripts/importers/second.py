"""Another file of a session that has a transcript: what the transcript lacks is put in, and nothing twice.

A session's log is copied, moved with its project, resumed or forked; Codex keeps archived rollouts beside the
others. Records say by their ids which of them are the same. Where an earlier file is gone, its turns in the
transcript do, by speaker, time and words.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from engine.errors import ImportFailed
from engine.transcripts.days import moment
from engine.transcripts.importers.lines import Record, opened, read_lines
from engine.transcripts.importers.log import SessionLog
from engine.transcripts.importers.session import START, SessionReader, text_of
from engine.transcripts.importers.state import fingerprint, shown_source
from engine.transcripts.turn import Turn

ALSO_FIELD = "also_imported_from"
"""The header field that lists further files of the session: fingerprint, bytes read and path of each."""

_SURROUNDINGS = frozenset({"sessionId", "cwd", "gitBranch", "version"})
_START = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Taken:
    """How far a file was taken in."""

    read: int  # bytes of it
    source: str  # fingerprint of these


def also_taken(header: Mapping[str, object]) -> dict[str, Taken]:
    """The further files of a session by path as it is shown, as the header of its transcript lists them."""
    found: dict[str, Taken] = {}
    listed = header.get(ALSO_FIELD)
    for each in listed if isinstance(listed, list) else []:
        source, size, path = (*str(each).split(" ", 2), "", "")[:3]
        if path and size.isascii() and size.isdigit():
            found[path] = Taken(int(size), source)
    return found


def also_written(files: Mapping[str, Taken]) -> list[str]:
    """The value of the field that ``also_taken`` reads."""
    return [f"{taken.source} {taken.read} {path}" for path, taken in files.items()]


@dataclass(frozen=True, slots=True)
class Union:
    """The logs of a session read as one."""

    turns: tuple[Turn, ...]  # each with its date
    reader: SessionReader
    taken: dict[str, Taken]  # how far each log was read, by path as it is shown
    odd: int  # lines that could not be read whole


def read_together(log: SessionLog, others: Iterable[str]) -> Union:
    """A log and further ones of its session, each record once, in the order of their times.

    ``others`` are paths as they are shown; one that is gone is left out.
    """
    with ExitStack() as stack:
        logs = [log]
        for shown in others:
            path = Path(shown).expanduser()
            with contextlib.suppress(ImportFailed, OSError, ValueError):
                stream = stack.enter_context(opened(path))
                logs.append(SessionLog(log.kind, path, stream))
        return _read(logs)


def _read(logs: Sequence[SessionLog]) -> Union:
    known: set[str] = set()
    records: list[tuple[datetime, Record]] = []
    taken: dict[str, Taken] = {}
    odd = 0
    for log in logs:
        last, end = _START, 0
        for line in read_lines(log.stream):
            for record in line.records:
                last = max(last, moment(record.get("timestamp")) or last)
                name = _name(record)
                if name not in known:
                    known.add(name)
                    records.append((last, record))
            odd += line.odd
            end = line.end
        taken[shown_source(log.path)] = Taken(end, fingerprint(log.stream, end))
    if len(logs) > 1:
        records.sort(key=lambda each: each[0])
    turns: list[Turn] = []
    reader = logs[0].reader(turns.append, START)
    reader.dates_all = True
    for number, (_, record) in enumerate(records):
        reader.feed(record, number)
    turns += reader.unfinished
    return Union(tuple(turns), reader, taken, odd)


def _name(record: Record) -> str:
    """What identifies a record: its id, or else all of it but the session it stands in."""
    uuid = text_of(record, "uuid")
    if uuid:
        return uuid
    said = {key: value for key, value in record.items() if key not in _SURROUNDINGS}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()
