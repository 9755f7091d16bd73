"""Reads and atomically replaces a file named by the user, anywhere on disk.

Symlinks are not followed: neither the file nor a folder in its path may be one, so that the file written is
the file named.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from engine.errors import PathRefused, WriteFailed
from engine.store import descriptors, file_steps
from engine.store.files import reported
from engine.store.paths import shown

LIMIT = 1024 * 1024
"""Maximum size of a file that is read, in bytes."""


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file as read."""

    path: Path  # absolute
    data: bytes = b""
    seen: os.stat_result | None = None  # ``None`` if there is no file yet


def read_named(path: Path, limit: int = LIMIT) -> NamedFile:
    """Read a file, which need not exist yet.

    Args:
        limit: Maximum size in bytes.

    Raises:
        PathRefused: It is not a regular file, its folder does not exist, or its path contains a symlink.
        DocumentError: It is larger than ``limit``.
        WriteFailed, ReadOnly: It cannot be read.
    """
    place = Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 — ``resolve`` would follow symlinks
    real = Path(os.path.realpath(place))
    if real != place:
        raise PathRefused(
            "the path contains a symlink", where=shown(str(path)), hint=f"name the file itself: {real}"
        )
    if not place.parent.is_dir():
        raise PathRefused("its folder does not exist", where=shown(str(path)), hint="check the path")
    with reported(str(path)):
        found = read_below(place.parent, (place.name,), limit)
    return NamedFile(place) if found is None else NamedFile(place, *found)


def read_below(folder: Path, parts: Sequence[str], limit: int = LIMIT) -> tuple[bytes, os.stat_result] | None:
    """A regular file in a folder or below it, and its state; ``None`` if there is none.

    Raises:
        PathRefused: It is a symlink or not a regular file.
        DocumentError: It is larger than ``limit``.
        OSError: It cannot be read, or a folder below the first one is a symlink.
    """
    place = str(folder.joinpath(*parts))
    try:
        with descriptors.open_folder(folder, parts[:-1]) as inside:
            descriptor = descriptors.open_file(parts[-1], inside, os.O_RDONLY, place)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        return descriptors.read_all(descriptor, limit, place), os.fstat(file.fileno())


def replace_named(file: NamedFile, data: bytes, like: NamedFile | None = None) -> None:
    """Replace the content of a file that was read; the file's mode is kept.

    Args:
        like: The file whose mode a new file is created with.

    Raises:
        PathRefused: The path is not a regular file.
        WriteFailed, ReadOnly: It was not written, or has changed since it was read.
    """
    where = str(file.path)
    expected = partial(file_steps.is_unchanged, file.seen)
    mode = None if like is None else like.seen
    with reported(where), descriptors.open_folder(file.path.parent, ()) as folder:
        if not file_steps.replace(folder, file.path.name, data, where, expected, mode):
            raise WriteFailed("changed since it was read", where=shown(where), hint="try again")


def make_folder_of(path: Path) -> None:
    """Create a file's folder and its parents.

    Raises:
        WriteFailed, ReadOnly: It could not be created.
    """
    there = next(folder for folder in path.parents if folder.is_dir())
    with (
        reported(str(path)),
        descriptors.open_folder(there, path.parent.relative_to(there).parts, create=True),
    ):
        pass


def remove_named(file: NamedFile) -> None:
    """Delete a file that was read; do nothing if it did not exist.

    Raises:
        WriteFailed, ReadOnly: It was not deleted, or has changed since it was read.
    """
    where = str(file.path)
    with reported(where), descriptors.open_folder(file.path.parent, ()) as folder:
        if file.seen is not None and not file_steps.remove(folder, file.path.name, file.seen):
            raise WriteFailed("changed since it was read", where=shown(where), hint="try again")
