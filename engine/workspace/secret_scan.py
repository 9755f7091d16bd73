"""Finds secrets in a workspace and its history, and carries out what a person decided about them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from engine.redaction.commits import ALLOWED, CommitCheck, digest, text_of
from engine.redaction.detect import PLACEHOLDER, Secret
from engine.store.monthly import line_of
from engine.store.revisions import TreeEntry, contents

if TYPE_CHECKING:
    from engine.store.files import Files
    from engine.store.repository import Repository

_SKIPPED_FOLDERS = ("scratch", ".git", ".venv")
_MAX_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FoundSecret:
    """The place of a secret, without the secret."""

    path: str
    line: int  # from 1
    kind: str
    revision: str = ""  # the latest commit that added or removed this version; empty for the file on disk


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was not scanned."""

    path: str
    why: str


def scan_files(files: Files, without: frozenset[str] = frozenset()) -> Iterator[FoundSecret | Skipped]:
    """The secrets in the files of a workspace, except caches, ``.git`` and the paths ``without``."""
    root = files.workspace.root
    check = CommitCheck(files.read)
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        inside = Path(folder).relative_to(root)
        for name in sorted(names):
            path = (inside / name).as_posix()
            is_index = path == name and name.startswith("memory.db")
            if path in without or is_index or (root / path).is_symlink():
                continue
            try:
                data = files.read(path, limit=_MAX_BYTES)
            except FileNotFoundError:
                continue
            except (AutopoiesisError, OSError) as error:
                yield Skipped(
                    path, error.what if isinstance(error, AutopoiesisError) else str(error.strerror)
                )
                continue
            for secret in check.secrets(text_of(data)):
                yield FoundSecret(path, secret.line, secret.kind)


def scan_history(files: Files, repository: Repository) -> Iterator[FoundSecret | Skipped]:
    """The secrets in every version of every file in the history, each version once.

    Raises:
        RepositoryError: There is no repository, or git failed.
    """
    git = repository.git
    check = CommitCheck(files.read)
    paths: dict[str, str] = {}
    for line in git.run("rev-list", "--objects", "--all").text.split("\n"):
        name, _, path = line.partition(" ")
        if path:
            paths.setdefault(name, path)
    if not paths:
        return
    names = os.fsencode("".join(f"{name}\n" for name in paths))
    output = git.run("cat-file", "--batch-check", stdin=names).text
    small: list[TreeEntry] = []
    for line in output.split("\n"):
        name, kind, size = (*line.split(" "), "", "")[:3]
        if kind != "blob":
            continue
        if int(size) > _MAX_BYTES:
            yield Skipped(paths[name], "a version in the history is too large")
        else:
            small.append(TreeEntry(paths[name], "file", name, int(size)))
    for entry, data in contents(git, small):
        found = check.secrets(text_of(data))
        if found:
            options = ("--all", "-1", "--format=%h", f"--find-object={entry.name}")
            revision = git.run("log", *options).text
            for secret in found:
                yield FoundSecret(entry.path, secret.line, secret.kind, revision or "unreachable")


def allow(files: Files, path: str, line: int | None, at: datetime) -> list[FoundSecret]:
    """Records that findings in a file, or in its name, are no secrets, for all files and on every machine.

    Only hashes of the findings are recorded.

    Args:
        line: The line of the findings, from 1; ``None`` for the whole file.

    Returns:
        The findings allowed.

    Raises:
        FileNotFoundError, PathRefused, DocumentError: The file cannot be read.
        WriteFailed, ReadOnly: The record cannot be written.
    """
    check = CommitCheck(files.read)
    text = text_of(files.read(path, limit=_MAX_BYTES))
    found = [(text, each, each.line) for each in check.secrets(text) if line in (None, each.line)]
    if line is None:
        found += [(path, each, 0) for each in check.secrets(path)]
    hashes = {digest(of[each.start : each.end]): (each.kind, place) for of, each, place in found}
    when = at.isoformat(timespec="seconds")
    files.append(
        ALLOWED,
        b"".join(
            line_of({"sha256": name, "at": when, "kind": kind, "path": path, "line": place})
            for name, (kind, place) in hashes.items()
        ),
    )
    return [FoundSecret(path, place, each.kind) for _, each, place in found]


def redact_file(files: Files, path: str, line: int | None) -> int:
    """Replaces findings in a file by ``PLACEHOLDER``, except allowed ones.

    Args:
        line: As for ``allow``.

    Returns:
        The number of replaced findings.

    Raises:
        FileNotFoundError, PathRefused, DocumentError: The file cannot be read.
        WriteFailed, ReadOnly: The file cannot be written.
    """
    check = CommitCheck(files.read)
    count = 0

    def wanted(text: str) -> list[Secret]:
        return [each for each in check.secrets(text) if line in (None, each.line)]

    def change(data: bytes | None) -> bytes | None:
        nonlocal count
        count = 0
        text = text_of(data or b"")
        while found := wanted(text):
            for each in reversed(found):
                text = text[: each.start] + PLACEHOLDER + text[each.end :]
            count += len(found)
        return text.encode("utf-8", "surrogateescape") if count else data

    files.read(path, limit=_MAX_BYTES)
    files.update(path, change)
    return count
