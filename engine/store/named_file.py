"""A file that the person has named, wherever it lies: read, and replaced whole or not at all.

Nothing is followed: neither the file nor a folder on the way to it may be a symlink, so that what is written
is what was named.
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
"""Bytes of a file that is read."""


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file as it was read."""

    path: Path  # absolute
    data: bytes = b""
    seen: os.stat_result | None = None  # ``None`` where there is no file yet


def read_named(path: Path, limit: int = LIMIT) -> NamedFile:
    """Reads a file, or says that there is none yet.

    Args:
        limit: The most bytes that are read.

    Raises:
        PathRefused: It is no regular file, its folder does not exist, or a symlink is on the way.
        DocumentError: It is larger than ``limit``.
        WriteFailed, ReadOnly: It cannot be read.
    """
    place = Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 — ``resolve`` would follow symlinks
    real = Path(os.path.realpath(place))
    if real != place:
        raise PathRefused(
            "a symlink is on the way", where=shown(str(path)), hint=f"name the file itself: {real}"
        )
    if not place.parent.is_dir():
        raise PathRefused("its folder does not exist", where=shown(str(path)), hint="check the path")
    with reported(str(path)):
        found = read_below(place.parent, (place.name,), limit)
    return NamedFile(place) if found is None else NamedFile(place, *found)


def read_below(folder: Path, parts: Sequence[str], limit: int = LIMIT) -> tuple[bytes, os.stat_result] | None:
    """A regular file in a folder or below it, and its state; ``None`` where there is none.

    Raises:
        PathRefused: It is a symlink, or no regular file.
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
    """Puts new content in place of what was read; the file's mode is kept.

    Args:
        like: The file whose mode a new one gets, from the moment it exists.

    Raises:
        PathRefused: Something other than a regular file stands there.
        WriteFailed, ReadOnly: It was not written, or was changed since it was read.
    """
    where = str(file.path)
    expected = partial(file_steps.is_unchanged, file.seen)
    mode = None if like is None else like.seen
    with reported(where), descriptors.open_folder(file.path.parent, ()) as folder:
        if not file_steps.replace(folder, file.path.name, data, where, expected, mode):
            raise WriteFailed("was changed meanwhile", where=shown(where), hint="try again")


def make_folder_of(path: Path) -> None:
    """Makes the folder in which a file is to lie, and those above it.

    Raises:
        WriteFailed, ReadOnly: It could not be made.
    """
    there = next(folder for folder in path.parents if folder.is_dir())
    with (
        reported(str(path)),
        descriptors.open_folder(there, path.parent.relative_to(there).parts, create=True),
    ):
        pass


def remove_named(file: NamedFile) -> None:
    """Deletes what was read; where nothing was, nothing happens.

    Raises:
        WriteFailed, ReadOnly: It was not deleted, or was changed since it was read.
    """
    where = str(file.path)
    with reported(where), descriptors.open_folder(file.path.parent, ()) as folder:
        if file.seen is not None and not file_steps.remove(folder, file.path.name, file.seen):
            raise WriteFailed("was changed meanwhile", where=shown(where), hint="try again")
