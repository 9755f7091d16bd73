"""Which files of a workspace are searched: found, sized, dated (spec 7.3)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from engine.errors import PathRefused
from engine.startup.records import dataclass
from engine.store.paths import Workspace, category_of

FOLDERS = ("knowledge", "topics", "raw/conversations", "conversations", "archive")
MAX_BYTES = 8 * 1024 * 1024
"""Larger files are not searched."""

_SUFFIXES = (".md", ".txt", ".jsonl")
_ALIKE = ("topics", "raw/conversations", "conversations")
"""Folders in which the ending of a file's name alone tells its category."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file that can be searched."""

    path: str
    category: str
    size: int
    mtime_ns: int


def all_sources(workspace: Workspace) -> Iterator[Source]:
    """Every searchable file, in no order; none behind a symlink or in a folder that cannot be listed."""
    for folder in FOLDERS:
        yield from _below(workspace.root, folder)


def named_sources(workspace: Workspace, path: str) -> tuple[str, list[Source]]:
    """What is searchable under one path now.

    The path is of a file or folder, and need not exist.

    Returns:
        The path in its plain form, and the file itself or all files below the folder. What lies outside the
        searched folders, or behind a symlink, is left out.
    """
    plain = "/".join(part for part in path.split("/") if part not in ("", "."))
    try:
        place = workspace.resolve(plain)
        found = place.lstat()
    except (OSError, PathRefused):
        return plain, []
    if place != workspace.root.joinpath(plain):
        return plain, []
    if stat.S_ISDIR(found.st_mode):
        inside = [folder for folder in FOLDERS if _is_under(folder, plain)] or [plain]
        sources = [source for folder in inside for source in _below(workspace.root, folder)]
    else:
        category = category_of(plain) if plain.lower().endswith(_SUFFIXES) else None
        sources = list(_source(plain, category, found))
    return plain, [source for source in sources if any(_is_under(source.path, folder) for folder in FOLDERS)]


def is_encodable(path: str) -> bool:
    """Whether a file name is text at all: names that are not UTF-8 reach Python with lone surrogates."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _is_under(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")


def _below(root: Path, folder: str) -> Iterator[Source]:
    base = str(root)
    if root.joinpath(folder).is_symlink() or not os.path.realpath(f"{base}/{folder}").startswith(f"{base}/"):
        return
    pending = [folder]
    while pending:
        current = pending.pop()  # a name, no Path: a compile looks at every folder
        try:
            entries = list(os.scandir(f"{base}/{current}"))
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith("."):
                continue
            path = f"{current}/{entry.name}"
            try:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(path)
                    continue
                ending = entry.name[entry.name.rfind(".") :].lower()
                if ending in _SUFFIXES:
                    category = _alike(folder, ending) if folder in _ALIKE else category_of(path)
                    yield from _source(path, category, entry.stat(follow_symlinks=False))
            except OSError:
                continue  # removed meanwhile


@lru_cache(maxsize=16)
def _alike(folder: str, ending: str) -> str | None:
    return category_of(f"{folder}/any{ending}")


def _source(path: str, category: str | None, found: os.stat_result) -> Iterable[Source]:
    if category is None or not stat.S_ISREG(found.st_mode):
        return ()
    return (Source(path, category, found.st_size, found.st_mtime_ns),)
