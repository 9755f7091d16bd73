"""Looks up the rows of word pieces without reading all of them into a dictionary.

A process that scores one message needs some dozens of thirty thousand pieces. So the pieces stay as bytes,
and dictionaries are only made of those with the same beginning as a wanted one.
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
        # Every line needs a line end, and the last one some padding to read its beginning.
        self._data = data + b"\n\n\n\n"
        signs = numpy.frombuffer(self._data, dtype=numpy.uint8)
        ends = numpy.flatnonzero(signs[: len(data) + 1] == ord("\n"))
        starts = numpy.concatenate([[0], ends[:-1] + 1])
        self._starts, self._ends = starts, ends
        goes_on = (signs[starts] == INNER[0]) & (signs[starts + 1] == INNER[1]) & (ends - starts > len(INNER))
        places = starts + len(INNER) * goes_on
        first, second = signs[places].astype(numpy.int32), signs[places + 1].astype(numpy.int32)
        self._beginnings = first << 9 | second << 1 | goes_on
        # By the first two bytes after the prefix, and whether there is a prefix.
        self._rows: dict[int, dict[bytes, int]] = {}

    def __len__(self) -> int:
        return len(self._starts)

    def split(self, token: str) -> tuple[int, ...]:
        """The rows of the longest known pieces of a word from left to right; none if a part is unknown.

        The last of equal pieces counts.
        """
        word = token.encode("utf-8", "surrogatepass")
        found: list[int] = []
        start = 0
        while start < len(word):
            rows = self._rows_like(word[start : start + 2], goes_on=start > 0)
            single = self._rows_like(word[start : start + 1], goes_on=start > 0)
            for end in range(min(len(word), start + LONGEST), start, -1):
                row = (rows if end > start + 1 else single).get(word[start:end])
                if row is not None:
                    found.append(row)
                    start = end
                    break
            else:
                return ()
        return tuple(found)

    def _rows_like(self, begins: bytes, *, goes_on: bool) -> dict[bytes, int]:
        """The rows of the pieces, without prefix, that start with two bytes or consist of one."""
        first, second = (begins + b"\n")[:2]
        beginning = first << 9 | second << 1 | goes_on
        known = self._rows.get(beginning)
        if known is None:
            rows = numpy.flatnonzero(self._beginnings == beginning)
            starts = self._starts[rows] + len(INNER) * goes_on
            places = zip(starts.tolist(), self._ends[rows].tolist(), rows.tolist(), strict=True)
            known = self._rows[beginning] = {self._data[start:end]: row for start, end, row in places}
        return known
