"""Append-only logs, a file a month: ``logs/{kind}-YYYY-MM.jsonl`` (design 2).

A record is one JSON object on one line. Nothing in a log is ever changed, so a line that cannot be read costs
only itself, and readers pass it over; and of a file that was read before, only what was added since
is read again.
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
    """Its inode; another file under the name has another."""
    size: int
    """Bytes."""
    changed: int
    """Time of its last change, nanoseconds."""


LogStamp = tuple[MonthStamp, ...]
"""The state of every month's file, oldest month first: another log has another stamp."""


class MonthlyLog:
    """Writes and reads one kind of log.

    Args:
        kind: How its files' names begin; one that ends with a slash is a folder of its own.
        clock: Now, UTC; decides which month's file grows.
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
        """Adds a record at the end of this month's file.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        self._files.append(self.path(), line_of(record))

    def stamp(self) -> LogStamp:
        """The state of its files; costs a look at each."""
        found: list[MonthStamp] = []
        if not self._files.workspace.holds(self._folder):
            return ()
        # A folder or file that goes away meanwhile is one that is not there.
        with contextlib.suppress(OSError), os.scandir(self._files.workspace.root / self._folder) as entries:
            for entry in entries:
                if self._month.fullmatch(entry.name):
                    with contextlib.suppress(OSError):
                        found.append(_stamp(f"{self._folder}/{entry.name}", entry.stat()))
        return tuple(sorted(found))

    def last_month(self) -> MonthStamp | None:
        """The state of this month's file; ``None`` where there is none.

        Raises:
            OSError: It cannot be looked at.
        """
        name = self.path()
        try:
            return _stamp(name, (self._files.workspace.root / name).stat())
        except FileNotFoundError:
            return None

    def records(self) -> Iterator[Record]:
        """Every record, in the order of the files."""
        for file in self._opened(self.stamp()):
            yield from (record for record in map(record_of, file) if record is not None)

    def backwards(self, most: int | None = None, months: int | None = None) -> Iterator[Record]:
        """Records from the end of the newest month's file on.

        Args:
            most: Bytes of each file's end that are read; all of it when left out.
            months: Files that are read; all of them when left out.
        """
        for file in self._opened(self.stamp()[::-1][:months]):
            lines = lines_backwards(file.fileno(), most)
            yield from (record for record in map(record_of, lines) if record is not None)

    def added(self, marks: dict[str, Mark], months: int) -> list[bytes]:
        """The whole lines that were added behind some marks, by file, which are moved on.

        Args:
            months: Files that are read, the newest ones.

        Raises:
            AnotherFile: One that was read is gone, or does not begin as it did.
            DocumentError, PathRefused: It cannot be read.
        """
        stamp, found = self.stamp(), list[bytes]()
        if marks.keys() - {month.name for month in stamp}:
            raise AnotherFile
        for month in stamp[-months:]:
            mark = marks.get(month.name, Mark())
            if not mark.is_of(month):
                added = Added(self._files, month, mark)
                found += added
                marks[month.name] = added.mark
        return found

    def _opened(self, months: LogStamp) -> Iterator[BinaryIO]:
        for month in months:
            with (
                contextlib.suppress(AutopoiesisError),
                os.fdopen(open_month(self._files, month.name), "rb", buffering=_BLOCK) as file,
            ):
                yield file


def record_of(line: bytes) -> Record | None:
    """What a line holds; ``None`` when it is not a whole JSON object."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


class Mark(NamedTuple):
    """How far a month's file was read."""

    end: int = 0
    """Behind a whole line."""
    tail: int = 0
    """The checksum of the last bytes before that: a file that was written anew has others."""
    size: int = 0
    """Bytes that the file had then."""
    changed: int = 0
    """Time of its last change then, nanoseconds."""

    def is_of(self, month: MonthStamp) -> bool:
        """Whether the file is as it was."""
        return (self.size, self.changed) == (month.size, month.changed)


class AnotherFile(Exception):
    """A month's file is not the one that was read."""


class Added:
    """The whole lines that a month's file gained since it was read.

    Attributes:
        mark: How far it is read now.
    """

    def __init__(self, files: Files, month: MonthStamp, mark: Mark) -> None:
        self._files = files
        self._month = month
        self.mark = mark

    def __iter__(self) -> Iterator[bytes]:
        """The lines.

        Raises:
            AnotherFile: The file does not begin with what was read of it.
            DocumentError, PathRefused: It cannot be read.
        """
        end, tail, _, _ = self.mark
        month = self._month
        with os.fdopen(open_month(self._files, month.name), "rb", buffering=_BLOCK) as file:
            if month.size < end or _tail(file.fileno(), end) != tail:
                raise AnotherFile
            file.seek(end)
            for line in file:
                # A line may be half written; it is read when it is whole.
                if not line.endswith(b"\n"):
                    break
                end += len(line)
                yield line
            self.mark = Mark(end, _tail(file.fileno(), end), month.size, month.changed)


def mark_of(files: Files, month: MonthStamp) -> Mark:
    """The mark behind the last whole line of a file.

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
    """Marks by file, as they were kept in JSON.

    Raises:
        ValueError, TypeError, AttributeError: They are damaged.
    """
    return {name: Mark(*map(number_in, mark)) for name, mark in tree.items()}  # type: ignore[attr-defined]


def number_in(value: object) -> int:
    """A number as it was kept in JSON.

    Raises:
        ValueError: It is none, or below 0, or no file is that large.
    """
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise ValueError
    return value


def text_in(value: object) -> str:
    """A text of a record.

    Raises:
        TypeError: It is none.
    """
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def whole_in(value: object) -> int:
    """As ``text_in`` for a whole number."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError("no number")
    return value


def list_in(value: object) -> list[Any]:
    """As ``text_in`` for a list."""
    if not isinstance(value, list):
        raise TypeError("no list")
    return value


def _stamp(name: str, status: os.stat_result) -> MonthStamp:
    return MonthStamp(name, status.st_ino, status.st_size, status.st_mtime_ns)


def _tail(descriptor: int, end: int) -> int:
    start = max(0, end - _TAIL)
    return zlib.crc32(os.pread(descriptor, end - start, start))


def lines_backwards(descriptor: int, most: int | None = None) -> Iterator[bytes]:
    """The lines of an open file, from its end on.

    Args:
        most: Bytes of its end that are read; all of it when left out.
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
    # What stands before the first line end of a part is a part of a line.
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
    """A record, or a part of one, as a line of UTF-8 without secrets; lone surrogates become ``?``."""
    text = json.dumps(without_secrets(record), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"
