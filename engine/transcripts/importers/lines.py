"""Reads JSON lines from a file that may be huge, broken, or still being written."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from engine.errors import ImportFailed
from engine.startup.records import dataclass

Record = dict[str, Any]

LINE_LIMIT = 8 * 1024 * 1024
"""Length in bytes of the longest line read; longer ones are skipped and counted."""

_CHUNK = 1024 * 1024
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log."""

    start: int  # byte offset of its first byte
    end: int  # byte offset after its line end
    records: tuple[Record, ...]  # the JSON objects on it; several if two writers collided
    odd: bool  # whether part of it could not be read


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file for reading; a pipe or device is refused instead of blocking.

    Raises:
        ImportFailed: It is not a regular file, or cannot be opened or read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise ImportFailed(
            f"cannot be opened ({error.strerror})", where=str(path), hint="check the path and its permissions"
        ) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ImportFailed(
            "is not a regular file", where=str(path), hint="give the path of a session's .jsonl file"
        )
    with os.fdopen(descriptor, "rb", buffering=0) as stream:
        try:
            yield stream
        except OSError as error:
            raise ImportFailed(
                f"cannot be read ({error.strerror})", where=str(path), hint="check the disk, and try again"
            ) from error


def read_lines(stream: BinaryIO, start: int = 0, *, limit: int = LINE_LIMIT) -> Iterator[Line]:
    """Yield the lines from an offset on as they are read, keeping at most ``limit`` bytes in memory.

    A last line without a line end is yielded if it is complete JSON, and otherwise left for later: the next
    read starts at the ``end`` of the last line yielded.

    ``stream`` is unbuffered; ``start`` is the offset at which a line begins; lines longer than ``limit``
    bytes are not read.
    """
    stream.seek(start)
    held: list[bytes] = []
    size = 0
    while chunk := stream.read(_CHUNK):
        place = 0
        while (newline := chunk.find(b"\n", place)) >= 0:
            size += newline - place
            whole = None if size > limit else b"".join((*held, chunk[place:newline]))
            yield _line(start, start + size + 1, whole)
            start += size + 1
            held.clear()
            size, place = 0, newline + 1
        size += len(chunk) - place
        if size <= limit:
            held.append(chunk[place:])
        else:
            held.clear()
    if held:
        last = _line(start, start + size, b"".join(held))
        if not last.odd and last.records:
            yield last


def _line(start: int, end: int, data: bytes | None) -> Line:
    if data is None:
        return Line(start, end, (), True)
    if not data.strip():
        return Line(start, end, (), False)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        records = tuple(_leading_objects(data.decode("utf-8", "surrogateescape")))
        return Line(start, end, records, True)
    if isinstance(value, dict):
        return Line(start, end, (value,), False)
    return Line(start, end, (), True)


def _leading_objects(text: str) -> Iterator[Record]:
    """The JSON objects at the beginning of a text that is not valid JSON as a whole."""
    place = 0
    while place < len(text):
        try:
            value, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            return
        if isinstance(value, dict):
            yield value
        place = end
        while place < len(text) and text[place].isspace():
            place += 1
