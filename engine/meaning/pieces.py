"""Looks up the rows of word pieces without reading all of them into a dictionary.

A process that scores one message needs a few dozen of the thirty thousand pieces. So the pieces stay bytes,
and dictionaries are only built for pieces with the same beginning as one that is looked up.
"""

from __future__ import annotations

import numpy

INNER = b"##"
"""Prefix of a piece that continues a word."""
LONGEST = 20
"""Maximum length of a piece in bytes."""


class Pieces:
    """Word pieces by line number, from UTF-8 text with one piece per line. Thread-safe.

    Raises:
        UnicodeDecodeError: The data is not UTF-8.
    """

    def __init__(self, data: bytes) -> None:
        data.decode()
        # Every line needs a line end, and the last one needs padding, since two bytes of it are read.
        self._data = data + b"\n\n\n\n"
        signs = numpy.frombuffer(self._data, dtype=numpy.uint8)
        ends = numpy.flatnonzero(signs[: len(data) + 1] == ord("\n"))
        starts = numpy.concatenate([[0], ends[:-1] + 1])
        self._starts, self._ends = starts, ends
        inner = (signs[starts] == INNER[0]) & (signs[starts + 1] == INNER[1]) & (ends - starts > len(INNER))
        places = starts + len(INNER) * inner
        first, second = signs[places].astype(numpy.int32), signs[places + 1].astype(numpy.int32)
        self._beginnings = first << 9 | second << 1 | inner
        # Keyed by the first two bytes after the prefix, and whether there is a prefix.
        self._rows: dict[int, dict[bytes, int]] = {}

    def __len__(self) -> int:
        return len(self._starts)

    def split(self, token: str) -> tuple[int, ...]:
        """The rows of the longest known pieces of a word, from left to right; empty if any part is unknown.

        If a piece occurs twice in the data, its last row counts.
        """
        word = token.encode("utf-8", "surrogatepass")
        found: list[int] = []
        start = 0
        while start < len(word):
            rows = self._rows_with(word[start : start + 2], inner=start > 0)
            single = self._rows_with(word[start : start + 1], inner=start > 0)
            for end in range(min(len(word), start + LONGEST), start, -1):
                row = (rows if end > start + 1 else single).get(word[start:end])
                if row is not None:
                    found.append(row)
                    start = end
                    break
            else:
                return ()
        return tuple(found)

    def _rows_with(self, start_bytes: bytes, *, inner: bool) -> dict[bytes, int]:
        """The rows of the pieces that, without prefix, start with two given bytes or consist of one."""
        first, second = (start_bytes + b"\n")[:2]
        beginning = first << 9 | second << 1 | inner
        known = self._rows.get(beginning)
        if known is None:
            rows = numpy.flatnonzero(self._beginnings == beginning)
            starts = self._starts[rows] + len(INNER) * inner
            places = zip(starts.tolist(), self._ends[rows].tolist(), rows.tolist(), strict=True)
            known = self._rows[beginning] = {self._data[start:end]: row for start, end, row in places}
        return known
