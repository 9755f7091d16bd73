"""Saves a segment as a file in scratch/, so that a process that searches once need not build it.

The file can be deleted at any time. It consists of a line with the CRC-32 of the rest; a line of JSON with
the id of its index, the type and shape of its arrays, and the files; and the arrays' bytes. An incomplete
file is not used. It is read, not mapped, because truncating a mapped file kills the process that reads it.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import stat
import sys
import zlib
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from engine.errors import PathRefused
from engine.search.resident.segment import ARRAYS, Segment
from engine.startup.records import dataclass
from engine.store.descriptors import open_file, open_folder, status

NAME = "search.image"
"""Name of the file, next to memory.db."""
FORMAT = 6
"""Version of how a segment is built and saved; an image in another format is rebuilt."""
_NEW = f"{NAME}.new"
_SUM_BYTES = 9
_ALIGNMENT = 16


@dataclass(frozen=True, slots=True)
class Image:
    """A segment and the state of the index it was built from."""

    index: str
    embedder: str  # id of the model; empty without vectors
    stamp: int  # the last change of the index that the segment includes
    segment: Segment


def exists(folder: Path) -> bool:
    """Whether there is an image, complete or not."""
    try:
        with _opened(folder) as inside:
            found = status(NAME, inside)
    except OSError:
        return False
    return found is not None and stat.S_ISREG(found.st_mode)


def discard(folder: Path) -> None:
    """Delete the image, so that the next writer creates a new one."""
    with contextlib.suppress(OSError), _opened(folder) as inside:
        os.unlink(NAME, dir_fd=inside)


def load(folder: Path) -> Image | None:
    """The image in a folder; ``None`` if it is missing or incomplete."""
    try:
        # Refuses pipes, on which reading would never end, and symlinks.
        with (
            _opened(folder) as inside,
            os.fdopen(open_file(NAME, inside, os.O_RDONLY, NAME), "rb") as stream,
        ):
            data = stream.read()
    except (OSError, PathRefused, MemoryError):
        return None
    if data[:_SUM_BYTES] != b"%08x\n" % zlib.crc32(memoryview(data)[_SUM_BYTES:]):
        return None
    return _image_in(data)


def save(folder: Path, image: Image) -> None:
    """Save an image. If that fails, it is built again next time.

    Only the process that holds the index lock may call this.
    """
    arrays = {name: getattr(image.segment, name) for name in ARRAYS}
    head = {
        "form": [FORMAT, sys.byteorder],
        "index": image.index,
        "embedder": image.embedder,
        "stamp": image.stamp,
        "paths": image.segment.paths,
        "categories": image.segment.categories,
        "arrays": {name: [array.dtype.name, *array.shape] for name, array in arrays.items()},
    }
    text = json.dumps(head, separators=(",", ":")).encode()
    parts = [text + b" " * (-(_SUM_BYTES + len(text) + 1) % _ALIGNMENT) + b"\n"]
    for array in arrays.values():
        data = array.tobytes()
        parts += [data, bytes(-len(data) % _ALIGNMENT)]
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    with contextlib.suppress(OSError), _opened(folder) as inside:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(_NEW, dir_fd=inside)  # left by a writer that was killed
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            with os.fdopen(open_file(_NEW, inside, flags, _NEW), "wb") as stream:
                stream.write(b"%08x\n" % checksum)
                stream.writelines(parts)
            os.rename(_NEW, NAME, src_dir_fd=inside, dst_dir_fd=inside)
        except OSError:
            os.unlink(_NEW, dir_fd=inside)
            raise


def _opened(folder: Path) -> AbstractContextManager[int]:
    """Open the folder, refusing to follow a symlink in its place."""
    return open_folder(folder.parent, (folder.name,))


def _image_in(data: bytes) -> Image | None:
    import numpy  # noqa: PLC0415 — only a search needs it

    offset = data.find(b"\n", _SUM_BYTES) + 1
    try:
        head: dict[str, Any] = json.loads(data[_SUM_BYTES:offset])
        if head["form"] != [FORMAT, sys.byteorder]:
            return None
        arrays = {}
        for name, (kind, *shape) in head["arrays"].items():
            arrays[name] = numpy.frombuffer(data, kind, math.prod(shape), offset).reshape(shape)
            offset += arrays[name].nbytes + -arrays[name].nbytes % _ALIGNMENT
        segment = Segment(**arrays, paths=tuple(head["paths"]), categories=tuple(head["categories"]))
        return Image(head["index"], head["embedder"], head["stamp"], segment)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # the checksum is right, so another version wrote it
