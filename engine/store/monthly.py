"""Append-only logs, one file per month: ``logs/{kind}-YYYY-MM.jsonl`` (design 2).

A record is one JSON object on one line. Records are never changed, so readers skip a line that cannot be
parsed, and read only what was appended since the last time.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import zlib
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from engine.errors import AutopoiesisError, DocumentError
from engine.redaction.detect import without_secrets
from engine.store import descriptors

if TYPE_CHECKING:
    from engine.store.files import Files

LOG_FOLDER = "logs"

_BLOCK = 256 * 1024
_LONGEST_LINE = 1024 * 1024
_TAIL = 1024
_MONTH = r"\d{4}-\d\d\.jsonl"

Record = dict[str, Any]


class MonthStamp(NamedTuple):
    """The state of one month's file."""

    name: str
    """Workspace-relative path."""
    inode: int
    """Its inode, which changes if the file is replaced."""
    size: int
    """Bytes."""
    changed: int
    """Modification time in nanoseconds."""


LogStamp = tuple[MonthStamp, ...]
"""The state of every month's file, oldest first; it changes whenever the log changes."""


class MonthlyLog:
    """Writes and reads one kind of log.

    Args:
        kind: Prefix of the file names; one that ends with a slash is a folder.
        clock: Returns the current time, UTC; determines the month's file.
    """

    def __init__(self, files: Files, kind: str, clock: Callable[[], datetime]) -> None:
        self._files = files
        self._clock = clock
        self._folder, _, name = f"{LOG_FOLDER}/{kind}".rpartition("/")
        self._prefix = f"{name}-" if name else ""
        self._month = re.compile(re.escape(self._prefix) + _MONTH)

    def path(self) -> str:
        """This month's file, workspace-relative."""
        return f"{self._folder}/{self._prefix}{self._clock():%Y-%m}.jsonl"

    def append(self, record: Record) -> None:
        """Append a record to this month's file.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        self._files.append(self.path(), line_of(record))

    def stamp(self) -> LogStamp:
        """The state of its files; costs one ``stat`` per file."""
        found: list[MonthStamp] = []
        if not self._files.workspace.holds(self._folder):
            return ()
        # A folder or file deleted in the meantime counts as missing.
        with contextlib.suppress(OSError), os.scandir(self._files.workspace.root / self._folder) as entries:
            for entry in entries:
                if self._month.fullmatch(entry.name):
                    with contextlib.suppress(OSError):
                        found.append(_stamp(f"{self._folder}/{entry.name}", entry.stat()))
        return tuple(sorted(found))

    def this_month(self) -> MonthStamp | None:
        """The state of this month's file; ``None`` if there is none.

        Raises:
            OSError: It cannot be accessed.
        """
        name = self.path()
        try:
            return _stamp(name, (self._files.workspace.root / name).stat())
        except FileNotFoundError:
            return None

    def records(self) -> Iterator[Record]:
        """Every record, in file order."""
        for file in self._opened(self.stamp()):
            yield from (record for record in map(record_of, file) if record is not None)

    def backwards(
        self,
        most: int | None = None,
        months: int | None = None,
        may_match: Callable[[bytes], bool] | None = None,
    ) -> Iterator[Record]:
        """Records from newest to oldest.

        Args:
            most: Maximum number of bytes read from each file's end; all by default.
            months: Number of newest files read; all by default.
            may_match: Says whether a line may be wanted. Parsing one takes far longer than searching it.
        """
        for file in self._opened(self.stamp()[::-1][:months]):
            lines = filter(may_match, lines_backwards(file.fileno(), most))
            yield from (record for record in map(record_of, lines) if record is not None)

    def added(self, marks: dict[str, Mark], months: int = 0) -> list[bytes]:
        """The complete lines appended since the given marks, by file. Unless it raises, the marks advance.

        Args:
            months: Number of newest files read; all by default.

        Raises:
            AnotherFile: A file read before is gone or was rewritten, or there is a new one before it.
            DocumentError, PathRefused: It cannot be read.
        """
        stamp, found = self.stamp(), list[bytes]()
        if marks.keys() - {month.name for month in stamp}:
            raise AnotherFile
        advanced: dict[str, Mark] = {}
        newest = max(marks, default="")
        for month in stamp[-months:]:
            mark = marks.get(month.name, Mark())
            if not mark.is_of(month):
                if (mark.size == month.size > 0) or (month.name not in marks and month.name < newest):
                    raise AnotherFile
                added = Added(self._files, month, mark)
                found += added
                advanced[month.name] = added.mark
        marks.update(advanced)
        return found

    def _opened(self, months: LogStamp) -> Iterator[BinaryIO]:
        for month in months:
            with (
                contextlib.suppress(AutopoiesisError),
                os.fdopen(open_month(self._files, month.name), "rb", buffering=_BLOCK) as file,
            ):
                yield file


def record_of(line: bytes) -> Record | None:
    """The record on a line; ``None`` if it is not a complete JSON object."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


class Mark(NamedTuple):
    """How far a month's file has been read."""

    end: int = 0
    """Offset after a complete line."""
    tail: int = 0
    """Checksum of the last bytes before the offset, to detect a rewritten file."""
    size: int = 0
    """The file's size at that time."""
    changed: int = 0
    """The file's modification time then, in nanoseconds."""

    def is_of(self, month: MonthStamp) -> bool:
        """Whether the file is unchanged."""
        return (self.size, self.changed) == (month.size, month.changed)


class AnotherFile(Exception):
    """A month's file is not the one read before."""


class Added:
    """The complete lines appended to a month's file since it was read.

    Attributes:
        mark: How far it has been read.
    """

    def __init__(self, files: Files, month: MonthStamp, mark: Mark) -> None:
        self._files = files
        self._month = month
        self.mark = mark

    def __iter__(self) -> Iterator[bytes]:
        """The lines.

        Raises:
            AnotherFile: The part read before has changed.
            DocumentError, PathRefused: It cannot be read.
        """
        end, tail, _, _ = self.mark
        month = self._month
        with os.fdopen(open_month(self._files, month.name), "rb", buffering=_BLOCK) as file:
            if month.size < end or _tail(file.fileno(), end) != tail:
                raise AnotherFile
            file.seek(end)
            for line in file:
                # The last line may be half written; it is read once complete.
                if not line.endswith(b"\n"):
                    break
                end += len(line)
                yield line
            self.mark = Mark(end, _tail(file.fileno(), end), month.size, month.changed)


def mark_of(files: Files, month: MonthStamp) -> Mark:
    """The mark after the last complete line of a file.

    Raises:
        DocumentError, PathRefused: It cannot be read.
    """
    descriptor = open_month(files, month.name)
    try:
        start = max(0, month.size - _LONGEST_LINE)
        end = start + os.pread(descriptor, month.size - start, start).rfind(b"\n") + 1
        return Mark(end, _tail(descriptor, end), month.size, month.changed)
    finally:
        os.close(descriptor)


def marks_in(tree: object) -> dict[str, Mark]:
    """Marks by file, read from JSON.

    Raises:
        ValueError, TypeError, AttributeError: They are damaged.
    """
    return {name: Mark(*map(number_in, mark)) for name, mark in tree.items()}  # type: ignore[attr-defined]


def number_in(value: object) -> int:
    """A number read from JSON.

    Raises:
        ValueError: It is not a number, is negative, or exceeds any file size.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise ValueError
    return value


def text_in(value: object) -> str:
    """A string of a record.

    Raises:
        TypeError: It is not a string.
    """
    if not isinstance(value, str):
        raise TypeError("not a string")
    return value


def whole_in(value: object) -> int:
    """Like ``text_in``, for an integer."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError("not an integer")
    return value


def _stamp(name: str, status: os.stat_result) -> MonthStamp:
    return MonthStamp(name, status.st_ino, status.st_size, status.st_mtime_ns)


def _tail(descriptor: int, end: int) -> int:
    start = max(0, end - _TAIL)
    return zlib.crc32(os.pread(descriptor, end - start, start))


def lines_backwards(descriptor: int, most: int | None = None) -> Iterator[bytes]:
    """The lines of an open file, last one first.

    Args:
        most: Maximum number of bytes read from its end; all by default.
    """
    position = os.fstat(descriptor).st_size
    end = 0 if most is None else max(0, position - most)
    rest = b""
    while position > end:
        size = min(_BLOCK, position - end)
        position -= size
        first, *lines = (os.pread(descriptor, size, position) + rest).split(b"\n")
        yield from (line for line in reversed(lines) if line)
        rest = first if len(first) <= _LONGEST_LINE else b""
    # The text before a block's first line end is an incomplete line.
    if rest and not end:
        yield rest


def open_month(files: Files, relative: str) -> int:
    """A descriptor of one of the log's files.

    Raises:
        DocumentError, PathRefused: It cannot be read.
    """
    workspace = files.workspace
    *parents, name = workspace.resolve(relative).relative_to(workspace.root).parts
    try:
        with descriptors.open_folder(workspace.root, parents) as folder:
            return descriptors.open_file(name, folder, os.O_RDONLY, relative)
    except OSError as error:
        raise DocumentError(
            f"cannot be read ({error.strerror})", where=relative, hint="check its permissions"
        ) from error


def line_of(record: object) -> bytes:
    """A record, or a part of one, as a line of UTF-8 with secrets redacted; lone surrogates become ``?``."""
    text = json.dumps(without_secrets(record), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"
