"""Where secrets stand in a workspace: in its files, and in every version of them that git keeps."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import AutopoiesisError
from engine.redaction.commits import secrets_of

if TYPE_CHECKING:
    from engine.store.files import Files
    from engine.store.repository import Repository

_NOT_LOOKED_AT = ("scratch", ".git", ".venv")
_BATCH_BYTES = 32 * 1024 * 1024
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
    names: dict[bytes, str] = {}
    for line in git.run("rev-list", "--objects", "--all").output.split(b"\n"):
        name, _, path = line.partition(b" ")
        if path:
            names.setdefault(name, os.fsdecode(path))
    if not names:
        return
    told = git.run("cat-file", "--batch-check", stdin=b"\n".join(names) + b"\n").output.split(b"\n")
    batch: list[bytes] = []
    size = 0
    for line in told:
        fields = line.split(b" ")
        if len(fields) != 3 or fields[1] != b"blob":
            continue
        if int(fields[2]) > _LARGEST:
            yield Passed(names[fields[0]], "a version in the history is too large")
            continue
        batch.append(fields[0])
        size += int(fields[2])
        if size >= _BATCH_BYTES:
            yield from _in_versions(repository, batch, names)
            batch, size = [], 0
    if batch:
        yield from _in_versions(repository, batch, names)


def _in_versions(repository: Repository, batch: list[bytes], names: dict[bytes, str]) -> Iterator[Standing]:
    output = repository.git.run("cat-file", "--batch", stdin=b"\n".join(batch) + b"\n").output
    at = 0
    while at < len(output):
        head_end = output.index(b"\n", at)
        name, _, length = output[at:head_end].split(b" ")
        data = output[head_end + 1 : head_end + 1 + int(length)]
        at = head_end + 2 + int(length)
        found = secrets_of(data)
        if found:
            options = ("--all", "-1", "--format=%h", f"--find-object={name.decode()}")
            revision = repository.git.run("log", *options).text
            for secret in found:
                yield Standing(names[name], secret.line, secret.kind, revision or "unreachable")
