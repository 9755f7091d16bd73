"""A fit on disk, so that a process that scores one message need not make it (scratch/, deletable).

The file is a line with the CRC-32 of all that follows, a line of JSON, and the bytes of the arrays, which are
used where they were read to. What is not whole, or would lead out of an array, is no fit.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engine.activation.fusion.fitted import Fitted, TopicTexts
from engine.activation.fusion.words import SIGNATURE_LENGTH
from engine.errors import AutopoiesisError

if TYPE_CHECKING:
    from engine.store.files import Files

FIT_PATH = "scratch/similarity.fit"
_LIMIT = 1024**3
_LOCK_WAIT_S = 1.0
_FORM = 1
"""Which way topics are fitted; a fit of another form is made anew."""
_SUM = 9
_ALIGNED = 16
_SIZES = ("entries", "grams", "rows", "words", "word_topics", "word_entries", "classified", "against")


def fingerprint(topics: Sequence[TopicTexts], vectors: str) -> str:
    """Names a fit: sha256 over everything it is made from.

    Args:
        topics: The topics, in order.
        vectors: The version of the embedding.
    """
    whole = hashlib.sha256(f"{_FORM} {sys.byteorder} {vectors}".encode())
    for topic in topics:
        whole.update(b"\n%d %d" % (len(topic.examples), len(topic.against)))
        for part in (topic.name, topic.label, topic.about, *topic.examples, *topic.against):
            data = part.encode("utf-8", "surrogatepass")
            whole.update(b" %d:" % len(data) + data)
    return whole.hexdigest()


class FitStore:
    """Keeps the last fit of a workspace.

    Args:
        files: The workspace's write path.
    """

    def __init__(self, files: Files) -> None:
        self._files = files

    def load(self, name: str, dimensions: int) -> Fitted | None:
        """The kept fit, if it is the one of this fingerprint; ``None`` also when the file is damaged.

        Args:
            name: The fingerprint.
            dimensions: Length of the embedding's vectors.
        """
        try:
            data = self._files.read(FIT_PATH, limit=_LIMIT)
        except (OSError, AutopoiesisError):
            return None
        # The name stands in front, so that a fit of other topics is recognised without reading it all.
        if not data.startswith(b'{"fit":"%s",' % name.encode(), _SUM):
            return None
        if data[:_SUM] != b"%08x\n" % zlib.crc32(memoryview(data)[_SUM:]):
            return None
        return _fit_in(data, dimensions)

    def save(self, name: str, fitted: Fitted) -> None:
        """Keeps a fit. Where that is not possible, it is made again the next time."""
        if self._files.read_only:
            return
        sizes = (
            len(fitted.entry_words),
            len(fitted.grams),
            len(fitted.rows),
            len(fitted.words),
            len(fitted.word_topics),
            len(fitted.word_entries),
            len(fitted.classifiers),
            len(fitted.against_topics),
        )
        head: dict[str, object] = {"fit": name, "names": fitted.names}
        text = json.dumps(head | dict(zip(_SIZES, sizes, strict=True)), separators=(",", ":")).encode()
        text += b" " * (-(_SUM + len(text) + 1) % _ALIGNED) + b"\n"
        parts = [text, *(getattr(fitted, field).tobytes() for field in Fitted.array_names())]
        checksum = 0
        for part in parts:
            checksum = zlib.crc32(part, checksum)
        try:
            with self._files.lock(timeout=_LOCK_WAIT_S):
                self._files.replace(FIT_PATH, [b"%08x\n" % checksum, *parts])
        except AutopoiesisError:
            return


def _fit_in(data: bytes, dimensions: int) -> Fitted | None:
    import numpy  # noqa: PLC0415 — tier 2 of the ``spec`` preset does without

    offset = data.find(b"\n", _SUM) + 1
    try:
        head = json.loads(data[_SUM:offset])
    except (ValueError, RecursionError):
        return None
    names, sizes = head.get("names"), [head.get(name) for name in _SIZES]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    if not all(isinstance(size, int) and 0 <= size <= len(data) for size in sizes):
        return None
    layout = _layout(len(names), dimensions, dict(zip(_SIZES, sizes, strict=True)))
    if offset + sum(4 * math.prod(shape) for _, shape in layout.values()) != len(data):
        return None
    arrays = {}
    for field, (kind, shape) in layout.items():
        arrays[field] = numpy.ndarray(shape, kind, data, offset)
        offset += arrays[field].nbytes
    fitted = Fitted(names=tuple(names), **arrays)
    return fitted if _is_sound(fitted) else None


def _layout(topics: int, dimensions: int, sizes: Mapping[str, int]) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The type and shape of every array of a fit, in order; every element has four bytes."""
    entries, grams, words = sizes["entries"], sizes["grams"], sizes["words"]
    classified = sizes["classified"]
    return {
        "starts": ("int32", (topics + 1,)),
        "grams": ("uint32", (grams,)),
        "idf": ("float32", (grams,)),
        "offsets": ("int32", (grams + 1,)),
        "rows": ("int32", (sizes["rows"],)),
        "weights": ("float32", (sizes["rows"],)),
        "words": ("uint32", (words,)),
        "word_idf": ("float32", (words,)),
        "word_offsets": ("int32", (words + 1,)),
        "word_topics": ("int32", (sizes["word_topics"],)),
        "word_weights": ("float32", (sizes["word_topics"],)),
        "entry_words": ("int32", (entries,)),
        "word_entry_offsets": ("int32", (words + 1,)),
        "word_entries": ("int32", (sizes["word_entries"],)),
        "entry_vectors": ("float32", (entries, dimensions)),
        "label_vectors": ("float32", (topics, dimensions)),
        "centroids": ("float32", (topics, dimensions)),
        "signatures": ("uint32", (entries, SIGNATURE_LENGTH)),
        "mood_axis": ("float32", (dimensions,)),
        "moods": ("float32", (topics,)),
        "own_vectors": ("float32", (topics,)),
        "own_grams": ("float32", (topics,)),
        "classifiers": ("float32", (classified, topics if classified else 0)),
        "against_vectors": ("float32", (sizes["against"], dimensions)),
        "against_topics": ("int32", (sizes["against"],)),
    }


def _is_sound(fitted: Fitted) -> bool:
    """Whether everything that points into an array points into it, and every topic has an entry."""
    topics, entries = len(fitted.names), len(fitted.entry_words)
    return (
        _divides(fitted.starts, entries, least=1)
        and _divides(fitted.offsets, len(fitted.rows))
        and _divides(fitted.word_offsets, len(fitted.word_topics))
        and _divides(fitted.word_entry_offsets, len(fitted.word_entries))
        and _points_into(fitted.rows, entries + topics)
        and _points_into(fitted.word_topics, topics)
        and _points_into(fitted.word_entries, entries)
        and _points_into(fitted.against_topics, topics)
        and len(fitted.classifiers) in (0, entries)
    )


def _divides(offsets: Any, whole: int, *, least: int = 0) -> bool:
    steps = offsets[1:] - offsets[:-1]
    return bool(offsets[0] == 0 and offsets[-1] == whole and (not len(steps) or steps.min() >= least))


def _points_into(places: Any, length: int) -> bool:
    return not len(places) or bool(places.min() >= 0 and places.max() < length)
