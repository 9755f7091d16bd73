"""Sources of files for the compiler: the workspace, or a git revision."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from engine.context.delimiters import outside
from engine.errors import AutopoiesisError, PathRefused
from engine.startup.records import dataclass
from engine.store.conflict_copies import is_used
from engine.store.crypt import LOCKED, is_encrypted
from engine.store.documents import parse
from engine.store.files import Files
from engine.store.paths import shown, split_relative
from engine.store.sparse import hidden
from engine.store.spelling import spelled
from engine.store.yamltext import Mapping

FILE_LIMIT = 1024 * 1024
"""Bytes above which a file is refused as too large for a prompt."""

MEMORY = "knowledge/memory/MEMORY.md"
NO_SUCH_FILE = "no such file"
NOT_HERE = "is not checked out here"
EMPTY = "the file is empty"

_PARSED_FILES = 4096
_PARSED_BYTES = 64 * 1024
_SETTLED_NS = 2_000_000_000

_Status = tuple[int, int, int, int, int]
"""Device, inode, size, modification time and change time, in ns."""


class Source(Protocol):
    """Reads one state of a workspace. Paths are relative, with forward slashes."""

    def read(self, path: str) -> bytes:
        """The bytes of a file.

        Raises:
            FileNotFoundError: There is no such file.
            AutopoiesisError: It is too large, not a regular file, or outside the workspace.
        """

    def list(self, folder: str) -> Sequence[str]:
        """All files in a folder at any depth, sorted; none if it does not exist.

        Hidden files, leftovers of other programs and conflict copies are left out.
        """


class WorkspaceSource:
    """The current workspace on disk.

    Unchanged files are not read again: a confined read takes thirty times as long as reading the file's
    status, and a prompt consists of dozens of files.
    """

    def __init__(self, files: Files) -> None:
        self._files = files
        self._known: dict[str, tuple[_Status, bytes]] = {}

    def read(self, path: str) -> bytes:
        """As ``Source.read``."""
        if not path.isascii():
            path = "/".join(spelled(self._files.workspace.root, path.split("/")))
        status = self._status(path)
        known = self._known.get(path)
        if known is not None and known[0] == status:
            return known[1]
        if status is None and not os.path.lexists(self._files.workspace.root / path):
            raise FileNotFoundError(NOT_HERE if hidden(self._files.workspace.root, [path]) else path)
        data = self._files.read(path, limit=FILE_LIMIT)
        # Another write in the same tick of the file system's clock would not change the status, so only files
        # with older changes are cached.
        is_settled = status is not None and time.time_ns() - max(status[-2:]) > _SETTLED_NS
        if status is not None and is_settled and status == self._status(path) and len(data) <= _PARSED_BYTES:
            if len(self._known) >= _PARSED_FILES:
                self._known.clear()
            self._known[path] = (status, data)
        return data

    def _status(self, path: str) -> _Status | None:
        try:
            found = self._files.workspace.root.joinpath(path).stat()
        except (OSError, ValueError):
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def list(self, folder: str) -> Sequence[str]:
        """As ``Source.list``; symlinked folders are not entered."""
        root = self._files.workspace.root
        try:
            start = self._files.workspace.resolve(folder)
        except AutopoiesisError:
            return ()
        found: list[str] = []
        for place, folders, names in os.walk(start):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            relative = Path(place).relative_to(root).as_posix()
            found.extend(f"{relative}/{name}" for name in names if not name.startswith(".") and is_used(name))
        return sorted(found)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A file prepared for a prompt."""

    path: str
    header: Mapping  # never part of the prompt
    text: str  # the body, safe, without surrounding blank lines
    first_line: int  # 1-based line of the file on which ``text`` starts


class ParsedFiles:
    """A cache of parsed files by path and content."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, bytes], tuple[Loaded, tuple[str, ...]]] = OrderedDict()

    def get(self, path: str, data: bytes) -> tuple[Loaded, tuple[str, ...]]:
        """The file prepared for a prompt, and its problems, one line each."""
        key = (path, sha256(data).digest())
        known = self._known.get(key)
        if known is not None:
            self._known.move_to_end(key)
            return known
        document = parse(data, path)
        body = document.body.rstrip()
        text = body.lstrip("\n")
        loaded = Loaded(path, document.header, outside(text), document.body_line + len(body) - len(text))
        entry = loaded, tuple(map(str, document.problems))
        if len(data) <= _PARSED_BYTES:
            self._known[key] = entry
            if len(self._known) > _PARSED_FILES:
                self._known.popitem(last=False)
        return entry


class Reader:
    """Reads files for one compile, each once, and records problems.

    Attributes:
        problems: One line for each problem.
        refused: By path, why an existing file was not used.
        untouched: Files left out because they are unchanged from the starter workspace.
    """

    def __init__(self, source: Source, parsed: ParsedFiles) -> None:
        self._source = source
        self._parsed = parsed
        self._seen: dict[str, Loaded | None] = {}
        self.problems: list[str] = []
        self.refused: dict[str, str] = {}
        self.untouched: list[str] = []

    def list(self, folder: str) -> Sequence[str]:
        """As ``Source.list``."""
        return self._source.list(folder)

    def load(self, path: str) -> Loaded | None:
        """A file; ``None`` if it is missing, which is not a problem, or refused, which is."""
        if path not in self._seen:
            self._seen[path] = self._load(path)
        return self._seen[path]

    def usable(self, path: str, *, main_session: bool) -> tuple[Loaded | None, str]:
        """A listed file with text, or the reason why it is unusable."""
        if is_memory(path) and not main_session:
            return None, "MEMORY.md is only for the main session"
        loaded = self.load(path)
        if loaded is None:
            return None, self.refused.get(path, NO_SUCH_FILE)
        return (loaded, "") if loaded.text else (None, EMPTY)

    def refuse(self, path: str, what: str) -> None:
        """Records that a file is not used."""
        self.refused[path] = what
        self.problems.append(f"{shown(path)}: {what}")

    def _load(self, path: str) -> Loaded | None:
        try:
            split_relative(path)
            data = self._source.read(path)
        except FileNotFoundError as error:
            if error.args == (NOT_HERE,):
                self.refused[path] = NOT_HERE
            return None
        except AutopoiesisError as error:
            self.refuse(path, f"{error.what}; {error.hint}" if error.hint else error.what)
            return None
        if len(data) > FILE_LIMIT:
            self.refuse(path, f"is larger than {FILE_LIMIT // 1024} KiB; subscribe to an excerpt of it")
            return None
        if b"\0" in data:
            self.refuse(path, LOCKED if is_encrypted(data) else "is a binary file")
            return None
        loaded, problems = self._parsed.get(path, data)
        self.problems.extend(problems)
        return loaded


def is_memory(path: str) -> bool:
    """Whether a path is MEMORY.md, ignoring case."""
    return path.lower() == MEMORY.lower()


def plain_path(path: str) -> str:
    """A normalized path (``a/b`` for ``./a//b``); invalid paths are returned unchanged."""
    try:
        return "/".join(split_relative(path.strip()))
    except PathRefused:
        return path
