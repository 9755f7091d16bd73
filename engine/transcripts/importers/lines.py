"""Reads JSON lines from a file that may be huge, broken, packed, or still being written.

What makes a line long is data, such as images in base64, of which a transcript keeps only the size. So from a
limit on, data is dropped while the line is read, and the words beside it are kept. Codex packs a rollout that
is idle for a week.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from engine.errors import ImportFailed
from engine.startup.lazy import expression
from engine.startup.records import dataclass

Record = dict[str, Any]

_LINE_LIMIT = 8 * 1024 * 1024
"""Length in bytes of the longest line read as it is. From longer ones data such as images is dropped; those
that are still longer are skipped and counted."""

_CHUNK = 1024 * 1024
_DECODER = json.JSONDecoder()
_FIRST_KEY = expression(r'\{\s*"[^"\\]*"')
_BLANK = " \t\r\n\0"
_BEFORE_PART = (":", ",", "[")

_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-"
_SHORTEST = 4096
"""Length from which a run of base64 characters is data: nobody writes such a word."""

# The first characters of a run may belong to an escape.
_RUN = expression(
    rb"((?<![\\A-Za-z0-9+/=_-])|\\u[0-9A-Fa-f]{4}|\\[bfnrt/])([A-Za-z0-9+/=_-]{%d,})" % _SHORTEST
)
_MARK = expression(r"\[(\d+) bytes of data\]")

_PACKED = ".zst"

_LARGEST = 2 * 1024**3
_SUSPICIOUS = 64 * 1024**2
_RATIO = 256
"""A file of more than ``_SUSPICIOUS`` bytes that was packed better than this is no log; logs reach 30."""


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
        if path.suffix == _PACKED:
            stream = stack.enter_context(_unpacked(stream, path))
        try:
            yield stream
        except OSError as error:
            raise ImportFailed(
                f"cannot be read ({error.strerror})", where=str(path), hint="check the disk, and try again"
            ) from error


def read_lines(stream: BinaryIO, start: int = 0, *, limit: int = _LINE_LIMIT) -> Iterator[Line]:
    """Yield the lines from an offset on as they are read, keeping at most ``limit`` bytes in memory.

    A last line without a line end is yielded if it is complete JSON, and otherwise left for later: the next
    read starts at the ``end`` of the last line yielded.

    ``stream`` is unbuffered; ``start`` is the offset at which a line begins; lines longer than ``limit``
    bytes are read without data, see ``_LongLine``.
    """
    stream.seek(start)
    line = _LongLine(limit)
    while chunk := stream.read(_CHUNK):
        place = 0
        while (newline := chunk.find(b"\n", place)) >= 0:
            line.add(chunk[place:newline])
            yield _line(start, start + line.size + 1, line.content())
            start += line.size + 1
            line, place = _LongLine(limit), newline + 1
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


class _LongLine:
    """A line that is read in pieces; ``size`` is its number of bytes so far.

    ``limit`` is the size in bytes from which data is dropped, and the largest size without data.
    """

    def __init__(self, limit: int) -> None:
        self.size = 0
        self._limit = limit
        self._held: list[bytes] = []
        self._held_size = 0
        self._end = b""  # what may be the beginning of data, or its end if that is longer
        self._dropped = 0  # bytes of data before ``_end``
        self._is_too_long = False

    def add(self, piece: bytes) -> None:
        """Add the next bytes."""
        before, self.size = self.size, self.size + len(piece)
        if self._is_too_long or not piece:
            return
        if self.size > self._limit >= before:
            piece = b"".join((*self._held, piece))
            self._held.clear()
            self._held_size = 0
        self._hold(self._without_data(piece) if self.size > self._limit else piece)

    def content(self) -> bytes | None:
        """The line so far, with a note instead of data if it is over the limit; ``None`` if it is too long
        even so.
        """
        if self._end:
            end, self._end = self._end, b""
            self._hold(self._noted(end))
        return None if self._is_too_long else b"".join(self._held)

    def _hold(self, piece: bytes) -> None:
        self._held.append(piece)
        self._held_size += len(piece)
        if self._held_size > self._limit:
            self._is_too_long = True
            self._held.clear()

    def _without_data(self, piece: bytes) -> bytes:
        """A piece without data, up to the last run of base64 characters: the next piece may continue it."""
        piece = self._end + piece
        cut = max(len(piece.rstrip(_ALPHABET)) - 1, 0)  # with what stands before the run
        self._end = piece[cut:]
        whole = self._noted(piece[:cut]) if cut else b""
        if cut and self._dropped:
            self._is_too_long = True  # what was dropped turns out not to be data
            return b""
        if len(self._end) > 2 * _SHORTEST:
            self._dropped += len(self._end) - 2 * _SHORTEST
            self._end = self._end[:_SHORTEST] + self._end[-_SHORTEST:]
        return whole

    def _noted(self, piece: bytes) -> bytes:
        """A piece with a note instead of data; dropped data belongs to its first run."""

        def note(found: re.Match[bytes]) -> bytes:
            dropped, self._dropped = self._dropped, 0
            return b"%b[%d bytes of data]" % (found[1], len(found[2]) + dropped)

        return _RUN.sub(note, piece)


def data_length(text: str) -> int:
    """The number of bytes of data in a log's line, which may have been dropped when it was read."""
    noted = _MARK.fullmatch(text)
    return int(noted[1]) if noted else len(text)


def plain_path(path: Path) -> Path:
    """The path that a log had before it was packed; a path of another file is returned as it is."""
    return path.with_suffix("") if path.suffix == _PACKED else path


def _unpacked(stream: BinaryIO, path: Path) -> BinaryIO:
    """Unpack an open file to a nameless temporary one with the same modification time.

    Raises:
        ImportFailed: It is damaged or far larger than a log, or there is no room for it.
    """
    if sys.version_info >= (3, 14):
        from compression import zstd  # noqa: PLC0415 — only for packed logs
    else:
        from backports import zstd  # noqa: PLC0415 — only for packed logs
    packed = os.fstat(stream.fileno())
    left = min(_LARGEST, max(_SUSPICIOUS, packed.st_size * _RATIO))
    plain = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 — the caller closes it
    try:
        with zstd.ZstdFile(stream) as source:
            while chunk := source.read(_CHUNK):
                left -= len(chunk)
                if left < 0:
                    raise ImportFailed(
                        "unpacks to more than a log has", where=str(path), hint="unpack it with zstd -d"
                    )
                plain.write(chunk)
        os.utime(plain.fileno(), ns=(packed.st_atime_ns, packed.st_mtime_ns))
        plain.seek(0)
    except (zstd.ZstdError, EOFError, OSError) as error:
        plain.close()
        why = error.strerror if isinstance(error, OSError) and error.strerror else "it is damaged or cut off"
        raise ImportFailed(f"cannot be unpacked ({why})", where=str(path), hint="try zstd -d") from error
    except ImportFailed:
        plain.close()
        raise
    return plain
