"""Append-only logs of one kind, a file a month: ``logs/{kind}-YYYY-MM.jsonl`` (design 2).

A record is one JSON object on one line. Nothing in a log is ever changed, so a line that cannot be read costs
only itself, and whoever reads passes it over.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.errors import AutopoiesisError, DocumentError
from engine.redaction.detect import without_secrets
from engine.store import descriptors

if TYPE_CHECKING:
    from engine.store.files import Files

LOG_FOLDER = "logs"

_BLOCK = 256 * 1024
_LONGEST_LINE = 1024 * 1024

Record = dict[str, Any]


class MonthStamp(NamedTuple):
    """The state of one month's file.

    Attributes:
        name: Workspace-relative path.
        inode: Its inode; another file under the name has another.
        size: Bytes.
        changed: Time of its last change, nanoseconds.
    """

    name: str
    inode: int
    size: int
    changed: int


class MonthlyLog:
    """Writes and reads one kind of log.

    Args:
        files: The workspace's write path.
        kind: How its files' names begin.
        clock: Now, UTC; decides which month's file grows.
    """

    def __init__(self, files: Files, kind: str, clock: Callable[[], datetime]) -> None:
        self._files = files
        self._kind = kind
        self._clock = clock
        self._month = re.compile(rf"{re.escape(kind)}-\d{{4}}-\d\d\.jsonl")

    def append(self, record: Record) -> None:
        """Adds a record at the end of this month's file.

        Raises:
            WriteFailed, ReadOnly: It was not recorded.
        """
        self._files.append(f"{LOG_FOLDER}/{self._kind}-{self._clock():%Y-%m}.jsonl", line_of(record))

    def stamp(self) -> tuple[MonthStamp, ...]:
        """The state of every month's file, oldest month first; costs a look at each."""
        found: list[MonthStamp] = []
        if not self._files.workspace.holds(LOG_FOLDER):
            return ()
        try:
            with os.scandir(self._files.workspace.root / LOG_FOLDER) as entries:
                for entry in entries:
                    if self._month.fullmatch(entry.name) and entry.is_file():
                        status = entry.stat()
                        name = f"{LOG_FOLDER}/{entry.name}"
                        found.append(MonthStamp(name, status.st_ino, status.st_size, status.st_mtime_ns))
        except OSError:
            # A folder or file that goes away meanwhile is one that is not there.
            return tuple(sorted(found))
        return tuple(sorted(found))

    def records(self) -> Iterator[Record]:
        """Every record, in the order of the files."""
        for month in self.stamp():
            try:
                descriptor = open_month(self._files, month.name)
            except AutopoiesisError:
                continue
            with os.fdopen(descriptor, "rb", buffering=_BLOCK) as file:
                for line in file:
                    record = record_of(line)
                    if record is not None:
                        yield record

    def backwards(self, most: int | None = None, months: int | None = None) -> Iterator[Record]:
        """Records from the end of the newest month's file on.

        Args:
            most: Bytes of each file's end that are read; all of it when left out.
            months: Files that are read; all of them when left out.
        """
        for month in self.stamp()[::-1][:months]:
            try:
                descriptor = open_month(self._files, month.name)
            except AutopoiesisError:
                continue
            try:
                for line in _lines_backwards(descriptor, most):
                    record = record_of(line)
                    if record is not None:
                        yield record
            finally:
                os.close(descriptor)


def record_of(line: bytes) -> Record | None:
    """What a line holds; ``None`` when it is no whole JSON object."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _lines_backwards(descriptor: int, most: int | None) -> Iterator[bytes]:
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
            f"cannot be read ({error.strerror})", where=relative, cure="check its permissions"
        ) from error


def line_of(record: object) -> bytes:
    """A record, or a part of one, as a line of UTF-8 without secrets; lone surrogates become ``?``."""
    text = json.dumps(without_secrets(record), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"
