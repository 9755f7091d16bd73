"""The rows of word pieces, without all of them being read into a dictionary.

A process that scores one message looks up some dozen of thirty thousand pieces. So the pieces stay the bytes
they are in the file, and a dictionary is made only of those that begin like the one looked for.
"""

from __future__ import annotations

import numpy

INNER = b"##"
"""How a piece begins that goes on with a word."""
LONGEST = 20
"""Bytes of a piece that are looked for."""


class Pieces:
    """Word pieces by the number of their line.

    Safe to use from several threads. ``data`` is the pieces in UTF-8, one a line.

    Raises:
        UnicodeDecodeError: That is no UTF-8.
    """

    def __init__(self, data: bytes) -> None:
        data.decode()
        # Every line has a line end behind it, and the last one enough to look at its beginning.
        self._data = data + b"\n\n\n\n"
        signs = numpy.frombuffer(self._data, dtype=numpy.uint8)
        ends = numpy.flatnonzero(signs[: len(data) + 1] == ord("\n"))
        starts = numpy.concatenate([[0], ends[:-1] + 1])
        self._starts, self._ends = starts, ends
        goes_on = (signs[starts] == INNER[0]) & (signs[starts + 1] == INNER[1]) & (ends - starts > len(INNER))
        places = starts + len(INNER) * goes_on
        first, second = signs[places].astype(numpy.int32), signs[places + 1].astype(numpy.int32)
        self._beginnings = first << 9 | second << 1 | goes_on
        # By the first two bytes behind what says that a piece goes on with a word, and whether it does.
        self._rows: dict[int, dict[bytes, int]] = {}

    def __len__(self) -> int:
        return len(self._starts)

    def split(self, token: str) -> tuple[int, ...]:
        """The rows of the longest known pieces of a word from left to right; none when a part is unknown.

        Of equal pieces the last counts.
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
        """The rows of the pieces that begin with two bytes, or are one, without what says they go on."""
        first, second = (begins + b"\n")[:2]
        beginning = first << 9 | second << 1 | goes_on
        known = self._rows.get(beginning)
        if known is None:
            rows = numpy.flatnonzero(self._beginnings == beginning)
            starts = self._starts[rows] + len(INNER) * goes_on
            places = zip(starts.tolist(), self._ends[rows].tolist(), rows.tolist(), strict=True)
            known = self._rows[beginning] = {self._data[start:end]: row for start, end, row in places}
        return known
