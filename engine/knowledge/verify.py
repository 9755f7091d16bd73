"""Whether what the ledger says is still so: lines, conversations, hashes (``knowledge-curation.md`` 4).

A person may edit every knowledge file, so a line that is gone or changed is reported but not damage. A
conversation that is lost, or whose bytes have changed, is.
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
"""``there``: word for word, in its file or another of knowledge's. ``edited``: a line of the same
conversation stands there with other words. ``gone``: nothing of that conversation that it could be."""

SourceState = Literal["there", "changed", "in trash", "in history", "lost"]
"""Where the conversation is with the bytes that were harvested; ``changed``: only its file is there, with
others."""

_VERSIONS = 1_000
_AT_ONCE = 50
"""Versions of files that are in memory together."""


@dataclass(frozen=True, slots=True)
class CheckedLine:
    """A line that a harvest wrote."""

    line: LedgerLine
    state: LineState
    path: str = ""  # where it stands now, workspace-relative; empty if it is gone
    number: int = 0  # from 1; 0 if it is gone


@dataclass(frozen=True, slots=True)
class CheckedEntry:
    """An entry of the ledger against the files."""

    sha256: str  # of the conversation's bytes
    entry: LedgerEntry
    source: SourceState
    lines: tuple[CheckedLine, ...]  # in order

    @property
    def sound(self) -> bool:
        """Whether nothing was lost: its conversation can be restored, or a person gave it up."""
        return self.source != "lost" or self.entry.status == "deleted-unharvested"


def verify(
    found: Mapping[str, LedgerEntry], files: Files, trash: Trash, repository: Repository
) -> Iterator[CheckedEntry]:
    """Compares entries with the files, one after the other.

    ``found`` is by sha256.
    """
    standing = _Standing(files, repository)
    past = _Past(repository, {entry.path.partition("/")[0] for entry in found.values()})
    for sha256, entry in found.items():
        lines = tuple(standing.checked(line) for line in entry.lines)
        yield CheckedEntry(sha256, entry, _source(sha256, entry, files, trash, past), lines)


def missing(found: Mapping[str, LedgerEntry], files: Files, repository: Repository) -> tuple[LedgerLine, ...]:
    """Lines that harvests wrote and that are gone; only knowledge files are read."""
    standing = _Standing(files, repository)
    lines = [line for entry in found.values() for line in entry.lines]
    return tuple(line for line in lines if standing.checked(line).state == "gone")


class _Standing:
    """The lines that stand in knowledge's files, read once; of one that is not checked out here, those of
    the newest commit."""

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
                said = normalised(entry.text), entry.number
                self._by_origin[path].setdefault((entry.source, entry.day), []).append(said)
        return self._lines[path]


def _source(sha256: str, entry: LedgerEntry, files: Files, trash: Trash, past: _Past) -> SourceState:
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


class _Past:
    """Which bytes files had in the history; it is read once, when something is first looked for there."""

    def __init__(self, repository: Repository, folders: Collection[str]) -> None:
        self._repository = repository
        self._folders = sorted(folders)

    def holds(self, path: str, sha256: str) -> bool:
        """Whether a file had these bytes in some commit."""
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
            pass  # without a history nothing stands in it
        return frozenset(found)


def version_of(repository: Repository, path: str, sha256: str) -> bytes | None:
    """The version of a file in the history that has some bytes; ``None`` where none has, or there is none."""
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
