"""Compares the ledger with the files: lines, conversations, hashes (``knowledge-curation.md`` 4).

People may edit knowledge files, so a missing or changed line is reported but is not damage. A lost or changed
conversation is.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from engine.errors import AutopoiesisError
from engine.knowledge.category_files import entries
from engine.knowledge.item import normalised
from engine.knowledge.ledger import LedgerEntry, LedgerLine
from engine.store.revisions import blobs
from engine.store.sparse import hidden

if TYPE_CHECKING:
    from engine.knowledge.trash import Trash
    from engine.store.files import Files
    from engine.store.repository import Repository

LineState = Literal["there", "edited", "gone"]
"""``there``: unchanged, in its file or another knowledge file. ``edited``: a similar line from the same
conversation is there. ``gone``: neither."""

SourceState = Literal["there", "changed", "in trash", "in history", "lost"]
"""Where the harvested bytes of a conversation are; ``changed``: the file exists only with other content."""

_VERSIONS = 1_000
_AT_ONCE = 50
"""File versions in memory at a time."""


@dataclass(frozen=True, slots=True)
class CheckedLine:
    """A line written by a harvest, and its state."""

    line: LedgerLine
    state: LineState
    path: str = ""  # its file now, workspace-relative; empty if gone
    number: int = 0  # from 1; 0 if gone


@dataclass(frozen=True, slots=True)
class CheckedEntry:
    """A ledger entry compared with the files."""

    sha256: str  # of the conversation's bytes
    entry: LedgerEntry
    source: SourceState
    lines: tuple[CheckedLine, ...]  # in order

    @property
    def sound(self) -> bool:
        """True if nothing was lost: the conversation can be restored, or a person deleted it unharvested."""
        return self.source != "lost" or self.entry.status == "deleted-unharvested"


def verify(
    found: Mapping[str, LedgerEntry], files: Files, trash: Trash, repository: Repository
) -> Iterator[CheckedEntry]:
    """Compares entries, given by SHA-256, with the files."""
    current = _KnowledgeLines(files, repository)
    past = _History(repository, {entry.path.partition("/")[0] for entry in found.values()})
    for sha256, entry in found.items():
        lines = tuple(current.checked(line) for line in entry.lines)
        yield CheckedEntry(sha256, entry, _source(sha256, entry, files, trash, past), lines)


def missing(found: Mapping[str, LedgerEntry], files: Files, repository: Repository) -> tuple[LedgerLine, ...]:
    """Harvested lines that are gone; reads only knowledge files."""
    current = _KnowledgeLines(files, repository)
    lines = [line for entry in found.values() for line in entry.lines]
    return tuple(line for line in lines if current.checked(line).state == "gone")


class _KnowledgeLines:
    """The lines of the knowledge files, read once; from the newest commit for files not checked out here."""

    def __init__(self, files: Files, repository: Repository) -> None:
        self._files = files
        self._repository = repository
        self._lines: dict[str, dict[str, int]] = {}
        self._by_origin: dict[str, dict[tuple[str, str], list[tuple[str, int]]]] = {}

    def checked(self, line: LedgerLine) -> CheckedLine:
        for path in dict.fromkeys((line.path, "knowledge/facts.md", "knowledge/tasks.md")):
            number = self._read(path).get(line.text, 0)
            if number:
                return CheckedLine(line, "there", path, number)
        known = next(iter(entries(f"{line.text}\n".encode("utf-8", "replace"), line.path)), None)
        if known is not None and known.source:
            same = self._by_origin[line.path].get((known.source, known.day), [])
            words = set(normalised(known.text).split())
            near = [(len(words.intersection(text.split())), number) for text, number in same]
            best = max(near, default=(0, 0))
            if best[0] * 2 >= len(words) > 0:
                return CheckedLine(line, "edited", line.path, best[1])
        return CheckedLine(line, "gone")

    def _read(self, path: str) -> dict[str, int]:
        if path not in self._lines:
            data = b""
            with suppress(FileNotFoundError, AutopoiesisError):
                unseen = hidden(self._files.workspace.root, [path])
                data = self._repository.show("HEAD", path) if unseen else self._files.read(path)
            lines = data.decode("utf-8", "replace").split("\n")
            self._lines[path] = {text.rstrip("\r"): number for number, text in enumerate(lines, 1)}
            self._by_origin[path] = {}
            for entry in entries(data, path):
                numbered = normalised(entry.text), entry.number
                self._by_origin[path].setdefault((entry.source, entry.day), []).append(numbered)
        return self._lines[path]


def _source(sha256: str, entry: LedgerEntry, files: Files, trash: Trash, past: _History) -> SourceState:
    try:
        data: bytes | None = files.read(entry.path)
    except (FileNotFoundError, AutopoiesisError):
        data = None
    if data is not None and hashlib.sha256(data).hexdigest() == sha256:
        return "there"
    if trash.content(sha256) is not None:
        return "in trash"
    if past.holds(entry.path, sha256):
        return "in history"
    return "lost" if data is None else "changed"


class _History:
    """The content hashes of files in the history, read once on first use."""

    def __init__(self, repository: Repository, folders: Collection[str]) -> None:
        self._repository = repository
        self._folders = sorted(folders)

    def holds(self, path: str, sha256: str) -> bool:
        """True if a file had this content in some commit."""
        return (path, sha256) in self._versions

    @cached_property
    def _versions(self) -> frozenset[tuple[str, str]]:
        git = self._repository.git
        found: set[tuple[str, str]] = set()
        try:
            if not self._repository.has_commits:
                return frozenset()
            options = ("--format=", "--raw", "--no-abbrev", "--no-renames", "-z", "HEAD")
            listed = git.run("log", *options, paths=self._folders).output.split(b"\0")
            pairs = pairwise(listed)
            named = [
                (os.fsdecode(name), head.split()[3].decode()) for head, name in pairs if head[:1] == b":"
            ]
            for start in range(0, len(named), _AT_ONCE):
                group = named[start : start + _AT_ONCE]
                for (path, _), data in zip(group, blobs(git, [blob for _, blob in group]), strict=True):
                    if data is not None:
                        found.add((path, hashlib.sha256(data).hexdigest()))
        except AutopoiesisError:
            pass  # without a history, nothing is found
        return frozenset(found)


def version_of(repository: Repository, path: str, sha256: str) -> bytes | None:
    """The version of a file with the given hash in the history, if any."""
    try:
        for commit in repository.log(_VERSIONS, path=path):
            try:
                data = repository.show(commit.revision, path)
            except FileNotFoundError:
                continue
            if hashlib.sha256(data).hexdigest() == sha256:
                return data
    except AutopoiesisError:
        return None
    return None
