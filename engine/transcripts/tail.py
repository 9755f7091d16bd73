"""Follows a conversation file while another program writes it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO

from engine.errors import ImportFailed
from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.store.header import BOM, locate
from engine.transcripts.chats.any import read_chat, read_text
from engine.transcripts.escape import Fences
from engine.transcripts.format import parse
from engine.transcripts.importers.lines import opened, read_lines
from engine.transcripts.importers.session import START, SessionReader
from engine.transcripts.turn import Turn

_MARK_BYTES = 512
_BLOCK = 1024 * 1024
_DATED_HEADING = expression(rb"\n##[ \t]+(\d{4}-\d\d-\d\d)[ \t]")
_TURN_HEADING = expression(rb"^##[ \t]+(?:\d{4}-\d\d-\d\d[ \t]+)?\d{1,2}:\d\d\b", re.MULTILINE)
_EDGE = 32
_READ_LIMIT = 64 * 1024 * 1024


@dataclass(slots=True)
class _ReadState:
    """How much of the file has been read."""

    inode: tuple[int, int] = (0, 0)  # device and inode
    size: int = -1  # bytes; -1 before the first read
    mtime_ns: int = 0
    stable: int = 0  # byte offset at which the next read starts
    mark: bytes = b""  # the bytes before ``stable``, unchanged if the file has only grown
    turns: int = 0  # number of turns before ``stable``
    lines: int = 0  # number of lines before ``stable``


class Tail:
    """The turns of one growing conversation file, and which of them are new.

    Markdown and text are re-read from the beginning of the last turn, agents' JSONL from the first unread
    byte. A file that was truncated, replaced or edited further up is read again from its beginning; then only
    turns that differ from the known ones count as new, or all of them if it is a new conversation. A last
    line without a line end waits for it, or until the file has not changed for ``settle_s``, so that no
    partial line or character is ever read.

    Args:
        path: The file, which need not exist yet.
        settle_s: Seconds after which an unfinished last line is read as it is.
        clock: Returns seconds since the epoch.
        window: Maximum number of bytes of a Markdown or text file to read at first: of a longer one, only the
            end is read, from a turn's heading on. ``None`` reads everything.

    Attributes:
        first: Number of the first turn read: 0, or the number of headings before the window.
        turns: The turns read so far, from that one on.
        day: The last date in a heading before the first turn read; empty if there is none.
        waiting: Whether the next call must read the file even if it has not changed.
    """

    def __init__(
        self,
        path: Path,
        *,
        settle_s: float = 2.0,
        clock: Callable[[], float] = time.time,
        window: int | None = None,
    ) -> None:
        self.path = path
        self.first = 0
        self.turns: list[Turn] = []
        self.day = ""
        self.waiting = False
        self._window = window
        self._settle_s = settle_s
        self._clock = clock
        self._seen = _ReadState()
        self._log: SessionReader | None = None
        self._finished: list[Turn] = []

    def read_new(self) -> list[int]:
        """Numbers of the turns that are new or changed since the last call; empty if the file is gone or
        unreadable."""
        try:
            with opened(self.path) as stream:
                return self._read(stream)
        except (ImportFailed, OSError):
            return []

    def _read(self, stream: BinaryIO) -> list[int]:
        status = os.fstat(stream.fileno())
        inode, seen = (status.st_dev, status.st_ino), self._seen
        is_same = (inode, status.st_size, status.st_mtime_ns) == (seen.inode, seen.size, seen.mtime_ns)
        if is_same and not self.waiting:
            return []
        previous = seen.inode
        is_continued = seen.size >= 0 and inode == seen.inode and status.st_size >= seen.stable
        if not is_continued or _bytes_before(stream, seen.stable) != seen.mark:
            self._seen = seen = _ReadState()
            self._log = None
            self._enter_window(stream, status.st_size)
        first, lines = seen.turns, seen.lines
        is_log = self.path.suffix.lower() == ".jsonl"
        turns = self._log_turns(stream) if is_log else self._text_turns(stream, status.st_mtime)
        if inode != previous and len(turns) < len(self.turns):
            # Another file with the same name and fewer turns is a different conversation.
            self.turns.clear()
        seen.inode, seen.size, seen.mtime_ns = inode, status.st_size, status.st_mtime_ns
        seen.mark = _bytes_before(stream, seen.stable)
        place = first - self.first
        known = self.turns[place:]
        self.turns[place:] = (replace(turn, line=turn.line + lines) if turn.line else turn for turn in turns)
        return [
            ordinal
            for ordinal, (turn, before) in enumerate(zip_longest(self.turns[place:], known), first)
            if turn is not None and turn != before
        ]

    def _enter_window(self, stream: BinaryIO, size: int) -> None:
        """Start near the end of a file that is too long to be read completely."""
        is_long = self._window is not None and size > self._window and self.path.suffix.lower() != ".jsonl"
        start = _window_start(stream, size - (self._window or 0)) if is_long else 0
        turns, lines, self.day = _headings_before(stream, start)
        if turns != self.first:
            self.first = turns
            self.turns.clear()
        self._seen.stable, self._seen.turns, self._seen.lines = start, turns, lines

    def _text_turns(self, stream: BinaryIO, mtime: float) -> Sequence[Turn]:
        seen = self._seen
        stream.seek(seen.stable)
        data, is_cut = _read_rest(stream)
        self.waiting = is_cut
        # A clock that was set back, or a file server's clock that is ahead, must not make us wait forever.
        is_fresh = abs(self._clock() - mtime) < self._settle_s
        if not data.endswith(b"\n") and (is_cut or is_fresh):
            self.waiting = bool(data)
            data = data[: data.rfind(b"\n") + 1]
        if not seen.stable and is_fresh and _is_half_a_header(data):
            self.waiting = True
            return ()
        turns = parse(data, self.path.name).turns
        if not seen.stable and not any(turn.line for turn in turns):
            # In another program's chat, a later line may tell who spoke an earlier one, so read all of it.
            return read_text(data, self.path.name).turns
        if turns and turns[-1].line > 1:
            heading = len(data) - len(data.split(b"\n", turns[-1].line - 1)[-1])
            # Below a fence that is not closed yet, an apparent heading may turn out to be code; and a line
            # without a line end may go on and be none.
            above = data[:heading].decode("utf-8", "replace").replace("\r\n", "\n")
            if b"\n" in data[heading:] and not Fences(above).any_open():
                seen.stable += heading
                seen.turns += len(turns) - 1
                seen.lines += turns[-1].line - 1
        return turns

    def _log_turns(self, stream: BinaryIO) -> Sequence[Turn]:
        self.waiting = False
        if self._log is None:
            from engine.transcripts.importers.log import SessionLog, kind_of  # noqa: PLC0415 — brings them all

            kind = kind_of(stream)
            if kind is None:
                stream.seek(0)
                chat = read_chat(_read_rest(stream)[0], self.path.name)
                return chat.turns if chat else ()
            self._log = SessionLog(kind, self.path, stream).reader(self._finished.append, START)
        self._finished.clear()
        for line in read_lines(stream, self._seen.stable):
            for place, record in enumerate(line.records):
                self._log.feed(record, line.start, place)
            self._seen.stable = line.end
        self._seen.turns += len(self._finished)
        return [*self._finished, *self._log.unfinished]


def _is_half_a_header(data: bytes) -> bool:
    first, _, rest = data.removeprefix(BOM).partition(b"\n")
    return first.rstrip() == b"---" and locate(data).mapping is None and b"\n---" not in b"\n" + rest


def _read_rest(stream: BinaryIO) -> tuple[bytes, bool]:
    """Read the rest of a file up to a limit; also return whether there is more."""
    chunks = []
    total = 0
    while chunk := stream.read(1024 * 1024):
        chunks.append(chunk)
        total += len(chunk)
        if total > _READ_LIMIT:
            return b"".join(chunks), True
    return b"".join(chunks), False


def _window_start(stream: BinaryIO, offset: int) -> int:
    """Byte offset of the first turn heading after ``offset``; 0 if there is none."""
    stream.seek(offset)
    found = _TURN_HEADING.search(stream.read())
    return offset + found.start() if found else 0


def _headings_before(stream: BinaryIO, end: int) -> tuple[int, int, str]:
    """Number of second-level headings and of lines before an offset, and the last date in a heading."""
    headings = lines = position = 0
    day = ""
    last = edge = b"\n"
    stream.seek(0)
    while position < end:
        block = stream.read(min(_BLOCK, end - position))
        if not block:
            break
        position += len(block)
        # The bytes kept from the previous block are too few to contain a complete heading mark.
        headings += (last + block).count(b"\n## ")
        lines += block.count(b"\n")
        last = block[-3:]
        for found in _DATED_HEADING.finditer(edge + block):
            day = found[1].decode()
        edge = block[-_EDGE:]
    return headings, lines, day


def _bytes_before(stream: BinaryIO, end: int) -> bytes:
    """The last bytes before an offset."""
    start = max(end - _MARK_BYTES, 0)
    stream.seek(start)
    return stream.read(end - start)
