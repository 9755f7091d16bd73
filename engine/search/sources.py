"""Lists the searchable files of a workspace with size and modification time (spec 7.3)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from engine.errors import PathRefused
from engine.startup.records import dataclass
from engine.store.conflict_copies import is_used
from engine.store.paths import Workspace, category_of
from engine.store.spelling import composed

FOLDERS = ("knowledge", "topics", "raw/conversations", "conversations", "archive")
MAX_BYTES = 8 * 1024 * 1024
"""Larger files are not searched."""

_SUFFIXES = (".md", ".txt", ".jsonl")
_UNIFORM = ("topics", "raw/conversations", "conversations")
"""Folders in which a file's suffix alone determines its category."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file that can be searched."""

    path: str
    category: str
    size: int
    mtime_ns: int
    ctime_ns: int  # of the last change of the file or its metadata, which no program can set


def all_sources(workspace: Workspace) -> Iterator[Source]:
    """Every searchable file, in no particular order. Skips symlinks and folders that cannot be listed."""
    for folder in FOLDERS:
        yield from _below(workspace.root, folder)


def named_sources(workspace: Workspace, path: str) -> tuple[str, list[Source]]:
    """The searchable files at or below one path, which need not exist.

    Returns:
        The normalized path, as written on disk, and the file itself or all files below the folder. Files
        outside the searched folders or behind a symlink are left out.
    """
    plain = "/".join(part for part in path.split("/") if part not in ("", "."))
    try:
        place = workspace.resolve(plain)
        found = place.lstat()
    except (OSError, PathRefused):
        return plain, []
    real = place.relative_to(workspace.root).as_posix() if place != workspace.root else ""
    if composed(real) != composed(plain):
        return plain, []
    plain = real
    if stat.S_ISDIR(found.st_mode):
        inside = [folder for folder in FOLDERS if _is_under(folder, plain)] or [plain]
        sources = [source for folder in inside for source in _below(workspace.root, folder)]
    else:
        is_searched = plain.lower().endswith(_SUFFIXES) and is_used(place.name)
        category = category_of(plain) if is_searched else None
        sources = list(_source(plain, category, found))
    return plain, [source for source in sources if any(_is_under(source.path, folder) for folder in FOLDERS)]


def is_encodable(path: str) -> bool:
    """Whether a file name is valid UTF-8; other names reach Python with lone surrogates."""
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
        current = pending.pop()  # a string instead of a Path for speed: every compile scans all folders
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
                suffix = entry.name[entry.name.rfind(".") :].lower()
                if suffix in _SUFFIXES and is_used(entry.name):
                    category = _uniform_category(folder, suffix) if folder in _UNIFORM else category_of(path)
                    yield from _source(path, category, entry.stat(follow_symlinks=False))
            except OSError:
                continue  # removed in the meantime


@lru_cache(maxsize=16)
def _uniform_category(folder: str, suffix: str) -> str | None:
    return category_of(f"{folder}/any{suffix}")


def _source(path: str, category: str | None, found: os.stat_result) -> Iterable[Source]:
    if category is None or not stat.S_ISREG(found.st_mode):
        return ()
    return (Source(path, category, found.st_size, found.st_mtime_ns, found.st_ctime_ns),)
