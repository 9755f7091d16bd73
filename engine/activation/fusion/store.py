"""A fit on disk, so that a process that scores one message need not make it (scratch/, deletable).

The file is a line with a checksum of all that follows, a line of JSON that names the arrays with type and
shape, and their bytes, which are used where they were read to. A file that is incomplete, or points outside
an array, is not used.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy

from engine.activation.fusion.fitted import Fitted, TopicTexts
from engine.activation.fusion.words import SIGNATURE_LENGTH
from engine.errors import AutopoiesisError

if TYPE_CHECKING:
    from engine.store.files import Files

FIT_PATH = "scratch/similarity.fit"
_LIMIT = 1024**3
_LOCK_WAIT_S = 1.0
_FORM = 3
"""Which way topics are fitted; a fit of another form is made anew."""
_SUM = 9
_ALIGNED = 16
_BLOCK = 4096
"""Numbers of eight bytes that are added up before their sum goes into the checksum: a thousand topics are
27 MB, of which a CRC-32 alone takes as long as all else about reading them."""
_KINDS = ("int32", "uint32", "float32")
"""What elements may be; each has four bytes."""
_POINTING = (
    *("starts", "offsets", "rows", "word_offsets", "word_topics"),
    *("word_entry_offsets", "word_entries", "against_topics"),
)
"""The arrays that point into others."""


def fingerprint(topics: Sequence[TopicTexts], vectors: str) -> str:
    """Names a fit: sha256 over everything it is made from."""
    whole = hashlib.sha256(f"{_FORM} {sys.byteorder} {vectors}".encode())
    for topic in topics:
        whole.update(b"\n%d %d" % (len(topic.examples), len(topic.against)))
        for part in (topic.name, topic.label, topic.about, *topic.examples, *topic.against):
            data = part.encode("utf-8", "surrogatepass")
            whole.update(b" %d:" % len(data) + data)
    return whole.hexdigest()


class FitStore:
    """Keeps the last fit of a workspace."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def load(self, name: str, dimensions: int) -> Fitted | None:
        """The kept fit, if it is the one of this fingerprint; ``None`` also when the file is damaged.

        ``dimensions`` is the length of the embedding's vectors.
        """
        try:
            data = self._files.read(FIT_PATH, limit=_LIMIT)
        except (OSError, AutopoiesisError):
            return None
        # The name stands in front, so that a fit of other topics is recognised without reading it all.
        if not data.startswith(b'{"fit":"%s",' % name.encode(), _SUM):
            return None
        if data[:_SUM] != b"%08x\n" % checksum(data):
            return None
        return _fit_in(data, dimensions)

    def save(self, name: str, fitted: Fitted) -> None:
        """Keeps a fit. Where that is not possible, it is made again the next time."""
        if self._files.read_only:
            return
        arrays = {field: getattr(fitted, field) for field in Fitted.array_names()}
        head = {
            "fit": name,
            "names": fitted.names,
            "arrays": {field: [array.dtype.name, *array.shape] for field, array in arrays.items()},
        }
        text = json.dumps(head, separators=(",", ":")).encode()
        text += b" " * (-(_SUM + len(text) + 1) % _ALIGNED) + b"\n"
        parts = [text, *(array.tobytes() for array in arrays.values())]
        sum_of_all = checksum(b"".join([bytes(_SUM), *parts]))
        try:
            with self._files.lock(timeout=_LOCK_WAIT_S):
                self._files.replace(FIT_PATH, [b"%08x\n" % sum_of_all, *parts])
        except AutopoiesisError:
            return


def checksum(data: bytes) -> int:
    """A CRC-32 of what stands behind the first ``_SUM`` bytes of a file: of its head, and of its arrays added
    up block by block.
    """
    body = data.find(b"\n", _SUM) + 1
    whole = body + (len(data) - body) // 8 * 8
    numbers = numpy.frombuffer(data, numpy.uint64, (whole - body) // 8, body)
    sums = numpy.add.reduceat(numbers, range(0, len(numbers), _BLOCK)) if len(numbers) else numbers
    found = zlib.crc32(memoryview(data)[_SUM:body])
    return zlib.crc32(memoryview(data)[whole:], zlib.crc32(sums.tobytes(), found))


def _fit_in(data: bytes, dimensions: int) -> Fitted | None:
    offset = data.find(b"\n", _SUM) + 1
    try:
        head = json.loads(data[_SUM:offset])
    except (ValueError, RecursionError):
        return None
    if not isinstance(head, dict):
        return None
    names, layout = head.get("names"), head.get("arrays")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    if not isinstance(layout, dict) or tuple(layout) != Fitted.array_names():
        return None
    if not all(_is_layout(of, len(data)) for of in layout.values()):
        return None
    if offset + sum(4 * math.prod(shape) for _, *shape in layout.values()) != len(data):
        return None
    arrays = {}
    for field, (kind, *shape) in layout.items():
        arrays[field] = numpy.ndarray(shape, kind, data, offset)
        offset += arrays[field].nbytes
    fitted = Fitted(names=tuple(names), **arrays)
    return fitted if _is_whole(fitted, dimensions) and _is_sound(fitted) else None


def _is_layout(of: object, most: int) -> bool:
    """Whether this is the type of an array and its shape, in which no number is above ``most``."""
    if not isinstance(of, list) or not of or of[0] not in _KINDS:
        return False
    shape = of[1:]
    return len(shape) in (1, 2) and all(type(size) is int and 0 <= size <= most for size in shape)


def _is_whole(fitted: Fitted, dimensions: int) -> bool:
    """Whether the arrays that are looked up together are equally long, and of the type to look up with."""
    topics, entries, grams = len(fitted.names), fitted.entry_words.size, fitted.grams.size
    words, against = fitted.words.size, fitted.against_topics.size
    trained = fitted.classifiers.size > 0
    shapes: dict[str, tuple[int, ...]] = {
        "starts": (topics + 1,),
        "grams": (grams,),
        "idf": (grams,),
        "offsets": (grams + 1,),
        "rows": (fitted.rows.size,),
        "weights": (fitted.rows.size,),
        "words": (words,),
        "word_idf": (words,),
        "word_offsets": (words + 1,),
        "word_topics": (fitted.word_topics.size,),
        "word_weights": (fitted.word_topics.size,),
        "entry_words": (entries,),
        "word_entry_offsets": (words + 1,),
        "word_entries": (fitted.word_entries.size,),
        "entry_vectors": (entries, dimensions),
        "label_vectors": (topics, dimensions),
        "centroids": (topics, dimensions),
        "signatures": (entries, SIGNATURE_LENGTH),
        "mood_axis": (dimensions,),
        "moods": (topics,),
        "own_vectors": (topics,),
        "own_grams": (topics,),
        "classifiers": (entries + topics, topics) if trained else (0, 0),
        "own_classified": (topics if trained else 0,),
        "rivals_classified": (topics if trained else 0,),
        "spread_classified": (1 if trained else 0,),
        "against_vectors": (against, dimensions),
        "against_topics": (against,),
    }
    whole = all(getattr(fitted, field).shape == shape for field, shape in shapes.items())
    return whole and all(getattr(fitted, field).dtype.name == "int32" for field in _POINTING)


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
    )


def _divides(offsets: Any, whole: int, *, least: int = 0) -> bool:
    steps = offsets[1:] - offsets[:-1]
    return bool(offsets[0] == 0 and offsets[-1] == whole and (not len(steps) or steps.min() >= least))


def _points_into(places: Any, length: int) -> bool:
    return not len(places) or bool(places.min() >= 0 and places.max() < length)
