"""Stores the last fit in ``scratch/``, for processes that score a single message; it may be deleted.

The file has a line with the CRC-32 of the rest, a line of JSON with the names, types and shapes of the
arrays, and their bytes, which are used in place. A damaged file is ignored.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import sys
import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from engine.activation.scorer.fitted import Fitted
from engine.activation.scorer.texts import TopicTexts, nothing
from engine.errors import AutopoiesisError
from engine.store.files import lock_place

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.store.files import Files

FIT_PATH = "scratch/similarity.fit"
HELD_OUT_PATH = "scratch/held-out.fit"
LOCK_NAME = "scratch/.fit.lock"
"""Held by a process that fits."""
_LIMIT = 1024**3
_LOCK_WAIT_S = 1.0
_FORM = 4
"""Version of the fit; others are ignored."""
_SUM = 9
_ALIGNED = 16
_KINDS = ("int32", "uint32", "float32")
"""Element types, of four bytes each."""


def fingerprint(topics: Sequence[TopicTexts], vectors: str) -> str:
    """The key of a fit: sha256 over its inputs."""
    whole = hashlib.sha256(f"{_FORM} {sys.byteorder} {vectors}".encode())
    for part in (nothing(), *topics):
        whole.update(repr(part).encode("utf-8", "surrogatepass"))
    return whole.hexdigest()


class FitStore:
    """Stores the last fit of a workspace."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def load(self, name: str, dimensions: int) -> Fitted | None:
        """The stored fit, if it has this fingerprint (or any, if it is empty) and is not damaged.

        ``dimensions`` is the length of the embedding's vectors.
        """
        try:
            data = self._files.read(FIT_PATH, limit=_LIMIT)
        except (OSError, AutopoiesisError):
            return None
        # The name comes first, so that a fit of other topics is rejected without checking all of it.
        if name and not data.startswith(b'{"fit":"%s",' % name.encode(), _SUM):
            return None
        if data[:_SUM] != b"%08x\n" % zlib.crc32(memoryview(data)[_SUM:]):
            return None
        try:
            return _fit_in(data, dimensions)
        except (ValueError, KeyError, TypeError, IndexError, RecursionError):
            return None

    @contextlib.contextmanager
    def fitting(self) -> Iterator[bool]:
        """Tells other processes that this one fits; yields false if another one told that first."""
        from filelock import FileLock, Timeout  # noqa: PLC0415 — takes 15 ms, and scoring never needs it

        with contextlib.ExitStack() as held:
            is_alone = True
            if not self._files.read_only:
                try:
                    lock = FileLock(lock_place(self._files.workspace, LOCK_NAME))
                    held.enter_context(lock.acquire(timeout=0))
                except Timeout:
                    is_alone = False
                except (OSError, AutopoiesisError):
                    pass  # nothing can be saved there either
            yield is_alone

    def save(self, name: str, fitted: Fitted) -> None:
        """Stores a fit; errors are ignored."""
        if self._files.read_only:
            return
        arrays = {field: getattr(fitted, field) for field in Fitted.array_names()}
        head = {
            "fit": name,
            "form": _FORM,
            "names": fitted.names,
            "arrays": {field: [array.dtype.name, *array.shape] for field, array in arrays.items()},
        }
        text = json.dumps(head, separators=(",", ":")).encode()
        text += b" " * (-(_SUM + len(text) + 1) % _ALIGNED) + b"\n"
        self._write(FIT_PATH, [text, *(array.tobytes() for array in arrays.values())])

    def load_held_out(self, name: str, shape: tuple[int, int]) -> NDArray[numpy.float32] | None:
        """What ``save_held_out`` stored under this name; ``None`` if it is another or damaged."""
        try:
            data = self._files.read(HELD_OUT_PATH, limit=_LIMIT)
        except (OSError, AutopoiesisError):
            return None
        head = b"%s\n" % name.encode()
        values = data[_SUM + len(head) :]
        if not data.startswith(head, _SUM) or len(values) != 4 * math.prod(shape):
            return None
        if data[:_SUM] != b"%08x\n" % zlib.crc32(memoryview(data)[_SUM:]):
            return None
        return numpy.frombuffer(values, numpy.float32).reshape(shape)

    def save_held_out(self, name: str, totals: NDArray[numpy.float32]) -> None:
        """Stores the log-odds of labelled messages by fits without them; errors are ignored."""
        if not self._files.read_only:
            self._write(HELD_OUT_PATH, [b"%s\n" % name.encode(), totals.tobytes()])

    def _write(self, path: str, parts: Sequence[bytes]) -> None:
        checksum = 0
        for part in parts:
            checksum = zlib.crc32(part, checksum)
        try:
            with self._files.lock(timeout=_LOCK_WAIT_S):
                self._files.replace(path, [b"%08x\n" % checksum, *parts])
        except AutopoiesisError:
            return


def _fit_in(data: bytes, dimensions: int) -> Fitted | None:
    """The fit in a file that holds what was written.

    Raises:
        ValueError, KeyError, TypeError, IndexError: It was not written by this version.
    """
    offset = data.find(b"\n", _SUM) + 1
    head = json.loads(data[_SUM:offset])
    if head["form"] != _FORM or tuple(head["arrays"]) != Fitted.array_names():
        return None
    arrays: dict[str, Any] = {}
    for field, (kind, *shape) in head["arrays"].items():
        if kind not in _KINDS or not all(type(size) is int and size >= 0 for size in shape):
            return None
        if offset + 4 * math.prod(shape) > len(data):
            return None
        arrays[field] = numpy.ndarray(shape, kind, data, offset)
        offset += arrays[field].nbytes
    names = head["names"]
    if offset != len(data) or not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    fitted = Fitted(names=tuple(names), **arrays)
    return fitted if _is_sound(fitted, dimensions) else None


def _is_sound(fitted: Fitted, dimensions: int) -> bool:
    """Whether the arrays belong together and all indices are in range."""
    classes, terms, weights = len(fitted.names) + 1, len(fitted.codes), len(fitted.weights)
    shapes = {
        "codes": (terms,),
        "idf": (terms,),
        "offsets": (terms + 1,),
        "classes": (weights,),
        "weights": (weights,),
        "vectors": (dimensions, classes),
        "base": (classes,),
        "taught": (classes - 1,),
    }
    kinds = {"codes": "uint32", "offsets": "int32", "classes": "int32"}
    for field, shape in shapes.items():
        array = getattr(fitted, field)
        if array.shape != shape or array.dtype.name != kinds.get(field, "float32"):
            return False
    steps = numpy.diff(fitted.offsets)
    return (
        bool(fitted.offsets[0] == 0 and fitted.offsets[-1] == weights and (not terms or steps.min() >= 0))
        and (not weights or bool(fitted.classes.min() >= 0 and fitted.classes.max() < classes))
        and bool(numpy.isfinite(fitted.base).all())
    )
