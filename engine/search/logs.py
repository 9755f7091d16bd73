"""Reads session logs and chats of other programs as turns with line numbers."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from engine.startup.records import dataclass
from engine.transcripts.chats.any import read_chat
from engine.transcripts.importers.lines import read_lines
from engine.transcripts.importers.session import START
from engine.transcripts.turn import Turn

SUFFIX = ".jsonl"


@dataclass(frozen=True, slots=True)
class Log:
    """The contents of a session log."""

    title: str  # the session's name in the log or given by the user, or the first line of the first question
    date: str  # ISO date of its first record; ``""`` if it has none
    turns: tuple[Turn, ...]


def is_log(path: str) -> bool:
    """Whether a file's name marks it as a log."""
    return path.lower().endswith(SUFFIX)


def is_known(data: bytes, path: str) -> bool:
    """Whether a log is in a known format, or still empty."""
    from engine.transcripts.importers.log import kind_of  # noqa: PLC0415 — as in read

    return not data.strip() or kind_of(io.BytesIO(data)) is not None or read_chat(data, path) is not None


def read(data: bytes, path: str) -> Log:
    """Read a log or chat in any known format; other files have no turns. Never raises.

    Args:
        data: The file's bytes; the last line may be incomplete.
    """
    from engine.transcripts.importers.log import SessionLog, kind_of  # noqa: PLC0415 — imports every importer

    stream = io.BytesIO(data)
    kind = kind_of(stream)
    if kind is None:
        chat = read_chat(data, path)
        if chat is None:
            return Log("", "", ())
        turns = tuple(replace(turn, line=max(turn.line, 1)) for turn in chat.turns)
        return Log(chat.title, chat.started[:10], turns)
    log = SessionLog(kind, Path(path), stream)
    found: list[tuple[int, Turn]] = []
    # Until the next turn starts, the checkpoint is where this one started.
    reader = log.reader(lambda turn: found.append((reader.checkpoint.offset, turn)), START)
    for line in read_lines(stream):
        for place, record in enumerate(line.records):
            reader.feed(record, line.start, place)
    found += ((reader.checkpoint.offset, turn) for turn in reader.unfinished)
    return Log(
        reader.topic or reader.question.strip().partition("\n")[0],
        reader.first.date().isoformat() if reader.first else "",
        tuple(_with_lines(found, data)),
    )


def _with_lines(found: list[tuple[int, Turn]], data: bytes) -> Iterator[Turn]:
    counted, line = 0, 1
    for offset, turn in found:
        line += data.count(b"\n", counted, offset)
        counted = offset
        yield replace(turn, line=line)
