"""A segment as a file in scratch/, so that a process that searches once need not make it (deletable).

The file is a line with the CRC-32 of all that follows, a line of JSON that names the index it is of, its
arrays with type and shape, and the files; and the arrays' bytes. An incomplete file is not used. It is
read, not mapped: truncating a mapped file kills the process that reads it.
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
"""Of the file, beside memory.db."""
FORM = 5
"""How a segment is made and kept; an image of another form is made anew."""
_BESIDE = f"{NAME}.new"
_SUM = 9
_ALIGNED = 16


@dataclass(frozen=True, slots=True)
class Image:
    """A segment, and the state of the index that it shows."""

    index: str
    embedder: str  # names the model of the vectors; empty without any
    stamp: int  # the last change of the index that is in the segment
    segment: Segment


def exists(folder: Path) -> bool:
    """Whether there is an image, whole or not."""
    try:
        with _opened(folder) as inside:
            found = status(NAME, inside)
    except OSError:
        return False
    return found is not None and stat.S_ISREG(found.st_mode)


def discard(folder: Path) -> None:
    """Removes the image, so that the next writer makes one."""
    with contextlib.suppress(OSError), _opened(folder) as inside:
        os.unlink(NAME, dir_fd=inside)


def load(folder: Path) -> Image | None:
    """The image in a folder; ``None`` where there is none, or it is not whole."""
    try:
        # Neither a pipe, which never ends, nor what a symlink leads to.
        with (
            _opened(folder) as inside,
            os.fdopen(open_file(NAME, inside, os.O_RDONLY, NAME), "rb") as stream,
        ):
            data = stream.read()
    except (OSError, PathRefused, MemoryError):
        return None
    if data[:_SUM] != b"%08x\n" % zlib.crc32(memoryview(data)[_SUM:]):
        return None
    return _image_in(data)


def save(folder: Path, image: Image) -> None:
    """Keeps an image. Where that is not possible, it is made again the next time.

    Only one process at a time may do so: the one that holds the lock of the index.
    """
    arrays = {name: getattr(image.segment, name) for name in ARRAYS}
    head = {
        "form": [FORM, sys.byteorder],
        "index": image.index,
        "embedder": image.embedder,
        "stamp": image.stamp,
        "paths": image.segment.paths,
        "categories": image.segment.categories,
        "arrays": {name: [array.dtype.name, *array.shape] for name, array in arrays.items()},
    }
    text = json.dumps(head, separators=(",", ":")).encode()
    parts = [text + b" " * (-(_SUM + len(text) + 1) % _ALIGNED) + b"\n"]
    for array in arrays.values():
        data = array.tobytes()
        parts += [data, bytes(-len(data) % _ALIGNED)]
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    with contextlib.suppress(OSError), _opened(folder) as inside:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(_BESIDE, dir_fd=inside)  # of a writer that was killed
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            with os.fdopen(open_file(_BESIDE, inside, flags, _BESIDE), "wb") as stream:
                stream.write(b"%08x\n" % checksum)
                stream.writelines(parts)
            os.rename(_BESIDE, NAME, src_dir_fd=inside, dst_dir_fd=inside)
        except OSError:
            os.unlink(_BESIDE, dir_fd=inside)
            raise


def _opened(folder: Path) -> AbstractContextManager[int]:
    """The open folder, which is not reached through a symlink of its own name."""
    return open_folder(folder.parent, (folder.name,))


def _image_in(data: bytes) -> Image | None:
    import numpy  # noqa: PLC0415 — only a search needs it

    offset = data.find(b"\n", _SUM) + 1
    try:
        head: dict[str, Any] = json.loads(data[_SUM:offset])
        if head["form"] != [FORM, sys.byteorder]:
            return None
        arrays = {}
        for name, (kind, *shape) in head["arrays"].items():
            arrays[name] = numpy.frombuffer(data, kind, math.prod(shape), offset).reshape(shape)
            offset += arrays[name].nbytes + -arrays[name].nbytes % _ALIGNED
        segment = Segment(**arrays, paths=tuple(head["paths"]), categories=tuple(head["categories"]))
        return Image(head["index"], head["embedder"], head["stamp"], segment)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # the sum is right, so another version wrote it
