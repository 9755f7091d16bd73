"""Where secrets stand in a workspace: in its files, and in every version of them that git keeps."""

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

_NOT_LOOKED_AT = ("scratch", ".git", ".venv")
_LARGEST = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Standing:
    """A secret that stands somewhere; never the secret itself."""

    path: str
    line: int  # from 1
    kind: str  # what it looks like
    revision: str = ""
    """The newest commit that brought or took this version of the file; empty for the file on disk."""


@dataclass(frozen=True, slots=True)
class Passed:
    """A file that was not looked at."""

    path: str
    why: str  # one clause


def scan_files(files: Files) -> Iterator[Standing | Passed]:
    """The secrets in the files of a workspace, without caches and the repository's own folder."""
    root = files.workspace.root
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _NOT_LOOKED_AT)
        for name in sorted(names):
            whole = Path(folder) / name
            if whole.is_symlink() or (Path(folder) == root and name.startswith("memory.db")):
                continue
            path = whole.relative_to(root).as_posix()
            try:
                data = files.read(path, limit=_LARGEST)
            except FileNotFoundError:
                continue
            except (AutopoiesisError, OSError) as error:
                yield Passed(path, error.what if isinstance(error, AutopoiesisError) else str(error.strerror))
                continue
            for secret in secrets_of(data):
                yield Standing(path, secret.line, secret.kind)


def scan_history(repository: Repository) -> Iterator[Standing | Passed]:
    """The secrets in every version of every file that the history holds, each version once.

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
    asked = os.fsencode("".join(f"{name}\n" for name in paths))
    told = git.run("cat-file", "--batch-check", stdin=asked).text
    small: list[TreeEntry] = []
    for line in told.split("\n"):
        name, kind, size = (*line.split(" "), "", "")[:3]
        if kind != "blob":
            continue
        if int(size) > _LARGEST:
            yield Passed(paths[name], "a version in the history is too large")
        else:
            small.append(TreeEntry(paths[name], "file", name, int(size)))
    for entry, data in contents(git, small):
        found = secrets_of(data)
        if found:
            options = ("--all", "-1", "--format=%h", f"--find-object={entry.name}")
            revision = git.run("log", *options).text
            for secret in found:
                yield Standing(entry.path, secret.line, secret.kind, revision or "unreachable")
