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
from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.transcripts.importers.long_line import LongLine
from engine.transcripts.importers.packed import SUFFIX, unpacked

Record = dict[str, Any]

LINE_LIMIT = 8 * 1024 * 1024
"""Length in bytes of the longest line read as it is. From longer ones data such as images is dropped; those
that are still longer are skipped and counted."""

_CHUNK = 1024 * 1024
_DECODER = json.JSONDecoder()
_FIRST_KEY = expression(r'\{\s*"[^"\\]*"')
_BLANK = " \t\r\n\0"
_BEFORE_PART = (":", ",", "[")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log."""

    start: int  # byte offset of its first byte
    end: int  # byte offset after its line end
    records: tuple[Record, ...]  # the JSON objects on it; several if two writers collided or one was torn
    odd: bool  # whether part of it could not be read


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file for reading, unpacked if its name ends with ``.zst``; a pipe or device is refused
    instead of blocking.

    Raises:
        ImportFailed: It is not a regular file, or cannot be opened, unpacked or read.
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
    with contextlib.ExitStack() as stack:
        stream: BinaryIO = stack.enter_context(os.fdopen(descriptor, "rb", buffering=0))
        if path.suffix == SUFFIX:
            stream = stack.enter_context(unpacked(stream, path))
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
    bytes are read without data, see ``LongLine``.
    """
    stream.seek(start)
    line = LongLine(limit)
    while chunk := stream.read(_CHUNK):
        place = 0
        while (newline := chunk.find(b"\n", place)) >= 0:
            line.add(chunk[place:newline])
            yield _line(start, start + line.size + 1, line.content())
            start += line.size + 1
            line, place = LongLine(limit), newline + 1
        line.add(chunk[place:])
    if line.size:
        last = _line(start, start + line.size, line.content())
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
        return Line(start, end, tuple(_whole_objects(data.decode("utf-8", "surrogateescape"))), True)
    if isinstance(value, dict):
        return Line(start, end, (value,), False)
    return Line(start, end, (), True)


def _whole_objects(text: str) -> list[Record]:
    """The JSON objects at the beginning and at the end of a line that is not valid JSON as a whole.

    A program that was interrupted leaves the beginning of a record, or zeros, and no line end; the next
    record is written behind it.
    """
    first: list[Record] = []
    place = 0
    while (found := _object_at(text, place := _next_place(text, place))) is not None:
        first.append(found[0])
        place = found[1]
    torn = _FIRST_KEY.match(text, place)
    last: list[Record] = []
    end = _last_place(text, place, len(text))
    while (start := _start_of_object(text, place, end)) is not None:
        found = _object_at(text, start)
        if found is None or found[1] != end:
            break
        end = _last_place(text, place, start)
        # Here stands a part of the torn record, or a record if that was torn just before one of its parts.
        if text[end - 1 : end] in _BEFORE_PART and torn and not text.startswith(torn[0], start):
            break
        last.append(found[0])
    return first + last[::-1]


def _object_at(text: str, place: int) -> tuple[Record, int] | None:
    """The JSON object that begins at a place, and where it ends."""
    try:
        value, end = _DECODER.raw_decode(text, place)
    except (ValueError, RecursionError):
        return None
    return (value, end) if isinstance(value, dict) else None


def _start_of_object(text: str, floor: int, end: int) -> int | None:
    """Where the JSON object begins that ends at a place; ``None`` if none does."""
    depth = 0
    while end > floor:
        quote = text.rfind('"', floor, end)
        for place in range(end - 1, max(quote, floor - 1), -1):
            depth += (text[place] == "}") - (text[place] == "{")
            if depth <= 0:
                return place if text[place] == "{" else None
        end = quote
        while (end := text.rfind('"', floor, max(end, floor))) > floor and _is_escaped(text, end):
            pass
    return None


def _is_escaped(text: str, place: int) -> bool:
    before = place
    while before and text[before - 1] == "\\":
        before -= 1
    return (place - before) % 2 == 1


def _next_place(text: str, place: int) -> int:
    while place < len(text) and text[place] in _BLANK:
        place += 1
    return place


def _last_place(text: str, floor: int, end: int) -> int:
    while end > floor and text[end - 1] in _BLANK:
        end -= 1
    return end
