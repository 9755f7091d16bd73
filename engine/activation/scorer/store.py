"""Stores the last fit in ``scratch/``, for processes that score a single message; it may be deleted.

The file has a checksum, a line of JSON with the names of the topics, and the arrays as numpy saves them. A
damaged file is ignored.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy

from engine.activation.scorer.fitted import ARRAYS, Fitted, layout
from engine.activation.scorer.texts import TopicTexts, nothing
from engine.errors import AutopoiesisError
from engine.store import checked
from engine.store.files import lock_place

if TYPE_CHECKING:
    from engine.store.files import Files

FIT_PATH = "scratch/similarity.fit"
LOCK_NAME = "scratch/.fit.lock"
"""Held by a process that fits."""
_FORM = 6
"""Version of the fit; others are ignored."""


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
        data = checked.load(self._files, FIT_PATH, b'{"fit":"%s",' % name.encode() if name else b"")
        if data is None:
            return None
        stream = io.BytesIO(data)
        stream.seek(checked.SUM)
        try:
            head = json.loads(stream.readline())
            if head["form"] != _FORM:
                return None
            arrays = {each: numpy.load(stream) for each in ARRAYS}
            fitted = Fitted(names=tuple(map(str, head["names"])), **arrays)
        except (ValueError, KeyError, TypeError, EOFError, RecursionError):
            return None
        return fitted if _is_sound(fitted, dimensions) else None

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
        head = json.dumps({"fit": name, "form": _FORM, "names": fitted.names}, separators=(",", ":"))
        stream = io.BytesIO()
        for each in ARRAYS:
            numpy.save(stream, getattr(fitted, each))
        checked.save(self._files, FIT_PATH, f"{head}\n".encode(), stream.getvalue())


def _is_sound(fitted: Fitted, dimensions: int) -> bool:
    """Whether the arrays belong together: a file that somebody made fails no message."""
    topics, weights = len(fitted.names), fitted.weights.size
    expected = layout(topics, fitted.codes.size, weights, dimensions)
    arrays = ((getattr(fitted, name), kind) for name, kind in expected.items())
    if any((array.dtype, array.shape) != kind for array, kind in arrays):
        return False
    ends, of = fitted.offsets, fitted.classes
    is_ordered = ends[0] == 0 and ends[-1] == weights and bool(numpy.all(numpy.diff(ends) >= 0))
    return is_ordered and bool(numpy.all((of >= 0) & (of <= topics)) and numpy.isfinite(fitted.base).all())
