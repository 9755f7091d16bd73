"""Finds secrets in the files of a workspace, and in all their versions in git."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from engine.redaction.commits import secrets_of
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


def scan_files(files: Files) -> Iterator[FoundSecret | Skipped]:
    """The secrets in the files of a workspace, except caches and ``.git``."""
    root = files.workspace.root
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        for name in sorted(names):
            whole = Path(folder) / name
            if whole.is_symlink() or (Path(folder) == root and name.startswith("memory.db")):
                continue
            path = whole.relative_to(root).as_posix()
            try:
                data = files.read(path, limit=_MAX_BYTES)
            except FileNotFoundError:
                continue
            except (AutopoiesisError, OSError) as error:
                yield Skipped(
                    path, error.what if isinstance(error, AutopoiesisError) else str(error.strerror)
                )
                continue
            for secret in secrets_of(data):
                yield FoundSecret(path, secret.line, secret.kind)


def scan_history(repository: Repository) -> Iterator[FoundSecret | Skipped]:
    """The secrets in every version of every file in the history, each version once.

    Raises:
        RepositoryError: There is no repository, or git failed.
    """
    git = repository.git
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
        found = secrets_of(data)
        if found:
            options = ("--all", "-1", "--format=%h", f"--find-object={entry.name}")
            revision = git.run("log", *options).text
            for secret in found:
                yield FoundSecret(entry.path, secret.line, secret.kind, revision or "unreachable")
